/* SPDX-License-Identifier: Apache-2.0
 *
 * Orloj (thesis, section 4.3.2, Algorithm 4.1). There is one queue per batch size. A request is in
 * a queue while a batch of that size is expected to end by its deadline; when it has left the last
 * queue, it is given up. A batch is the best of its queue by the score of (4.2).
 *
 * The thesis has two answers to which size is next. Lines 16 to 19 go through the sizes "ordered by
 * (D_Q, bs) in descending order" and take the first with enough requests. The text says that "the
 * batch size with the overall earliest deadline will be chosen". A request that can wait for a
 * large batch can wait for a small one, so D_Q never falls with the size.
 *
 * As printed, the choice is therefore the largest batch that enough requests can wait for. By the
 * text, it is the largest of the sizes with the earliest deadline, which is limited by what the
 * most urgent request can wait for. Under overload some request is then always about to be late and
 * is served in a batch of one, which gains nothing. More of the other requests are therefore late
 * (docs/results/2026-11-serving-plan.md). This file implements the printed version; config.urgent
 * selects the text's.
 *
 * Scores are updated only in the queue that is chosen. Lines 5 to 9 update all requests in all
 * queues, of which only one is used.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/policy/viable.h"
#include "daemon/serve/plan/state/plan_policy.h"

#define NS_PER_MS 1e6

struct orloj {
    struct score_clock clock;
    struct viable *queues;      /* per size */
    struct score_shape *shapes; /* per size, then per application (`own`) */
    struct score_piece *pieces; /* memory of all shapes */
    uint32_t *in;           /* per place: a bit set of the sizes whose queues contain the request */
    uint32_t places, kinds; /* kinds: number of shapes per size */
};

_Static_assert(PLAN_SIZES <= 32, "a bit for each size");

static struct orloj *orloj_of(const struct plan_state *st) {
    return st->own;
}

/* ---- points ---------------------------------------------------------------------------------- */

static struct tournament_point point_of(const struct plan_state *st, uint32_t size,
                                        uint32_t place) {
    const struct orloj *o = orloj_of(st);
    const struct roster_request *r = plan_state_request(st, place);
    const struct score_shape *shape = &o->shapes[size * o->kinds + (o->kinds > 1 ? r->app : 0)];
    struct score_point p = score_at(shape, &o->clock, r->deadline_ns, st->now_ns);
    double until = p.until_ns == SCORE_NEVER ? INFINITY : score_x(&o->clock, p.until_ns);
    return (struct tournament_point){p.alpha, p.beta, until};
}

/* The latest start of the request's batch of that size. */
static uint64_t latest_ns(const struct plan_state *st, uint32_t size, uint32_t place) {
    const struct roster_request *r = plan_state_request(st, place);
    return plan_state_latest(r->deadline_ns, outlook_batch_ns(&st->outlook, size, r->app));
}

/* Argument of callbacks that handle the requests of one queue. */
struct queue_of {
    const struct plan_state *st;
    uint32_t size;
};

static struct tournament_point reform(void *arg, uint32_t place) {
    const struct queue_of *q = arg;
    return point_of(q->st, q->size, place);
}

static uint64_t until_ns(void *arg, uint32_t place) {
    const struct queue_of *q = arg;
    return latest_ns(q->st, q->size, place);
}

static void make_points(struct plan_state *st) {
    struct orloj *o = orloj_of(st);
    for (uint32_t size = 0; size < st->config.size_count; size++)
        tournament_rebuild(&o->queues[size].rank, score_x(&o->clock, st->now_ns), reform,
                           &(struct queue_of){st, size});
}

/* Lines 2 to 4: moves the base before e^(bt) overflows. */
static void keep_base(struct plan_state *st) {
    struct orloj *o = orloj_of(st);
    if (!score_outgrown(&o->clock, st->now_ns)) return;
    o->clock.base_ns = st->now_ns;
    make_points(st);
}

static void make_shapes(struct plan_state *st) {
    struct orloj *o = orloj_of(st);
    for (uint32_t size = 0; size < st->config.size_count; size++)
        for (uint32_t kind = 0; kind < o->kinds; kind++)
            outlook_shape(&st->outlook, size, kind, o->clock.b_per_ns,
                          &o->shapes[size * o->kinds + kind]);
}

/* A request that has left a queue does not return to it. */
static void learned(struct plan_state *st) {
    struct orloj *o = orloj_of(st);
    keep_base(st);
    make_shapes(st);
    make_points(st);
    for (uint32_t size = 0; size < st->config.size_count; size++)
        lineup_retime(&o->queues[size].line, until_ns, &(struct queue_of){st, size});
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int begin(struct plan_state *st) {
    struct orloj *o = orloj_of(st);
    o->kinds = st->config.own ? st->config.apps : 1;
    size_t shapes = (size_t)st->config.size_count * o->kinds;
    o->clock.b_per_ns = st->config.b_per_ms / NS_PER_MS;
    o->queues = calloc(st->config.size_count, sizeof(*o->queues));
    o->shapes = calloc(shapes, sizeof(*o->shapes));
    o->pieces = calloc(shapes * OUTLOOK_PIECES, sizeof(*o->pieces));
    if (!o->queues || !o->shapes || !o->pieces) return -ENOMEM;
    for (size_t i = 0; i < shapes; i++)
        o->shapes[i].pieces = o->pieces + i * OUTLOOK_PIECES;
    make_shapes(st);
    return 0;
}

static void finish(struct plan_state *st) {
    struct orloj *o = orloj_of(st);
    for (uint32_t size = 0; o->queues && size < st->config.size_count; size++)
        viable_finish(&o->queues[size]);
    free(o->queues);
    free(o->shapes);
    free(o->pieces);
    free(o->in);
}

static int reserve(struct plan_state *st, uint32_t places) {
    struct orloj *o = orloj_of(st);
    for (uint32_t size = 0; size < st->config.size_count; size++)
        if (viable_reserve(&o->queues[size], places)) return -ENOMEM;
    if (places <= o->places) return 0;
    uint32_t *in = realloc(o->in, places * sizeof(*in));
    if (!in) return -ENOMEM;
    memset(in + o->places, 0, (places - o->places) * sizeof(*in));
    o->in = in;
    o->places = places;
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Adds the request to every queue; it leaves those where it is already late before they are
 * used. */
static void add(struct plan_state *st, uint32_t place) {
    struct orloj *o = orloj_of(st);
    const struct roster_request *r = plan_state_request(st, place);
    keep_base(st);
    for (uint32_t size = 0; size < st->config.size_count; size++)
        viable_add(&o->queues[size], place, r->deadline_ns, latest_ns(st, size, place),
                   point_of(st, size, place));
    o->in[place] = (uint32_t)((1ull << st->config.size_count) - 1);
}

static void leave(struct plan_state *st, uint32_t place) {
    struct orloj *o = orloj_of(st);
    for (uint32_t size = 0; o->in[place] && size < st->config.size_count; size++) {
        if (o->in[place] & 1u << size) viable_remove(&o->queues[size], place);
        o->in[place] &= ~(1u << size);
    }
}

/* Lines 10 to 14: t + EstimateBatchLatency(r, bs) > D_r. */
static uint32_t expired(struct plan_state *st) {
    struct orloj *o = orloj_of(st);
    for (uint32_t size = 0; size < st->config.size_count; size++) {
        struct viable *q = &o->queues[size];
        for (uint32_t late; (late = lineup_late(&q->line, st->now_ns)) != LINEUP_NONE;) {
            viable_remove(q, late);
            o->in[late] &= ~(1u << size);
            if (!o->in[late]) return late;
        }
    }
    return STATE_NONE;
}

/* Lines 15 to 19: chooses the size of the next batch. */
static uint32_t candidate(const struct plan_state *st) {
    const struct orloj *o = orloj_of(st);
    uint32_t best = STATE_NONE;
    uint64_t best_ns = 0;
    /* Descending, so that the largest of equals wins. */
    for (uint32_t size = st->config.size_count; size-- > 0;) {
        if (viable_count(&o->queues[size]) < st->config.sizes[size]) continue;
        uint64_t ns = viable_earliest_ns(&o->queues[size]);
        bool better = st->config.urgent ? ns < best_ns : ns > best_ns;
        if (best != STATE_NONE && !better) continue;
        best = size;
        best_ns = ns;
    }
    return best;
}

/* Line 22: takes the best requests of that size's queue. */
static uint32_t pick(struct plan_state *st, uint32_t *places) {
    struct orloj *o = orloj_of(st);
    uint32_t size = candidate(st);
    if (size == STATE_NONE) return 0;
    struct tournament *rank = &o->queues[size].rank;
    keep_base(st);
    tournament_advance(rank, score_x(&o->clock, st->now_ns), reform, &(struct queue_of){st, size});
    for (uint32_t i = 0; i < st->config.sizes[size]; i++) {
        places[i] = tournament_first(rank);
        leave(st, places[i]);
    }
    return st->config.sizes[size];
}

/* A request leaves the queue of the smallest size last. */
static uint64_t wake(const struct plan_state *st) {
    return lineup_wake(&orloj_of(st)->queues[0].line);
}

static const char *check(const struct plan_state *st) {
    const struct orloj *o = orloj_of(st);
    for (uint32_t size = 0; size < st->config.size_count; size++) {
        const char *broken = viable_check(&o->queues[size]);
        if (broken) return broken;
        for (uint32_t i = 0; i < o->places; i++)
            if (lineup_has(&o->queues[size].line, i) != (o->in[i] >> size & 1))
                return "a request is not in the queues that its flags name";
    }
    return NULL;
}

const struct plan_policy plan_orloj = {
    .name = "orloj",
    .own_bytes = sizeof(struct orloj),
    .begin = begin,
    .finish = finish,
    .reserve = reserve,
    .add = add,
    .remove = leave,
    .learned = learned,
    .expired = expired,
    .pick = pick,
    .wake = wake,
    .check = check,
};
