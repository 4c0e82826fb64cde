/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the scheduler and the workers: batches, and what becomes of them.
 */
#include <errno.h>
#include <string.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/serve/gateway/served/served_profile.h"
#include "daemon/serve/gateway/served/served_state.h"
#include "daemon/serve/http/front_reply.h"

/* Its requests are given back: to the scheduler, which may send them again. */
static void lose(struct served_worker *w) {
    if (!w->rests) served_event(w->of, PLAN_LOST)->worker = w->number;
    w->rests = false;
    w->batch = 0;
}

static void offer(struct served_worker *w) {
    served_event(w->of, PLAN_READY)->worker = w->number;
}

/* It takes no batches until it is ready again: that it is lost is told later. */
static void withdraw(struct served_worker *w) {
    w->ready = false;
    w->of->ready_count--;
    lose(w);
}

/* There is no use in the next batch at once: for that, too, something will be wanting. */
static void rest(struct served_worker *w) {
    lose(w);
    w->rests = true;
    served_again(w->of);
}

void served_rested(struct served *s) {
    for (uint32_t i = 0; i < s->settings->workers; i++) {
        struct served_worker *w = &s->workers[i];
        if (w->rests) offer(w);
        w->rests = false;
    }
}

static void give_up(struct served *s, uint64_t id, enum served_end end, int status,
                    const char *what, const char *text) {
    struct asked *asked = asking_find(&s->asking, id);
    struct refusal why = {0};
    served_event(s, PLAN_CANCELLED)->id = id;
    if (!asked) return;
    refusal_say(&why, status, "model \"%.64s\": %s%.300s", s->model->name, what, text);
    served_end(s, asked, end, &why);
}

/* ---- a batch goes ---------------------------------------------------------------------------- */

/* Requests whose clients are gone have no place in it. */
static uint32_t gather(struct served_worker *w, const struct plan_action *send,
                       struct batch_request *requests) {
    struct served *s = w->of;
    w->planned = send->size;
    w->count = 0;
    for (uint32_t i = 0; i < send->size; i++) {
        const struct asked *asked = asking_find(&s->asking, send->ids[i]);
        if (!asked) {
            served_event(s, PLAN_CANCELLED)->id = send->ids[i];
            continue;
        }
        requests[w->count] =
            (struct batch_request){asked->request->inputs, asked->request->inputs_count};
        w->ids[w->count++] = asked->id;
    }
    return w->count;
}

/* It was not taken: nobody is to try the same again, unless only the worker was not there. */
static void take_back(struct served_worker *w, int err, const char *why) {
    struct served *s = w->of;
    if (err == -ENOTCONN) {
        withdraw(w);
        return;
    }
    for (uint32_t i = 0; i < w->count; i++)
        give_up(s, w->ids[i], SERVED_FAILED, err == -EINVAL ? 500 : 503,
                "the batch could not be sent: ", *why ? why : strerror(-err));
    if (fdutil_scarce(err)) {
        rest(w);
        return;
    }
    lose(w);
    offer(w);
}

/* The batch is on its way: copying holds up nobody in it. */
static void sample(struct served_worker *w) {
    for (uint32_t i = 0; i < w->count; i++) {
        struct asked *asked = asking_find(&w->of->asking, w->ids[i]);
        if (asked) served_profile_sent(asked, w->planned);
    }
}

void served_send(struct served *s, const struct plan_action *send) {
    struct served_worker *w = &s->workers[send->worker];
    struct batch_request requests[PLAN_BATCH_MOST];
    struct serve_memory_why why = {0};
    if (!gather(w, send, requests)) {
        lose(w);
        offer(w);
        return;
    }
    int err =
        model_worker_send(w->worker, ++s->batches, requests, w->count, s->settings->limit_ns, &why);
    if (err) {
        take_back(w, err, why.text);
        return;
    }
    w->batch = s->batches;
    w->sent_ns = uv_hrtime();
    s->sent += w->count;
    sample(w);
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

static void on_ready(void *ctx, struct model_worker *worker) {
    struct served_worker *w = ctx;
    w->ready = true;
    w->of->ready_count++;
    offer(w);
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
    if (w->planned == 1) { /* it was alone */
        w->alone_ns = measure_take(&s->measure, model_worker_device_ns(worker), took_ns);
        e->done.alone_ns = &w->alone_ns; /* 0: not known */
    }
    s->batch_ns += took_ns;
    w->batch = 0;
    s->stepping =
        true; /* what an answer brings about must wait: the next batch's numbers go there */
    for (uint32_t i = 0; i < w->count; i++) {
        struct asked *asked = asking_find(&s->asking, w->ids[i]);
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

/* The time that it took says nothing of a batch. */
static void on_failed(void *ctx, struct model_worker *worker, uint64_t number, const char *why) {
    struct served_worker *w = ctx;
    struct served *s = w->of;
    s->stepping = true;
    for (uint32_t i = 0; i < w->count; i++)
        give_up(s, w->ids[i], SERVED_FAILED, 500, "", why);
    lose(w);
    offer(w);
    s->stepping = false;
    served_step(s);
}

/* Whose batch is lost a second time is given up: it may be what ends them. */
static void on_lost(void *ctx, struct model_worker *worker, uint64_t number, const char *why) {
    struct served_worker *w = ctx;
    struct served *s = w->of;
    s->ends_of_workers++;
    if (!w->ready) return;
    uint32_t count = w->batch ? w->count : 0;
    withdraw(w);
    s->stepping = true;
    for (uint32_t i = 0; i < count; i++) {
        struct asked *asked = asking_find(&s->asking, w->ids[i]);
        if (asked && asked->lost)
            give_up(s, asked->id, SERVED_LOST, 503,
                    "two workers ended that had the request: ", why);
        else if (asked)
            asked->lost = true;
    }
    s->stepping = false;
    served_step(s);
}

static void on_stopped(void *ctx, struct model_worker *worker) {
    served_stopped(ctx);
}

const struct model_worker_ops served_worker_ops = {
    .ready = on_ready,
    .done = on_done,
    .failed = on_failed,
    .lost = on_lost,
    .stopped = on_stopped,
};
