/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocates everything that a step can need before the step changes anything.
 */
#include "daemon/sched/core/step_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core.h"
#include "daemon/sched/core/control_loop.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/dispatch/policy_memory.h"
#include "daemon/sched/dispatch/share.h"
#include "daemon/sched/dispatch/turn.h"

#define ROOM_MAX_ENTRIES (1u << 28)

static uint32_t grown_size(uint32_t have, uint32_t need) {
    uint32_t size = have ? have : 64;
    while (size < need)
        size *= 2;
    return size;
}

static int grow_ops(struct sched_state *st, uint32_t need) {
    uint32_t cap = grown_size(st->ops_cap, need);
    struct sched_op *ops = aligned_alloc(sizeof(*ops), cap * sizeof(*ops));
    if (!ops) return -ENOMEM;
    if (st->ops_cap) memcpy(ops, st->ops, st->ops_cap * sizeof(*ops));
    free(st->ops);
    st->ops = ops;
    for (uint32_t i = cap; i-- > st->ops_cap;) {
        ops[i].job = SCHED_NONE;
        ops[i].next = st->free_op;
        st->free_op = i;
    }
    st->ops_cap = cap;
    return 0;
}

static int grow_array(void **array, size_t item, uint32_t count) {
    void *grown = realloc(*array, item * count);
    if (!grown) return -ENOMEM;
    *array = grown;
    return 0;
}

static int grow_jobs(struct sched *s, uint32_t need) {
    struct sched_state *st = &s->st;
    uint32_t cap = grown_size(st->jobs_cap, need);
    if (policy_memory_grow(s->policy, st->jobs_cap, cap, &st->own) ||
        ranked_reserve(&st->ranked, cap) || classes_reserve(&st->classes, cap) ||
        lanes_reserve(st->lanes, cap) || grow_array((void **)&st->lane, sizeof(*st->lane), cap) ||
        turn_reserve(st, st->jobs_cap + 1, cap + 1) || share_reserve(st, st->jobs_cap, cap) ||
        grow_array((void **)&st->jobs, sizeof(*st->jobs), cap))
        return -ENOMEM;
    for (uint32_t i = cap; i-- > st->jobs_cap;) {
        st->jobs[i] = (struct sched_job){.next_free = st->free_job};
        st->lane[i] = (struct sched_lane){.inside = SCHED_NONE, .last = SCHED_NONE};
        st->free_job = i;
    }
    st->jobs_cap = cap;
    return 0;
}

static int grow_events(struct sched *s, uint64_t events) {
    struct sched_state *st = &s->st;
    uint64_t ops = st->ops_used + events, actions = step_memory_actions(st, events);
    if (ops <= st->ops_cap && actions <= s->actions_cap) return 0;
    if (actions > ROOM_MAX_ENTRIES) return -ENOMEM;
    if (ops > st->ops_cap && grow_ops(st, (uint32_t)ops)) return -ENOMEM;
    uint32_t cap = grown_size(s->actions_cap, (uint32_t)actions);
    if (grow_array((void **)&s->actions, sizeof(*s->actions), cap)) return -ENOMEM;
    s->actions_cap = cap;
    return 0;
}

static int count_joined(struct sched *s, const struct sched_event *events, uint32_t count) {
    uint32_t need = s->st.jobs_used;
    for (uint32_t i = 0; i < count; i++)
        need += events[i].kind == SCHED_JOINED;
    if (slotmap_reserve(&s->st.map, need)) return -ENOMEM;
    return need <= s->st.jobs_cap ? 0 : grow_jobs(s, need);
}

static int count_promises(struct sched *s, const struct sched_event *events, uint32_t count) {
    uint32_t need = 0;
    for (uint32_t i = 0; i < count; i++)
        need += (events[i].kind == SCHED_JOINED || events[i].kind == SCHED_SET) &&
                events[i].spec.slo_ns;
    return need ? control_loop_reserve(s, need) : 0;
}

int step_memory_grow(struct sched *s, const struct sched_event *events, uint32_t count,
                     uint32_t kinds) {
    int err = grow_events(s, count);
    if (!err && kinds & 1u << SCHED_JOINED) err = count_joined(s, events, count);
    if (!err && kinds & (1u << SCHED_JOINED | 1u << SCHED_SET))
        err = count_promises(s, events, count);
    if (!err && kinds & 1u << SCHED_POLICY) err = life_prepare(s, events, count);
    return err;
}
