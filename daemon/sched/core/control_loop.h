/* SPDX-License-Identifier: Apache-2.0
 *
 * The core's side of the controller interface (controller.h): measures the latencies of services,
 * decides when a control period is over, and applies the controller's pauses and shares to jobs.
 *
 * A period is over when it has its minimum length, every service that receives requests has
 * completed enough of them, and best-effort jobs have completed enough iterations: a pause shows
 * only in whole cycles of them. The period ends at one of their boundaries, if they reach any, so
 * that it contains no partial cycle. Without enough requests or iterations it ends
 * CONTROL_LOOP_PATIENCE_NS after these could have occurred.
 */
#ifndef DAEMON_SCHED_CORE_CONTROL_LOOP_H
#define DAEMON_SCHED_CORE_CONTROL_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

#define CONTROL_LOOP_PATIENCE_NS 4000000000ull
/* Time for which a job whose part lies between two steps keeps one of them. */
#define CONTROL_LOOP_STEP_NS 10000000ull

/* Reserves memory for this many more services. Returns 0 or -ENOMEM. */
int control_loop_reserve(struct sched *s, uint32_t more);
/* Called when the job's target is set, changed or withdrawn, and when the job ends. */
void control_loop_promise(struct sched *s, uint32_t job);
void control_loop_forget(struct sched *s, uint32_t job);
/* The job is at its boundary. `served`: a request completed, which took request_ns. */
void control_loop_boundary(struct sched *s, uint32_t job, bool served);
/* Called after the controller was replaced. Lifts everything that the previous one imposed; the new
 * one has its own memory already. */
void control_loop_change(struct sched *s);
/* Ends the pauses that are over, and the control period if it is. */
void control_loop_look(struct sched *s);
/* Calls control_loop_look if anything is due. */
static inline void control_loop_run(struct sched *s) {
    if (s->st.now_ns >= s->paced_at || s->st.now_ns >= s->period_at || s->st.now_ns >= s->steps_at)
        control_loop_look(s);
}
/* Returns the first invariant that fails for the job, or NULL. */
const char *control_loop_check(const struct sched *s, uint32_t job);

#endif
