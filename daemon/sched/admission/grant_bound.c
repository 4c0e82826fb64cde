/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that an admitted job can get at once: what grow_asked would grant without a wait. A
 * random test compares the two (test/plain/sched_world.c).
 */
#include "daemon/sched/admission/grant_bound.h"

#include "daemon/sched/core.h"

/* The lane's present size costs nothing. */
static struct sched_need with_free(const struct sched_state *st, uint32_t job, uint64_t free) {
    const struct lanes *l = st->lanes;
    uint64_t e = lanes_ephemeral(l, job), lane = lanes_size(l, st->jobs[job].lane);
    return (struct sched_need){lanes_persistent(l, job) + free, (lane > e ? lane : e) + free};
}

bool sched_obtainable(const struct sched *s, uint32_t job, struct sched_need *out) {
    const struct sched_state *st = &s->st;
    uint32_t slot = jobmap_find(&st->map, job);
    if (slot == JOBMAP_NONE || !st->jobs[slot].admitted || st->jobs[slot].left) return false;
    if (st->jobs[slot].swapped)
        *out = (struct sched_need){lanes_persistent(st->lanes, slot),
                                   lanes_ephemeral(st->lanes, slot)};
    else
        *out = with_free(st, slot, sched_free_bytes(s));
    return true;
}

uint64_t sched_free_bytes(const struct sched *s) {
    const struct lanes *l = s->st.lanes;
    return lanes_capacity(l) - lanes_used(l);
}
