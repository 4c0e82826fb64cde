/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws random requests.
 */
#include "daemon/sim/serve/serving_demand.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/sim/serve/draw.h"
#include "daemon/sim/serve/lognormal.h"

#define MS 1e6
#define LEAST 0.05 /* least time alone, relative to the first mode's mean */
#define LEAST_NS 1e3
#define HIGH 2.5 /* rates of a bursty process, relative to the mean */
#define LOW 0.5
#define HIGH_P99 20.0 /* mean duration of each state, in 0.99 quantiles of times alone */
#define LOW_P99 60.0  /* 2.5 20 + 0.5 60 = 80 */

static double mode_ms(const struct demand_spec *s, uint32_t app) {
    if (s->modes == 1) return (s->low_ms + s->high_ms) / 2;
    return s->low_ms + (s->high_ms - s->low_ms) * app / (s->modes - 1);
}

static double sigma_ms(const struct demand_spec *s, uint32_t app) {
    double widening = s->widening > 0 && s->modes > 1 ? s->widening : 1;
    double part = s->modes > 1 ? (double)app / (s->modes - 1) : 0;
    return s->sigma_ms * (1 + (widening - 1) * part);
}

static double time_ms(const struct demand_spec *s, struct draw *draw, uint32_t app) {
    double normal = draw_normal(draw);
    if (s->mean_ms > 0) {
        bool other = (normal > 0) != (app > 0); /* the two halves mirror each other */
        return lognormal_at(s->mean_ms, s->p99_ms, other ? -normal : normal);
    }
    double ms = mode_ms(s, app) + sigma_ms(s, app) * normal, least_ms = LEAST * s->low_ms;
    return ms > least_ms ? ms : least_ms;
}

uint32_t serving_demand_apps(const struct demand_spec *spec) {
    return spec->mean_ms > 0 ? 2 : spec->modes;
}

uint64_t serving_demand_time(const struct demand_spec *spec, struct draw *draw, uint32_t app) {
    double ns = time_ms(spec, draw, app) * MS;
    return (uint64_t)(ns > LEAST_NS ? ns : LEAST_NS);
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts a copy of the times. */
static int find_p99(struct demand *d, const struct demand_spec *s) {
    uint64_t *times = malloc(s->count * sizeof(*times));
    if (!times) return -ENOMEM;
    for (uint32_t i = 0; i < s->count; i++)
        times[i] = d->requests[i].alone_ns;
    qsort(times, s->count, sizeof(*times), ascending);
    uint64_t rank = (uint64_t)s->count * 99 / 100;
    d->p99_ns = (double)times[rank];
    free(times);
    return 0;
}

/* Requests per second if batches of `size` take the requests in order. */
static double rate_of(const struct demand *d, const struct demand_spec *s, uint32_t size) {
    double ns = 0;
    uint32_t served = 0;
    for (; served + size <= s->count; served += size) {
        uint64_t longest = 0;
        for (uint32_t i = 0; i < size; i++)
            if (d->requests[served + i].alone_ns > longest)
                longest = d->requests[served + i].alone_ns;
        ns += s->c0_ms * MS + s->c1 * size * (double)longest;
    }
    return served / (ns / 1e9);
}

static void find_capacity(struct demand *d, const struct demand_spec *s) {
    for (uint32_t size = 1; size <= s->largest && size <= s->count; size *= 2) {
        double rate = rate_of(d, s, size) * s->workers;
        if (rate > d->capacity) d->capacity = rate;
    }
}

static void arrive(struct demand *d, const struct demand_spec *s, uint32_t request, double at) {
    d->requests[request].arrived_ns = (uint64_t)at;
    d->requests[request].deadline_ns = (uint64_t)(at + s->slo * d->p99_ns);
}

/* Sums up gaps between arrivals. A bursty process changes between two states with different
 * rates. */
static void fill_arrivals(struct demand *d, const struct demand_spec *s, struct draw *draw) {
    double at = 0, until = 0, rate = s->load * d->capacity / 1e9;
    bool high = false;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->bursty && at >= until) {
            high = !high;
            until = at + d->p99_ns * (high ? HIGH_P99 : LOW_P99) * draw_exponential(draw);
        }
        at += draw_exponential(draw) / (rate * (!s->bursty ? 1 : high ? HIGH : LOW));
        arrive(d, s, i, at);
    }
}

/* Uses the recorded gaps in order, scaled so that their mean matches the rate. */
static void fill_gaps(struct demand *d, const struct demand_spec *s, struct draw *draw) {
    double at = 0, sum = 0, rate = s->load * d->capacity / 1e9;
    uint32_t first = draw_below(draw, s->gap_count);
    for (uint32_t i = 0; i < s->gap_count; i++)
        sum += s->gaps[i];
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t gap = (uint32_t)(((uint64_t)first + i) % s->gap_count);
        at += s->gaps[gap] * s->gap_count / (sum * rate);
        arrive(d, s, i, at);
    }
}

int serving_demand_init(struct demand *d, const struct demand_spec *spec) {
    struct draw draw = {spec->seed};
    if (spec->mean_ms > 0 && !lognormal_is(spec->mean_ms, spec->p99_ms)) return -EDOM;
    *d = (struct demand){.requests = calloc(spec->count, sizeof(*d->requests))};
    if (!d->requests) return -ENOMEM;
    for (uint32_t i = 0; i < spec->count; i++) {
        d->requests[i].app = draw_below(&draw, serving_demand_apps(spec));
        d->requests[i].alone_ns = serving_demand_time(spec, &draw, d->requests[i].app);
    }
    if (find_p99(d, spec)) {
        serving_demand_finish(d);
        return -ENOMEM;
    }
    find_capacity(d, spec);
    if (spec->gaps)
        fill_gaps(d, spec, &draw);
    else
        fill_arrivals(d, spec, &draw);
    return 0;
}

void serving_demand_finish(struct demand *d) {
    free(d->requests);
    d->requests = NULL;
}
