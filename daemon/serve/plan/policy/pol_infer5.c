/* SPDX-License-Identifier: Apache-2.0
 *
 * Clockwork as it was published, its scheduler INFER5, on which the thesis's Orloj is built and
 * with which it is compared. Nothing is refused on arrival. A batch is the largest for which enough
 * requests wait that would be in time in it; whoever has an earlier deadline than it can keep is
 * dropped. While a worker has a batch its next one is formed, `ahead_ns` before the end that is
 * expected; and a worker refuses a batch that it could begin only `grace_ns` later than planned, so
 * that all requests of it fail.
 *
 * What a batch takes is one number. As published it is the longest of the latest ten batches of its
 * size (their 0.99 quantile). The thesis says that these systems go by the mean of requests, so
 * that "the execution time for the whole batch is almost always longer", which is "causing the
 * subsequent batch to fail" (section 4.2.3): config.plain.
 */
#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/state/plan_policy.h"

#define RECENT 10u

/* What the latest batches of a size took. */
struct recent {
    uint64_t ns[RECENT];
    uint32_t next;
};

/* What a worker gets after its batch. */
struct planned {
    uint64_t latest_ns; /* it refuses it after that */
    uint32_t count, places[PLAN_BATCH_MOST];
    bool refused; /* none is planned again before its batch is over: nobody has told us yet */
};

struct infer5 {
    struct lineup line; /* by deadline; planned ones are not in it */
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

/* ---- which batch ----------------------------------------------------------------------------- */

static uint64_t estimate_ns(const struct plan_state *st, uint32_t size) {
    const struct recent *r = &infer5_of(st)->recent[size];
    uint64_t most_ns = 0;
    if (st->config.plain) return st->outlook.size[size].plain_ns;
    for (uint32_t i = 0; i < RECENT; i++)
        if (r->ns[i] > most_ns) most_ns = r->ns[i];
    return most_ns ? most_ns : st->outlook.size[size].mean_ns;
}

/* Requests that would be in time in a batch of that size. */
static uint32_t demand(const struct plan_state *st, uint32_t size, uint64_t begin_ns) {
    const struct lineup *l = &infer5_of(st)->line;
    uint64_t end_ns = begin_ns + estimate_ns(st, size);
    uint32_t count = 0;
    for (uint32_t i = 0; i < l->order.count; i++)
        count += l->key[l->order.items[i]] >= end_ns;
    return count;
}

/* STATE_NONE: nobody would be in time. */
static uint32_t size_at(const struct plan_state *st, uint64_t begin_ns) {
    uint32_t size = STATE_NONE;
    for (uint32_t i = 0; i < st->config.size_count; i++) {
        if (demand(st, i, begin_ns) < st->config.sizes[i]) break;
        size = i;
    }
    return size;
}

/* Whom the next batch cannot keep; STATE_NONE. */
static uint32_t dropped(const struct plan_state *st, uint64_t begin_ns) {
    const struct lineup *l = &infer5_of(st)->line;
    if (!lineup_count(l)) return STATE_NONE;
    uint32_t size = size_at(st, begin_ns), first = lineup_first(l);
    if (size == STATE_NONE) return first;
    return l->key[first] < begin_ns + estimate_ns(st, size) ? first : STATE_NONE;
}

/* Nobody is dropped: so the first ones are all in time. */
static uint32_t take(struct plan_state *st, uint64_t begin_ns, uint32_t *places) {
    struct lineup *l = &infer5_of(st)->line;
    uint32_t size = size_at(st, begin_ns);
    if (size == STATE_NONE) return 0;
    lineup_take(l, st->config.sizes[size], places);
    return st->config.sizes[size];
}

/* ---- planned batches ------------------------------------------------------------------------- */

/* Of a worker that has a batch; never before now. */
static uint64_t free_ns(const struct plan_state *st, const struct crew_worker *w) {
    uint64_t end_ns = w->sent_ns + estimate_ns(st, plan_state_size_of(st, w->count));
    return end_ns > st->now_ns ? end_ns : st->now_ns;
}

static void add(struct plan_state *st, uint32_t place) {
    uint64_t deadline_ns = plan_state_request(st, place)->deadline_ns;
    lineup_add(&infer5_of(st)->line, place, deadline_ns, deadline_ns);
}

/* Back to the others, but the first `keep`. */
static void give_back(struct plan_state *st, struct planned *n, uint32_t keep) {
    while (n->count > keep)
        add(st, n->places[--n->count]);
}

/* One of a planned batch has gone: what is left of it must be a batch, unless it fails as a whole.
 */
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

/* A request of a batch that is refused; STATE_NONE. What a worker had that is gone waits again. */
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

/* What begins after the first of its deadlines is not begun either. */
static uint64_t latest_ns(const struct plan_state *st, const struct planned *n, uint64_t begin_ns) {
    uint64_t deadline_ns = plan_state_request(st, n->places[0])->deadline_ns;
    uint64_t grace_ns = begin_ns + st->config.grace_ns;
    return grace_ns < deadline_ns ? grace_ns : deadline_ns;
}

static bool unplanned(const struct plan_state *st, uint32_t worker) {
    const struct planned *n = &infer5_of(st)->planned[worker];
    return st->crew.workers[worker].count && !n->count && !n->refused;
}

/* Plans for whoever is about to be free. Returns one that is dropped by that; STATE_NONE. */
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

/* Its own, a new one, or what another idle worker was to have. */
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
            return "what is planned is no batch";
        for (uint32_t k = 0; k < n->count; k++)
            if (lineup_has(&o->line, n->places[k])) return "a request is planned and waits";
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
