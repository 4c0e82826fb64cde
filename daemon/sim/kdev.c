/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams with rings of operations; the list of running heads, small and scanned; slots and rates
 * reckoned anew whenever that list or a wave changes.
 */
#include "daemon/sim/kdev.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/contention.h"

#define LEFT_NS 1e-3   /* less than this is left of an operation or of a wave: it has ended */
#define SLOTS_MIN 1e-6 /* less than this is no slot */
#define ROUNDS 8       /* of the two units' levels: each round changes the other's by less */
#define FAR_NS 1e18

struct item {
    const struct kdev_work *work;
    uint64_t ready_ns;
    uint32_t level;
};

struct stream {
    struct item *ring;
    uint32_t first, count;
};

struct head {
    const struct kdev_work *work;
    uint32_t stream, level;
    uint32_t waves; /* that have ended */
    double done_ns; /* of its time alone */
    double slots;   /* that it holds */
    double part;    /* of the slots that it wants */
    double rate;
};

struct kdev {
    struct kdev_contention contention;
    struct stream *streams;
    struct item *items;
    struct head *running; /* by stream, ascending */
    uint32_t *waiting;    /* streams whose head is not ready, in no order */
    uint32_t running_count, waiting_count;
    uint32_t mask; /* of rings */
    bool settled;  /* slots, rates and next_ns are those of the running ones */
    uint64_t now_ns, next_ns;
    double used; /* slots, while settled */
    double active_ns, running_ns, slots_ns;
};

/* ---- kernels --------------------------------------------------------------------------------- */

static double utilisation(uint32_t milli, double by_class) {
    return milli == WORKLOAD_BY_CLASS ? by_class : milli / 1000.0;
}

struct kdev_work kdev_work_of(const struct workload_kernel *k, uint32_t sms) {
    struct kdev_work out = {.duration_ns = (double)k->duration_ns};
    if (k->copy) return out;
    double filled = (double)k->sms / sms, part = fmin(filled, 1), compute, memory;
    double busy = fmin(part / CONTENTION_MEMORY_SMS, 1); /* of the bandwidth it could reach */
    out.want = part;
    if (filled > 1) out.wave_ns = out.duration_ns / filled;
    switch (k->class) {
    case SCHED_CLASS_COMPUTE:
        compute = CONTENTION_COMPUTE_COMPUTE * part;
        memory = CONTENTION_COMPUTE_MEMORY * part;
        break;
    case SCHED_CLASS_MEMORY:
        compute = CONTENTION_MEMORY_COMPUTE * busy;
        memory = CONTENTION_MEMORY_MEMORY * busy;
        break;
    default: compute = memory = CONTENTION_UNKNOWN_BOTH * part; break;
    }
    out.compute = utilisation(k->compute_milli, compute);
    out.memory = utilisation(k->memory_milli, memory);
    return out;
}

/* ---- life ------------------------------------------------------------------------------------ */

int kdev_create(struct kdev **out, const struct kdev_contention *contention, uint32_t streams,
                uint32_t depth) {
    struct kdev *d = *out = calloc(1, sizeof(*d));
    uint32_t ring = 1;
    if (!d) return -ENOMEM;
    while (ring < depth)
        ring *= 2;
    d->contention = *contention;
    d->mask = ring - 1;
    d->settled = true;
    d->next_ns = KDEV_NEVER;
    d->streams = calloc(streams + 1u, sizeof(*d->streams));
    d->items = calloc((size_t)streams * ring + 1, sizeof(*d->items));
    d->running = calloc(streams + 1u, sizeof(*d->running));
    d->waiting = calloc(streams + 1u, sizeof(*d->waiting));
    if (!d->streams || !d->items || !d->running || !d->waiting) {
        kdev_destroy(d);
        *out = NULL;
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < streams; i++)
        d->streams[i].ring = d->items + (size_t)i * ring;
    return 0;
}

void kdev_destroy(struct kdev *d) {
    if (!d) return;
    free(d->streams);
    free(d->items);
    free(d->running);
    free(d->waiting);
    free(d);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static bool lacks(const struct head *h) {
    return h->slots < h->work->want;
}

/* A wave that ends now gives its slots back. Those that ended while nobody asked were the same
 * blocks' successors on the same slots. */
static void end_waves(struct kdev *d) {
    for (uint32_t i = 0; i < d->running_count; i++) {
        struct head *h = &d->running[i];
        if (h->work->wave_ns <= 0) continue;
        uint32_t waves = (uint32_t)((h->done_ns + LEFT_NS) / h->work->wave_ns);
        if (waves > h->waves && h->done_ns - waves * h->work->wave_ns < LEFT_NS) h->slots = 0;
        h->waves = waves;
    }
}

/* Raises the least provided of a level together, until nobody lacks or nothing is free: returns
 * what is left. Each round brings one of them to where another is, or to what it wants. */
static double give(struct kdev *d, uint32_t level, double left) {
    while (left > SLOTS_MIN) {
        double low = INFINITY, next = INFINITY;
        uint32_t count = 0;
        for (uint32_t i = 0; i < d->running_count; i++) {
            const struct head *h = &d->running[i];
            if (h->level == level && lacks(h) && h->slots < low) low = h->slots;
        }
        if (low == INFINITY) return left;
        for (uint32_t i = 0; i < d->running_count; i++) {
            const struct head *h = &d->running[i];
            if (h->level != level || !lacks(h)) continue;
            if (h->slots == low) {
                count++;
                next = fmin(next, h->work->want);
            } else {
                next = fmin(next, h->slots);
            }
        }
        if ((next - low) * count > left) next = low + left / count;
        left -= (next - low) * count;
        for (uint32_t i = 0; i < d->running_count; i++) {
            struct head *h = &d->running[i];
            if (h->level == level && lacks(h) && h->slots == low) h->slots = next;
        }
        if (next == low) return 0;
    }
    return left;
}

static void share_slots(struct kdev *d) {
    double left = d->contention.slots, wanted = 0;
    for (uint32_t i = 0; i < d->running_count; i++) {
        left -= d->running[i].slots;
        wanted += d->running[i].work->want - d->running[i].slots;
    }
    if (wanted <= left) {
        for (uint32_t i = 0; i < d->running_count; i++)
            d->running[i].slots = d->running[i].work->want;
        return;
    }
    left = give(d, 1, left);
    give(d, 0, left);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Part of what each unit can do that a kernel may use: as much as it likes below the level. */
struct levels {
    double compute, memory;
};

static double rate_within(const struct head *h, const struct levels *l) {
    double rate = h->part;
    if (rate * h->work->compute > l->compute) rate = l->compute / h->work->compute;
    if (rate * h->work->memory > l->memory) rate = l->memory / h->work->memory;
    return rate;
}

/* The level of one unit at which all of it is used, the other's being as it is; INFINITY when all
 * together use less. Fills it step by step: below the level stay those that ask for less. */
static double fill(const struct kdev *d, const struct levels *other, bool memory, double capacity) {
    struct levels without = *other;
    *(memory ? &without.memory : &without.compute) = INFINITY;
    double level = 0, left = capacity;
    uint32_t above;
    for (;;) {
        double next = INFINITY, below = 0;
        above = 0;
        for (uint32_t i = 0; i < d->running_count; i++) {
            const struct head *h = &d->running[i];
            double use = rate_within(h, &without) * (memory ? h->work->memory : h->work->compute);
            if (use <= level) {
                below += use;
                continue;
            }
            above++;
            next = fmin(next, use);
        }
        if (above == 0) return INFINITY;
        left = capacity - below;
        if (next * above > left) return left / above;
        level = next;
    }
}

static void share_units(struct kdev *d, double capacity) {
    struct levels levels = {INFINITY, INFINITY};
    for (int round = 0; round < ROUNDS; round++) {
        double compute = fill(d, &levels, false, capacity);
        bool same = compute == levels.compute;
        levels.compute = compute;
        double memory = fill(d, &levels, true, capacity);
        same = same && memory == levels.memory;
        levels.memory = memory;
        if (same) break;
    }
    for (uint32_t i = 0; i < d->running_count; i++)
        d->running[i].rate = rate_within(&d->running[i], &levels);
}

static void share(struct kdev *d) {
    double compute = 0, memory = 0;
    uint32_t several = 0;
    end_waves(d);
    share_slots(d);
    d->used = 0;
    for (uint32_t i = 0; i < d->running_count; i++) {
        struct head *h = &d->running[i];
        h->part = h->work->want <= 0 ? 1 : h->slots < SLOTS_MIN ? 0 : h->slots / h->work->want;
        h->rate = h->part;
        several += h->slots >= SLOTS_MIN;
        compute += h->part * h->work->compute;
        memory += h->part * h->work->memory;
        d->used += h->slots;
    }
    double capacity = several > 1 ? d->contention.left : 1;
    if (compute > capacity || memory > capacity) share_units(d, capacity);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* When a wave's end would change who has which slots: somebody lacks some who comes before the
 * kernel, or beside it with less. */
static bool wave_matters(const struct kdev *d, const struct head *h) {
    for (uint32_t i = 0; i < d->running_count; i++) {
        const struct head *o = &d->running[i];
        if (o != h && lacks(o) &&
            (o->level > h->level || (o->level == h->level && o->slots < h->slots)))
            return true;
    }
    return false;
}

static uint64_t reach(const struct kdev *d, double left_ns, double rate) {
    if (left_ns < LEFT_NS) return d->now_ns;
    double ns = left_ns / rate;
    if (ns > FAR_NS) ns = FAR_NS;
    uint64_t whole = (uint64_t)ns;
    return d->now_ns + whole + (ns - (double)whole >= LEFT_NS);
}

static void settle(struct kdev *d) {
    if (d->settled) return;
    d->settled = true;
    d->next_ns = KDEV_NEVER;
    share(d);
    bool lacking = false;
    for (uint32_t i = 0; i < d->running_count; i++)
        lacking |= lacks(&d->running[i]);
    for (uint32_t i = 0; i < d->running_count; i++) {
        const struct head *h = &d->running[i];
        if (h->rate <= 0) continue;
        double end_ns = h->work->duration_ns;
        if (lacking && h->work->wave_ns > 0 && wave_matters(d, h))
            end_ns = fmin(end_ns, (h->waves + 1) * h->work->wave_ns);
        uint64_t at = reach(d, end_ns - h->done_ns, h->rate);
        if (at < d->next_ns) d->next_ns = at;
    }
    for (uint32_t i = 0; i < d->waiting_count; i++) {
        const struct stream *s = &d->streams[d->waiting[i]];
        uint64_t at = s->ring[s->first].ready_ns;
        if (at < d->next_ns) d->next_ns = at;
    }
}

static void advance(struct kdev *d, uint64_t now_ns) {
    double dt = (double)(now_ns - d->now_ns);
    if (dt > 0 && d->running_count > 0) {
        settle(d);
        for (uint32_t i = 0; i < d->running_count; i++)
            d->running[i].done_ns += dt * d->running[i].rate;
        d->active_ns += dt;
        d->running_ns += dt * d->running_count;
        d->slots_ns += dt * d->used;
    }
    d->now_ns = now_ns;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The stream's head begins, or waits until it is ready. */
static void begin(struct kdev *d, uint32_t stream) {
    struct stream *s = &d->streams[stream];
    const struct item *item = &s->ring[s->first];
    d->settled = false;
    if (item->ready_ns > d->now_ns) {
        d->waiting[d->waiting_count++] = stream;
        return;
    }
    uint32_t i = d->running_count++;
    for (; i > 0 && d->running[i - 1].stream > stream; i--)
        d->running[i] = d->running[i - 1];
    d->running[i] = (struct head){.work = item->work, .stream = stream, .level = item->level > 0};
}

void kdev_push(struct kdev *d, uint64_t now_ns, uint32_t stream, const struct kdev_work *work,
               uint64_t ready_ns, uint32_t level) {
    struct stream *s = &d->streams[stream];
    advance(d, now_ns);
    s->ring[(s->first + s->count++) & d->mask] = (struct item){work, ready_ns, level};
    if (s->count == 1) begin(d, stream);
}

uint64_t kdev_next(struct kdev *d) {
    settle(d);
    return d->next_ns;
}

static void begin_ready(struct kdev *d) {
    for (uint32_t i = 0; i < d->waiting_count;) {
        const struct stream *s = &d->streams[d->waiting[i]];
        uint32_t stream = d->waiting[i];
        if (s->ring[s->first].ready_ns > d->now_ns) {
            i++;
            continue;
        }
        d->waiting[i] = d->waiting[--d->waiting_count];
        begin(d, stream);
    }
}

uint32_t kdev_finished(struct kdev *d, uint64_t now_ns, uint32_t *streams) {
    uint32_t count = 0, kept = 0;
    advance(d, now_ns);
    d->settled = false;
    for (uint32_t i = 0; i < d->running_count; i++) {
        const struct head *h = &d->running[i];
        if (h->work->duration_ns - h->done_ns < LEFT_NS)
            streams[count++] = h->stream;
        else
            d->running[kept++] = *h;
    }
    d->running_count = kept;
    begin_ready(d);
    for (uint32_t i = 0; i < count; i++) {
        struct stream *s = &d->streams[streams[i]];
        s->first = (s->first + 1) & d->mask;
        if (--s->count > 0) begin(d, streams[i]);
    }
    return count;
}

double kdev_active_ns(const struct kdev *d) {
    return d->active_ns;
}

double kdev_running_ns(const struct kdev *d) {
    return d->running_ns;
}

double kdev_slots_ns(const struct kdev *d) {
    return d->slots_ns;
}
