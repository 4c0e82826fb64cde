/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests at random.
 */
#include "daemon/serve/sim/demand.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/serve/sim/draw.h"

#define MS 1e6
#define LEAST_MS 0.5 /* of a time alone */
#define HIGH 2.5     /* rates of a bursty process, of the mean */
#define LOW 0.5
#define HIGH_P99 20.0 /* how long each lasts on average, in 0.99 quantiles of times alone */
#define LOW_P99 60.0  /* 2.5 20 + 0.5 60 = 80 */

static double mode_ms(const struct demand_spec *s, uint32_t app) {
    if (s->modes == 1) return (s->low_ms + s->high_ms) / 2;
    return s->low_ms + (s->high_ms - s->low_ms) * app / (s->modes - 1);
}

uint64_t demand_time(const struct demand_spec *spec, struct draw *draw, uint32_t app) {
    double ms = mode_ms(spec, app) + spec->sigma_ms * draw_normal(draw);
    return (uint64_t)((ms > LEAST_MS ? ms : LEAST_MS) * MS);
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Needs a copy of the times, which is sorted. */
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

/* Requests a second, when each batch of `size` takes those that come one after the other. */
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

/* When: by the sum of gaps, in a state that lasts for a while where it is bursty. */
static void fill_arrivals(struct demand *d, const struct demand_spec *s, struct draw *draw) {
    double at = 0, until = 0, rate = s->load * d->capacity / 1e9;
    bool high = false;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->bursty && at >= until) {
            high = !high;
            until = at + d->p99_ns * (high ? HIGH_P99 : LOW_P99) * draw_exponential(draw);
        }
        at += draw_exponential(draw) / (rate * (!s->bursty ? 1 : high ? HIGH : LOW));
        d->requests[i].arrived_ns = (uint64_t)at;
        d->requests[i].deadline_ns = (uint64_t)(at + s->slo * d->p99_ns);
    }
}

int demand_init(struct demand *d, const struct demand_spec *spec) {
    struct draw draw = {spec->seed};
    *d = (struct demand){.requests = calloc(spec->count, sizeof(*d->requests))};
    if (!d->requests) return -ENOMEM;
    for (uint32_t i = 0; i < spec->count; i++) {
        d->requests[i].app = draw_below(&draw, spec->modes);
        d->requests[i].alone_ns = demand_time(spec, &draw, d->requests[i].app);
    }
    if (find_p99(d, spec)) {
        demand_finish(d);
        return -ENOMEM;
    }
    find_capacity(d, spec);
    fill_arrivals(d, spec, &draw);
    return 0;
}

void demand_finish(struct demand *d) {
    free(d->requests);
    d->requests = NULL;
}
