/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects the scheduler and the workers: sends batches, and returns batches that failed to the
 * scheduler.
 */
#include "daemon/serve/gateway/served/served_batches.h"

#include <errno.h>
#include <string.h>

#include "common/fdutil.h"
#include "daemon/serve/gateway/served/served_end.h"
#include "daemon/serve/gateway/served/served_events.h"
#include "daemon/serve/gateway/served/served_profile.h"

void served_batches_lose(struct served_worker *w) {
    if (!w->rests) served_event(w->of, PLAN_LOST)->worker = w->number;
    w->rests = false;
    w->batch = 0;
}

void served_batches_offer(struct served_worker *w) {
    served_event(w->of, PLAN_READY)->worker = w->number;
}

void served_batches_withdraw(struct served_worker *w) {
    w->ready = false;
    w->of->ready_count--;
    served_batches_lose(w);
}

/* Withdraws the worker for a while, because the next batch would also lack memory or
 * descriptors. */
static void rest(struct served_worker *w) {
    served_batches_lose(w);
    w->rests = true;
    served_again(w->of);
}

void served_batches_rested(struct served *s) {
    for (uint32_t i = 0; i < s->settings->workers; i++) {
        struct served_worker *w = &s->workers[i];
        if (w->rests) served_batches_offer(w);
        w->rests = false;
    }
}

void served_batches_give_up(struct served *s, uint64_t id, enum served_end end, int status,
                            const char *what, const char *text) {
    struct asked *asked = unanswered_find(&s->asking, id);
    struct refusal why = {0};
    served_event(s, PLAN_CANCELLED)->id = id;
    if (!asked) return;
    refusal_say(&why, status, "model \"%.64s\": %s%.300s", s->model->name, what, text);
    served_end(s, asked, end, &why);
}

/* ---- sending a batch ------------------------------------------------------------------------- */

/* Collects the requests of a batch; skips those whose clients are gone. */
static uint32_t gather(struct served_worker *w, const struct plan_action *send,
                       struct batch_request *requests) {
    struct served *s = w->of;
    w->planned = send->size;
    w->count = 0;
    for (uint32_t i = 0; i < send->size; i++) {
        const struct asked *asked = unanswered_find(&s->asking, send->ids[i]);
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

/* Handles a batch that was not sent. Its requests fail and are not retried, unless the worker was
 * gone. */
static void take_back(struct served_worker *w, int err, const char *why) {
    struct served *s = w->of;
    if (err == -ENOTCONN) {
        served_batches_withdraw(w);
        return;
    }
    for (uint32_t i = 0; i < w->count; i++)
        served_batches_give_up(s, w->ids[i], SERVED_FAILED, err == -EINVAL ? 500 : 503,
                               "salus-serve could not send the batch to the model's worker: ",
                               *why ? why : strerror(-err));
    if (fdutil_scarce(err)) {
        rest(w);
        return;
    }
    served_batches_lose(w);
    served_batches_offer(w);
}

/* The batch is already sent, so that copying its requests delays none of them. */
static void sample(struct served_worker *w) {
    for (uint32_t i = 0; i < w->count; i++) {
        struct asked *asked = unanswered_find(&w->of->asking, w->ids[i]);
        if (asked) served_profile_sent(asked, w->planned);
    }
}

void served_batches_send(struct served *s, const struct plan_action *send) {
    struct served_worker *w = &s->workers[send->worker];
    struct batch_request requests[PLAN_BATCH_MOST];
    struct serve_memory_why why = {0};
    if (!gather(w, send, requests)) {
        served_batches_lose(w);
        served_batches_offer(w);
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
