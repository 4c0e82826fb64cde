/* SPDX-License-Identifier: Apache-2.0
 *
 * As printed, a job that finds no place is skipped ("continue") and is in no later round of this
 * pass. Within a round, jobs keep their waiting order, as they do within a queue.
 */
#include "daemon/place/queue/rounds.h"

#include <stdlib.h>

#include "daemon/place/queue/attempt.h"
#include "daemon/place/queue/queues.h"
#include "daemon/place/state/place_growth.h"

#define SECOND_NS 1e9

/* The queues, one after another in rounds.sorted. `at` and `left` are the first remaining job and
 * the number of remaining jobs per queue. */
struct line_up {
    uint32_t count;
    uint32_t at[KMEANS_MOST], left[KMEANS_MOST];
};

void rounds_finish(struct state_rounds *r) {
    free(r->jobs);
    free(r->sorted);
    free(r->points);
    free(r->clusters);
}

int rounds_reserve(struct state_rounds *r, uint64_t jobs) {
    int err = 0;
    r->jobs = place_growth_for(r->jobs, &r->jobs_capacity, jobs, sizeof(*r->jobs), &err);
    r->sorted = place_growth_for(r->sorted, &r->sorted_capacity, jobs, sizeof(*r->sorted), &err);
    r->points = place_growth_for(r->points, &r->points_capacity, jobs, sizeof(*r->points), &err);
    r->clusters =
        place_growth_for(r->clusters, &r->clusters_capacity, jobs, sizeof(*r->clusters), &err);
    return err;
}

static struct kmeans_point point_of(const struct demand *d) {
    return (struct kmeans_point){{d->tasks, (double)d->util_ppm, d->gpus, (double)demand_bytes(d)}};
}

/* Line 2 of Algorithm 1: clusters the waiting jobs into queues. */
static void line_up(struct place *p, struct line_up *l) {
    struct state_rounds *r = &p->rounds;
    uint32_t count = 0, at[KMEANS_MOST];
    for (uint32_t job = p->jobs.first; job != JOBS_NONE; job = p->jobs.at[job].next) {
        r->points[count] = point_of(&p->jobs.at[job].demand);
        r->jobs[count++] = job;
    }
    kmeans_run(r->points, r->clusters, count, p->config.queues);
    *l = (struct line_up){.count = p->config.queues};
    for (uint32_t i = 0; i < count; i++)
        l->left[r->clusters[i]]++;
    for (uint32_t x = 0, sum = 0; x < l->count; sum += l->left[x++])
        l->at[x] = at[x] = sum;
    for (uint32_t i = 0; i < count; i++)
        r->sorted[at[r->clusters[i]]++] = r->jobs[i];
}

static double waited_s(const struct place *p, uint32_t job) {
    return (double)(p->now_ns - p->jobs.at[job].since_ns) / SECOND_NS;
}

/* A queue is ordered by waiting time, so the median is in its middle. */
static double median_s(const struct place *p, const uint32_t *jobs, uint32_t count) {
    return (waited_s(p, jobs[(count - 1) / 2]) + waited_s(p, jobs[count / 2])) / 2;
}

/* Line 4: writes the jobs of a round to rounds.jobs and returns their number. */
static uint32_t pick(struct place *p, struct line_up *l) {
    const struct state_rounds *r = &p->rounds;
    double weights[KMEANS_MOST];
    uint32_t given[KMEANS_MOST], count = 0;
    for (uint32_t x = 0; x < l->count; x++)
        weights[x] = l->left[x]
                         ? queues_weight(l->left[x], median_s(p, &r->sorted[l->at[x]], l->left[x]))
                         : 0;
    queues_share(weights, l->left, l->count, p->config.batch, given);
    for (;;) {
        uint32_t best = l->count;
        for (uint32_t x = 0; x < l->count; x++)
            if (given[x] && (best == l->count || jobs_goes_before(&p->jobs, r->sorted[l->at[x]],
                                                                  r->sorted[l->at[best]])))
                best = x;
        if (best == l->count) return count;
        p->rounds.jobs[count++] = r->sorted[l->at[best]++];
        l->left[best]--;
        given[best]--;
    }
}

static uint32_t worth_trying(const struct place *p) {
    uint32_t count = 0;
    for (uint32_t job = p->jobs.first; job != JOBS_NONE; job = p->jobs.at[job].next)
        count += attempt_is_worth(p, job);
    return count;
}

/* Stops when no remaining job is worth trying. If reservations are cancelled in between, all jobs
 * are tried. */
void rounds_run(struct place *p) {
    struct line_up l;
    uint32_t worth = worth_trying(p), count;
    uint64_t changes = p->changes;
    line_up(p, &l);
    while ((worth || changes != p->changes) && (count = pick(p, &l)) > 0)
        for (uint32_t i = 0; i < count; i++) {
            worth -= worth && attempt_is_worth(p, p->rounds.jobs[i]);
            attempt_run(p, p->rounds.jobs[i]);
        }
}
