/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects a step's actions and invalid events.
 */
#include "daemon/place/assignment/answer.h"

#include <stdlib.h>

#include "daemon/place/assignment/cost.h"
#include "daemon/place/state/place_growth.h"

void answer_finish(struct state_answer *a) {
    free(a->actions);
    free(a->where);
    free(a->wrong);
}

int answer_reserve(struct state_answer *a, uint64_t actions, uint64_t where, uint64_t wrong) {
    int err = 0;
    a->actions =
        place_growth_for(a->actions, &a->actions_capacity, actions, sizeof(*a->actions), &err);
    a->where = place_growth_for(a->where, &a->where_capacity, where, sizeof(*a->where), &err);
    a->wrong = place_growth_for(a->wrong, &a->wrong_capacity, wrong, sizeof(*a->wrong), &err);
    return err;
}

void answer_begin(struct place *p) {
    p->answer.action_count = p->answer.where_count = p->answer.wrong_count = 0;
}

static struct place_action *act(struct place *p, enum place_action_kind kind, uint32_t job) {
    struct place_action *a = &p->answer.actions[p->answer.action_count++];
    *a = (struct place_action){.kind = kind, .id = p->jobs.at[job].id, .why = ""};
    return a;
}

void answer_start(struct place *p, uint32_t job) {
    const struct demand *d = &p->jobs.at[job].demand;
    struct place_action *a = act(p, PLACE_START, job);
    struct place_where *to = &p->answer.where[p->answer.where_count];
    a->where = to;
    a->count = demand_gpus(d);
    p->answer.where_count += a->count;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct gpu *gpu = &p->gpus.at[p->search.found[i]];
        to[i] = (struct place_where){p->nodes.at[gpu->node].id, gpu->number};
        a->cost += cost_of(p, d, gpu);
    }
}

void answer_stop(struct place *p, uint32_t job, const char *why) {
    act(p, PLACE_STOP, job)->why = why;
}

void answer_refuse(struct place *p, uint32_t job, const char *why) {
    act(p, PLACE_REFUSE, job)->why = why;
}

void answer_wrong(struct place *p, size_t event, const char *why) {
    p->answer.wrong[p->answer.wrong_count++] = (struct place_wrong){event, why};
}

struct place_answer answer_end(const struct place *p) {
    return (struct place_answer){.actions = p->answer.actions,
                                 .action_count = p->answer.action_count,
                                 .wrong = p->answer.wrong,
                                 .wrong_count = p->answer.wrong_count,
                                 .wake_ns = INT64_MAX};
}
