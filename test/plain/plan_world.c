/* SPDX-License-Identifier: Apache-2.0
 *
 * Random worlds of requests, under every policy. Requests arrive in bursts, are cancelled, and time
 * out; workers come, take batches, and die with them; execution times are learned and change.
 *
 * After every step: the invariants hold; every request is pending, in one batch, or was answered
 * once (sent, late, refused or cancelled); no batch goes to a worker that is busy or gone; a batch
 * has one of the allowed sizes; nothing is sent or pending beyond its deadline; exactly the invalid
 * events are rejected. A second scheduler that gets the same events gives the same answers. At the
 * end of a world no request is left waiting.
 *
 *   plan_world [seed] [worlds]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/plan/plan.h"

#define REQUESTS 4000u /* requests of a world */
#define WORKERS 5u
#define APPS 3u
#define EVENTS 64u
#define MS 1000000ull

enum where { NOT_YET, PENDING, SENT, OVER };

struct request {
    uint64_t deadline_ns;
    enum where where;
    bool cancelled; /* cancelled while in a batch */
};

struct worker {
    bool here;
    uint32_t count;
    uint64_t ids[PLAN_BATCH_MOST], end_ns;
    uint64_t alone_ns[PLAN_BATCH_MOST];
};

struct world {
    struct plan *p, *twin;
    struct plan_config config;
    struct request requests[REQUESTS];
    struct worker workers[WORKERS];
    uint64_t seed, now_ns, arm_ns, steps, next, slo_ns;
    uint32_t pending, rejects; /* rejects: number of expected rejections */
    uint64_t sent, late, refused, cancelled, returned,
        sizes; /* sizes: a bit for each batch size that was sent */
};

static uint32_t draw(struct world *w, uint32_t below) {
    w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((w->seed >> 33) % below);
}

static void fail(const struct world *w, const char *what, uint64_t id) {
    fprintf(stderr, "plan_world: %s, step %llu, %llu: %s\n", w->config.policy,
            (unsigned long long)w->steps, (unsigned long long)id, what);
    abort();
}

/* ---- actions --------------------------------------------------------------------------------- */

static struct request *pending(struct world *w, uint64_t id, const char *what) {
    if (id >= REQUESTS || w->requests[id].where != PENDING) fail(w, what, id);
    w->pending--;
    return &w->requests[id];
}

static void note_sent(struct world *w, const struct plan_action *a) {
    struct worker *k = &w->workers[a->worker];
    uint32_t size = 0;
    if (a->worker >= WORKERS || !k->here) fail(w, "a batch for nobody", a->worker);
    if (k->count) fail(w, "a batch for a busy worker", a->worker);
    while (size < w->config.size_count && w->config.sizes[size] != a->size)
        size++;
    if (size == w->config.size_count) fail(w, "a batch of a size that there is not", a->size);
    for (uint32_t i = 0; i < a->size; i++) {
        struct request *r = pending(w, a->ids[i], "sent, but not pending");
        if (r->deadline_ns < w->now_ns) fail(w, "sent after its deadline", a->ids[i]);
        r->where = SENT;
        k->ids[i] = a->ids[i];
        k->alone_ns[i] = draw(w, 10) ? (1 + draw(w, 40)) * MS : 0;
    }
    k->count = a->size;
    k->end_ns = w->now_ns + (1 + draw(w, 30)) * MS * (1 + a->size / 2);
    w->sizes |= 1ull << size;
    w->sent += a->size;
}

static void take_actions(struct world *w, const struct plan_actions *out) {
    for (uint32_t i = 0; i < out->count; i++) {
        const struct plan_action *a = &out->items[i];
        switch (a->kind) {
        case PLAN_SEND: note_sent(w, a); break;
        case PLAN_TIMEOUT:
            pending(w, a->id, "late, but not pending")->where = OVER;
            w->late++;
            break;
        case PLAN_REFUSE:
            pending(w, a->id, "refused, but not pending")->where = OVER;
            w->refused++;
            break;
        case PLAN_ARM:
            if (a->at_ns <= w->now_ns) fail(w, "to be woken in the past", a->at_ns);
            w->arm_ns = a->at_ns;
            break;
        case PLAN_REJECT:
            if (!w->rejects--) fail(w, plan_fault_text(a->rejected.fault), a->rejected.index);
            break;
        default: fail(w, "an action of no kind", a->kind);
        }
    }
    if (w->rejects) fail(w, "what cannot be was not rejected", w->rejects);
}

static void expect_same(const struct world *w, const struct plan_actions *a,
                        const struct plan_actions *b) {
    if (a->count != b->count) fail(w, "its twin answers otherwise", 0);
    for (uint32_t i = 0; i < a->count; i++) {
        const struct plan_action *x = &a->items[i], *y = &b->items[i];
        bool same = x->kind == y->kind && x->worker == y->worker && x->size == y->size;
        if (same && x->kind == PLAN_SEND)
            same = memcmp(x->ids, y->ids, x->size * sizeof(*x->ids)) == 0;
        else
            same = same && x->id == y->id;
        if (!same) fail(w, "its twin answers otherwise", i);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static uint32_t add_arrivals(struct world *w, struct plan_event *e) {
    uint32_t count = 0, burst = draw(w, 20) ? draw(w, 3) : draw(w, 30);
    for (; burst && w->next < REQUESTS; burst--) {
        uint64_t id = w->next++;
        uint64_t slo_ns = w->slo_ns / 2 + draw(w, 1000) * (w->slo_ns / 1000);
        w->requests[id] = (struct request){w->now_ns + slo_ns, PENDING, false};
        w->pending++;
        e[count++] = (struct plan_event){
            .kind = PLAN_ARRIVED, .arrived = {id, w->now_ns, w->now_ns + slo_ns, draw(w, APPS)}};
    }
    return count;
}

static void end_batch(struct world *w, struct worker *k, enum where where) {
    for (uint32_t i = 0; i < k->count; i++) {
        struct request *r = &w->requests[k->ids[i]];
        bool back = where == PENDING && !r->cancelled;
        r->where = back ? PENDING : OVER;
        w->pending += back;
        w->returned += back;
        w->sent -= back;
    }
    k->count = 0;
}

static uint32_t act_of_worker(struct world *w, uint32_t i, struct plan_event *e) {
    struct worker *k = &w->workers[i];
    if (!k->here) {
        if (draw(w, 20)) return 0;
        k->here = true;
        *e = (struct plan_event){.kind = PLAN_READY, .worker = i};
        return 1;
    }
    if (draw(w, 200) == 0) {
        *e = (struct plan_event){.kind = PLAN_LOST, .worker = i};
        end_batch(w, k, PENDING);
        k->here = false;
        return 1;
    }
    if (!k->count || w->now_ns < k->end_ns) return 0;
    *e = (struct plan_event){.kind = PLAN_DONE, .worker = i};
    e->done.batch_ns = 1 + draw(w, 100 * MS);
    e->done.alone_ns = draw(w, 3) ? k->alone_ns : NULL;
    end_batch(w, k, OVER);
    return 1;
}

static uint32_t cancel(struct world *w, struct plan_event *e) {
    if (draw(w, 10) || !w->next) return 0;
    uint64_t id = w->next - 1 - draw(w, w->next < 50 ? (uint32_t)w->next : 50);
    struct request *r = &w->requests[id];
    bool there = r->where == PENDING || (r->where == SENT && !r->cancelled);
    *e = (struct plan_event){.kind = PLAN_CANCELLED, .id = id};
    w->rejects += !there;
    if (!there) return 1;
    w->cancelled += r->where == PENDING;
    w->pending -= r->where == PENDING;
    r->cancelled = r->where == SENT;
    if (r->where == PENDING) r->where = OVER;
    return 1;
}

/* Makes an invalid event. */
static uint32_t mistake(struct world *w, struct plan_event *e) {
    if (draw(w, 30)) return 0;
    uint32_t what = draw(w, 4);
    *e = (struct plan_event){.kind = PLAN_ALONE, .alone = {.ns = 1, .app = APPS}};
    if (what == 1) *e = (struct plan_event){.kind = PLAN_READY, .worker = PLAN_WORKERS};
    if (what == 2)
        *e = (struct plan_event){.kind = PLAN_DONE, .worker = WORKERS, .done = {1, NULL}};
    if (what == 3) *e = (struct plan_event){.kind = PLAN_CANCELLED, .id = UINT64_MAX};
    w->rejects++;
    return 1;
}

static uint32_t gather(struct world *w, struct plan_event *events) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < WORKERS; i++)
        count += act_of_worker(w, i, events + count);
    count += cancel(w, events + count);
    count += mistake(w, events + count);
    if (draw(w, 5) == 0)
        events[count++] = (struct plan_event){
            .kind = PLAN_ALONE, .alone = {1 + (uint64_t)draw(w, 50) * MS, draw(w, APPS)}};
    return count + add_arrivals(w, events + count);
}

/* ---- worlds ---------------------------------------------------------------------------------- */

/* Every waiting request is within its deadline; otherwise it would have been answered. */
static void expect_answers(const struct world *w) {
    uint32_t waiting = 0;
    for (uint64_t id = 0; id < w->next; id++) {
        if (w->requests[id].where != PENDING) continue;
        waiting++;
        if (w->requests[id].deadline_ns < w->now_ns) fail(w, "waits beyond its deadline", id);
    }
    struct plan_view view;
    plan_view(w->p, &view);
    if (waiting != w->pending || view.pending != waiting) fail(w, "somebody is lost", waiting);
}

static void step(struct world *w) {
    struct plan_event events[EVENTS];
    struct plan_actions out, other;
    w->now_ns += draw(w, 4) ? draw(w, 3 * MS) : draw(w, 20 * MS);
    if (draw(w, 10) == 0 && w->arm_ns > w->now_ns && w->arm_ns != PLAN_FOREVER)
        w->now_ns = w->arm_ns;
    uint32_t count = gather(w, events);
    w->steps++;
    if (plan_step(w->p, w->now_ns, events, count, &out)) fail(w, "the step failed", 0);
    if (plan_step(w->twin, w->now_ns, events, count, &other)) fail(w, "the step failed", 0);
    expect_same(w, &out, &other);
    take_actions(w, &out);
    const char *broken = plan_check(w->p);
    if (broken) fail(w, broken, 0);
    if (w->steps % 16 == 0) expect_answers(w);
}

static bool is_over(const struct world *w) {
    bool over = w->next == REQUESTS && !w->pending;
    for (uint32_t i = 0; i < WORKERS; i++)
        over = over && !w->workers[i].count;
    return over;
}

static void make_config(struct world *w, const char *policy) {
    static const uint32_t sizes[] = {1, 2, 3, 4, 8, 16, 32, 128};
    struct plan_config *c = &w->config;
    *c = (struct plan_config){.policy = policy, .apps = APPS};
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        if (i == 0 || draw(w, 2)) c->sizes[c->size_count++] = sizes[i];
    c->window_ns = draw(w, 2) ? PLAN_FOREVER : (1 + draw(w, 100)) * MS;
    c->refresh_ns = (1 + draw(w, 1000)) * MS;
    c->prior_ns = (1 + draw(w, 40)) * MS;
    c->c0_ns = draw(w, 10) * MS;
    c->c1 = 0.05 + 0.01 * draw(w, 100);
    c->b_per_ms = draw(w, 2) ? 0.1 : 1e-4;
    c->own = draw(w, 2);
    c->urgent = draw(w, 2);
    c->point_milli = draw(w, 2) ? 0 : 500 + draw(w, 499);
}

static void run_world(struct world *w, const char *policy) {
    make_config(w, policy);
    memset(w->requests, 0, sizeof(w->requests));
    memset(w->workers, 0, sizeof(w->workers));
    w->now_ns = w->steps = w->next = w->pending = w->rejects = 0;
    w->sent = w->late = w->refused = w->cancelled = 0;
    w->arm_ns = PLAN_FOREVER;
    w->slo_ns = (20 + draw(w, 300)) * MS;
    if (plan_create(&w->p, &w->config, NULL, 0) || plan_create(&w->twin, &w->config, NULL, 0))
        abort();
    while (!is_over(w)) {
        step(w);
        if (w->steps > 100000) fail(w, "somebody was never answered", w->pending);
    }
    if (w->sent + w->late + w->refused + w->cancelled != REQUESTS)
        fail(w, "not everybody was answered once", w->sent + w->late + w->refused + w->cancelled);
    plan_destroy(w->p);
    plan_destroy(w->twin);
}

int main(int argc, char **argv) {
    struct world *w = calloc(1, sizeof(*w));
    w->seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint32_t worlds = argc > 2 ? (uint32_t)atoi(argv[2]) : 8;
    bool dull = false;
    for (uint32_t p = 0; plan_policy_name(p); p++) {
        uint64_t steps = 0, sent = 0, late = 0, refused = 0;
        w->sizes = w->returned = 0;
        for (uint32_t i = 0; i < worlds; i++) {
            run_world(w, plan_policy_name(p));
            steps += w->steps;
            sent += w->sent;
            late += w->late;
            refused += w->refused;
        }
        printf("plan_world: %s, %u worlds, %llu steps: %llu sent, %llu late, %llu refused, %llu "
               "came back\n",
               plan_policy_name(p), worlds, (unsigned long long)steps, (unsigned long long)sent,
               (unsigned long long)late, (unsigned long long)refused,
               (unsigned long long)w->returned);
        dull |= !sent || !late || !w->returned || (w->sizes & (w->sizes - 1)) == 0;
    }
    if (dull) fprintf(stderr, "plan_world: a policy had nothing to decide\n");
    free(w);
    return dull;
}
