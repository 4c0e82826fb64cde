/* SPDX-License-Identifier: Apache-2.0
 *
 * Orloj (thesis, section 4.3.2, Algorithm 4.1): a queue for each batch size, in which a request is
 * while a batch of that size would be expected to be over by its deadline; when it has left the
 * last one it is given up. A batch is the best of its queue by the score of (4.2).
 *
 * Which size is next is where the thesis has two answers. Lines 16 to 19 go through the sizes
 * "ordered by (D_Q, bs) in descending order" and take the first with enough requests; the text says
 * "the batch size with the overall earliest deadline will be chosen". Whoever can wait for a large
 * batch can wait for a small one, so that D_Q never falls from one size to the next. As printed it
 * is therefore the largest batch that enough requests can wait for; by the text, of the sizes that
 * have the earliest deadline the largest, which is as much as the most urgent request can wait for.
 * By the text, whenever there are more requests than can be served somebody is always about to be
 * late, and is served in a batch of one, in which nothing is gained by batches: so more of the
 * others are late (docs/results/2026-11-serving-plan.md). What is printed is done here;
 * config.urgent is the text.
 *
 * Scores are brought up to date where they are looked at, in the queue that is chosen: lines 5 to 9
 * do it for all requests in all queues, of which all but one are not asked.
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
    struct viable *queues;      /* by size */
    struct score_shape *shapes; /* by size, then by application (`own`) */
    struct score_piece *pieces; /* of all shapes */
    uint32_t *in;               /* by place: a bit for each size whose queue it is in */
    uint32_t places, kinds;     /* kinds: shapes of a size */
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

/* The latest moment at which its batch of that size may begin. */
static uint64_t latest_ns(const struct plan_state *st, uint32_t size, uint32_t place) {
    const struct roster_request *r = plan_state_request(st, place);
    return plan_state_latest(r->deadline_ns, outlook_batch_ns(&st->outlook, size, r->app));
}

/* A queue, for what is done with each of its requests. */
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

/* Lines 2 to 4: before e^(bt) overflows. */
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

/* Whoever has left a queue does not come back to it. */
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

/* Into every queue: those in which it is late already it leaves before anybody looks. */
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

/* Lines 15 to 19. */
static uint32_t candidate(const struct plan_state *st) {
    const struct orloj *o = orloj_of(st);
    uint32_t best = STATE_NONE;
    uint64_t best_ns = 0;
    for (uint32_t size = st->config.size_count; size-- > 0;) { /* the largest of equal ones */
        if (viable_count(&o->queues[size]) < st->config.sizes[size]) continue;
        uint64_t ns = viable_earliest_ns(&o->queues[size]);
        bool better = st->config.urgent ? ns < best_ns : ns > best_ns;
        if (best != STATE_NONE && !better) continue;
        best = size;
        best_ns = ns;
    }
    return best;
}

/* Line 22. */
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

/* The queue of the smallest size is the last that anybody leaves. */
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
                return "a request is not in the queues that it is said to be in";
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
