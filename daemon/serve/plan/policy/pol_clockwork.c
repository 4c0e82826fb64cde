/* SPDX-License-Identifier: Apache-2.0
 *
 * Clockwork (Gujarati et al., OSDI 2020): inference is predictable, so one number, the point
 * estimate, is the duration of a batch, and everything is planned ahead from it. A request is
 * accepted only if the plan has a place for it: after the running batch, and after pending requests
 * with earlier deadlines, in the largest batches. A request that has become late is given up. A
 * batch is the largest that the earliest deadline allows, in order of deadlines.
 */
#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/state/plan_policy.h"

struct clockwork {
    struct lineup line;
};

static struct lineup *line_of(const struct plan_state *st) {
    return &((struct clockwork *)st->own)->line;
}

static uint64_t point(const struct outlook_size *size) {
    return size->point_ns;
}

static int reserve(struct plan_state *st, uint32_t places) {
    return lineup_reserve(line_of(st), places);
}

static void finish(struct plan_state *st) {
    lineup_finish(line_of(st));
}

/* Time of one worker for the pending requests with deadlines up to this one, in the largest
 * batches. */
static uint64_t ahead_ns(const struct plan_state *st, uint64_t deadline_ns) {
    const struct lineup *l = line_of(st);
    uint64_t earlier = 0;
    for (uint32_t i = 0; i < l->order.count; i++)
        earlier += l->key[l->order.items[i]] <= deadline_ns;
    uint32_t largest = st->config.size_count - 1;
    uint64_t batches = earlier / st->config.sizes[largest];
    return batches * st->outlook.size[largest].point_ns / (st->crew.here ? st->crew.here : 1);
}

static bool accepts(const struct plan_state *st, uint32_t place) {
    uint64_t deadline_ns = plan_state_request(st, place)->deadline_ns;
    uint64_t begin_ns = crew_free_ns(&st->crew, st->now_ns) + ahead_ns(st, deadline_ns);
    return begin_ns + st->outlook.size[0].point_ns <= deadline_ns;
}

/* Latest start of a batch of this request alone. */
static uint64_t until_ns(void *arg, uint32_t place) {
    const struct plan_state *st = arg;
    return plan_state_latest(plan_state_request(st, place)->deadline_ns,
                             st->outlook.size[0].point_ns);
}

static void add(struct plan_state *st, uint32_t place) {
    uint64_t deadline_ns = plan_state_request(st, place)->deadline_ns;
    lineup_add(line_of(st), place, deadline_ns, until_ns(st, place));
}

static void learned(struct plan_state *st) {
    lineup_retime(line_of(st), until_ns, st);
}

static void leave(struct plan_state *st, uint32_t place) {
    lineup_remove(line_of(st), place);
}

static uint32_t expired(struct plan_state *st) {
    return lineup_late(line_of(st), st->now_ns);
}

static uint32_t pick(struct plan_state *st, uint32_t *places) {
    struct lineup *l = line_of(st);
    if (!lineup_count(l)) return 0;
    uint32_t size =
        plan_state_size_within(st, lineup_count(l), plan_state_left(st, lineup_first(l)), point);
    if (size == STATE_NONE) return 0;
    lineup_take(l, st->config.sizes[size], places);
    return st->config.sizes[size];
}

static uint64_t wake(const struct plan_state *st) {
    return lineup_wake(line_of(st));
}

static const char *check(const struct plan_state *st) {
    return lineup_check(line_of(st));
}

const struct plan_policy plan_clockwork = {
    .name = "clockwork",
    .own_bytes = sizeof(struct clockwork),
    .finish = finish,
    .reserve = reserve,
    .accepts = accepts,
    .add = add,
    .remove = leave,
    .learned = learned,
    .expired = expired,
    .pick = pick,
    .wake = wake,
    .check = check,
};
