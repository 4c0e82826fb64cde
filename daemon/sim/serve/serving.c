/* SPDX-License-Identifier: Apache-2.0
 *
 * The event loop.
 */
#include "daemon/sim/serve/serving.h"

#include <errno.h>
#include <string.h>

#include "daemon/sim/serve/draw.h"

#define MS 1e6
#define KNOWN 200u  /* times alone per application known at the start: historical data */
#define SAMPLED 10u /* one in this many served requests is run again alone */
#define EVENTS 256u

struct busy {
    uint64_t end_ns, ns;
    uint64_t ids[PLAN_BATCH_MOST];
    uint32_t count;
};

struct serving {
    struct plan *plan;
    const struct demand *demand;
    const struct demand_spec *spec;
    struct draw draw;
    struct busy workers[PLAN_WORKERS];
    struct plan_event events[EVENTS];
    uint32_t event_count, next; /* next: index of the next arriving request */
    uint64_t now_ns, arm_ns;
    struct serving_result *out;
};

static struct plan_event *event(struct serving *s, enum plan_event_kind kind) {
    struct plan_event *e = &s->events[s->event_count++];
    *e = (struct plan_event){.kind = kind};
    return e;
}

/* Each id is the request's index. */
static void begin_batch(struct serving *s, const struct plan_action *a) {
    struct busy *b = &s->workers[a->worker];
    uint64_t longest = 0;
    b->count = a->size;
    for (uint32_t i = 0; i < a->size; i++) {
        b->ids[i] = a->ids[i];
        if (s->demand->requests[a->ids[i]].alone_ns > longest)
            longest = s->demand->requests[a->ids[i]].alone_ns;
    }
    b->ns = (uint64_t)(s->spec->c0_ms * MS + s->spec->c1 * a->size * (double)longest +
                       s->spec->overhead_ms * MS * a->size);
    b->end_ns = s->now_ns + b->ns;
    s->out->batches++;
    s->out->busy_ns += b->ns;
}

static int step(struct serving *s) {
    struct plan_actions answer;
    int err = plan_step(s->plan, s->now_ns, s->events, s->event_count, &answer);
    s->event_count = 0;
    for (uint32_t i = 0; !err && i < answer.count; i++) {
        const struct plan_action *a = &answer.items[i];
        if (a->kind == PLAN_SEND) begin_batch(s, a);
        if (a->kind == PLAN_ARM) s->arm_ns = a->at_ns;
        if (a->kind == PLAN_REJECT) err = -EPROTO;
        s->out->timed_out += a->kind == PLAN_TIMEOUT;
        s->out->refused += a->kind == PLAN_REFUSE;
    }
    return err;
}

static void end_batch(struct serving *s, uint32_t worker) {
    struct busy *b = &s->workers[worker];
    struct plan_event *e = event(s, PLAN_DONE);
    e->worker = worker;
    e->done.batch_ns = b->ns;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct demand_request *r = &s->demand->requests[b->ids[i]];
        bool in_time = s->now_ns <= r->deadline_ns;
        s->out->finished += in_time;
        s->out->served_late += !in_time;
        if (draw_below(&s->draw, SAMPLED) || s->event_count + 2 * PLAN_WORKERS > EVENTS) continue;
        struct plan_event *alone = event(s, PLAN_ALONE);
        alone->alone.app = r->app;
        alone->alone.ns = r->alone_ns;
    }
    b->count = 0;
}

/* Time of the next event; PLAN_FOREVER: never. */
static uint64_t next_ns(const struct serving *s) {
    uint64_t first = s->arm_ns;
    if (s->next < s->spec->count && s->demand->requests[s->next].arrived_ns < first)
        first = s->demand->requests[s->next].arrived_ns;
    for (uint32_t i = 0; i < s->spec->workers; i++)
        if (s->workers[i].count && s->workers[i].end_ns < first) first = s->workers[i].end_ns;
    return first;
}

static int happen(struct serving *s, uint64_t at_ns) {
    s->now_ns = at_ns;
    if (s->arm_ns <= at_ns) s->arm_ns = PLAN_FOREVER;
    for (uint32_t i = 0; i < s->spec->workers; i++)
        if (s->workers[i].count && s->workers[i].end_ns <= at_ns) end_batch(s, i);
    while (s->next < s->spec->count && s->event_count < EVENTS &&
           s->demand->requests[s->next].arrived_ns <= at_ns) {
        const struct demand_request *r = &s->demand->requests[s->next];
        struct plan_event *e = event(s, PLAN_ARRIVED);
        e->arrived.id = s->next++;
        e->arrived.app = r->app;
        e->arrived.arrived_ns = r->arrived_ns;
        e->arrived.deadline_ns = r->deadline_ns;
    }
    return step(s);
}

/* Provides the historical data and the workers. */
static int begin(struct serving *s) {
    uint32_t apps = serving_demand_apps(s->spec), known = s->spec->unknown ? 0 : KNOWN * apps;
    int err = 0;
    for (uint32_t i = 0; !err && i < known; i++) {
        struct plan_event *e = event(s, PLAN_ALONE);
        e->alone.app = i % apps;
        e->alone.ns = serving_demand_time(s->spec, &s->draw, e->alone.app);
        if (s->event_count == EVENTS) err = step(s);
    }
    if (!err) err = step(s);
    for (uint32_t i = 0; i < s->spec->workers; i++)
        event(s, PLAN_READY)->worker = i;
    return err ? err : step(s);
}

static void fill_config(const struct demand_spec *spec, struct plan_config *c) {
    c->apps = serving_demand_apps(spec);
    c->c0_ns = (uint64_t)(spec->c0_ms * MS);
    c->c1 = spec->c1;
    for (uint32_t size = 1; size <= spec->largest && c->size_count < PLAN_SIZES; size *= 2)
        c->sizes[c->size_count++] = size;
}

int serving_run(const struct demand *d, const struct demand_spec *spec, struct plan_config config,
                struct serving_result *out) {
    struct serving s = {.demand = d,
                        .spec = spec,
                        .draw = {spec->seed ^ 0x5eed},
                        .arm_ns = PLAN_FOREVER,
                        .out = out};
    *out = (struct serving_result){0};
    config.size_count = 0;
    fill_config(spec, &config);
    int err = plan_create(&s.plan, &config, NULL, 0);
    if (err) return err;
    err = begin(&s);
    for (uint64_t at; !err && (at = next_ns(&s)) != PLAN_FOREVER;)
        err = happen(&s, at);
    out->end_ns = s.now_ns;
    plan_destroy(s.plan);
    return err;
}
