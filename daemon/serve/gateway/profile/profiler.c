/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one sample at a time. The timer ends a pause or the wait for an idle moment.
 */
#include "daemon/serve/gateway/profile/profiler.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/serve/worker/model_worker.h"

#define NS_PER_MS 1000000u
#define GAP_NS (100 * (uint64_t)NS_PER_MS)   /* least pause between two runs */
#define QUIET_NS (250 * (uint64_t)NS_PER_MS) /* longest wait for an idle moment */

struct profiler {
    uv_loop_t *loop;
    const struct profiler_config *config;
    const struct profiler_ops *ops;
    void *ctx;
    struct model_worker_config worker_config;
    struct samples samples;
    struct profiler_counts counts;
    struct model_worker *worker; /* NULL: not started yet, or ended */
    bool ready, warm;            /* the program accepts runs; its runs count */
    bool begun;                  /* the timer is initialised */
    bool stopping;
    uv_timer_t timer;
    struct sample *running; /* NULL: none */
    uint64_t number, sent_ns;
    uint64_t next_ns;   /* earliest start of the next run */
    uint64_t wanted_ns; /* start of the wait for an idle moment; 0: no wait */
};

static const struct model_worker_ops worker_ops;

/* ---- runs ------------------------------------------------------------------------------------ */

static void look(struct profiler *p);

static void on_timer(uv_timer_t *timer) {
    look(timer->data);
}

static void look_in(struct profiler *p, uint64_t ns) {
    uv_update_time(p->loop);
    uv_timer_start(&p->timer, on_timer, (ns + NS_PER_MS - 1) / NS_PER_MS, 0);
}

/* Sets the pause after a run, so that runs take `part` of the time. Device time counts if known,
 * because time spent waiting costs other jobs nothing. */
static void pause_for(struct profiler *p, uint64_t took_ns) {
    uint64_t pause_ns = took_ns / p->config->part * (1000 - p->config->part);
    p->next_ns = uv_hrtime() + (pause_ns > GAP_NS ? pause_ns : GAP_NS);
}

static struct sample *take_running(struct profiler *p) {
    struct sample *sample = p->running;
    p->running = NULL;
    return sample;
}

/* Drops the running sample. */
static void give_up(struct profiler *p, uint64_t *count, uint64_t took_ns) {
    ++*count;
    samples_drop(&p->samples, take_running(p));
    pause_for(p, took_ns);
}

static void run(struct profiler *p) {
    struct batch_request request = {p->running->inputs, p->running->count};
    struct serve_memory_why why = {0};
    p->sent_ns = uv_hrtime();
    if (model_worker_send(p->worker, ++p->number, &request, 1, p->config->limit_ns, &why) == 0)
        return;
    log_burst("model", LOG_WARN, "event=unsent model=%s why=\"%s\"", p->config->name, why.text);
    give_up(p, &p->counts.failed, 0);
    look(p);
}

static void start(struct profiler *p) {
    p->worker = model_worker_create(p->loop, &p->worker_config, &worker_ops, p);
    if (p->worker)
        model_worker_start(p->worker);
    else
        look_in(p, QUIET_NS);
}

/* Returns the time until which the next run should wait; 0: start now. */
static uint64_t wait_until(struct profiler *p, uint64_t now_ns) {
    if (now_ns < p->next_ns) return p->next_ns;
    if (!p->wanted_ns) p->wanted_ns = now_ns;
    if (now_ns - p->wanted_ns < QUIET_NS && p->ops->crowded(p->ctx)) return p->wanted_ns + QUIET_NS;
    p->wanted_ns = 0;
    return 0;
}

static void look(struct profiler *p) {
    if (p->stopping || p->running || !p->samples.waiting) return;
    if (!p->worker) start(p);
    if (!p->ready) return;
    uint64_t now_ns = uv_hrtime(), until_ns = wait_until(p, now_ns);
    if (until_ns) {
        look_in(p, until_ns - now_ns);
        return;
    }
    p->running = samples_take(&p->samples);
    run(p);
}

void profiler_look(struct profiler *p) {
    if (p->wanted_ns) look(p);
}

/* ---- callbacks of the worker ----------------------------------------------------------------- */

static void on_ready(void *ctx, struct model_worker *w) {
    struct profiler *p = ctx;
    p->ready = true;
    p->warm = false;
    look(p);
}

static void on_done(void *ctx, struct model_worker *w, uint64_t number, struct result *r) {
    struct profiler *p = ctx;
    uint64_t took_ns = uv_hrtime() - p->sent_ns, device_ns = model_worker_device_ns(w);
    uint32_t app = p->running->app;
    result_destroy(r);
    if (p->stopping) return;
    if (!p->warm) {
        p->warm = true;
        run(p);
        return;
    }
    p->counts.runs++;
    p->counts.run_ns += took_ns;
    samples_drop(&p->samples, take_running(p));
    pause_for(p, device_ns ? device_ns : took_ns);
    p->ops->alone(p->ctx, app, device_ns, took_ns ? took_ns : 1);
    look(p);
}

static void on_failed(void *ctx, struct model_worker *w, uint64_t number, const char *why) {
    struct profiler *p = ctx;
    give_up(p, &p->counts.failed, uv_hrtime() - p->sent_ns);
    look(p);
}

/* The worker restarts its program, after a longer pause each time. */
static void on_lost(void *ctx, struct model_worker *w, uint64_t number, const char *why) {
    struct profiler *p = ctx;
    p->ready = false;
    if (number) give_up(p, &p->counts.lost, 0);
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle) {
    struct profiler *p = handle->data;
    p->ops->stopped(p->ctx);
}

static void on_stopped(void *ctx, struct model_worker *w) {
    struct profiler *p = ctx;
    model_worker_destroy(w);
    p->worker = NULL;
    uv_close((uv_handle_t *)&p->timer, on_closed);
}

static const struct model_worker_ops worker_ops = {.ready = on_ready,
                                                   .done = on_done,
                                                   .failed = on_failed,
                                                   .lost = on_lost,
                                                   .stopped = on_stopped};

struct profiler *profiler_create(uv_loop_t *loop, const struct profiler_config *config,
                                 const struct profiler_ops *ops, void *ctx) {
    struct profiler *p = calloc(1, sizeof(*p));
    if (!p) return NULL;
    p->loop = loop;
    p->config = config;
    p->ops = ops;
    p->ctx = ctx;
    p->worker_config = (struct model_worker_config){.name = config->name, .argv = config->argv};
    samples_init(&p->samples, SAMPLES_BYTES_MOST);
    return p;
}

void profiler_stop(struct profiler *p) {
    p->stopping = true;
    if (p->worker)
        model_worker_stop(p->worker);
    else if (p->begun)
        uv_close((uv_handle_t *)&p->timer, on_closed);
    else
        p->ops->stopped(p->ctx);
}

void profiler_destroy(struct profiler *p) {
    if (!p) return;
    samples_drop(&p->samples, p->running);
    samples_finish(&p->samples);
    free(p);
}

/* ---- samples --------------------------------------------------------------------------------- */

bool profiler_choose(struct profiler *p, uint32_t app) {
    return samples_choose(&p->samples, app, uv_hrtime());
}

void profiler_pass(struct profiler *p, uint32_t app) {
    samples_pass(&p->samples, app);
}

struct sample *profiler_copy(struct profiler *p, const struct tensor *inputs, uint32_t count,
                             uint32_t app) {
    return samples_copy(&p->samples, inputs, count, app);
}

void profiler_ended(struct profiler *p, struct sample *sample) {
    samples_wait(&p->samples, sample, uv_hrtime());
    if (p->stopping) return;
    if (!p->begun) uv_timer_init(p->loop, &p->timer);
    p->timer.data = p;
    p->begun = true;
    if (!p->running) look_in(p, 0); /* runs after all waiting clients have their answers */
}

void profiler_drop(struct profiler *p, struct sample *sample) {
    samples_pass(&p->samples, sample->app);
    samples_drop(&p->samples, sample);
}

struct profiler_counts profiler_counts(const struct profiler *p) {
    struct profiler_counts c = p->counts;
    c.replaced = p->samples.replaced;
    c.crowded = p->samples.crowded;
    return c;
}
