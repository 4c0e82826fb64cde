/* SPDX-License-Identifier: Apache-2.0
 *
 * What is expected of batches: the distributions of all applications' times alone, what a batch
 * makes of them, and from both, for every batch size, how long a batch takes. All policies go by
 * these same numbers. They are made anew now and then, off the way of requests ("periodically,
 * completely off the critical path": thesis, section 4.3.2).
 *
 * Who else is in a batch is not known before it is formed (section 4.4.3). "We therefore always use
 * all execution time distributions associated with the model": each of its k requests is taken to
 * be of any application, of all that were seen with the same probability (section 5.2 says that
 * they are taken to contribute equally). So F = ((F_1 + ... + F_m) / m)^k. With `own` the request
 * that is looked at is of its own application, F = F_app ((F_1 + ... + F_m) / m)^(k - 1).
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

/* Of a batch of one size, ns. */
struct outlook_size {
    double longest_ns; /* of the batch, alone: E[max l] */
    uint64_t mean_ns;  /* E[L_B] (4.5) */
    uint64_t tail_ns;  /* its 0.99 quantile */
    uint64_t point_ns; /* the point estimate that the configuration asks for */
    uint64_t plain_ns; /* if every request took the mean: c0 + c1 k E[l] */
};

struct outlook {
    const struct plan_config *config;
    struct histogram *of; /* by application */
    struct batchtime batchtime;
    double *cdf; /* rows of HISTOGRAM_BINS + 1: each application's, then the mixture */
    struct outlook_size size[PLAN_SIZES];
    uint64_t *own_ns; /* [size][application]: E[L_B] with one of that application for certain */
    uint64_t refreshed_ns;
    uint64_t samples, used_samples; /* times alone: in all, and at the latest refresh */
    bool changed;
};

/* The configuration stays the caller's and must last. 0 or -ENOMEM. */
int outlook_init(struct outlook *o, const struct plan_config *config);
void outlook_finish(struct outlook *o);

void outlook_alone(struct outlook *o, uint32_t app, uint64_t ns, uint64_t now_ns);
/* A batch of that size took `ns`; its longest alone, 0: not known, then what is expected of it. */
void outlook_batch(struct outlook *o, uint32_t size, uint64_t longest_ns, uint64_t ns);

/* What a request takes alone, of any application; 0: none was seen. */
uint64_t outlook_alone_ns(const struct outlook *o);

/* Whether there is enough new for another refresh: it is time, or there is twice as much. */
bool outlook_due(const struct outlook *o, uint64_t now_ns);
void outlook_refresh(struct outlook *o, uint64_t now_ns);

/* EstimateBatchLatency(r, bs) of Algorithm 4.1, by the number of the size: never less than that of
 * a smaller size. */
uint64_t outlook_batch_ns(const struct outlook *o, uint32_t size, uint32_t app);

/* The shape of the scores of that application's requests in batches of that size; room for
 * OUTLOOK_PIECES. */
#define OUTLOOK_PIECES (2 * HISTOGRAM_BINS)
void outlook_shape(const struct outlook *o, uint32_t size, uint32_t app, double b_per_ns,
                   struct score_shape *shape);

#endif
