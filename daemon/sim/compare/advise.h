/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers whether some jobs should share a device. Runs each alone and all of them together under
 * every sensible policy, from several starts, and derives advice for a given goal.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_SIM_COMPARE_ADVISE_H
#define DAEMON_SIM_COMPARE_ADVISE_H

#include <stdio.h>

#include "daemon/sim/run/sim.h"
#include "daemon/sim/workload/workload_merge.h"

#define ADVISE_ROWS 24u
#define ADVISE_LABEL 48
#define ADVISE_WORTH 1.05 /* a gain below this does not count */

/* The user's goal. */
enum advise_goal {
    ADVISE_THROUGHPUT, /* most work per time */
    ADVISE_LATENCY,    /* jobs that serve or have a priority lose little; then as THROUGHPUT */
    ADVISE_FAIR,       /* the job that loses most loses as little as possible */
    ADVISE_GOALS
};

/* A value over the starts. */
struct advise_range {
    double sum, least, most;
    uint32_t count;
};

static inline double advise_mean(const struct advise_range *r) {
    return r->count ? r->sum / r->count : 0;
}

struct advise_row {
    const char *lane, *kernel; /* kernel NULL: the workload has iterations only */
    bool exclusive;            /* one lane at a time */
    struct advise_range gain;  /* work per time, relative to running the jobs one after another */
    struct advise_range makespan_s;
    struct advise_range *slowdowns; /* per job: time relative to alone */
    uint32_t fits;                  /* number of starts that meet the goal with a sufficient gain */
};

struct advise_config {
    struct policy_config policy;
    struct kdev_contention contention;
    enum advise_goal goal; /* ADVISE_GOALS: derived from the jobs */
    double most_loss;      /* for ADVISE_LATENCY; 0.1: a tenth longer than alone */
    uint64_t seed;
    uint32_t starts;
    bool check;
};

struct advise {
    const struct advise_config *config;
    const struct workload *files;
    const char *const *paths;
    uint32_t files_count;
    struct workload w; /* all jobs; ordered by `number` after advise_run */
    enum advise_goal goal;
    bool by_rates; /* the gain is computed from rates, because the run stops before all jobs end */
    struct advise_range *alone_s; /* per job; of a request, if the job serves */
    struct advise_range apart_s;  /* all jobs one after another */
    struct advise_row rows[ADVISE_ROWS];
    uint32_t count, best;
    bool together;
    uint32_t refused; /* the job that is too large for the device; UINT32_MAX: none */
    enum sched_why refused_why;
    uint64_t shift_ns; /* largest shift of the other files against the first */
    double guessed;    /* fraction of the kernels' time whose resource use is not known */
};

/* Returns 0, or -EINVAL, -EPROTO, -EOVERFLOW or -ENOMEM with a sentence in `why`
 * (SIM_WHY_BYTES). */
int advise_run(struct advise *out, const struct workload *files, const char *const *paths,
               uint32_t count, const struct advise_config *config, char *why);
void advise_finish(struct advise *a);

const char *advise_goal_name(enum advise_goal goal);
enum advise_goal advise_goal_find(const char *name); /* ADVISE_GOALS if there is no such goal */
bool advise_protects(const struct workload_job *j);
void advise_label(const struct advise_row *row, char out[ADVISE_LABEL]);

#endif
