/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the job that gets reserved nodes, and the nodes.
 */
#include "daemon/place/assignment/node_reservation.h"

#include "daemon/place/assignment/placement.h"
#include "daemon/place/state/place_policy.h"

/* The longest waiting job that the open nodes could hold; JOBS_NONE if there is none. */
static uint32_t longest(const struct place *p) {
    uint32_t job = p->jobs.first;
    while (job != JOBS_NONE && !node_models_open_hold(&p->makes, &p->jobs.at[job].demand))
        job = p->jobs.at[job].next;
    return job;
}

/* Counts jobs that came later than `it` and have started meanwhile. */
static void count_overtaking(struct place *p, struct job *it) {
    for (; p->judged < p->answer.action_count; p->judged++) {
        const struct place_action *a = &p->answer.actions[p->judged];
        if (a->kind == PLACE_START && p->jobs.at[jobs_find(&p->jobs, a->id)].turn > it->turn)
            it->overtaken++;
    }
}

static uint64_t turn_of(const struct place *p, const struct node *n) {
    return p->gpus.at[n->gpu_first].turn;
}

static bool is_better(const struct place *p, const struct node *a, const struct node *b) {
    return a->jobs != b->jobs ? a->jobs < b->jobs : turn_of(p, a) < turn_of(p, b);
}

/* The best node that is not reserved yet and would hold a task. */
static uint32_t best_node(const struct place *p, const struct demand *d) {
    uint32_t best = NODES_NONE;
    for (uint32_t i = 0; i < p->nodes.used; i++) {
        const struct node *n = &p->nodes.at[i];
        if (!n->here || n->shut || n->kept || !node_models_hold(&p->makes.at[n->make], d)) continue;
        if (best == NODES_NONE || is_better(p, n, &p->nodes.at[best])) best = i;
    }
    return best;
}

static void take_nodes(struct place *p, uint32_t job) {
    const struct demand *d = &p->jobs.at[job].demand;
    uint32_t tasks = 0;
    p->kept_for = job;
    while (tasks < d->tasks) {
        uint32_t node = best_node(p, d);
        tasks += node_models_hold(&p->makes.at[p->nodes.at[node].make], d);
        placement_keep(p, node, true);
    }
}

void node_reservation_judge(struct place *p) {
    if (!p->policy->fair) return;
    uint32_t job = longest(p);
    if (job != JOBS_NONE) {
        count_overtaking(p, &p->jobs.at[job]);
        if (p->kept_for == JOBS_NONE && p->jobs.at[job].overtaken >= p->config.patience)
            take_nodes(p, job);
    }
    p->judged = p->answer.action_count;
}

void node_reservation_release(struct place *p) {
    if (p->kept_for == JOBS_NONE) return;
    p->kept_for = JOBS_NONE;
    for (uint32_t i = 0; i < p->nodes.used; i++)
        if (p->nodes.at[i].here && p->nodes.at[i].kept) placement_keep(p, i, false);
}
