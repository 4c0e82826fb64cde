/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that an admitted job can have at once: what grow_asked would grant it without a wait.
 * Random worlds hold one against the other (test/plain/sched_world.c).
 */
#include "daemon/sched/core/core.h"

bool sched_obtainable(const struct sched *s, uint32_t job, uint64_t *persistent_bytes) {
    const struct sched_state *st = &s->st;
    uint32_t slot = jobmap_find(&st->map, job);
    if (slot == JOBMAP_NONE || !st->jobs[slot].admitted || st->jobs[slot].left) return false;
    uint64_t free = st->jobs[slot].swapped ? 0 : sched_free_bytes(s);
    *persistent_bytes = lanes_persistent(st->lanes, slot) + free;
    return true;
}

uint64_t sched_free_bytes(const struct sched *s) {
    const struct lanes *l = s->st.lanes;
    return lanes_capacity(l) - lanes_used(l);
}
