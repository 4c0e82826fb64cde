/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the front and the scheduler: requests that come, and what the scheduler decides.
 */
#include "daemon/serve/gateway/served/served.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/serve/gateway/served/served_profile.h"
#include "daemon/serve/gateway/served/served_state.h"
#include "daemon/serve/http/front_reply.h"

#define RETRY_AFTER_S 1u
#define NS_PER_MS 1000000u
#define WORKER_EVENTS 64u    /* of one, between two steps, beside those of its batch */
#define REQUEST_EVENTS 4096u /* of all, between two steps */
#define AGAIN_MS 10u         /* what there was no memory for is tried so much later */

/* ---- ends ------------------------------------------------------------------------------------ */

void served_end(struct served *s, struct asked *asked, enum served_end end,
                const struct refusal *why) {
    s->ends[end]++;
    s->latency_ns += uv_hrtime() - asked->arrived_ns;
    served_profile_end(asked, end);
    if (why) front_refuse(asked->reply, why);
    asking_remove(&s->asking, asked);
}

static void refuse(struct served *s, uint64_t id, enum served_end end, int status,
                   const char *text) {
    struct refusal why = {.retry_after_s = end == SERVED_REFUSED ? RETRY_AFTER_S : 0};
    struct asked *asked = asking_find(&s->asking, id);
    if (!asked) return;
    refusal_say(&why, status, "model \"%.64s\": %s", s->model->name, text);
    served_end(s, asked, end, &why);
}

/* ---- the scheduler --------------------------------------------------------------------------- */

struct plan_event *served_event(struct served *s, enum plan_event_kind kind) {
    struct plan_event *e = &s->events[s->event_count++];
    *e = (struct plan_event){.kind = kind};
    return e;
}

static void on_timer(uv_timer_t *timer);

static void set_timer(struct served *s) {
    uint64_t now_ns = uv_hrtime(), at_ns = s->wake_ns < s->again_ns ? s->wake_ns : s->again_ns;
    uint64_t ns = at_ns > now_ns ? at_ns - now_ns : 0;
    if (at_ns != PLAN_FOREVER)
        uv_timer_start(&s->timer, on_timer, (ns + NS_PER_MS - 1) / NS_PER_MS, 0);
}

static void wake_at(struct served *s, uint64_t at_ns) {
    s->wake_ns = at_ns;
    set_timer(s);
}

void served_again(struct served *s) {
    s->again_ns = uv_hrtime() + (uint64_t)AGAIN_MS * NS_PER_MS;
    set_timer(s);
}

/* The loop's clock has whole milliseconds, so that this may be early by a part of one; the
 * scheduler, which finds nothing to do then, does not ask for the same moment twice. */
static void on_timer(uv_timer_t *timer) {
    struct served *s = timer->data;
    uint64_t now_ns = uv_hrtime();
    bool due = now_ns >= s->wake_ns, again = now_ns >= s->again_ns;
    if (due) s->wake_ns = PLAN_FOREVER;
    if (again) s->again_ns = PLAN_FOREVER;
    set_timer(s);
    if (again) served_rested(s);
    if (due || again) served_step(s);
}

static void carry_out(struct served *s, const struct plan_action *a) {
    switch (a->kind) {
    case PLAN_SEND: served_send(s, a); break;
    case PLAN_TIMEOUT:
        refuse(s, a->id, SERVED_TIMEOUT, 504, "the deadline cannot be met any more");
        break;
    case PLAN_REFUSE:
        refuse(s, a->id, SERVED_REFUSED, 429,
               "the deadline could not be met: try again later, or give it more time");
        break;
    case PLAN_ARM: wake_at(s, a->at_ns); break;
    case PLAN_REJECT:
        log_error("serve", "event=rejected model=%s text=\"%s\"", s->model->name,
                  plan_fault_text(a->rejected.fault));
        break;
    case PLAN_ACTIONS: break;
    }
}

/* What an action brings about is told in the next round. */
void served_step(struct served *s) {
    if (s->stepping) return;
    s->stepping = true;
    do {
        struct plan_event *told = s->events;
        struct plan_actions out;
        uint32_t count = s->event_count;
        if (plan_step(s->plan, uv_hrtime(), told, count, &out)) {
            served_again(s);
            break; /* they stay */
        }
        s->events = s->told;
        s->told = told;
        s->event_count = 0;
        for (uint32_t i = 0; i < out.count; i++)
            carry_out(s, &out.items[i]);
    } while (s->event_count);
    s->stepping = false;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The first names that come have a number each; what comes later is taken for any. */
static uint32_t app_of(struct served *s, const char *name) {
    if (!name) return 0;
    for (uint32_t i = 1; i < s->app_count; i++)
        if (strcmp(s->apps[i], name) == 0) return i;
    if (s->app_count == s->settings->plan.apps) return 0;
    snprintf(s->apps[s->app_count], sizeof(s->apps[0]), "%s", name);
    return s->app_count++;
}

bool served_ready(const struct served *s) {
    return s->ready_count > 0;
}

bool served_has_room(const struct served *s) {
    return s->event_count + s->event_spare < s->event_room;
}

void served_ask(struct served *s, const struct request *r, struct front_reply *reply) {
    struct refusal why = {0};
    struct asked *asked = served_has_room(s) ? asking_add(&s->asking) : NULL;
    if (!asked) {
        refusal_memory(&why);
        front_refuse(reply, &why);
        return;
    }
    asked->of = s;
    asked->request = r;
    asked->reply = reply;
    asked->arrived_ns = uv_hrtime();
    asked->app = app_of(s, r->application);
    reply->user = asked;
    served_profile_asked(asked);
    struct plan_event *e = served_event(s, PLAN_ARRIVED);
    e->arrived.id = asked->id;
    e->arrived.app = asked->app;
    e->arrived.arrived_ns = asked->arrived_ns;
    e->arrived.deadline_ns =
        asked->arrived_ns + (r->deadline_ns ? r->deadline_ns : s->settings->deadline_ns);
    served_step(s);
}

void served_gone(struct asked *asked) {
    struct served *s = asked->of;
    /* Without room it is found missing when it is sent. */
    if (served_has_room(s)) served_event(s, PLAN_CANCELLED)->id = asked->id;
    served_end(s, asked, SERVED_GONE, NULL);
    served_step(s);
}

/* ---- metrics --------------------------------------------------------------------------------- */

struct metric {
    const char *name, *type, *help;
};

static const struct metric metrics[] = {
    {"salus_serve_requests_total", "counter", "requests by what became of them"},
    {"salus_serve_pending", "gauge", "requests that wait for a batch or are in one"},
    {"salus_serve_batches_total", "counter", "batches that were sent"},
    {"salus_serve_batched_total", "counter", "requests in these"},
    {"salus_serve_batch_seconds_total", "counter", "that batches took"},
    {"salus_serve_request_seconds_total", "counter", "from a request's arrival to its end"},
    {"salus_serve_workers_ready", "gauge", "workers that take batches"},
    {"salus_serve_worker_ends_total", "counter", "workers that ended"},
};

static const char *const ends[] = {
#define X(name, text) text,
    SERVED_ENDS(X)
#undef X
};

#define METRICS (sizeof(metrics) / sizeof(metrics[0]))

void served_metric_head(uint32_t index, struct buf *text) {
    if (index >= METRICS) {
        served_profile_metric_head(index - METRICS, text);
        return;
    }
    const struct metric *m = &metrics[index];
    buf_printf(text, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
}

bool served_metric(const struct served *s, uint32_t index, struct buf *text) {
    if (index >= METRICS) return served_profile_metric(s, index - METRICS, text);
    const double values[] = {0,
                             s->asking.count,
                             (double)s->batches,
                             (double)s->sent,
                             (double)s->batch_ns / 1e9,
                             (double)s->latency_ns / 1e9,
                             s->ready_count,
                             (double)s->ends_of_workers};
    const char *name = metrics[index].name;
    for (uint32_t i = 0; index == 0 && i < SERVED_END_KINDS; i++)
        buf_printf(text, "%s{model=\"%s\",end=\"%s\"} %llu\n", name, s->model->name, ends[i],
                   (unsigned long long)s->ends[i]);
    if (index > 0)
        buf_printf(text, "%s{model=\"%s\"} %.17g\n", name, s->model->name, values[index]);
    return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Programs under Salus are started by the command that people start theirs with. */
static int make_argv(struct served *s) {
    uint32_t count = 0, at = 0;
    while (s->settings->argv[count])
        count++;
    s->argv = calloc(JOB_WORDS + count + 5u, sizeof(*s->argv));
    if (!s->argv) return -ENOMEM;
    if (s->settings->salus) {
        s->argv[at++] = (char *)"salusctl";
        s->argv[at++] = (char *)"run";
        at += job_words_put(&s->settings->job, s->argv + at);
        s->argv[at++] = (char *)"--";
    }
    memcpy(s->argv + at, s->settings->argv, count * sizeof(*s->argv));
    s->config = (struct model_worker_config){.name = s->model->name, .argv = s->argv};
    return 0;
}

/* A batch of each worker may come back at once, with events of the worker itself. */
static int make_events(struct served *s) {
    s->event_spare = s->settings->workers * (PLAN_BATCH_MOST + WORKER_EVENTS);
    s->event_room = s->event_spare + REQUEST_EVENTS;
    s->events = calloc(s->event_room, sizeof(*s->events));
    s->told = calloc(s->event_room, sizeof(*s->told));
    return s->events && s->told ? 0 : -ENOMEM;
}

static int make_workers(struct served *s) {
    s->workers = calloc(s->settings->workers, sizeof(*s->workers));
    if (!s->workers) return -ENOMEM;
    for (uint32_t i = 0; i < s->settings->workers; i++) {
        struct served_worker *w = &s->workers[i];
        *w = (struct served_worker){.of = s, .number = i};
        w->worker = model_worker_create(s->loop, &s->config, &served_worker_ops, w);
        if (!w->worker) return -ENOMEM;
    }
    return 0;
}

int served_create(struct served **out, uv_loop_t *loop, const struct model *model,
                  const struct models_file_model *settings, char *why, size_t why_bytes) {
    struct served *s = *out = calloc(1, sizeof(*s));
    int err = s ? 0 : -ENOMEM;
    *why = '\0';
    if (err) return err;
    s->loop = loop;
    s->model = model;
    s->settings = settings;
    s->app_count = 1;
    s->wake_ns = s->again_ns = PLAN_FOREVER;
    measure_init(&s->measure, settings->salus);
    err = plan_create(&s->plan, &settings->plan, why, why_bytes);
    if (!err) err = make_argv(s);
    if (!err) err = served_profile_create(s);
    if (!err) err = make_events(s);
    if (!err) err = make_workers(s);
    if (err) {
        served_destroy(s);
        *out = NULL;
        return err;
    }
    uv_timer_init(loop, &s->timer);
    s->timer.data = s;
    for (uint32_t i = 0; i < settings->workers; i++)
        model_worker_start(s->workers[i].worker);
    return 0;
}

static void on_closed(uv_handle_t *handle) {
    struct served *s = handle->data;
    s->done(s->done_arg);
}

void served_one_less(struct served *s) {
    if (--s->stopping == 0) uv_close((uv_handle_t *)&s->timer, on_closed);
}

void served_stopped(struct served_worker *w) {
    model_worker_destroy(w->worker);
    w->worker = NULL;
    served_one_less(w->of);
}

void served_stop(struct served *s, void (*done)(void *arg), void *arg) {
    s->done = done;
    s->done_arg = arg;
    s->stopping = s->settings->workers;
    served_profile_stop(s);
    for (uint32_t i = 0; i < s->settings->workers; i++)
        model_worker_stop(s->workers[i].worker);
}

void served_destroy(struct served *s) {
    if (!s) return;
    for (uint32_t i = 0; s->workers && i < s->settings->workers; i++)
        if (s->workers[i].worker) model_worker_destroy(s->workers[i].worker);
    served_profile_destroy(s);
    plan_destroy(s->plan);
    asking_finish(&s->asking);
    free(s->workers);
    free(s->events);
    free(s->told);
    free(s->argv);
    free(s);
}
