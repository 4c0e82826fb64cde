/* SPDX-License-Identifier: Apache-2.0
 *
 * Competing jobs are in a heap by the service that they have received. A key is never larger than
 * its job's number: when a number falls, its key is corrected at once; when it rises, only once the
 * job reaches the top. A job that no longer competes leaves from the top, too. So a step costs
 * O(log jobs) amortised.
 */
#include "daemon/sched/dispatch/share.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/sched/dispatch/pause.h"

/* ---- memory --------------------------------------------------------------------------------- */

static int grow(void **array, size_t item, uint32_t count) {
    void *grown = realloc(*array, item * count);
    if (!grown) return -ENOMEM;
    *array = grown;
    return 0;
}

int share_reserve(struct sched_state *st, uint32_t have, uint32_t count) {
    struct sched_share *sh = &st->share;
    if (grow((void **)&sh->keys, sizeof(*sh->keys), count) ||
        grow((void **)&sh->jobs.items, sizeof(*sh->jobs.items), count) ||
        grow((void **)&sh->jobs.place, sizeof(*sh->jobs.place), count))
        return -ENOMEM;
    for (uint32_t i = have; i < count; i++) {
        sh->keys[i] = 0;
        sh->jobs.items[i] = sh->jobs.place[i] = MINHEAP_NONE;
    }
    return 0;
}

/* ---- competing jobs ------------------------------------------------------------------------- */

static bool key_before(const void *keys, uint32_t a, uint32_t b) {
    const uint64_t *key = keys;
    return key[a] < key[b];
}

static __attribute__((noinline)) void take_key(struct sched_share *sh, uint32_t job, uint64_t key) {
    uint32_t at = sh->jobs.place[job];
    sh->keys[job] = key;
    if (at == MINHEAP_NONE) at = minheap_append(&sh->jobs, job);
    minheap_settle(&sh->jobs, at, key_before, sh->keys);
}

/* Usually the job competes already and its number only rises, so that there is nothing to do. */
static inline void compete(struct sched_state *st, uint32_t job) {
    struct sched_share *sh = &st->share;
    uint64_t key = st->jobs[job].number;
    if (sh->jobs.place[job] == MINHEAP_NONE || sh->keys[job] > key) take_key(sh, job, key);
}

void share_forget(struct sched *s, uint32_t job) {
    struct sched_share *sh = &s->st.share;
    uint32_t at = sh->jobs.place[job];
    if (at != MINHEAP_NONE) minheap_remove(&sh->jobs, at, key_before, sh->keys);
}

/* The job is never held back and holds no other job back: others yield to it anyway. */
static bool is_exempt(const struct sched_state *st, const struct sched_job *j) {
    return state_high(j) || (st->share.keeps_promises && j->spec.slo_ns);
}

/* The job has its lane's turn, or would have it if it had an operation. */
static bool turn_is_of(const struct sched_state *st, uint32_t job) {
    const struct sched_job *j = &st->jobs[job];
    if (!j->admitted || j->turn) return j->turn;
    return state_domain(st, j->lane)->holder == SCHED_NONE && st->lane[j->lane].last == job;
}

/* Time at which the job gets its lane's turn from an idle holder; 0: it does not. Copying a
 * holder's ephemeral memory may take long, so no job is held back during that. */
static uint64_t gets_turn_at(const struct sched_state *st, uint32_t job) {
    const struct sched_domain *d = state_domain(st, st->jobs[job].lane);
    if (d->ready != job || d->holder == SCHED_NONE) return 0;
    const struct sched_job *holder = &st->jobs[d->holder];
    return state_is_idle(holder) && !holder->lane_bytes ? d->end_ns : 0;
}

/* Time until which the job competes, unless something changes; 0: it does not compete. */
static uint64_t competes_until(const struct sched_state *st, uint32_t job) {
    const struct sched_job *j = &st->jobs[job];
    if (is_exempt(st, j)) return 0;
    if (j->running || ranked_has(&st->ranked, job)) return SCHED_NEVER;
    if (!turn_is_of(st, job)) {
        uint64_t turn = gets_turn_at(st, job);
        return turn > st->now_ns ? turn : 0;
    }
    /* If operations of the next iteration wait, the boundary will be passed soon. */
    uint64_t until = j->waiting ? j->done_ns + st->config->idle_turn_ns : pause_end(st, job);
    return until > st->now_ns ? until : 0;
}

/* Finds the least served of the competing jobs, and raises the floor to its service. */
static void look(struct sched_state *st) {
    struct sched_share *sh = &st->share;
    sh->wake_ns = sh->least = SCHED_NEVER;
    while (sh->jobs.count) {
        uint32_t job = sh->jobs.items[0];
        uint64_t number = st->jobs[job].number, until = competes_until(st, job);
        if (number > sh->keys[job]) {
            sh->keys[job] = number;
            minheap_settle(&sh->jobs, 0, key_before, sh->keys);
            continue;
        }
        if (number > sh->floor) sh->floor = number;
        if (until) {
            sh->least = number;
            sh->wake_ns = until;
            return;
        }
        minheap_take(&sh->jobs, key_before, sh->keys);
    }
}

/* ---- service --------------------------------------------------------------------------------- */

static uint64_t minus(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

void share_charge(struct sched *s, uint32_t job, int64_t ns) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    if (!s->lane_policy->service || !ns) return;
    if (ns > 0)
        j->number += s->lane_policy->service(st, job, (uint64_t)ns);
    else
        j->number = minus(j->number, s->lane_policy->service(st, job, -(uint64_t)ns));
    if (st->share.jobs.place[job] == MINHEAP_NONE) return;
    compete(st, job);
    if (ranked_has(&st->ranked, job)) share_put(s, job, st->ranked.jobs[job].op);
}

void share_wait(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    if (st->share.on && !is_exempt(st, &st->jobs[job])) compete(st, job);
}

void share_begin(struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    uint32_t op = st->jobs[job].head[SCHED_RUNNING];
    for (; op != SCHED_NONE; op = st->ops[op].next)
        share_charge(s, job, (int64_t)st->ops[op].expected_ns);
}

uint64_t share_floor(struct sched *s, uint32_t lane) {
    if (!s->st.share.on) return state_domain(&s->st, lane)->floor;
    look(&s->st);
    return s->st.share.floor;
}

/* ---- operations ------------------------------------------------------------------------------ */

uint64_t share_rank(const struct sched *s, uint32_t job) {
    const struct sched_job *j = &s->st.jobs[job];
    return is_exempt(&s->st, j) ? 0 : j->number;
}

void share_put(struct sched *s, uint32_t job, uint32_t op) {
    struct sched_state *st = &s->st;
    const struct sched_job *j = &st->jobs[job];
    bool exempt = is_exempt(st, j);
    if (!exempt) compete(st, job);
    ranked_put(&st->ranked, job, exempt ? 0 : j->number, st->ops[op].arrival, op);
}

void share_sent(struct sched *s, uint32_t op) {
    const struct sched_op *o = &s->st.ops[op];
    struct sched_job *j = &s->st.jobs[o->job];
    if (!j->running) j->began_ns = s->st.now_ns;
    share_charge(s, o->job, (int64_t)o->expected_ns);
}

void share_ended(struct sched *s, uint32_t op, uint64_t busy_ns) {
    const struct sched_op *o = &s->st.ops[op];
    share_charge(s, o->job, (int64_t)(busy_ns - o->expected_ns));
}

bool share_allows(const struct sched *s, uint32_t job) {
    const struct sched_job *j = &s->st.jobs[job];
    if (j->number <= s->st.share.least || is_exempt(&s->st, j)) return true;
    uint64_t ahead = j->number - s->st.share.least;
    return ahead <= s->lane_policy->service(&s->st, job, SHARE_LAG_NS);
}

/* Charges the least served job for an operation that runs longer than expected, for the time so
 * far: a kernel without an end must not hold others back forever. Returns true when it charged the
 * job. Otherwise sets the wake-up to SHARE_LAG_NS after the expected end. */
static bool charge_overdue(struct sched *s) {
    struct sched_state *st = &s->st;
    struct sched_share *sh = &st->share;
    uint32_t job = sh->jobs.count ? sh->jobs.items[0] : SCHED_NONE;
    if (job == SCHED_NONE || !st->jobs[job].running) return false;
    const struct sched_job *j = &st->jobs[job];
    struct sched_op *o = &st->ops[j->head[SCHED_RUNNING]];
    uint64_t since = j->began_ns > j->done_ns ? j->began_ns : j->done_ns;
    uint64_t ns = st->now_ns - since, expected_ns = o->expected_ns;
    if (ns > expected_ns) {
        share_charge(s, job, (int64_t)(ns - expected_ns));
        o->expected_ns = ns;
    }
    uint64_t wake_ns = since + o->expected_ns + SHARE_LAG_NS;
    if (wake_ns < sh->wake_ns) sh->wake_ns = wake_ns;
    return ns > expected_ns;
}

uint32_t share_pick(struct sched *s) {
    const struct ranked *r = &s->st.ranked;
    if (!r->heap.count) {
        s->st.share.wake_ns = SCHED_NEVER;
        return SCHED_NONE;
    }
    do {
        uint32_t job = ranked_first(r);
        look(&s->st);
        if (share_allows(s, job)) return r->jobs[job].op;
    } while (charge_overdue(s));
    return SCHED_NONE;
}

/* ---- the policies ---------------------------------------------------------------------------- */

void share_leave(struct sched *s) {
    struct sched_share *sh = &s->st.share;
    while (sh->jobs.count)
        minheap_take(&sh->jobs, key_before, sh->keys);
    sh->on = false;
    sh->floor = 0;
    sh->least = sh->wake_ns = SCHED_NEVER;
}

void share_enter(struct sched *s) {
    const struct policy *p = s->policy;
    s->st.share.on =
        s->lane_policy->levels && !s->st.exclusive && !p->classes && !p->rank && !p->may;
    s->st.share.keeps_promises = s->controller != &control_open;
}

const char *share_check(const struct sched *s) {
    const struct sched_state *st = &s->st;
    const struct sched_share *sh = &st->share;
    for (uint32_t i = 0; i < sh->jobs.count; i++) {
        uint32_t job = sh->jobs.items[i];
        if (sh->jobs.place[job] != i) return "share: a job's index in the heap is wrong";
        if (!st->jobs[job].used) return "share: a job that has left competes";
        if (i && key_before(sh->keys, job, sh->jobs.items[(i - 1) / 2]))
            return "share: the heap is out of order";
        if (sh->keys[job] > st->jobs[job].number)
            return "share: a job's key is larger than what it received";
    }
    for (uint32_t job = 0; sh->on && job < st->jobs_cap; job++)
        if (ranked_has(&st->ranked, job) && !is_exempt(st, &st->jobs[job]) &&
            sh->jobs.place[job] == MINHEAP_NONE)
            return "share: a job that has an operation to run does not compete";
    return NULL;
}
