/* SPDX-License-Identifier: Apache-2.0
 *
 * Should these jobs share the device? Each alone and all of them together under every policy that
 * makes sense, from several starts, and what follows for somebody who wants something of them.
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
#define ADVISE_WORTH 1.05 /* a gain below that is none */

/* What somebody wants. */
enum advise_goal {
    ADVISE_THROUGHPUT, /* as much done as can be */
    ADVISE_LATENCY,    /* those that serve, or have a priority, lose little; then the same */
    ADVISE_FAIR,       /* whoever loses most loses as little as can be */
    ADVISE_GOALS
};

/* Over the starts. */
struct advise_range {
    double sum, least, most;
    uint32_t count;
};

static inline double advise_mean(const struct advise_range *r) {
    return r->count ? r->sum / r->count : 0;
}

struct advise_row {
    const char *lane, *kernel; /* kernel NULL: iterations */
    bool exclusive;            /* one lane at a time */
    struct advise_range gain;  /* work done in a time, as a multiple of one after the other */
    struct advise_range makespan_s;
    struct advise_range *slowdowns; /* by job: how many times as long as alone */
    uint32_t fits;                  /* starts in which it is what was wanted, and worth it */
};

struct advise_config {
    struct policy_config policy;
    struct kdev_contention contention;
    enum advise_goal goal; /* ADVISE_GOALS: by the jobs */
    double most_loss;      /* of ADVISE_LATENCY: 0.1: a tenth longer than alone */
    uint64_t seed;
    uint32_t starts;
    bool check;
};

struct advise {
    const struct advise_config *config;
    const struct workload *files;
    const char *const *paths;
    uint32_t files_count;
    struct workload w; /* of all; its jobs in order of `number` once advise_run is over */
    enum advise_goal goal;
    bool by_rates;                /* the gain is of rates: the run stops before all is done */
    struct advise_range *alone_s; /* by job: of a request, where it serves */
    struct advise_range apart_s;  /* all of them, one after the other */
    struct advise_row rows[ADVISE_ROWS];
    uint32_t count, best;
    bool together;
    uint32_t refused; /* the job that the device is too small for; UINT32_MAX: none */
    enum sched_why refused_why;
    uint64_t shift_ns; /* the others start so much later than the first file, at most */
    double guessed;    /* part of the kernels' time whose units are not known */
};

/* 0; -EINVAL, -EPROTO, -EOVERFLOW or -ENOMEM with a sentence in `why` (SIM_WHY_BYTES). */
int advise_run(struct advise *out, const struct workload *files, const char *const *paths,
               uint32_t count, const struct advise_config *config, char *why);
void advise_finish(struct advise *a);

const char *advise_goal_name(enum advise_goal goal);
enum advise_goal advise_goal_find(const char *name); /* ADVISE_GOALS: there is none such */
bool advise_protects(const struct workload_job *j);
void advise_label(const struct advise_row *row, char out[ADVISE_LABEL]);

#endif
