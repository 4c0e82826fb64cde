/* SPDX-License-Identifier: Apache-2.0
 *
 * The step. All memory is reserved before anything changes, so that a step that runs out of memory
 * has no effect.
 */
#include "daemon/place/place_step.h"

#include <errno.h>

#include "daemon/place/assignment/answer.h"
#include "daemon/place/queue/events.h"
#include "daemon/place/queue/pass.h"
#include "daemon/place/queue/rounds.h"
#include "daemon/place/search/search.h"

/* Upper limits of what the events may add. */
struct growth {
    uint64_t nodes, gpus, kinds, jobs, job_gpus;
};

static void count_node(struct growth *g, const struct place_node *node) {
    if (!node || !node->gpus || node->gpu_count > PLACE_GPUS_A_NODE) return;
    g->nodes++;
    g->gpus += node->gpu_count;
    for (uint32_t i = 0; i < node->gpu_count; i++)
        g->kinds += !i || node->gpus[i].memory_bytes != node->gpus[i - 1].memory_bytes ||
                    node->gpus[i].curve != node->gpus[i - 1].curve;
}

static void count_job(struct growth *g, const struct place_job *job) {
    if (!job || demand_fault(job)) return;
    g->jobs++;
    g->job_gpus += job->tasks * job->gpus;
}

static struct growth count_growth(const struct place_event *events, size_t count) {
    struct growth g = {0};
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == PLACE_NODE) count_node(&g, events[i].node);
        if (events[i].kind == PLACE_JOB || events[i].kind == PLACE_RUNS)
            count_job(&g, events[i].job);
    }
    return g;
}

/* Reserves memory. A job is at most once on a GPU. In one step each job starts or is refused at
 * most once, and each event stops at most one job. */
static int reserve(struct place *p, const struct place_event *events, size_t count) {
    struct growth more = count_growth(events, count);
    uint64_t jobs = p->jobs.count + more.jobs, gpus = p->gpus.used + more.gpus;
    uint64_t seats = p->jobs.gpus + more.job_gpus;
    if (seats > jobs * gpus) seats = jobs * gpus;
    int err = nodes_reserve(&p->nodes, more.nodes);
    if (!err) err = node_models_reserve(&p->makes, more.nodes);
    if (!err) err = gpus_reserve(&p->gpus, more.gpus, seats);
    if (!err) err = index_reserve(&p->index, more.kinds);
    if (!err)
        err = hosts_reserve(&p->hosts, p->nodes.used + more.nodes, p->index.count + more.kinds);
    if (!err) err = jobs_reserve(&p->jobs, more.jobs);
    if (!err) err = search_reserve(&p->search, gpus, p->nodes.used + more.nodes);
    if (!err && p->config.queues > 1) err = rounds_reserve(&p->rounds, jobs);
    if (!err) err = answer_reserve(&p->answer, jobs + count, seats, count);
    return err;
}

int place_step(struct place *p, int64_t now_ns, const struct place_event *events, size_t count,
               struct place_answer *answer) {
    int err = reserve(p, events, count);
    if (err) return err;
    if (now_ns > p->now_ns) p->now_ns = now_ns;
    answer_begin(p);
    p->judged = 0;
    for (size_t i = 0; i < count; i++) {
        const char *why = events_take(p, &events[i]);
        if (why) answer_wrong(p, i, why);
    }
    pass_run(p);
    *answer = answer_end(p);
    return 0;
}
