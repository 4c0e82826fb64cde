/* SPDX-License-Identifier: Apache-2.0
 *
 * Clockwork as published: its scheduler INFER5, on which the thesis's Orloj is built and with which
 * it is compared. No request is rejected on arrival. A batch is the largest for which enough
 * waiting requests would be in time; requests with deadlines earlier than that batch's end are
 * dropped. While a worker is busy, its next batch is planned `ahead_ns` before the expected end. A
 * worker rejects a batch that it could start only `grace_ns` later than planned, and then all
 * requests of the batch fail.
 *
 * The duration of a batch is one number. As published it is the longest of the latest ten batches
 * of its size (called their 0.99 quantile). The thesis says that these systems use the mean of
 * requests, so that "the execution time for the whole batch is almost always longer", which is
 * "causing the subsequent batch to fail" (section 4.2.3): config.plain.
 */
#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/state/plan_policy.h"

#define RECENT 10u

/* Durations of the latest batches of a size. */
struct recent {
    uint64_t ns[RECENT];
    uint32_t next;
};

/* The batch planned for a worker after its present one. */
struct planned {
    uint64_t latest_ns; /* the worker rejects the batch after this time */
    uint32_t count, places[PLAN_BATCH_MOST];
    /* No further batch is planned before the present one ends, because the rejection is not known
     * before. */
    bool refused;
};

struct infer5 {
    struct lineup line; /* by deadline; without planned requests */
    struct recent recent[PLAN_SIZES];
    struct planned planned[PLAN_WORKERS];
};

static struct infer5 *infer5_of(const struct plan_state *st) {
    return st->own;
}

static int reserve(struct plan_state *st, uint32_t places) {
    return lineup_reserve(&infer5_of(st)->line, places);
}

static void finish(struct plan_state *st) {
    lineup_finish(&infer5_of(st)->line);
}

/* ---- choosing a batch ------------------------------------------------------------------------ */

static uint64_t estimate_ns(const struct plan_state *st, uint32_t size) {
    const struct recent *r = &infer5_of(st)->recent[size];
    uint64_t most_ns = 0;
    if (st->config.plain) return st->outlook.size[size].plain_ns;
    for (uint32_t i = 0; i < RECENT; i++)
        if (r->ns[i] > most_ns) most_ns = r->ns[i];
    return most_ns ? most_ns : st->outlook.size[size].mean_ns;
}

/* Number of requests that would be in time in a batch of that size. */
static uint32_t demand(const struct plan_state *st, uint32_t size, uint64_t begin_ns) {
    const struct lineup *l = &infer5_of(st)->line;
    uint64_t end_ns = begin_ns + estimate_ns(st, size);
    uint32_t count = 0;
    for (uint32_t i = 0; i < l->order.count; i++)
        count += l->key[l->order.items[i]] >= end_ns;
    return count;
}

/* STATE_NONE if no request would be in time. */
static uint32_t size_at(const struct plan_state *st, uint64_t begin_ns) {
    uint32_t size = STATE_NONE;
    for (uint32_t i = 0; i < st->config.size_count; i++) {
        if (demand(st, i, begin_ns) < st->config.sizes[i]) break;
        size = i;
    }
    return size;
}

/* A request that would be late in the next batch; STATE_NONE if there is none. */
static uint32_t dropped(const struct plan_state *st, uint64_t begin_ns) {
    const struct lineup *l = &infer5_of(st)->line;
    if (!lineup_count(l)) return STATE_NONE;
    uint32_t size = size_at(st, begin_ns), first = lineup_first(l);
    if (size == STATE_NONE) return first;
    return l->key[first] < begin_ns + estimate_ns(st, size) ? first : STATE_NONE;
}

/* Called after late requests were dropped, so that the first requests are all in time. */
static uint32_t take(struct plan_state *st, uint64_t begin_ns, uint32_t *places) {
    struct lineup *l = &infer5_of(st)->line;
    uint32_t size = size_at(st, begin_ns);
    if (size == STATE_NONE) return 0;
    lineup_take(l, st->config.sizes[size], places);
    return st->config.sizes[size];
}

/* ---- planned batches ------------------------------------------------------------------------- */

/* When a busy worker is expected to be free; never before now. */
static uint64_t free_ns(const struct plan_state *st, const struct crew_worker *w) {
    uint64_t end_ns = w->sent_ns + estimate_ns(st, plan_state_size_of(st, w->count));
    return end_ns > st->now_ns ? end_ns : st->now_ns;
}

static void add(struct plan_state *st, uint32_t place) {
    uint64_t deadline_ns = plan_state_request(st, place)->deadline_ns;
    lineup_add(&infer5_of(st)->line, place, deadline_ns, deadline_ns);
}

/* Returns planned requests to the line, except the first `keep`. */
static void give_back(struct plan_state *st, struct planned *n, uint32_t keep) {
    while (n->count > keep)
        add(st, n->places[--n->count]);
}

/* Removes a request from a planned batch and reduces the batch to a valid size, unless the whole
 * batch was rejected. */
static void unplan(struct plan_state *st, struct planned *n, uint32_t place) {
    for (uint32_t i = 0; i < n->count; i++) {
        if (n->places[i] != place) continue;
        n->places[i] = n->places[--n->count];
        if (n->count && !n->refused)
            give_back(st, n, st->config.sizes[plan_state_size_of(st, n->count)]);
        return;
    }
}

static void leave(struct plan_state *st, uint32_t place) {
    struct infer5 *o = infer5_of(st);
    if (lineup_has(&o->line, place)) {
        lineup_remove(&o->line, place);
        return;
    }
    for (uint32_t i = 0; i < PLAN_WORKERS; i++)
        unplan(st, &o->planned[i], place);
}

/* A request of a rejected batch; STATE_NONE if there is none. Batches planned for lost workers are
 * dissolved. */
static uint32_t refused(struct plan_state *st) {
    for (uint32_t i = 0; i < PLAN_WORKERS; i++) {
        struct planned *n = &infer5_of(st)->planned[i];
        if (!st->crew.workers[i].here) {
            give_back(st, n, 0);
            n->refused = false;
        }
        if (n->count && st->now_ns > n->latest_ns) n->refused = true;
        if (n->count && n->refused) return n->places[0];
    }
    return STATE_NONE;
}

/* Latest start of a planned batch; never after its first deadline. */
static uint64_t latest_ns(const struct plan_state *st, const struct planned *n, uint64_t begin_ns) {
    uint64_t deadline_ns = plan_state_request(st, n->places[0])->deadline_ns;
    uint64_t grace_ns = begin_ns + st->config.grace_ns;
    return grace_ns < deadline_ns ? grace_ns : deadline_ns;
}

static bool unplanned(const struct plan_state *st, uint32_t worker) {
    const struct planned *n = &infer5_of(st)->planned[worker];
    return st->crew.workers[worker].count && !n->count && !n->refused;
}

/* Plans batches for workers that will soon be free. Returns a request that would be late;
 * STATE_NONE if there is none. */
static uint32_t plan_ahead(struct plan_state *st) {
    for (uint32_t i = 0; i < PLAN_WORKERS; i++) {
        struct planned *n = &infer5_of(st)->planned[i];
        if (!unplanned(st, i)) continue;
        uint64_t begin_ns = free_ns(st, &st->crew.workers[i]);
        if (begin_ns - st->now_ns > st->config.ahead_ns) continue;
        uint32_t late = dropped(st, begin_ns);
        if (late != STATE_NONE) return late;
        n->count = take(st, begin_ns, n->places);
        if (n->count) n->latest_ns = latest_ns(st, n, begin_ns);
    }
    return STATE_NONE;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static uint32_t expired(struct plan_state *st) {
    uint32_t place = refused(st);
    if (place == STATE_NONE) place = lineup_late(&infer5_of(st)->line, st->now_ns);
    if (place != STATE_NONE) return place;
    return st->crew.idle ? dropped(st, st->now_ns) : plan_ahead(st);
}

static uint32_t begin_planned(struct planned *n, uint32_t *places) {
    uint32_t count = n->count;
    for (uint32_t i = 0; i < count; i++)
        places[i] = n->places[i];
    n->count = 0;
    return count;
}

/* Takes the worker's planned batch, a new one, or one planned for another idle worker. */
static uint32_t pick(struct plan_state *st, uint32_t *places) {
    struct infer5 *o = infer5_of(st);
    uint32_t count = begin_planned(&o->planned[crew_idle(&st->crew)], places);
    if (!count) count = take(st, st->now_ns, places);
    for (uint32_t i = 0; !count && i < PLAN_WORKERS; i++)
        if (!st->crew.workers[i].count) count = begin_planned(&o->planned[i], places);
    return count;
}

static void done(struct plan_state *st, const struct crew_worker *w, uint64_t ns) {
    struct infer5 *o = infer5_of(st);
    struct recent *r = &o->recent[plan_state_size_of(st, w->count)];
    r->ns[r->next++ % RECENT] = ns;
    if (!o->planned[w - st->crew.workers].count) o->planned[w - st->crew.workers].refused = false;
}

static uint64_t wake(const struct plan_state *st) {
    const struct infer5 *o = infer5_of(st);
    uint64_t first_ns = lineup_wake(&o->line);
    for (uint32_t i = 0; i < PLAN_WORKERS; i++) {
        uint64_t at_ns = PLAN_FOREVER;
        if (o->planned[i].count) at_ns = o->planned[i].latest_ns + 1;
        if (unplanned(st, i) && lineup_count(&o->line))
            at_ns = plan_state_latest(free_ns(st, &st->crew.workers[i]), st->config.ahead_ns);
        if (at_ns > st->now_ns && at_ns < first_ns) first_ns = at_ns;
    }
    return first_ns;
}

static const char *check(const struct plan_state *st) {
    const struct infer5 *o = infer5_of(st);
    for (uint32_t i = 0; i < PLAN_WORKERS; i++) {
        const struct planned *n = &o->planned[i];
        if (n->count && n->count != st->config.sizes[plan_state_size_of(st, n->count)])
            return "the planned requests are not a batch";
        for (uint32_t k = 0; k < n->count; k++)
            if (lineup_has(&o->line, n->places[k])) return "a planned request is also in a queue";
    }
    return lineup_check(&o->line);
}

const struct plan_policy plan_infer5 = {
    .name = "infer5",
    .own_bytes = sizeof(struct infer5),
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
