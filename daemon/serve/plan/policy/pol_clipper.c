/* SPDX-License-Identifier: Apache-2.0
 *
 * Clipper (Crankshaw et al., NSDI 2017): first in, first out. The batch size is searched by
 * additive increase and multiplicative decrease (its section 4.3.1): one more while full batches
 * stay within the objective, a tenth less after one did not. It uses no expected durations, and
 * gives up a request only after its deadline.
 */
#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/state/plan_policy.h"

#define BACK_OFF 0.9

struct clipper {
    struct lineup line;
    double limit; /* the present largest batch */
};

static struct clipper *clipper_of(const struct plan_state *st) {
    return st->own;
}

static int begin(struct plan_state *st) {
    clipper_of(st)->limit = 1;
    return 0;
}

static int reserve(struct plan_state *st, uint32_t places) {
    return lineup_reserve(&clipper_of(st)->line, places);
}

static void finish(struct plan_state *st) {
    lineup_finish(&clipper_of(st)->line);
}

static void add(struct plan_state *st, uint32_t place) {
    const struct roster_request *r = plan_state_request(st, place);
    lineup_add(&clipper_of(st)->line, place, r->order, r->deadline_ns);
}

static void leave(struct plan_state *st, uint32_t place) {
    lineup_remove(&clipper_of(st)->line, place);
}

static uint32_t expired(struct plan_state *st) {
    return lineup_late(&clipper_of(st)->line, st->now_ns);
}

static uint32_t pick(struct plan_state *st, uint32_t *places) {
    struct clipper *c = clipper_of(st);
    uint32_t count = lineup_count(&c->line);
    if (!count) return 0;
    if (count > c->limit) count = (uint32_t)c->limit;
    count = st->config.sizes[plan_state_size_of(st, count)];
    lineup_take(&c->line, count, places);
    return count;
}

/* The shortest objective among the batch's requests. */
static uint64_t objective_of(const struct plan_state *st, const struct crew_worker *w) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct roster_request *r = plan_state_request(st, w->places[i]);
        uint64_t ns = plan_state_latest(r->deadline_ns, r->arrived_ns);
        if (ns < least) least = ns;
    }
    return least;
}

static void done(struct plan_state *st, const struct crew_worker *w, uint64_t ns) {
    struct clipper *c = clipper_of(st);
    uint32_t most = st->config.sizes[st->config.size_count - 1];
    bool full = w->count == st->config.sizes[plan_state_size_of(st, (uint32_t)c->limit)];
    if (ns > objective_of(st, w))
        c->limit = c->limit * BACK_OFF > 1 ? c->limit * BACK_OFF : 1;
    else if (full && c->limit < most)
        c->limit = c->limit + 1 < most ? c->limit + 1 : most;
}

static uint64_t wake(const struct plan_state *st) {
    return lineup_wake(&clipper_of(st)->line);
}

static const char *check(const struct plan_state *st) {
    return lineup_check(&clipper_of(st)->line);
}

const struct plan_policy plan_clipper = {
    .name = "clipper",
    .own_bytes = sizeof(struct clipper),
    .begin = begin,
    .finish = finish,
    .reserve = reserve,
    .add = add,
    .remove = leave,
    .expired = expired,
    .pick = pick,
    .done = done,
    .wake = wake,
    .check = check,
};
