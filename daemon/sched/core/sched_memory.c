/* SPDX-License-Identifier: Apache-2.0
 *
 * Space for actions and for sorting events does not affect the scheduler's future: a restored
 * scheduler allocates its own.
 */
#include "daemon/sched/core/sched_memory.h"

#include "daemon/sched/core.h"
#include "daemon/sched/dispatch/policy_memory.h"

#define SCHED_MEMORY_ARRAY(pointer, count) \
    visit(arg, (void **)&(pointer), (count) * sizeof(*(pointer)))

bool sched_memory_walk(struct sched **out, memory_visit *visit, void *arg) {
    if (!visit(arg, (void **)out, sizeof(**out))) return false;
    struct sched *s = *out;
    struct sched_state *st = &s->st;
    s->policy = policy_find(s->config.kernel);
    s->controller = controller_find(s->config.control);
    return SCHED_MEMORY_ARRAY(st->jobs, st->jobs_cap) &&
           SCHED_MEMORY_ARRAY(st->lane, st->jobs_cap) &&
           SCHED_MEMORY_ARRAY(st->domains, st->jobs_cap + 1) &&
           SCHED_MEMORY_ARRAY(st->ends.items, st->jobs_cap + 1) &&
           SCHED_MEMORY_ARRAY(st->ends.place, st->jobs_cap + 1) &&
           SCHED_MEMORY_ARRAY(st->share.keys, st->jobs_cap) &&
           SCHED_MEMORY_ARRAY(st->share.jobs.items, st->jobs_cap) &&
           SCHED_MEMORY_ARRAY(st->share.jobs.place, st->jobs_cap) &&
           SCHED_MEMORY_ARRAY(st->ops, st->ops_cap) &&
           SCHED_MEMORY_ARRAY(st->map.entries, slotmap_size(&st->map)) &&
           lanes_memory(&st->lanes, visit, arg) && ranked_memory(&st->ranked, visit, arg) &&
           classes_memory(&st->classes, visit, arg) && s->policy &&
           policy_memory_walk(s->policy, st->jobs_cap, &st->own, visit, arg) &&
           SCHED_MEMORY_ARRAY(st->services, st->services_cap) && s->controller &&
           visit(arg, &s->controller_own, s->controller->own_bytes);
}

bool sched_memory_restored(struct sched *s) {
    s->policy = policy_find(s->config.kernel);
    s->lane_policy = lane_policy_find(s->config.lane);
    s->controller = controller_find(s->config.control);
    s->st.config = &s->config;
    s->entry = (struct sched_entry){0};
    s->actions = NULL;
    s->actions_cap = s->actions_count = 0;
    return s->policy && s->lane_policy && s->controller;
}
