/* SPDX-License-Identifier: Apache-2.0
 *
 * Earliest deadline first, with the 0.99 quantile: a careful server that knows how long batches may
 * take, and nothing else of their distribution. A request is given up if a batch of it alone would
 * end late at that duration. A batch is the largest that its first request can wait for.
 */
#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/state/plan_policy.h"

struct edf {
    struct lineup line;
};

static struct lineup *line_of(const struct plan_state *st) {
    return &((struct edf *)st->own)->line;
}

static uint64_t tail(const struct outlook_size *size) {
    return size->tail_ns;
}

static int reserve(struct plan_state *st, uint32_t places) {
    return lineup_reserve(line_of(st), places);
}

static void finish(struct plan_state *st) {
    lineup_finish(line_of(st));
}

/* Latest start of a batch of this request alone. */
static uint64_t until_ns(void *arg, uint32_t place) {
    const struct plan_state *st = arg;
    return plan_state_latest(plan_state_request(st, place)->deadline_ns,
                             st->outlook.size[0].tail_ns);
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
        plan_state_size_within(st, lineup_count(l), plan_state_left(st, lineup_first(l)), tail);
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

const struct plan_policy plan_edf = {
    .name = "edf",
    .own_bytes = sizeof(struct edf),
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
