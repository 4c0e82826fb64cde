/* SPDX-License-Identifier: Apache-2.0
 *
 * Each stream has a ring of operations. The list of running heads is short and scanned linearly.
 */
#include "daemon/sim/device/kdev.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/policy/contention.h"
#include "daemon/sim/device/kshare.h"

#define FAR_NS 1e18

struct item {
    const struct kdev_work *work;
    uint64_t ready_ns;
    uint32_t level;
    bool waited; /* has waited for the slices of others */
};

struct stream {
    struct item *ring;
    uint32_t first, count;
    double slots; /* limit for its kernels */
    bool still;
};

struct kdev {
    struct kdev_contention contention;
    struct stream *streams;
    struct item *items;
    struct kshare_head *running; /* ordered by stream */
    uint32_t *waiting;           /* unordered streams whose head is not ready */
    uint32_t running_count, waiting_count;
    uint32_t mask; /* index mask of the rings */
    bool settled;  /* slots, rates and next_ns are up to date */
    uint64_t slice_ns;
    bool subgrids;
    uint64_t now_ns, next_ns;
    double used; /* slots in use, valid while settled */
    double active_ns, running_ns, slots_ns;
};

/* ---- kernels --------------------------------------------------------------------------------- */

/* The given value, or one typical of the class if its SMs are `busy` to this fraction. */
static double utilisation(uint32_t milli, uint32_t typical, double busy) {
    return milli == WORKLOAD_BY_CLASS ? typical / 1000.0 * busy : milli / 1000.0;
}

struct kdev_work kdev_work_of(const struct workload *w, const struct workload_kernel *k) {
    struct kdev_work out = {.duration_ns = (double)k->duration_ns};
    if (w->sliced) out.want = k->use_milli / 1000.0;
    if (w->sliced || k->copy) return out;
    const struct contention_typical typical = contention_typical(k->class);
    double filled = (double)k->sms / w->sms, part = fmin(filled, 1);
    double busy = fmin(part / (typical.sms / 1000.0), 1);
    out.want = part;
    out.full = fmin((double)k->full / w->sms, part);
    out.fit = fmin((double)workload_fit_sms(w, k) / w->sms, part);
    if (filled > 1) out.wave_ns = out.duration_ns / filled;
    out.compute = utilisation(k->compute_milli, typical.compute, busy);
    out.memory = utilisation(k->memory_milli, typical.memory, busy);
    return out;
}

/* ---- create and destroy ---------------------------------------------------------------------- */

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
        d->streams[i] = (struct stream){.ring = d->items + (size_t)i * ring, .slots = 1};
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

/* ---- time ------------------------------------------------------------------------------------ */

/* Tests whether the end of a wave would move slots: a kernel lacks some that has a higher level, or
 * the same level with fewer slots. */
static bool wave_matters(const struct kdev *d, const struct kshare_head *h) {
    if (d->subgrids && d->streams[h->stream].still) return true;
    for (uint32_t i = 0; i < d->running_count; i++) {
        const struct kshare_head *o = &d->running[i];
        if (o != h && kshare_lacks(o) &&
            (o->level > h->level || (o->level == h->level && o->slots < h->slots)))
            return true;
    }
    return false;
}

static uint64_t reach(const struct kdev *d, double left_ns, double rate) {
    if (left_ns < KSHARE_LEFT_NS) return d->now_ns;
    double ns = left_ns / rate;
    if (ns > FAR_NS) ns = FAR_NS;
    uint64_t whole = (uint64_t)ns;
    return d->now_ns + whole + (ns - (double)whole >= KSHARE_LEFT_NS);
}

/* The end of a slice matters only while a kernel of a higher level lacks slots. */
static bool is_pressed(const struct kdev *d) {
    for (uint32_t i = 0; d->slice_ns && i < d->running_count; i++)
        if (d->running[i].level > 0 && kshare_lacks(&d->running[i])) return true;
    return false;
}

static bool gives_way(const struct kdev *d, const struct kshare_head *h, bool pressed) {
    return d->streams[h->stream].still || (pressed && h->level == 0);
}

/* A kernel that is to pause does not launch its next wave. */
static void end_subgrids(struct kdev *d) {
    for (uint32_t i = 0; d->subgrids && i < d->running_count; i++) {
        struct kshare_head *h = &d->running[i];
        if (d->streams[h->stream].still && kshare_wave_ended(h)) h->want = 0;
    }
}

static void end_slices(struct kdev *d) {
    bool pressed = is_pressed(d);
    for (uint32_t i = 0; d->slice_ns && i < d->running_count; i++) {
        struct kshare_head *h = &d->running[i];
        if (!gives_way(d, h, pressed) || (d->now_ns - h->begun_ns) % d->slice_ns != 0) continue;
        h->slots = 0;
        if (d->streams[h->stream].still) h->want = 0;
    }
}

static void find_slices(struct kdev *d) {
    bool pressed = is_pressed(d);
    for (uint32_t i = 0; d->slice_ns && i < d->running_count; i++) {
        const struct kshare_head *h = &d->running[i];
        uint64_t passed_ns = d->now_ns - h->begun_ns;
        uint64_t at = d->now_ns + d->slice_ns - passed_ns % d->slice_ns;
        if (gives_way(d, h, pressed) && h->slots > 0 && at < d->next_ns) d->next_ns = at;
    }
}

static void settle(struct kdev *d) {
    if (d->settled) return;
    d->settled = true;
    d->next_ns = KDEV_NEVER;
    end_slices(d);
    end_subgrids(d);
    d->used = kshare(d->running, d->running_count, &d->contention);
    bool lacking = false;
    for (uint32_t i = 0; i < d->running_count; i++)
        lacking |= kshare_lacks(&d->running[i]) || d->streams[d->running[i].stream].still;
    for (uint32_t i = 0; i < d->running_count; i++) {
        const struct kshare_head *h = &d->running[i];
        if (h->rate <= 0) continue;
        double end_ns = h->work->duration_ns;
        if (lacking && h->wave_ns > 0 && wave_matters(d, h))
            end_ns = fmin(end_ns, (h->waves + 1) * h->wave_ns);
        uint64_t at = reach(d, end_ns - h->done_ns, h->rate);
        if (at < d->next_ns) d->next_ns = at;
    }
    for (uint32_t i = 0; i < d->waiting_count; i++) {
        const struct stream *s = &d->streams[d->waiting[i]];
        uint64_t at = s->ring[s->first].ready_ns;
        if (at < d->next_ns) d->next_ns = at;
    }
    find_slices(d);
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

/* With fewer slots than it could use, the kernel's blocks take more waves of the same length. */
static struct kshare_head head_of(const struct stream *s, bool sliced, const struct item *item,
                                  uint32_t stream) {
    const struct kdev_work *w = item->work;
    struct kshare_head h = {.work = w, .stream = stream, .level = item->level > 0};
    h.want = h.level == 0 && w->fit > 0 ? w->fit : w->want;
    h.wave_ns = w->wave_ns;
    if (h.want > s->slots) h.want = s->slots;
    if (w->want <= h.want) return h;
    if (sliced) return h;
    h.wave_ns = (w->wave_ns > 0 ? w->wave_ns : w->duration_ns) * h.want / w->want;
    return h;
}

/* Starts the stream's head, or lets it wait until it is ready and until others have had their
 * slices. */
static void begin(struct kdev *d, uint32_t stream) {
    struct stream *s = &d->streams[stream];
    struct item *item = &s->ring[s->first];
    d->settled = false;
    if (!item->waited && d->running_count > 0 && item->ready_ns <= d->now_ns) {
        item->ready_ns = d->now_ns + (d->contention.sliced ? d->contention.wait_ns : 0);
        item->waited = true;
    }
    if (item->ready_ns > d->now_ns) {
        d->waiting[d->waiting_count++] = stream;
        return;
    }
    uint32_t i = d->running_count++;
    for (; i > 0 && d->running[i - 1].stream > stream; i--)
        d->running[i] = d->running[i - 1];
    d->running[i] = head_of(s, d->contention.sliced, item, stream);
    d->running[i].begun_ns = d->now_ns;
}

void kdev_slice(struct kdev *d, uint64_t ns) {
    d->slice_ns = ns;
}

void kdev_subgrids(struct kdev *d) {
    d->subgrids = true;
}

void kdev_share(struct kdev *d, uint32_t stream, double part) {
    d->streams[stream].slots = part;
}

void kdev_still(struct kdev *d, uint64_t now_ns, uint32_t stream, bool still) {
    struct stream *s = &d->streams[stream];
    advance(d, now_ns);
    s->still = still;
    d->settled = false;
    for (uint32_t i = 0; !still && i < d->running_count; i++) {
        struct kshare_head *h = &d->running[i];
        if (h->stream == stream)
            h->want = head_of(s, d->contention.sliced, &s->ring[s->first], stream).want;
    }
}

void kdev_push(struct kdev *d, uint64_t now_ns, uint32_t stream, const struct kdev_work *work,
               uint64_t ready_ns, uint32_t level) {
    struct stream *s = &d->streams[stream];
    advance(d, now_ns);
    s->ring[(s->first + s->count++) & d->mask] =
        (struct item){.work = work, .ready_ns = ready_ns, .level = level};
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
        const struct kshare_head *h = &d->running[i];
        if (h->work->duration_ns - h->done_ns < KSHARE_LEFT_NS)
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
