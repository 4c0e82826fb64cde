/* SPDX-License-Identifier: Apache-2.0
 *
 * Giving out turns, and taking them away.
 */
#ifndef DAEMON_SCHED_DISPATCH_TURN_H
#define DAEMON_SCHED_DISPATCH_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

/* Room for `count` domains, of which the first `have` exist; nobody has or wants the turn of a new
 * one. 0 or -ENOMEM. */
int turn_reserve(struct sched_state *st, uint32_t have, uint32_t count);

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
/* An operation of the job is about to be queued. If the job has the turn and nothing to run, it
 * is charged for having kept others waiting. */
void turn_resumed(struct sched *s, uint32_t job);
/* Nothing of the job is left to run, though its iteration may go on: if another job waits for its
 * turn, the turn ends soon. */
void turn_drained(struct sched *s, uint32_t job);
/* No turn ends before; SCHED_NEVER. */
static inline uint64_t turn_end_at(const struct sched_state *st) {
    return st->ends.count ? st->domains[st->ends.items[0]].end_ns : SCHED_NEVER;
}
/* The time until which the domain's turn, which is free though jobs wait for it, is kept for the
 * job that had the latest one: it received less than they and is expected back at once. */
uint64_t turn_kept_until(const struct sched *s, const struct sched_domain *d);
/* Ends turns that are over; then gives every free turn to the job to which it belongs. */
void turn_look(struct sched *s);
/* If there is reason to look. */
static inline void turn_run(struct sched *s) {
    if (s->dirty != SCHED_NONE || s->st.now_ns >= turn_end_at(&s->st)) turn_look(s);
}
/* Another lane policy, or another way of exclusive: all queues anew. */
void turn_rebuild(struct sched *s, const struct lane_policy *policy, bool exclusive);

#endif
