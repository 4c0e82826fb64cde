/* SPDX-License-Identifier: Apache-2.0
 *
 * The demand for a served model: requests at a rate that is a fraction of the workers' largest
 * possible rate. A function of the specification and a seed.
 *
 * Times alone: either applications with one mode each, or the two halves of a lognormal
 * distribution, short requests and long ones, "a mixture of both" (thesis, section 4.5.2), given by
 * mean and 0.99 quantile (Table 4.1).
 *
 * Arrivals: a Poisson process, a bursty process, or recorded gaps in order from a random start,
 * scaled to the rate. The trace of the thesis (Azure) is not included.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_SERVE_SERVING_DEMAND_H
#define DAEMON_SIM_SERVE_SERVING_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

struct demand_spec {
    /* Number of applications; their means are spaced evenly between low_ms and high_ms. */
    uint32_t modes;
    double low_ms, high_ms; /* with one mode: the midpoint */
    double sigma_ms;        /* deviation of the first mode */
    double widening;        /* ratio of the last mode's deviation to the first's; 0: 1 */
    double mean_ms, p99_ms; /* above 0: lognormal, with two applications whatever `modes` is */
    double c0_ms, c1;       /* batch duration (4.3) */
    double overhead_ms;     /* additional time per request of a batch; not part of the capacity */
    uint32_t largest;       /* largest batch */
    double load;            /* relative to the capacity */
    double slo;         /* deadline after arrival, relative to the 0.99 quantile of times alone */
    bool bursty;        /* a quarter of the time 2.5 times the rate, else half of it */
    const double *gaps; /* `gap_count` gaps in any unit, owned by the caller; NULL: none */
    uint32_t gap_count;
    bool unknown; /* no times are known at the start; false: 200 per application */
    uint32_t count, workers;
    uint64_t seed;
};

struct demand_request {
    uint64_t arrived_ns, deadline_ns, alone_ns;
    uint32_t app;
};

struct demand {
    struct demand_request *requests; /* `count` requests in order of arrival */
    double p99_ns;                   /* 0.99 quantile of times alone */
    double capacity; /* requests per second of all workers, in batches of the best size */
};

/* Returns 0, -ENOMEM, or -EDOM if no lognormal distribution has this mean and quantile. */
int serving_demand_init(struct demand *d, const struct demand_spec *spec);
void serving_demand_finish(struct demand *d);

/* Number of applications. */
uint32_t serving_demand_apps(const struct demand_spec *spec);

/* Draws a time alone of an application, in ns. */
struct draw;
uint64_t serving_demand_time(const struct demand_spec *spec, struct draw *draw, uint32_t app);

#endif
