/* SPDX-License-Identifier: Apache-2.0
 *
 * Giving out turns, and taking them away.
 */
#ifndef DAEMON_SCHED_CORE_TURN_H
#define DAEMON_SCHED_CORE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core/core.h"

extern const struct sched_domain turn_domain; /* a new one: nobody has its turn or wants it */

/* Something changed that may make the job ready, or no longer ready. */
void turn_update(struct sched *s, uint32_t job);
/* And its rank or priority did. */
void turn_requeue(struct sched *s, uint32_t job);
/* Its current iteration is complete. */
void turn_boundary(struct sched *s, uint32_t job);
/* Nothing of it runs any more: a revoked turn ends here. */
void turn_idle(struct sched *s, uint32_t job);
/* It starts nothing more; its turn ends when nothing of it runs. */
void turn_revoke(struct sched *s, uint32_t job);
/* Before the job's slot is freed. */
void turn_forget(struct sched *s, uint32_t job);
/* Before its lane changes, and after. */
void turn_detach(struct sched *s, uint32_t job);
void turn_attach(struct sched *s, uint32_t job);
/* Leases that ended; then every free turn to whom it belongs. */
void turn_look(struct sched *s);
/* If there is reason to look. */
static inline void turn_run(struct sched *s) {
    if (s->dirty != SCHED_NONE || s->st.now_ns >= s->lease_at) turn_look(s);
}
/* Another lane policy, or another way of exclusive: all queues anew. */
void turn_rebuild(struct sched *s, const struct lane_policy *policy, bool exclusive);

#endif
