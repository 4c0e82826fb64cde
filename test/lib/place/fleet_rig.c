/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain placer.
 */
#include "test/lib/place/fleet_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t fleet_rig_gpu(const struct fleet_rig *rig, uint64_t id, uint32_t n) {
    return (uint32_t)((id * 7 + n) % rig->gpu_count);
}

static void add_node(struct fleet_rig *rig, const struct place_node *node) {
    for (uint32_t i = 0; i < node->gpu_count; i++)
        rig->gpus[rig->gpu_count++] = (struct place_where){node->id, i};
}

static uint32_t number_of(const struct fleet_rig *rig, const struct place_where *w) {
    uint32_t i = 0;
    while (rig->gpus[i].node != w->node || rig->gpus[i].gpu != w->gpu)
        i++;
    return i;
}

static void give_up(struct fleet_rig *rig, uint64_t id) {
    for (uint32_t i = 0; i < rig->needs[id]; i++)
        rig->load[number_of(rig, &rig->where[rig->first[id] + i])]--;
}

static void act(struct fleet_rig *rig, enum place_action_kind kind, uint64_t id) {
    rig->actions[rig->action_count++] = (struct place_action){.kind = kind, .id = id};
}

static void take(struct fleet_rig *rig, const struct place_event *e) {
    switch (e->kind) {
    case PLACE_NODE: add_node(rig, e->node); return;
    case PLACE_JOB:
        rig->needs[e->id] = e->job->tasks * e->job->gpus;
        rig->waiting[rig->waiting_count++] = e->id;
        return;
    case PLACE_GONE:
        rig->ends[e->id]++;
        give_up(rig, e->id);
        return;
    case PLACE_MEMORY:
        rig->memory[e->id]++;
        give_up(rig, e->id);
        if (rig->refuse)
            act(rig, PLACE_REFUSE, e->id);
        else
            rig->waiting[rig->waiting_count++] = e->id;
        return;
    case PLACE_MEASURED:
        rig->measured[e->id] = *e;
        rig->measures++;
        return;
    default: return;
    }
}

/* Stores the job's GPUs in `where`; returns false if too few GPUs have capacity. */
static bool choose(struct fleet_rig *rig, uint64_t id) {
    uint32_t found = 0, need = rig->needs[id];
    struct place_where *to = &rig->where[rig->where_count];
    for (uint32_t i = 0; rig->limit && i < rig->gpu_count && found < need; i++)
        if (rig->load[i] < rig->limit) to[found++] = rig->gpus[i];
    for (; !rig->limit && found < need; found++)
        to[found] = rig->gpus[fleet_rig_gpu(rig, id, found)];
    return found == need;
}

static bool start(struct fleet_rig *rig, uint64_t id) {
    if (!choose(rig, id)) return false;
    rig->first[id] = rig->where_count;
    rig->where_count += rig->needs[id];
    for (uint32_t i = 0; i < rig->needs[id]; i++)
        rig->load[number_of(rig, &rig->where[rig->first[id] + i])]++;
    act(rig, PLACE_START, id);
    rig->actions[rig->action_count - 1].where = &rig->where[rig->first[id]];
    rig->actions[rig->action_count - 1].count = rig->needs[id];
    rig->starts[id]++;
    return true;
}

static int step(void *self, int64_t now_ns, const struct place_event *events, size_t count,
                struct place_answer *answer) {
    struct fleet_rig *rig = self;
    rig->action_count = 0;
    for (size_t i = 0; i < count; i++)
        take(rig, &events[i]);
    if (rig->stop && now_ns >= rig->stop_ns) {
        act(rig, PLACE_STOP, rig->stop);
        give_up(rig, rig->stop);
        rig->waiting[rig->waiting_count++] = rig->stop;
        rig->stop = 0;
    }
    uint32_t begun = 0;
    while (begun < rig->waiting_count && start(rig, rig->waiting[begun]))
        begun++;
    rig->waiting_count -= begun;
    memmove(rig->waiting, &rig->waiting[begun], rig->waiting_count * sizeof(*rig->waiting));
    *answer = (struct place_answer){.actions = rig->actions,
                                    .action_count = rig->action_count,
                                    .wake_ns = rig->stop ? rig->stop_ns : INT64_MAX};
    return 0;
}

struct fleet_placer fleet_rig_placer(struct fleet_rig *rig) {
    return (struct fleet_placer){.step = step, .self = rig};
}

void fleet_rig_nodes(struct jobset *s, uint32_t gpus, uint64_t gpu_bytes) {
    jobset_init(s);
    if (jobset_add_gpus(s, gpus, 2, gpu_bytes)) abort();
}
