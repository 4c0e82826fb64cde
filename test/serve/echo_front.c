/* SPDX-License-Identifier: Apache-2.0
 *
 * The front with built-in models that need no programs, for run_front.py.
 *
 *     echo_front [--port N] [--address A] [--connections N] [--body BYTES] [--bodies BYTES]
 *                [--idle MS] [--receive MS] [--send MS]
 *
 * Prints "port N" when it listens; ends at SIGTERM, when all is answered, with "stopped" and
 * counts.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/serve/http/front.h"
#include "daemon/serve/http/front_reply.h"

#define LATER_MS 20

struct pending {
    uv_timer_t timer;
    struct front_reply *reply;
    const struct request *request;
};

struct echo {
    uv_loop_t loop;
    uv_signal_t term;
    struct front *front;
    uint64_t asked, gone, deadline_ns; /* times of the latest request */
    char application[64];
};

/* ---- models ---------------------------------------------------------------------------------- */

#define ANY(n, t)                                                   \
    {                                                               \
        .name = n, .type = DATATYPE_##t, .rank = 1, .shape = { -1 } \
    }

static const char *const versions[] = {"1", "2"};
static const struct model_tensor two_reals[] = {ANY("a", FP32), ANY("b", FP32)};
static const struct model_tensor one_real[] = {ANY("sum", FP32)};
static const struct model_tensor count[] = {{.name = "n", .type = DATATYPE_INT64, .rank = 0}};
static const struct model_tensor bytes[] = {ANY("bytes", UINT8)};
static const struct model_tensor of_all[] = {
#define X(name, bytes) ANY(#name, name),
    DATATYPE_LIST(X)
#undef X
};

#define COUNT(list) (uint32_t)(sizeof(list) / sizeof((list)[0]))
#define MODEL(n, in, out)                                                      \
    {                                                                          \
        .name = n, .versions = versions, .versions_count = 2, .inputs = in,    \
        .inputs_count = COUNT(in), .outputs = out, .outputs_count = COUNT(out) \
    }

static const struct model models[] = {
    MODEL("add", two_reals, one_real),     MODEL("later", two_reals, one_real),
    MODEL("never", two_reals, one_real),   MODEL("busy", two_reals, one_real),
    MODEL("late", two_reals, one_real),    MODEL("broken", two_reals, one_real),
    MODEL("unready", two_reals, one_real), MODEL("all", of_all, of_all),
    MODEL("many", count, bytes),
};

static const struct model *list_models(void *arg, size_t *models_count) {
    *models_count = COUNT(models);
    return models;
}

static bool is_ready(void *arg, const struct model *m) {
    return !m || strcmp(m->name, "unready") != 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void add(const struct request *r, struct front_reply *reply) {
    const struct tensor *a = &r->inputs[0], *b = &r->inputs[1];
    uint64_t n = a->elements < b->elements ? a->elements : b->elements;
    struct tensor sum = {.name = "sum",
                         .type = DATATYPE_FP32,
                         .rank = 1,
                         .shape = {(int64_t)n},
                         .elements = n,
                         .bytes = 4 * n};
    float *out = malloc(4 * n + 4);

    if (!out) abort();
    for (uint64_t i = 0; i < n; i++) {
        float x, y;
        memcpy(&x, (const char *)a->data + 4 * i, 4);
        memcpy(&y, (const char *)b->data + 4 * i, 4);
        out[i] = x + y;
    }
    sum.data = out;
    front_answer(reply, &sum, 1);
    free(out);
}

static void on_closed(uv_handle_t *h) {
    free(h->data);
}

static void on_later(uv_timer_t *t) {
    struct pending *p = t->data;

    add(p->request, p->reply);
    uv_close((uv_handle_t *)t, on_closed);
}

static void add_later(struct echo *e, const struct request *r, struct front_reply *reply) {
    struct pending *p = calloc(1, sizeof(*p));

    if (!p) abort();
    p->reply = reply;
    p->request = r;
    p->timer.data = p;
    reply->user = p;
    uv_timer_init(&e->loop, &p->timer);
    uv_timer_start(&p->timer, on_later, LATER_MS, 0);
}

static void make_many(const struct request *r, struct front_reply *reply) {
    struct tensor t = {.name = "bytes", .type = DATATYPE_UINT8, .rank = 1};
    void *out;

    memcpy(&t.shape[0], r->inputs[0].data, sizeof(t.shape[0]));
    t.elements = t.bytes = (uint64_t)t.shape[0];
    t.data = out = calloc(1, t.bytes + 1);
    if (!out) abort();
    front_answer(reply, &t, 1);
    free(out);
}

static void refuse(struct front_reply *reply, int status, uint32_t retry_after_s,
                   const char *text) {
    struct refusal why = {.retry_after_s = retry_after_s};

    refusal_say(&why, status, "%s", text);
    front_refuse(reply, &why);
}

static void infer(void *arg, const struct request *r, struct front_reply *reply) {
    struct echo *e = arg;
    const char *name = r->model->name;

    e->asked++;
    e->deadline_ns = r->deadline_ns;
    snprintf(e->application, sizeof(e->application), "%s", r->application ? r->application : "");
    if (strcmp(name, "add") == 0) add(r, reply);
    if (strcmp(name, "later") == 0) add_later(e, r, reply);
    if (strcmp(name, "all") == 0) front_answer(reply, r->inputs, r->inputs_count);
    if (strcmp(name, "many") == 0) make_many(r, reply);
    if (strcmp(name, "broken") == 0) front_answer(reply, NULL, 0);
    if (strcmp(name, "busy") == 0) refuse(reply, 429, 7, "too many wait already");
    if (strcmp(name, "late") == 0) refuse(reply, 504, 0, "its deadline cannot be met");
}

static void gone(void *arg, struct front_reply *reply) {
    struct echo *e = arg;
    struct pending *p = reply->user;

    e->gone++;
    if (p) uv_close((uv_handle_t *)&p->timer, on_closed);
}

static void metrics(void *arg, struct buf *text) {
    const struct echo *e = arg;

    buf_printf(text, "echo_asked_total %llu\necho_gone_total %llu\necho_deadline_ns %llu\n",
               (unsigned long long)e->asked, (unsigned long long)e->gone,
               (unsigned long long)e->deadline_ns);
    buf_printf(text, "echo_latest{application=\"%s\"} 1\n", e->application);
}

static const struct front_ops ops = {.version = "0",
                                     .models = list_models,
                                     .ready = is_ready,
                                     .infer = infer,
                                     .gone = gone,
                                     .metrics = metrics};

/* ---- the program ----------------------------------------------------------------------------- */

static void on_done(void *arg) {
    struct echo *e = arg;

    front_destroy(e->front);
    uv_close((uv_handle_t *)&e->term, NULL);
    printf("stopped asked=%llu gone=%llu\n", (unsigned long long)e->asked,
           (unsigned long long)e->gone);
}

static void on_term(uv_signal_t *s, int number) {
    struct echo *e = s->data;
    front_stop(e->front, on_done, e);
}

static void take(struct front_config *c, const char *option, char *value) {
    uint64_t n = strtoull(value, NULL, 10);

    if (strcmp(option, "--port") == 0) c->port = (uint16_t)n;
    if (strcmp(option, "--address") == 0) c->address = value;
    if (strcmp(option, "--connections") == 0) c->limits.connections = (uint32_t)n;
    if (strcmp(option, "--body") == 0) c->limits.body_bytes = n;
    if (strcmp(option, "--bodies") == 0) c->limits.bodies_bytes = n;
    if (strcmp(option, "--idle") == 0) c->limits.idle_ns = n * 1000000;
    if (strcmp(option, "--receive") == 0) c->limits.receive_ns = n * 1000000;
    if (strcmp(option, "--send") == 0) c->limits.send_ns = n * 1000000;
}

int main(int argc, char **argv) {
    static struct echo e;
    struct front_config config = {.limits = front_default_limits(), .ops = &ops, .arg = &e};
    char why[256] = "";

    log_init("info");
    fdutil_raise_limits();
    for (int i = 1; i + 1 < argc; i += 2)
        take(&config, argv[i], argv[i + 1]);
    uv_loop_init(&e.loop);
    uv_signal_init(&e.loop, &e.term);
    e.term.data = &e;
    uv_signal_start(&e.term, on_term, SIGTERM);
    if (front_create(&e.front, &e.loop, &config, why, sizeof(why))) {
        fprintf(stderr, "echo_front: %s\n", why);
        return 1;
    }
    printf("port %u\n", front_port(e.front));
    fflush(stdout);
    uv_run(&e.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&e.loop) ? 2 : 0;
}
