/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of equal demand form a class with one clock, one rate and one heap.
 */
#include "daemon/sim/device/simdev.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/minheap.h"

#define DEMANDS 1001 /* thousandths, 0 unused */
#define LEFT_NS 1e-3 /* an iteration with less remaining time has ended */
/* Clocks are doubles and restart here, so that the smallest progress within a nanosecond stays
 * visible. */
#define CLOCK_MAX 0x1p36

struct class {
    struct minheap jobs; /* running jobs: the earliest end first, equal ones by job */
    uint32_t demand_milli;
    double clock; /* progress, in ns alone, of a member that began at 0 */
    double rate;
};

struct simdev {
    struct class classes[DEMANDS];
    uint32_t *items;                 /* memory of all heaps */
    double *ends;                    /* per job: end on the clock of its class */
    const struct workload_job *jobs; /* for their demand */
    struct class *active[DEMANDS];   /* ordered by demand */
    uint32_t active_count, running;
    uint32_t left_milli; /* remaining fraction of the device when several jobs run */
    bool settled;        /* rates are up to date */
    uint64_t now_ns;
    double active_ns, running_ns;
};

int simdev_create(struct simdev **out, const struct workload *w) {
    struct simdev *d = *out = calloc(1, sizeof(*d));
    uint32_t members[DEMANDS] = {0}, at = 0;
    if (!d) return -ENOMEM;
    d->items = malloc((w->count + 1u) * sizeof(*d->items));
    d->ends = malloc((w->count + 1u) * sizeof(*d->ends));
    if (!d->items || !d->ends) {
        simdev_destroy(d);
        *out = NULL;
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < w->count; i++)
        members[w->jobs[i].demand_milli]++;
    for (uint32_t i = 0; i < DEMANDS; at += members[i++]) {
        d->classes[i].jobs.items = d->items + at;
        d->classes[i].demand_milli = i;
    }
    d->jobs = w->jobs;
    d->left_milli = w->left_milli ? w->left_milli : 1000;
    return 0;
}

void simdev_destroy(struct simdev *d) {
    if (!d) return;
    free(d->items);
    free(d->ends);
    free(d);
}

static double first_end(const struct simdev *d, const struct class *c) {
    return d->ends[c->jobs.items[0]];
}

static bool before(const void *keys, uint32_t a, uint32_t b) {
    const double *ends = keys;
    return ends[a] == ends[b] ? a < b : ends[a] < ends[b];
}

/* ---- rates ----------------------------------------------------------------------------------- */

static void settle(struct simdev *d) {
    uint32_t left_milli = d->running > 1 ? d->left_milli : 1000, members = d->running, i = 0;
    for (; i < d->active_count; i++) {
        struct class *c = d->active[i];
        if ((uint64_t)c->demand_milli * members > left_milli) break;
        c->rate = 1;
        left_milli -= c->demand_milli * c->jobs.count;
        members -= c->jobs.count;
    }
    for (; i < d->active_count; i++) /* the level is left / members */
        d->active[i]->rate = (double)left_milli / members / d->active[i]->demand_milli;
    d->settled = true;
}

static void restart_clock(struct simdev *d, struct class *c) {
    for (uint32_t i = 0; i < c->jobs.count; i++)
        d->ends[c->jobs.items[i]] -= c->clock;
    c->clock = 0;
}

static void advance(struct simdev *d, uint64_t now_ns) {
    double dt = (double)(now_ns - d->now_ns);
    d->now_ns = now_ns;
    if (dt == 0 || d->running == 0) return;
    if (!d->settled) settle(d);
    for (uint32_t i = 0; i < d->active_count; i++) {
        struct class *c = d->active[i];
        c->clock += dt * c->rate;
        if (c->clock > CLOCK_MAX) restart_clock(d, c);
    }
    d->active_ns += dt;
    d->running_ns += dt * d->running;
}

static void activate(struct simdev *d, struct class *c) {
    uint32_t i = d->active_count++;
    for (; i > 0 && d->active[i - 1]->demand_milli > c->demand_milli; i--)
        d->active[i] = d->active[i - 1];
    d->active[i] = c;
    c->clock = 0;
}

void simdev_start(struct simdev *d, uint64_t now_ns, uint32_t job, uint64_t duration_ns) {
    struct class *c = &d->classes[d->jobs[job].demand_milli];
    advance(d, now_ns);
    if (c->jobs.count == 0) activate(d, c);
    d->ends[job] = c->clock + (double)duration_ns;
    minheap_add(&c->jobs, job, before, d->ends);
    d->running++;
    d->settled = false;
}

/* ---- ends ------------------------------------------------------------------------------------ */

uint64_t simdev_next(struct simdev *d) {
    uint64_t next = SIMDEV_NEVER;
    if (!d->settled) settle(d);
    for (uint32_t i = 0; i < d->active_count; i++) {
        const struct class *c = d->active[i];
        double left = first_end(d, c) - c->clock;
        if (left < LEFT_NS) return d->now_ns;
        left /= c->rate;
        uint64_t whole = (uint64_t)left;
        uint64_t at = d->now_ns + whole + (left - (double)whole >= LEFT_NS);
        if (at < next) next = at;
    }
    return next;
}

static int by_job(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

uint32_t simdev_finished(struct simdev *d, uint64_t now_ns, uint32_t *jobs) {
    uint32_t count = 0, kept = 0;
    advance(d, now_ns);
    for (uint32_t i = 0; i < d->active_count; i++) {
        struct class *c = d->active[i];
        /* an end that simdev_next rounded down to now counts as reached */
        while (c->jobs.count > 0 && first_end(d, c) - c->clock < LEFT_NS)
            jobs[count++] = minheap_take(&c->jobs, before, d->ends);
        if (c->jobs.count > 0) d->active[kept++] = c;
    }
    d->active_count = kept;
    d->running -= count;
    if (count > 0) d->settled = false;
    qsort(jobs, count, sizeof(*jobs), by_job);
    return count;
}

uint32_t simdev_running(const struct simdev *d) {
    return d->running;
}

double simdev_active_ns(const struct simdev *d) {
    return d->active_ns;
}

double simdev_running_ns(const struct simdev *d) {
    return d->running_ns;
}
