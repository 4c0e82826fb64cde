/* SPDX-License-Identifier: Apache-2.0
 *
 * Who asks for what and when: requests at a rate that is a part of what the workers can serve at
 * best. A function of what is asked for and a seed.
 *
 * How long they take alone: applications that have a mode each, or the two halves of a lognormal
 * distribution, short requests and long ones, "a mixture of both" (thesis, section 4.5.2), of which
 * the mean and the 0.99 quantile are told (Table 4.1).
 *
 * When: a Poisson process, one that bursts, or gaps that were seen somewhere, in their order from a
 * place at random on, each as much longer or shorter as the rate asks for. The trace of the thesis
 * (Azure) is not here.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_SERVE_SERVING_DEMAND_H
#define DAEMON_SIM_SERVE_SERVING_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

struct demand_spec {
    uint32_t modes;         /* applications; their means lie evenly between the next two */
    double low_ms, high_ms; /* one mode: in the middle */
    double sigma_ms;        /* of the first mode */
    double widening;        /* of the last mode's deviation to the first's; 0: 1 */
    double mean_ms, p99_ms; /* above 0: lognormal, and two applications whatever `modes` says */
    double c0_ms, c1;       /* what batches take (4.3) */
    double overhead_ms;     /* and beside that for each request of it; no part of the capacity */
    uint32_t largest;       /* batch */
    double load;            /* of the capacity */
    double slo;             /* deadline after arrival, of the 0.99 quantile of times alone */
    bool bursty;            /* a quarter of the time 2.5 times the rate, else half of it */
    const double *gaps;     /* `gap_count`, of any unit, the caller's; NULL: none */
    uint32_t gap_count;
    bool unknown; /* before it begins nobody has seen a request; not: 200 of each application */
    uint32_t count, workers;
    uint64_t seed;
};

struct demand_request {
    uint64_t arrived_ns, deadline_ns, alone_ns;
    uint32_t app;
};

struct demand {
    struct demand_request *requests; /* `count`, in order of arrival */
    double p99_ns;                   /* of times alone */
    double capacity; /* requests a second of all workers, in batches of the best size */
};

/* 0 or -ENOMEM; -EDOM: no lognormal distribution has such a mean and such a quantile. */
int serving_demand_init(struct demand *d, const struct demand_spec *spec);
void serving_demand_finish(struct demand *d);

/* Applications that there are. */
uint32_t serving_demand_apps(const struct demand_spec *spec);

/* A time alone of an application, ns. */
struct draw;
uint64_t serving_demand_time(const struct demand_spec *spec, struct draw *draw, uint32_t app);

#endif
