/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns reports of workers and of the profiler into events for the scheduler.
 */
#include "daemon/serve/gateway/served/served_workers.h"

#include "daemon/serve/gateway/served/served_batches.h"
#include "daemon/serve/gateway/served/served_end.h"
#include "daemon/serve/gateway/served/served_events.h"
#include "daemon/serve/gateway/served/served_profile.h"
#include "daemon/serve/gateway/served/served_step.h"
#include "daemon/serve/http/front_reply.h"

static void on_ready(void *ctx, struct model_worker *worker) {
    struct served_worker *w = ctx;
    w->ready = true;
    w->of->ready_count++;
    served_batches_offer(w);
    served_step(w->of);
}

static void on_done(void *ctx, struct model_worker *worker, uint64_t number, struct result *r) {
    struct served_worker *w = ctx;
    struct served *s = w->of;
    struct plan_event *e = served_event(s, PLAN_DONE);
    uint64_t took_ns = uv_hrtime() - w->sent_ns;
    if (!took_ns) took_ns = 1;
    e->worker = w->number;
    e->done.batch_ns = took_ns;
    if (w->planned == 1) { /* the request was alone in its batch */
        w->alone_ns = measure_take(&s->measure, model_worker_device_ns(worker), took_ns);
        e->done.alone_ns = &w->alone_ns; /* 0: not known */
    }
    s->batch_ns += took_ns;
    w->batch = 0;
    s->stepping =
        true; /* defers steps caused by the answers, because the next batch overwrites w->ids */
    for (uint32_t i = 0; i < w->count; i++) {
        struct asked *asked = unanswered_find(&s->asking, w->ids[i]);
        uint32_t count;
        const struct tensor *outputs = result_outputs(r, i, &count);
        if (!asked) continue;
        int status = front_answer(asked->reply, outputs, count);
        served_end(s, asked, status == 200 ? SERVED_ANSWERED : SERVED_FAILED, NULL);
    }
    result_destroy(r);
    s->stepping = false;
    served_step(s);
    served_profile_quiet(s);
}

/* The duration of a failed batch is not used. */
static void on_failed(void *ctx, struct model_worker *worker, uint64_t number, const char *why) {
    struct served_worker *w = ctx;
    struct served *s = w->of;
    s->stepping = true;
    for (uint32_t i = 0; i < w->count; i++)
        served_batches_give_up(s, w->ids[i], SERVED_FAILED, 500, "", why);
    served_batches_lose(w);
    served_batches_offer(w);
    s->stepping = false;
    served_step(s);
}

/* A request whose batch is lost a second time fails, because it may be the cause. */
static void on_lost(void *ctx, struct model_worker *worker, uint64_t number, const char *why) {
    struct served_worker *w = ctx;
    struct served *s = w->of;
    s->ends_of_workers++;
    if (!w->ready) return;
    uint32_t count = w->batch ? w->count : 0;
    served_batches_withdraw(w);
    s->stepping = true;
    for (uint32_t i = 0; i < count; i++) {
        struct asked *asked = unanswered_find(&s->asking, w->ids[i]);
        if (asked && asked->lost)
            served_batches_give_up(s, asked->id, SERVED_LOST, 503,
                                   "two workers ended while they computed the request: ", why);
        else if (asked)
            asked->lost = true;
    }
    s->stepping = false;
    served_step(s);
}

static void on_stopped(void *ctx, struct model_worker *worker) {
    struct served_worker *w = ctx;
    model_worker_destroy(w->worker);
    w->worker = NULL;
    served_one_less(w->of);
}

const struct model_worker_ops served_workers_ops = {
    .ready = on_ready,
    .done = on_done,
    .failed = on_failed,
    .lost = on_lost,
    .stopped = on_stopped,
};

/* ---- the profiler ---------------------------------------------------------------------------- */

static bool is_crowded(void *ctx) {
    return served_profile_is_crowded(ctx);
}

static void on_alone(void *ctx, uint32_t app, uint64_t device_ns, uint64_t wall_ns) {
    struct served *s = ctx;
    uint64_t alone_ns = measure_take(&s->measure, device_ns, wall_ns);
    if (!alone_ns || !served_has_room(s)) return;
    struct plan_event *e = served_event(s, PLAN_ALONE);
    e->alone.app = app;
    e->alone.ns = alone_ns;
    served_step(s);
}

static void on_profiler_stopped(void *ctx) {
    served_profile_stopped(ctx);
    served_one_less(ctx);
}

const struct profiler_ops served_workers_profiler_ops = {
    .crowded = is_crowded, .alone = on_alone, .stopped = on_profiler_stopped};
