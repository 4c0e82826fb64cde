/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives out turns and ends them.
 */
#ifndef DAEMON_SCHED_DISPATCH_TURN_H
#define DAEMON_SCHED_DISPATCH_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

/* Allocates space for `count` domains, of which the first `have` exist; no job has or wants the
 * turn of a new one. Returns 0 or -ENOMEM. */
int turn_reserve(struct sched_state *st, uint32_t have, uint32_t count);

/* Called when the job may have become ready, or may be ready no longer. */
void turn_update(struct sched *s, uint32_t job);
/* Called when the job's rank or priority changed as well. */
void turn_requeue(struct sched *s, uint32_t job);
/* Called when the job's current iteration is complete. */
void turn_boundary(struct sched *s, uint32_t job);
/* Called when no operation of the job runs any more: ends a revoked turn. */
void turn_idle(struct sched *s, uint32_t job);
/* The job starts no more operations; its turn ends when none runs. */
void turn_revoke(struct sched *s, uint32_t job);
/* Called before the job's slot is freed. */
void turn_forget(struct sched *s, uint32_t job);
/* turn_detach: called before the job's lane changes; turn_attach: after. */
void turn_detach(struct sched *s, uint32_t job);
void turn_attach(struct sched *s, uint32_t job);
/* Called when an operation of the job is about to be queued. A job that has the turn and had
 * nothing to run is charged for keeping others waiting. */
void turn_resumed(struct sched *s, uint32_t job);
/* Called when the job has nothing left to run, though its iteration may continue. If another job
 * waits for its turn, the turn ends soon. */
void turn_drained(struct sched *s, uint32_t job);
/* Earliest time at which turn_look must look at a turn again; SCHED_NEVER: no turn. */
static inline uint64_t turn_end_at(const struct sched_state *st) {
    return st->ends.count ? st->domains[st->ends.items[0]].end_ns : SCHED_NEVER;
}
/* Time until which the domain's free turn is kept for its previous holder although other jobs wait:
 * the holder received less than they did and is expected back at once. */
uint64_t turn_kept_until(const struct sched *s, const struct sched_domain *d);
/* Ends turns that are over, then gives every free turn to the job that is next. */
void turn_look(struct sched *s);
/* Calls turn_look if anything is due. */
static inline void turn_run(struct sched *s) {
    if (s->dirty != SCHED_NONE || s->st.now_ns >= turn_end_at(&s->st)) turn_look(s);
}
/* Rebuilds all queues for another lane policy or another exclusive mode. */
void turn_rebuild(struct sched *s, const struct lane_policy *policy, bool exclusive);

#endif
