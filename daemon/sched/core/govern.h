/* SPDX-License-Identifier: Apache-2.0
 *
 * The core's side of the controller's seam: what services' requests took, when a control period is
 * over, and that jobs have the pause and the share that the controller answers (controller.h).
 *
 * A period is over when it is as long as it must be at least, every service that is asked has
 * served enough requests for what it promised, and the others have made enough iterations: a pause
 * shows in whole cycles of them only. It ends at one of their boundaries, where they make any, so
 * that it has no part of a cycle. Without enough of either it ends GOVERN_PATIENCE_NS after these
 * could be there.
 */
#ifndef DAEMON_SCHED_CORE_GOVERN_H
#define DAEMON_SCHED_CORE_GOVERN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

#define GOVERN_PATIENCE_NS 4000000000ull
/* How long a job has one step of the device's shares that is to have something between two. */
#define GOVERN_STEP_NS 10000000ull

/* Room for so many services more: 0 or -ENOMEM. */
int govern_reserve(struct sched *s, uint32_t more);
/* The job's promise was made, changed or taken back; also when it ends. */
void govern_promise(struct sched *s, uint32_t job);
void govern_forget(struct sched *s, uint32_t job);
/* It is at its boundary: `served`, and a request was complete, which took its request_ns. */
void govern_boundary(struct sched *s, uint32_t job, bool served);
/* Another controller, which has memory of its own already: whatever the one before held back goes.
 */
void govern_change(struct sched *s);
/* Pauses that are over, and a period that is. */
void govern_look(struct sched *s);
/* If there is reason to look. */
static inline void govern_run(struct sched *s) {
    if (s->st.now_ns >= s->paced_at || s->st.now_ns >= s->period_at || s->st.now_ns >= s->steps_at)
        govern_look(s);
}
/* Which invariant does not hold of a job, or NULL. */
const char *govern_check(const struct sched *s, uint32_t job);

#endif
