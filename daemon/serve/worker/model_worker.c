/* SPDX-License-Identifier: Apache-2.0
 *
 * One timer serves whatever the state waits for. A program that violates the protocol is killed at
 * once, which loses its batch; the rest is cleaned up when the process is reaped.
 */
#include "daemon/serve/worker/model_worker.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/serve/worker/backoff.h"
#include "daemon/serve/worker/lines.h"
#include "daemon/serve/worker/process.h"

#define NS_PER_MS 1000000u
#define NS_PER_S 1000000000ull
/* Wait after a program hung up, to learn how it ended. */
#define REAP_NS (100 * (uint64_t)NS_PER_MS)
/* Most messages read from a program that has ended; a correct one has sent at most one. */
#define LAST_MESSAGES 8

enum state {
    NEW,      /* not started */
    WAITING,  /* pausing before a restart */
    STARTING, /* until HELLO */
    READY,
    BUSY,
    ENDING, /* until the process is reaped and its handles are closed */
    OVER    /* ready to be destroyed */
};

struct model_worker {
    uv_loop_t *loop;
    struct model_worker_config config; /* with defaults filled in */
    const struct model_worker_ops *ops;
    void *ctx;
    enum state state;
    struct backoff backoff;
    uv_timer_t timer;
    bool stopping, terminated; /* SIGTERM was sent */
    bool hung_up;              /* the program closed its socket */

    uv_process_t process;
    int pid;  /* 0: no process, or already reaped */
    int sock; /* -1: none, or closed by us */
    uv_poll_t poll;
    struct lines lines;
    int handles; /* number of open handles of the process */
    uint64_t ready_at_ns;

    uint64_t device_ns;        /* device time in the latest message */
    uint64_t number, limit_ns; /* number and time limit of the current batch; 0: none */
    uint32_t requests;
    struct serve_message *in; /* the latest message */
};

static void on_timer(uv_timer_t *timer);

static void wait_for(struct model_worker *w, uint64_t ns) {
    uv_update_time(w->loop); /* time spent before this call must not count */
    uv_timer_start(&w->timer, on_timer, (ns + NS_PER_MS - 1) / NS_PER_MS, 0);
}

/* ---- the end of a process -------------------------------------------------------------------- */

static void on_over(uv_handle_t *handle) {
    struct model_worker *w = handle->data;

    w->state = OVER;
    w->ops->stopped(w->ctx, w);
}

/* Called when all handles of the process are closed. */
static void settle(struct model_worker *w) {
    uint64_t lived_ns = w->ready_at_ns ? fdutil_now_ns() - w->ready_at_ns : 0;

    w->ready_at_ns = 0;
    if (w->stopping) {
        uv_close((uv_handle_t *)&w->timer, on_over);
        return;
    }
    w->state = WAITING;
    wait_for(w, backoff_next_ns(&w->backoff, lived_ns));
}

static void on_closed(uv_handle_t *handle) {
    struct model_worker *w = handle->data;

    if (--w->handles == 0) settle(w);
}

static void hang_up(struct model_worker *w) {
    if (w->sock < 0) return;
    uv_poll_stop(&w->poll);
    fdutil_close(&w->sock);
    uv_close((uv_handle_t *)&w->poll, on_closed);
}

/* Kills the process and reports its end; cleanup follows when it is reaped. */
__attribute__((format(printf, 2, 3))) static void fall(struct model_worker *w, const char *fmt,
                                                       ...) {
    uint64_t number = w->number;
    char why[320];
    va_list args;

    if (w->state == ENDING) return;
    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    w->state = ENDING;
    w->number = 0;
    uv_timer_stop(&w->timer);
    process_signal(w->pid, SIGKILL);
    hang_up(w);
    if (!w->stopping || number)
        log_burst("model", LOG_WARN, "event=lost model=%s pid=%d batch=%" PRIu64 " why=\"%s\"",
                  w->config.name, w->pid, number, why);
    if (!w->stopping || number) w->ops->lost(w->ctx, w, number, why);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void become_ready(struct model_worker *w) {
    w->state = READY;
    w->ready_at_ns = fdutil_now_ns();
    if (!w->stopping) uv_timer_stop(&w->timer);
    log_info("model", "event=ready model=%s pid=%d", w->config.name, w->pid);
    if (!w->stopping) w->ops->ready(w->ctx, w);
}

static uint64_t take_batch(struct model_worker *w) {
    uint64_t number = w->number;

    w->number = 0;
    w->state = READY;
    if (!w->stopping) uv_timer_stop(&w->timer);
    return number;
}

static void take_result(struct model_worker *w, int fd) {
    struct serve_memory_why why;
    struct result *r;
    int err = result_create(&r, w->in, fd, w->requests, &why);

    if (err == -EINVAL)
        fall(w, "the worker sent an invalid answer: %s", why.text);
    else if (err)
        w->ops->failed(w->ctx, w, take_batch(w), why.text);
    else
        w->ops->done(w->ctx, w, take_batch(w), r);
}

static void take_message(struct model_worker *w, int fd) {
    const struct serve_wire_msg *m = &w->in->m;
    bool of_batch = w->state == BUSY && m->number == w->number;

    w->device_ns = (uint64_t)m->device_ticks * SERVE_WIRE_TICK_NS;
    if (m->kind == SERVE_WIRE_HELLO && w->state == STARTING)
        become_ready(w);
    else if (m->kind == SERVE_WIRE_DONE && of_batch && m->requests == w->requests)
        take_result(w, fd);
    else if (m->kind == SERVE_WIRE_FAILED && of_batch)
        w->ops->failed(w->ctx, w, take_batch(w), m->text);
    else
        fall(w,
             "the worker sent message %u of batch %" PRIu64
             " and %u requests, and none was expected",
             m->kind, m->number, m->requests);
}

/* We have no descriptor left for the answer; nothing else is wrong with the batch. */
static void take_scarce(struct model_worker *w) {
    if (w->state == BUSY)
        w->ops->failed(w->ctx, w, take_batch(w),
                       "salus-serve has too many open files: raise 'ulimit -n'");
    else
        fall(w, "the worker sent an unexpected descriptor");
}

static enum serve_message_got take_one(struct model_worker *w) {
    enum serve_message_got got;
    const char *why;
    int fd;

    if (w->sock < 0) return SERVE_MESSAGE_NOTHING;
    got = serve_message_receive(w->sock, w->in, &fd, &why);
    switch (got) {
    case SERVE_MESSAGE_SOUND:
        take_message(w, fd);
        fdutil_close(&fd);
        break;
    case SERVE_MESSAGE_SCARCE: take_scarce(w); break;
    case SERVE_MESSAGE_BAD: fall(w, "the worker sent %s", why); break;
    case SERVE_MESSAGE_NOTHING:
    case SERVE_MESSAGE_END: break;
    }
    return got;
}

/* Handles one message. Returns true if there was one, so that more may follow. */
static bool take_another(struct model_worker *w) {
    enum serve_message_got got = take_one(w);

    return got == SERVE_MESSAGE_SOUND || got == SERVE_MESSAGE_SCARCE;
}

/* The end of the stream comes after all messages, and is reported again once they are read. A
 * handle that reported an error was stopped and is restarted. Most programs that hang up are about
 * to be reaped, which tells more about the reason. */
static void on_poll(uv_poll_t *poll, int status, int events) {
    struct model_worker *w = poll->data;
    enum serve_message_got got = take_one(w);

    if (w->sock < 0) return;
    if (got != SERVE_MESSAGE_END && (status == 0 || got != SERVE_MESSAGE_NOTHING)) {
        if (status < 0) uv_poll_start(&w->poll, UV_READABLE, on_poll);
        return;
    }
    uv_poll_stop(&w->poll);
    w->hung_up = true;
    if (!w->stopping) wait_for(w, REAP_NS);
}

/* ---- the process ----------------------------------------------------------------------------- */

/* Reads the last messages first, because they may still be queued in the loop. */
static void on_reaped(uv_process_t *process, int64_t status, int signal) {
    struct model_worker *w = process->data;

    for (int i = 0; i < LAST_MESSAGES && take_another(w); i++) {
    }
    if (signal)
        fall(w, "the worker was ended by signal %d (%s)", signal, strsignal(signal));
    else
        fall(w, "the worker ended with status %" PRId64, status);
    process_signal(w->pid, SIGKILL); /* kills child processes left running */
    w->pid = 0;
    if (w->lines.fd >= 0) lines_close(&w->lines, on_closed, w);
    uv_close((uv_handle_t *)process, on_closed);
}

static int listen_to(struct model_worker *w) {
    int err = uv_poll_init(w->loop, &w->poll, w->sock);

    if (err) {
        fdutil_close(&w->sock);
        return err;
    }
    w->poll.data = w;
    w->handles++;
    return uv_poll_start(&w->poll, UV_READABLE, on_poll);
}

static int hear(struct model_worker *w, int words) {
    int err = lines_open(&w->lines, w->loop, words, w->config.name);

    if (err) return err;
    w->lines.pid = w->pid;
    w->handles++;
    err = listen_to(w);
    if (!err) err = batch_send_word(w->sock, SERVE_WIRE_HELLO);
    /* The process has ended; reaping it reports that. */
    return err == -EPIPE || err == -ECONNRESET ? 0 : err;
}

static void begin(struct model_worker *w) {
    int words = -1, err;
    bool open;

    w->terminated = w->hung_up = false;
    w->state = STARTING;
    w->lines.fd = -1;
    err = process_start(w->loop, &w->process, w->config.argv, w->config.env, on_reaped, &w->sock,
                        &words, &open);
    w->process.data = w;
    w->handles = open;
    w->pid = err ? 0 : w->process.pid;
    wait_for(w, w->config.hello_ns);
    if (!err) err = hear(w, words);
    if (!err) return;
    fall(w, "the worker cannot be started: %s", strerror(-err));
    if (w->pid) return; /* cleanup follows when it is reaped */
    if (open)
        uv_close((uv_handle_t *)&w->process, on_closed);
    else
        settle(w);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void end_harder(struct model_worker *w) {
    if (w->terminated) {
        fall(w, "the worker did not end after SIGTERM");
        return;
    }
    w->terminated = true;
    process_signal(w->pid, SIGTERM);
    wait_for(w, w->config.stop_ns);
}

/* Tests whether the awaited message is already in the socket, in case this process was the slow
 * one. */
static bool is_heard(struct model_worker *w) {
    enum state state = w->state;
    uint64_t number = w->number;

    return state != READY && take_another(w) && (w->state != state || w->number != number);
}

static void on_timer(uv_timer_t *timer) {
    struct model_worker *w = timer->data;

    if (w->state == WAITING)
        begin(w);
    else if (w->stopping)
        end_harder(w);
    else if (w->hung_up)
        fall(w, "the worker closed the connection");
    else if (is_heard(w))
        return;
    else if (w->state == STARTING)
        fall(w, "the worker was not ready within %" PRIu64 " ms", w->config.hello_ns / NS_PER_MS);
    else if (w->state == BUSY)
        fall(w, "the worker's batch took longer than %" PRIu64 " ms", w->limit_ns / NS_PER_MS);
    else if (w->state == READY)
        fall(w, "the worker does not read its messages");
}

/* ---- operations ------------------------------------------------------------------------------ */

static void preset(uint64_t *ns, uint64_t value) {
    if (!*ns) *ns = value;
}

struct model_worker *model_worker_create(uv_loop_t *loop, const struct model_worker_config *config,
                                         const struct model_worker_ops *ops, void *ctx) {
    struct model_worker *w = calloc(1, sizeof(*w));

    if (!w) return NULL;
    *w = (struct model_worker){
        .loop = loop, .config = *config, .ops = ops, .ctx = ctx, .state = NEW, .sock = -1};
    w->in = serve_message_create();
    if (!w->in) {
        free(w);
        return NULL;
    }
    preset(&w->config.hello_ns, 600 * NS_PER_S);
    preset(&w->config.stop_ns, 5 * NS_PER_S);
    preset(&w->config.again_first_ns, NS_PER_S);
    preset(&w->config.again_most_ns, 60 * NS_PER_S);
    preset(&w->config.again_reset_ns, 60 * NS_PER_S);
    w->backoff = (struct backoff){.first_ns = w->config.again_first_ns,
                                  .most_ns = w->config.again_most_ns,
                                  .reset_ns = w->config.again_reset_ns};
    return w;
}

void model_worker_destroy(struct model_worker *w) {
    if (!w) return;
    free(w->in);
    free(w);
}

void model_worker_start(struct model_worker *w) {
    uv_timer_init(w->loop, &w->timer);
    w->timer.data = w;
    w->state = WAITING;
    wait_for(w, 0);
}

/* Handles a send error that is not the batch's fault: the program has ended and is about to be
 * reaped, or the socket is full because the program has read nothing for long. */
static bool is_away(struct model_worker *w, int err) {
    if (err == -EAGAIN) {
        wait_for(w, 0);
        return true;
    }
    if (err != -EPIPE && err != -ECONNRESET) return false;
    w->hung_up = true;
    wait_for(w, REAP_NS);
    return true;
}

int model_worker_send(struct model_worker *w, uint64_t number, const struct batch_request *requests,
                      uint32_t count, uint64_t limit_ns, struct serve_memory_why *why) {
    int err;

    serve_memory_say(why, w->state == BUSY ? "the worker has a batch" : "the worker is not ready");
    if (w->state == BUSY) return -EBUSY;
    if (w->state != READY || w->stopping || w->hung_up) return -ENOTCONN;
    err = batch_send(w->sock, number, requests, count, why);
    if (is_away(w, err)) return -ENOTCONN;
    if (err) return err;
    w->state = BUSY;
    w->number = number;
    w->requests = count;
    w->limit_ns = limit_ns;
    wait_for(w, limit_ns);
    return 0;
}

void model_worker_stop(struct model_worker *w) {
    if (w->stopping) return;
    w->stopping = true;
    if (w->state == NEW) uv_timer_init(w->loop, &w->timer);
    w->timer.data = w;
    if (w->state == NEW || w->state == WAITING) {
        w->state = ENDING;
        uv_close((uv_handle_t *)&w->timer, on_over);
    } else if (w->state != ENDING) {
        /* If this fails, the program still gets the signal. */
        batch_send_word(w->sock, SERVE_WIRE_STOP);
        wait_for(w, w->config.stop_ns);
    }
}

uint64_t model_worker_device_ns(const struct model_worker *w) {
    return w->device_ns;
}

int model_worker_pid(const struct model_worker *w) {
    return w->pid;
}
