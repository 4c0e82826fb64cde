/* SPDX-License-Identifier: Apache-2.0
 *
 * One timer has two uses: without a worker it starts the next one, and with a worker it measures
 * its silence.
 */
#include "daemon/broker/life/supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/clients/clients.h"
#include "daemon/broker/life/inbox.h"
#include "daemon/broker/worker/board.h"
#include "daemon/broker/worker/spawn.h"

#define NS_PER_MS 1000000u
#define START_TIMEOUT_MS 60000 /* creating a GPU's context takes seconds */
#define STOP_TIMEOUT_MS 2000
#define FREE_MS 10 /* interval of checks whether the previous worker's memory is free */

static void start_now(uv_timer_t *t);

static struct worker *worker_of(const struct supervise *v) {
    return &v->gpu->worker;
}

bool supervise_is_shortage(int err) {
    return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOBUFS || err == -EAGAIN;
}

/* ---- silence --------------------------------------------------------------------------------- */

/* Timers run before sockets are read. If the broker itself was stopped for a while, the worker's
 * messages are still unread, and it must not be ended for that. */
static bool has_spoken(const struct worker *w) {
    char byte;

    return recv(w->channel.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Longest silence allowed. */
static uint64_t silence_ms(const struct supervise *v) {
    if (!worker_ready(worker_of(v))) return START_TIMEOUT_MS;
    return v->broker->config.worker_timeout / NS_PER_MS;
}

static void on_silence(uv_timer_t *t) {
    struct supervise *v = t->data;
    uint64_t more_ms;

    if (has_spoken(worker_of(v))) {
        supervise_heard(v);
        return;
    }
    more_ms = silence_more_ms(&v->silence);
    if (more_ms) {
        uv_timer_start(&v->timer, on_silence, more_ms, 0);
        return;
    }
    supervise_lose(v,
                   worker_ready(worker_of(v)) ? "the worker was silent for %llu ms"
                                              : "the worker was not ready after %llu ms",
                   (unsigned long long)silence_ms(v));
}

void supervise_heard(struct supervise *v) {
    silence_begin(&v->silence, worker_of(v)->channel.pid);
    uv_timer_start(&v->timer, on_silence, silence_ms(v), 0);
}

void supervise_serve(struct supervise *v) {
    struct worker *w = worker_of(v);

    w->state = WORKER_READY;
    v->restart.failures = 0;
    w->trouble[0] = '\0';
    supervise_heard(v);
    log_info("worker",
             "event=ready gpu=%u pid=%d device=\"%.64s\" memory_bytes=%llu sms=%u start_ms=%llu",
             v->gpu->number, (int)w->channel.pid, w->device.name,
             (unsigned long long)w->device.memory_bytes, w->device.sm_count,
             (unsigned long long)((fdutil_now_ns() - v->started_ns) / NS_PER_MS));
    changes_ready(&v->gpu->changes);
    kernel_link_ready(&v->gpu->kernels);
    clients_worker_ready(&v->broker->clients, v->gpu);
    announce_state(v->announce);
}

/* ---- the worker's end ------------------------------------------------------------------------ */

static void close_worker(struct supervise *v) {
    struct worker *w = worker_of(v);

    uv_timer_stop(
        &v->timer); /* no silence is measured any more, even if no other worker is started */
    channel_close(&w->channel);
    board_close(w->board);
    w->board = NULL;
    trial_end(&v->trial);
}

/* Gives the worker up, and tells everybody who waits for it. */
static void give_up(struct supervise *v) {
    struct worker *w = worker_of(v);

    recovery_lose_all(&v->recovery, "salusd gave up on the GPU worker");
    recovery_free_memory(&v->recovery);
    w->state = WORKER_FAILED;
    w->restarts--; /* no other worker is started */
    clients_worker_failed(&v->broker->clients, v->gpu);
    announce_state(v->announce);
    log_error("worker", "event=given-up gpu=%u failures=%llu why=\"%s\"%s", v->gpu->number,
              (unsigned long long)v->restart.failures, w->trouble,
              v->announce->failed
                  ? ""
                  : " do=\"correct the cause, then run 'salusctl gpu retry' or send SIGHUP\"");
}

/* Orphans wait as long as a start may take, and for at most RECOVERY_TRIES failed starts. */
static void look_after_orphans(struct supervise *v, bool had_jobs) {
    uint64_t waited_ns;

    recovery_worker_gone(&v->recovery, had_jobs);
    waited_ns = fdutil_now_ns() - v->recovery.since_ns;
    if (v->restart.failures >= RECOVERY_TRIES || waited_ns / NS_PER_MS >= START_TIMEOUT_MS)
        recovery_lose_all(&v->recovery, "no new worker was ready in time");
}

/* Schedules the next start, or gives up. `had_jobs`: the previous worker had jobs, or was about to
 * get them. */
static void start_later(struct supervise *v, bool had_jobs) {
    struct worker *w = worker_of(v);
    enum restart_cause cause = v->shortage ? RESTART_SHORTAGE
                               : had_jobs  ? RESTART_SERVED
                                           : RESTART_FAILED;
    uint64_t delay = restart_delay_ms(&v->restart, cause);

    w->restarts = v->restart.count;
    w->state = WORKER_DOWN;
    inbox_worker_gone(v->gpu, w->trouble);
    look_after_orphans(v, had_jobs);
    if (delay == RESTART_DELAY_MS && recovery_waits(&v->recovery)) delay = 0;
    log_error("worker", "event=lost gpu=%u pid=%d why=\"%s\" restart_in_ms=%llu restarts=%llu",
              v->gpu->number, (int)w->channel.pid, w->trouble, (unsigned long long)delay,
              (unsigned long long)w->restarts);
    if (cause == RESTART_FAILED && v->restart.failures >= v->broker->config.worker_tries) {
        give_up(v);
        return;
    }
    announce_state(v->announce);
    uv_timer_start(&v->timer, start_now, delay, 0);
}

void supervise_lose(struct supervise *v, const char *fmt, ...) {
    struct worker *w = worker_of(v);
    bool had_jobs = worker_ready(w) || w->state == WORKER_RESTORING;
    pid_t pid = w->channel.pid;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(w->trouble, sizeof(w->trouble), fmt, ap);
    va_end(ap);
    if (*v->last_words) snprintf(w->trouble, sizeof(w->trouble), "%s", v->last_words);
    close_worker(v);
    if (pid > 0) kill(pid, SIGKILL); /* our child, not reaped yet: its number was not reused */
    start_later(v, had_jobs);
}

static void on_process_closed(uv_handle_t *h) {
    struct supervise *v = h->data;

    v->process_open = false;
    if (worker_of(v)->state == WORKER_STOPPED)
        uv_close((uv_handle_t *)&v->timer, NULL);
    else if (v->due)
        start_now(&v->timer);
}

/* Explains the end better than "its socket was closed". */
static void say_end(struct worker *w, int status, int signal) {
    if (signal == SIGKILL)
        snprintf(w->trouble, sizeof(w->trouble),
                 "the worker was killed; if the kernel did so because memory was short, 'dmesg' "
                 "shows it");
    else if (signal)
        snprintf(w->trouble, sizeof(w->trouble), "signal %d (%s) ended the worker", signal,
                 sigabbrev_np(signal) ? sigabbrev_np(signal) : "?");
    else
        snprintf(w->trouble, sizeof(w->trouble), "the worker exited with status %d", status);
}

/* Reports the exit. The end of the socket, which comes with it, is what ends the jobs. */
static void on_exit_status(uv_process_t *p, int64_t status, int signal) {
    struct supervise *v = p->data;

    worker_of(v)->channel.pid = 0;
    log_info("worker", "event=exited gpu=%u status=%d signal=%d", v->gpu->number, (int)status,
             signal);
    if (v->hung_up && !*v->last_words) say_end(worker_of(v), (int)status, signal);
    uv_close((uv_handle_t *)p, on_process_closed);
}

/* ---- the worker's start ---------------------------------------------------------------------- */

/* Launches the worker as a process. */
static int launch_process(struct supervise *v, const struct spawn_launch *l) {
    struct gpu *g = v->gpu;
    struct spawn what = {.config = &g->config,
                         .policy = &g->changes.policy,
                         .device_memory_bytes = g->worker.device.memory_bytes,
                         .keeping = &g->worker.keeping,
                         .launch = *l,
                         .on_exit = on_exit_status};
    int err;

    v->process.data = v;
    err = spawn_worker(&what, v->broker->loop, &v->process, &v->process_open);
    close(l->fd);
    if (err == 0)
        g->worker.channel.pid = v->process.pid;
    else if (v->process_open)
        uv_close((uv_handle_t *)&v->process, on_process_closed);
    return err;
}

/* Launches the worker with all memory held of its predecessor. Takes `fd` over. */
static int launch(struct supervise *v, int fd) {
    struct worker *w = worker_of(v);
    struct spawn_launch l = {v->gpu->number, fd, w->memory_fd, -1};
    int err;

    if (w->keeping.count) l.kept_fd = held_memory_list(&w->keeping);
    if (l.kept_fd < -1) {
        close(fd);
        return l.kept_fd;
    }
    v->given_memory = l.memory_fd >= 0 || l.kept_fd >= 0;
    held_memory_begin(&w->keeping);
    err = v->hooks.launch ? v->hooks.launch(v->hooks.arg, &l) : launch_process(v, &l);
    fdutil_close(&l.kept_fd);
    return err;
}

static void start(struct supervise *v) {
    struct worker *w = worker_of(v);
    int pair[2], err;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        v->shortage = supervise_is_shortage(-errno);
        snprintf(w->trouble, sizeof(w->trouble), "salusd cannot create a socket pair: %s",
                 err_text(-errno));
        start_later(v, false);
        return;
    }
    v->started_ns = fdutil_now_ns();
    recovery_reach(&v->recovery, RECOVERY_REAPED);
    w->state = WORKER_STARTING;
    channel_open(&w->channel, pair[0], v->broker->loop, v->on_poll, v);
    changes_started(&v->gpu->changes);
    err = launch(v, pair[1]);
    v->shortage = supervise_is_shortage(err);
    if (err < 0)
        supervise_lose(v, "salusd cannot start salus-gpu: %s%s", err_text(err),
                       err == -ENOENT ? "; set the option worker to its path" : "");
    else
        supervise_heard(v);
}

static void start_now(uv_timer_t *t) {
    struct supervise *v = t->data;

    v->hung_up = v->shortage = false;
    v->last_words[0] = '\0';
    recovery_free_memory(&v->recovery);
    v->due = v->process_open;
    if (v->due) return; /* continues when the previous process is reaped */
    if (worker_of(v)->keeping.closing)
        uv_timer_start(&v->timer, start_now, FREE_MS, 0);
    else
        start(v);
}

static void on_retry(uv_async_t *a) {
    struct supervise *v = a->data;

    if (worker_of(v)->state != WORKER_DOWN) return;
    log_info("worker", "event=retry gpu=%u failures=%llu", v->gpu->number,
             (unsigned long long)v->restart.failures);
    v->restart.failures = 0;
    worker_of(v)->restarts = v->restart.count;
    uv_timer_start(&v->timer, start_now, 0, 0);
}

void supervise_init(struct supervise *v, struct broker *b, struct gpu *g,
                    const struct server_hooks *hooks, struct announce *announce,
                    uv_poll_cb on_poll) {
    struct worker *w = &g->worker;

    v->broker = b;
    v->gpu = g;
    if (hooks) v->hooks = *hooks;
    v->announce = announce;
    v->on_poll = on_poll;
    recovery_init(&v->recovery, b, g);
    trial_init(&v->trial, &g->attachments, g->config.window_host_bytes);
    w->state = WORKER_DOWN;
    snprintf(w->trouble, sizeof(w->trouble), "the worker is starting");
    uv_timer_init(b->loop, &v->timer);
    uv_async_init(b->loop, &w->retry, on_retry);
    v->timer.data = w->retry.data = v;
}

void supervise_start(struct supervise *v) {
    start_now(&v->timer);
}

static void on_stop_timeout(uv_timer_t *t) {
    struct supervise *v = t->data;
    pid_t pid = worker_of(v)->channel.pid;

    log_warn("worker",
             "event=killed gpu=%u pid=%d why=\"the worker did not exit in time after its socket "
             "was closed\"",
             v->gpu->number, (int)pid);
    if (pid > 0) kill(pid, SIGKILL);
}

/* Stops supervising. A correct worker exits when its socket is closed. */
void supervise_stop(struct supervise *v) {
    struct worker *w = worker_of(v);

    w->state = WORKER_STOPPED;
    uv_timer_stop(&v->timer);
    uv_close((uv_handle_t *)&w->retry, NULL);
    if (w->channel.fd >= 0) close_worker(v);
    inbox_worker_gone(v->gpu, "salusd is stopping");
    recovery_worker_gone(&v->recovery, false);
    recovery_lose_all(&v->recovery, "salusd is stopping");
    fdutil_close(&w->memory_fd);
    held_memory_finish(&w->keeping);
    if (v->process_open)
        uv_timer_start(&v->timer, on_stop_timeout, STOP_TIMEOUT_MS, 0);
    else
        uv_close((uv_handle_t *)&v->timer, NULL);
}
