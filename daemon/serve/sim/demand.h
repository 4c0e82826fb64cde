/* SPDX-License-Identifier: Apache-2.0
 *
 * Who asks for what and when: requests of several applications, of each of which the times alone
 * have one mode, at a rate that is a part of what one worker can serve at best. A function of what
 * is asked for and a seed. The trace of the thesis (Azure) is not here: arrivals are a Poisson
 * process, or one that bursts.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SERVE_SIM_DEMAND_H
#define DAEMON_SERVE_SIM_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

struct demand_spec {
    uint32_t modes;         /* applications; their means lie evenly between the next two */
    double low_ms, high_ms; /* one mode: in the middle */
    double sigma_ms;        /* of each mode */
    double c0_ms, c1;       /* what batches take (4.3) */
    uint32_t largest;       /* batch */
    double load;            /* of the capacity */
    double slo;             /* deadline after arrival, of the 0.99 quantile of times alone */
    bool bursty;            /* a quarter of the time 2.5 times the rate, else half of it */
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

/* 0 or -ENOMEM. */
int demand_init(struct demand *d, const struct demand_spec *spec);
void demand_finish(struct demand *d);

/* A time alone of an application, ns. */
struct draw;
uint64_t demand_time(const struct demand_spec *spec, struct draw *draw, uint32_t app);

#endif
