/* SPDX-License-Identifier: Apache-2.0
 *
 * Nexus (Shen et al., SOSP 2019): every request is assumed to take the mean. The batch size of a
 * session is the largest of which two batches fit into the objective: a request may have to wait
 * for one batch before its own. Requests are dropped early: a window of the batch's length moves
 * over the queue in order of arrival and stops at the first request that has time for the whole
 * batch. Those before it are dropped, because a smaller batch for them would cost throughput that
 * the others need.
 */
#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/state/plan_policy.h"

struct nexus {
    struct lineup line;
};

static struct lineup *line_of(const struct plan_state *st) {
    return &((struct nexus *)st->own)->line;
}

static uint64_t plain(const struct outlook_size *size) {
    return size->plain_ns;
}

static int reserve(struct plan_state *st, uint32_t places) {
    return lineup_reserve(line_of(st), places);
}

static void finish(struct plan_state *st) {
    lineup_finish(line_of(st));
}

static void add(struct plan_state *st, uint32_t place) {
    const struct roster_request *r = plan_state_request(st, place);
    lineup_add(line_of(st), place, r->order, r->deadline_ns);
}

static void leave(struct plan_state *st, uint32_t place) {
    lineup_remove(line_of(st), place);
}

/* Size of the next batch for the session of the first request; the line must not be empty. */
static uint32_t session_size(const struct plan_state *st) {
    const struct lineup *l = line_of(st);
    const struct roster_request *r = plan_state_request(st, lineup_first(l));
    uint64_t objective_ns = plan_state_latest(r->deadline_ns, r->arrived_ns);
    uint32_t size = plan_state_size_within(st, lineup_count(l), objective_ns / 2, plain);
    return size == STATE_NONE ? 0 : size;
}

/* Drops early when a worker is idle. */
static uint32_t expired(struct plan_state *st) {
    struct lineup *l = line_of(st);
    uint32_t late = lineup_late(l, st->now_ns);
    if (late != LINEUP_NONE || !st->crew.idle || !lineup_count(l)) return late;
    uint32_t first = lineup_first(l);
    bool fits = st->outlook.size[session_size(st)].plain_ns <= plan_state_left(st, first);
    return fits ? STATE_NONE : first;
}

static uint32_t pick(struct plan_state *st, uint32_t *places) {
    struct lineup *l = line_of(st);
    if (!lineup_count(l)) return 0;
    uint32_t count = st->config.sizes[session_size(st)];
    lineup_take(l, count, places);
    return count;
}

static uint64_t wake(const struct plan_state *st) {
    return lineup_wake(line_of(st));
}

static const char *check(const struct plan_state *st) {
    return lineup_check(line_of(st));
}

const struct plan_policy plan_nexus = {
    .name = "nexus",
    .own_bytes = sizeof(struct nexus),
    .finish = finish,
    .reserve = reserve,
    .add = add,
    .remove = leave,
    .expired = expired,
    .pick = pick,
    .wake = wake,
    .check = check,
};
