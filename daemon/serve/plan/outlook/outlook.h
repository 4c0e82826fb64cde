/* SPDX-License-Identifier: Apache-2.0
 *
 * Expected durations of batches: the distributions of all applications' times alone, and the
 * duration of a batch of each size derived from them. All policies use these numbers. They are
 * refreshed now and then, not while a request is handled ("periodically, completely off the
 * critical path": thesis, section 4.3.2).
 *
 * The other requests of a batch are not known before it is formed (section 4.4.3). "We therefore
 * always use all execution time distributions associated with the model": each of the k requests is
 * assumed to be of any seen application with the same probability (section 5.2 says that all
 * contribute equally). So F = ((F_1 + ... + F_m) / m)^k. With `own`, the request in question is of
 * its own application: F = F_app ((F_1 + ... + F_m) / m)^(k - 1).
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_OUTLOOK_H
#define DAEMON_SERVE_PLAN_OUTLOOK_OUTLOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/serve/plan/outlook/batchtime.h"
#include "daemon/serve/plan/outlook/histogram.h"
#include "daemon/serve/plan/outlook/score.h"
#include "daemon/serve/plan/types/plan_types.h"

#define OUTLOOK_TAIL_MILLI 990u

/* Expectations for a batch of one size, in ns. */
struct outlook_size {
    double longest_ns; /* longest request alone: E[max l] */
    uint64_t mean_ns;  /* E[L_B] (4.5) */
    uint64_t tail_ns;  /* 0.99 quantile */
    uint64_t point_ns; /* the point estimate that the configuration selects */
    uint64_t plain_ns; /* duration if every request took the mean: c0 + c1 k E[l] */
};

struct outlook {
    const struct plan_config *config;
    struct histogram *of; /* per application */
    struct batchtime batchtime;
    double *cdf; /* rows of HISTOGRAM_BINS + 1: one per application, then the mixture */
    struct outlook_size size[PLAN_SIZES];
    uint64_t *own_ns; /* [size][application]: E[L_B] if one request is of that application */
    uint64_t refreshed_ns;
    uint64_t samples, used_samples; /* number of times alone: in total, and at the latest refresh */
    bool changed;
};

/* The caller owns the configuration, which must outlive the estimates. Returns 0 or -ENOMEM. */
int outlook_init(struct outlook *o, const struct plan_config *config);
void outlook_finish(struct outlook *o);

void outlook_alone(struct outlook *o, uint32_t app, uint64_t ns, uint64_t now_ns);
/* Adds a batch that took `ns`; `size` is the index of its size. `longest_ns` is its longest request
 * alone; 0: not known, then the expected value is used. */
void outlook_batch(struct outlook *o, uint32_t size, uint64_t longest_ns, uint64_t ns);

/* Mean of the mean times alone of the applications with samples; 0 without samples. */
uint64_t outlook_alone_ns(const struct outlook *o);

/* Tests whether a refresh is due: something was learnt since the latest one, and the interval has
 * passed or the number of samples has more than doubled. */
bool outlook_due(const struct outlook *o, uint64_t now_ns);
void outlook_refresh(struct outlook *o, uint64_t now_ns);

/* EstimateBatchLatency(r, bs) of Algorithm 4.1, by the index of the size; never less than for a
 * smaller size. */
uint64_t outlook_batch_ns(const struct outlook *o, uint32_t size, uint32_t app);

/* Computes the shape of the scores of that application's requests in batches of that size; `shape`
 * has space for OUTLOOK_PIECES. */
#define OUTLOOK_PIECES (2 * HISTOGRAM_BINS)
void outlook_shape(const struct outlook *o, uint32_t size, uint32_t app, double b_per_ns,
                   struct score_shape *shape);

#endif
