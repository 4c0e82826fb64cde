/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim cluster`: compares placement policies (daemon/place) for a cluster and its jobs, over
 * several seeds.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_COMPARE_CLUSTERS_H
#define DAEMON_SIM_COMPARE_CLUSTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/sim/compare/compare.h"
#include "daemon/sim/place/fleet.h"
#include "daemon/sim/place/jobset_draw.h"
#include "daemon/sim/place/jobset_file.h"

#define CLUSTERS_POLICIES 16u

enum clusters_speeds { CLUSTERS_BY_POLICY, CLUSTERS_CURVE, CLUSTERS_SHARES };

struct clusters_config {
    const char *policies[CLUSTERS_POLICIES];
    uint32_t policy_count;
    struct place_config place; /* `policy` is filled in */
    struct fleet_rules rules;  /* `speeds` and `seed` are filled in */
    enum clusters_speeds speeds;
    struct jobset_error error; /* `seed` is filled in */

    const char *nodes_path; /* NULL: `gpus` GPUs in nodes of `per_node` */
    uint32_t gpus, per_node;
    uint64_t gpu_bytes;
    const char *jobs_path; /* NULL: jobs are drawn */
    const char *pods_path; /* table that a kind may draw from; NULL: none */
    struct jobset_rules reading;
    struct jobset_draw draw; /* `seed` and `pods` are filled in */
    uint64_t seed;
    uint32_t seeds; /* number of seeds, starting at `seed` */
};

/* Results of a policy over the seeds. X(field, value from struct fleet_result, name,
 * description) */
/* clang-format off */
#define CLUSTERS_FIELDS(X)                                                                         \
    X(makespan, r->makespan_s, "makespan_s", "from the first arrival to the last end")             \
    X(wait, r->wait_s.mean, "wait_s", "time that a job waits, in all: mean")                                \
    X(wait_median, r->wait_s.median, "wait_median_s", "the same: median")                \
    X(wait_deviation, r->wait_s.deviation, "wait_deviation_s", "the same: standard deviation over the jobs") \
    X(first, r->first_s.mean, "first_s", "time until the first start: mean")                          \
    X(jct, r->jct_s.mean, "jct_s", "time from the first start to the end: mean")                              \
    X(slowdown, r->slowdown.mean, "slowdown", "that time, relative to the job's length alone")                  \
    X(util, r->util, "util", "part of the GPUs' time in which they are busy")           \
    X(used, r->used_gpus, "used_gpus", "GPUs with at least one job: mean")                           \
    X(separate, r->separate_gpus, "separate_gpus", "GPUs that are needed if services and trainings have their own, in the ratio") \
    X(violations, clusters_part(r->violations, r->services), "violations",                         \
      "part of the services that exceed their target")                                           \
    X(hopeless, clusters_part(r->hopeless, r->services), "hopeless",                               \
      "part of the services whose target needs more than a whole GPU")                             \
    X(stops, r->stops, "stops", "jobs that were stopped and queued again")                             \
    X(memory_ends, r->memory_ends, "memory_ends", "times that a job ended for lack of memory")                       \
    X(refused, r->refused, "refused", "jobs that fit on no node")                                     \
    X(stranded, r->stranded, "stranded", "jobs still waiting when no event is left")           \
    X(lost, clusters_part(r->lost_gpu_s, r->work_gpu_s), "lost",                                   \
      "repeated work, as a part of all work")                                         \
    X(steps, (double)r->steps, "steps", "steps of the placer")
/* clang-format on */

static inline double clusters_part(double part, double of) {
    return of > 0 ? part / of : 0;
}

struct clusters_cell {
#define X(field, from, name, text) struct measure field;
    CLUSTERS_FIELDS(X)
#undef X
    struct fleet_day *days; /* sums over the seeds */
    uint32_t day_count;
};

struct clusters {
    struct clusters_cell cells[CLUSTERS_POLICIES];
    uint32_t jobs, nodes, gpus; /* sizes for the first seed */
    uint32_t passed_over;
};

/* Called before each run. */
typedef void clusters_progress_fn(void *arg, uint32_t run, uint32_t of);

/* Returns 0; -EINVAL for an invalid file or option; -EPROTO if a policy broke a rule; -ENOMEM or
 * another error of a file. `errors` receives sentences. */
int clusters_run(struct clusters *out, const struct clusters_config *config,
                 clusters_progress_fn *progress, void *arg, struct buf *errors);
void clusters_finish(struct clusters *c);

/* Creates the nodes and the jobs of the first seed, as a run would use them. Same errors. */
int clusters_set(struct jobset *out, const struct clusters_config *config, struct buf *errors);

#endif
