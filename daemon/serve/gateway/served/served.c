/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects the front and the scheduler: new requests, metrics, and the model's start and stop.
 */
#include "daemon/serve/gateway/served/served.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/gateway/served/served_end.h"
#include "daemon/serve/gateway/served/served_events.h"
#include "daemon/serve/gateway/served/served_profile.h"
#include "daemon/serve/gateway/served/served_profile_metrics.h"
#include "daemon/serve/gateway/served/served_step.h"
#include "daemon/serve/gateway/served/served_workers.h"
#include "daemon/serve/http/front_reply.h"

/* Most events of one worker between two steps, besides those of its batch. */
#define WORKER_EVENTS 64u
#define REQUEST_EVENTS 4096u /* most events of requests between two steps */

/* ---- requests -------------------------------------------------------------------------------- */

/* The first distinct names get a number each; further names count as number 0. */
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

void served_ask(struct served *s, const struct request *r, struct front_reply *reply) {
    struct refusal why = {0};
    struct asked *asked = served_has_room(s) ? unanswered_add(&s->asking) : NULL;
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
    /* without space for the event, the request is found missing when it is sent */
    if (served_has_room(s)) served_event(s, PLAN_CANCELLED)->id = asked->id;
    served_end(s, asked, SERVED_GONE, NULL);
    served_step(s);
}

/* ---- metrics --------------------------------------------------------------------------------- */

struct metric {
    const char *name, *type, *help;
};

static const struct metric metrics[] = {
    {"salus_serve_requests_total", "counter", "requests completed, by how they ended"},
    {"salus_serve_pending", "gauge", "requests that wait for a batch or are in a batch"},
    {"salus_serve_batches_total", "counter", "batches sent to the model's workers"},
    {"salus_serve_batched_total", "counter", "requests in the batches that were sent"},
    {"salus_serve_batch_seconds_total", "counter", "seconds from sending batches to their answers"},
    {"salus_serve_request_seconds_total", "counter",
     "seconds from the arrival of requests to their end"},
    {"salus_serve_workers_ready", "gauge", "workers that can take batches"},
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

/* ---- start and stop -------------------------------------------------------------------------- */

/* Builds the workers' command. Under Salus it starts with `salusctl run`, as on the command
 * line. */
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

/* Reserves events: every worker may return a batch and report events of its own at the same
 * time. */
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
        w->worker = model_worker_create(s->loop, &s->config, &served_workers_ops, w);
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
    s->due = served_step_due;
    measure_init(&s->measure, settings->salus);
    err = plan_create(&s->plan, &settings->plan, why, why_bytes);
    if (!err) err = make_argv(s);
    if (!err) err = served_profile_create(s, &served_workers_profiler_ops);
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
    unanswered_finish(&s->asking);
    free(s->workers);
    free(s->events);
    free(s->told);
    free(s->argv);
    free(s);
}
