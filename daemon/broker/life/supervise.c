/* SPDX-License-Identifier: Apache-2.0
 *
 * One timer has two uses: while there is no worker it starts the next, and while there is one it
 * waits for its silence.
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
#include "daemon/broker/printable.h"
#include "daemon/broker/worker/board.h"
#include "daemon/broker/worker/spawn.h"

#define NS_PER_MS 1000000u
#define START_TIMEOUT_MS 60000 /* a GPU's context takes seconds to make */
#define STOP_TIMEOUT_MS 2000
#define FREE_MS 10 /* between looks whether the memory of the one before is free */
#define BATCH 64   /* messages read before the loop looks at others */

static void lose_worker(struct supervise *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void start_now(uv_timer_t *t);

static struct worker *worker_of(const struct supervise *v) {
    return &v->gpu->worker;
}

/* What we ourselves lack at the moment is no failure of the worker, and no reason to give it up. */
static bool is_shortage(int err) {
    return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOBUFS || err == -EAGAIN;
}

/* ---- its silence ----------------------------------------------------------------------------- */

/* Timers run before sockets are looked at: after we ourselves were stopped for a while, what the
 * worker said meanwhile is still unread, and it must not die for that. */
static bool has_spoken(const struct worker *w) {
    char byte;

    return recv(w->channel.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* How long it may be silent. */
static uint64_t silence_ms(const struct supervise *v) {
    if (!worker_ready(worker_of(v))) return START_TIMEOUT_MS;
    return v->broker->config.worker_timeout / NS_PER_MS;
}

static void still_alive(struct supervise *v);

static void on_silence(uv_timer_t *t) {
    struct supervise *v = t->data;
    uint64_t more_ms;

    if (has_spoken(worker_of(v))) {
        still_alive(v);
        return;
    }
    more_ms = silence_more_ms(&v->silence);
    if (more_ms) {
        uv_timer_start(&v->timer, on_silence, more_ms, 0);
        return;
    }
    lose_worker(v, worker_ready(worker_of(v)) ? "silent for %llu ms" : "not ready after %llu ms",
                (unsigned long long)silence_ms(v));
}

static void still_alive(struct supervise *v) {
    silence_begin(&v->silence, worker_of(v)->channel.pid);
    uv_timer_start(&v->timer, on_silence, silence_ms(v), 0);
}

/* ---- getting ready --------------------------------------------------------------------------- */

/* A worker that shows no lanes is served as well. */
static void open_board(struct worker *w, int fd) {
    int err = 0;

    if (fd == -1) return;
    w->board = fd < 0 ? NULL : board_open(fd, &err);
    if (fd < 0) err = fd;
    if (!w->board) log_warn("worker", "event=no-board why=\"%s\"", err_text(err));
}

/* All have what is theirs: others may come. */
static void serve(struct supervise *v) {
    struct worker *w = worker_of(v);

    w->state = WORKER_READY;
    v->restart.failures = 0;
    w->trouble[0] = '\0';
    still_alive(v);
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

/* It has as long for each of the jobs that it is to go on with as for its start. */
static void restore_next(struct supervise *v) {
    still_alive(v);
    if (recovery_next(&v->recovery) > 0) serve(v);
}

/* The trial job is gone again. */
static void on_tried(struct supervise *v) {
    trial_end(&v->trial);
    recovery_reach(&v->recovery, RECOVERY_TRIED);
    worker_of(v)->state = WORKER_RESTORING;
    restore_next(v);
}

/* Its memory, where that will outlive it; and whether what is in it belongs to orphans. */
static void take_memory(struct supervise *v, const struct wire_worker_msg *msg, int *fd) {
    struct worker *w = worker_of(v);
    bool adopted = v->given_memory && (msg->flags & WIRE_READY_ADOPTED);

    if (!adopted) {
        recovery_lose_all(&v->recovery, "the next worker did not go on with the device's memory");
        fdutil_close(&w->memory_fd);
        keeping_forget(&w->keeping, v->broker->loop);
    }
    if (!fdutil_is_memfd(*fd)) return;
    fdutil_close(&w->memory_fd);
    w->memory_fd = *fd;
    *fd = -1;
}

static void on_ready(struct supervise *v, const struct wire_worker_msg *msg, int fds[2]) {
    struct worker *w = worker_of(v);
    char why[160];
    int err;

    if (msg->result < 0) {
        lose_worker(v, "device %s cannot be opened: %.160s", v->gpu->config.device,
                    *msg->text ? msg->text : err_text(msg->result));
        return;
    }
    w->state = WORKER_TRYING;
    recovery_reach(&v->recovery, RECOVERY_OPENED);
    gpu_opened(v->gpu, &msg->device);
    open_board(w, fds[0]);
    take_memory(v, msg, &fds[1]);
    still_alive(v); /* once for all that the trial takes */
    err = trial_begin(&v->trial, why, sizeof(why));
    v->shortage = is_shortage(err);
    if (err < 0) lose_worker(v, "no job would be served: %s", why);
}

static void on_trial_attached(struct supervise *v, const struct wire_worker_msg *msg, int fds[2]) {
    char why[224];
    int err = trial_attached(&v->trial, msg, fds, why, sizeof(why));

    v->shortage = is_shortage(err);
    if (err < 0) lose_worker(v, "no job would be served: %s", why);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* A worker that starts says nothing of jobs. */
static int on_starting(struct supervise *v, const struct wire_worker_msg *msg, int fds[2]) {
    if (msg->kind == WIRE_READY)
        on_ready(v, msg, fds);
    else if (msg->kind != WIRE_BEAT)
        return ERR_PROTOCOL;
    return 0;
}

/* The answer to RESTORE. */
static int on_restored(struct supervise *v, const struct wire_worker_msg *msg, int fds[2]) {
    int err = recovery_attached(&v->recovery, msg, fds);

    if (err == 0) restore_next(v);
    return err;
}

/* Its device is lost. The kernel's name is for the log: who did it may be another user's. */
static int on_broke(struct supervise *v, const struct wire_worker_msg *msg) {
    const struct attachment *a = attachments_find(&v->gpu->attachments, msg->job_id);

    if (msg->job_id && (!a || a->place == ATTACHMENT_ORPHAN)) return ERR_PROTOCOL;
    v->recovery.culprit = msg->job_id;
    if (msg->job_id)
        snprintf(v->last_words, sizeof(v->last_words), "job %u ended the GPU's context: %s",
                 msg->job_id, err_text(msg->result));
    else
        snprintf(v->last_words, sizeof(v->last_words), "the GPU's context ended: %s%s%.60s",
                 err_text(msg->result), *msg->text ? ": " : "", msg->text);
    log_error("worker", "event=context-lost gpu=%u job=%u error=%s why=\"%.200s\"", v->gpu->number,
              msg->job_id, err_name(msg->result), msg->text);
    return 0;
}

/* A restored job went on or did not, or was detached before that. */
static int on_settled(struct supervise *v, const struct wire_worker_msg *msg) {
    struct attachment *a = attachments_find(&v->gpu->attachments, msg->job_id);

    if (!a || a->place == ATTACHMENT_ORPHAN) return ERR_PROTOCOL;
    recovery_resumed(&v->recovery, a);
    return 0;
}

static int on_message(struct supervise *v, struct wire_worker_msg *msg, int fds[2]) {
    struct worker *w = worker_of(v);
    int err;

    printable_quote(msg->text, sizeof(msg->text));
    printable_quote(msg->device.name, sizeof(msg->device.name));
    if (w->state == WORKER_STARTING) return on_starting(v, msg, fds);
    if (msg->kind == WIRE_ATTACHED && msg->job_id == WIRE_TRIAL_JOB && v->trial.attachment) {
        on_trial_attached(v, msg, fds);
        return 0;
    }
    if (msg->kind == WIRE_ATTACHED && w->state == WORKER_RESTORING) return on_restored(v, msg, fds);
    if (msg->kind == WIRE_BROKE) return on_broke(v, msg);
    if (msg->kind == WIRE_RESUMED) return on_settled(v, msg);
    if (msg->kind == WIRE_DETACHED) on_settled(v, msg);
    err = inbox_take(v->broker, v->gpu, msg, fds);
    if (err == 0 && msg->kind == WIRE_DETACHED && w->state == WORKER_TRYING && !v->trial.attachment)
        on_tried(v);
    return err;
}

/* Whatever it is receives into. */
union message {
    union kernel_wire_message any;
    struct wire_part part;
};

/* A message of any kind, of so many bytes. */
static int on_any(struct supervise *v, union message *message, int bytes, int fds[2]) {
    union kernel_wire_message *m = &message->any;

    if (bytes == (int)sizeof(message->part) && message->part.kind == WIRE_PART)
        return keeping_take(&worker_of(v)->keeping, message->part.id, &fds[0]);
    if (bytes == (int)sizeof(m->msg) && m->msg.kind != WIRE_PROFILES)
        return on_message(v, &m->msg, fds);
    if (!kernel_wire_is_batch(m, (size_t)bytes) || worker_of(v)->state == WORKER_STARTING)
        return ERR_PROTOCOL;
    kernel_link_learn(&v->gpu->kernels, &m->batch);
    return 0;
}

/* What came of the descriptors, -1 where there are none; -EMFILE where there was no room. */
static void settle_fds(int fds[2], int n, int nfds) {
    for (int i = 0; i < 2; i++)
        if (n <= 0 || i >= nfds) fds[i] = n > 0 && nfds == FDUTIL_LOST ? -EMFILE : -1;
}

/* One message: false when no more can be read now. */
static bool receive(struct supervise *v) {
    struct worker *w = worker_of(v);
    union message message;
    const struct wire_worker_msg *m = &message.any.msg;
    int fds[2] = {-1, -1}, nfds = 2;
    int n = fdutil_recv(w->channel.fd, &message, sizeof(message), fds, &nfds);

    if (n == -EAGAIN) return false;
    settle_fds(fds, n, nfds);
    if (n <= 0) {
        v->hung_up = true;
        lose_worker(v, "it closed its socket%s%s", n < 0 ? ": " : "", n < 0 ? err_text(n) : "");
    } else if (on_any(v, &message, n, fds) < 0) {
        lose_worker(v, "protocol error: message kind %u of %d bytes, job %u", n >= 4 ? m->kind : 0,
                    n, n == sizeof(*m) ? m->job_id : 0);
    }
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0) fdutil_close(&fds[i]);
    return w->channel.fd >= 0;
}

/* Descriptors that cannot be sent are the job's loss alone. */
static void not_sent(struct supervise *v, uint32_t job_id, int why) {
    const struct wire_worker_msg reply = {.kind = WIRE_ATTACHED, .job_id = job_id, .result = why};

    if (v->recovery.asked && v->recovery.asked->job_id == job_id)
        on_restored(v, &reply, (int[]){-1, -1});
    else
        inbox_not_sent(v->gpu, job_id, why);
}

static int flush(struct supervise *v) {
    uint32_t job_id;
    int err, why;

    while ((err = channel_flush(&worker_of(v)->channel, &job_id, &why)) > 0)
        not_sent(v, job_id, why);
    return err;
}

static void on_poll(uv_poll_t *p, int status, int events) {
    struct supervise *v = p->data;
    const struct worker *w = worker_of(v);
    int heard = 0;

    if (status == 0 && (events & UV_WRITABLE) && flush(v) < 0) {
        lose_worker(v, "its socket broke");
        return;
    }
    while (heard < BATCH && receive(v))
        heard++;
    if (heard && w->channel.fd >= 0 && w->state != WORKER_TRYING && w->state != WORKER_RESTORING)
        still_alive(v);
}

/* ---- its end --------------------------------------------------------------------------------- */

static void close_worker(struct supervise *v) {
    struct worker *w = worker_of(v);

    uv_timer_stop(&v->timer); /* nobody's silence is waited for, also where no other is started */
    channel_close(&w->channel);
    board_close(w->board);
    w->board = NULL;
    trial_end(&v->trial);
}

/* Whoever waits is told now. */
static void give_up(struct supervise *v) {
    struct worker *w = worker_of(v);

    recovery_lose_all(&v->recovery, "the GPU worker was given up");
    recovery_free_memory(&v->recovery);
    w->state = WORKER_FAILED;
    w->restarts--; /* no other is started */
    clients_worker_failed(&v->broker->clients, v->gpu);
    announce_state(v->announce);
    log_error("worker", "event=given-up gpu=%u failures=%llu why=\"%s\"%s", v->gpu->number,
              (unsigned long long)v->restart.failures, w->trouble,
              v->announce->failed ? "" : " retry=\"SIGHUP, or 'salusctl gpu retry'\"");
}

/* Orphans wait as long as a start may take, and for as many that fail as workers may end. */
static void look_after_orphans(struct supervise *v, bool had_jobs) {
    uint64_t waited_ns;

    recovery_worker_gone(&v->recovery, had_jobs);
    waited_ns = fdutil_now_ns() - v->recovery.since_ns;
    if (v->restart.failures >= RECOVERY_TRIES || waited_ns / NS_PER_MS >= START_TIMEOUT_MS)
        recovery_lose_all(&v->recovery, "no other worker was ready in time");
}

/* The next start, or none. `had_jobs`: the one before had them, or was to have them. */
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

static void lose_worker(struct supervise *v, const char *fmt, ...) {
    struct worker *w = worker_of(v);
    bool had_jobs = worker_ready(w) || w->state == WORKER_RESTORING;
    pid_t pid = w->channel.pid;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(w->trouble, sizeof(w->trouble), fmt, ap);
    va_end(ap);
    if (*v->last_words) snprintf(w->trouble, sizeof(w->trouble), "%s", v->last_words);
    close_worker(v);
    if (pid > 0) kill(pid, SIGKILL); /* our child, not reaped yet: the number is its own */
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

/* A better reason than that its socket was closed. */
static void say_end(struct worker *w, int status, int signal) {
    if (signal == SIGKILL)
        snprintf(w->trouble, sizeof(w->trouble),
                 "it was killed, which the kernel does too where memory is short: see 'dmesg'");
    else if (signal)
        snprintf(w->trouble, sizeof(w->trouble), "signal %d (%s) ended it", signal,
                 sigabbrev_np(signal) ? sigabbrev_np(signal) : "?");
    else
        snprintf(w->trouble, sizeof(w->trouble), "it ended with status %d", status);
}

/* The socket's end, which comes with it, is what ends the jobs; here is only how it ended. */
static void on_exit_status(uv_process_t *p, int64_t status, int signal) {
    struct supervise *v = p->data;

    worker_of(v)->channel.pid = 0;
    log_info("worker", "event=exited gpu=%u status=%d signal=%d", v->gpu->number, (int)status,
             signal);
    if (v->hung_up && !*v->last_words) say_end(worker_of(v), (int)status, signal);
    uv_close((uv_handle_t *)p, on_process_closed);
}

/* ---- its beginning --------------------------------------------------------------------------- */

/* As a process. */
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

/* With all that is held of the memory of the one before. `fd` is its own. */
static int launch(struct supervise *v, int fd) {
    struct worker *w = worker_of(v);
    struct spawn_launch l = {v->gpu->number, fd, w->memory_fd, -1};
    int err;

    if (w->keeping.count) l.kept_fd = keeping_list(&w->keeping);
    if (l.kept_fd < -1) {
        close(fd);
        return l.kept_fd;
    }
    v->given_memory = l.memory_fd >= 0 || l.kept_fd >= 0;
    keeping_begin(&w->keeping);
    err = v->hooks.launch ? v->hooks.launch(v->hooks.arg, &l) : launch_process(v, &l);
    fdutil_close(&l.kept_fd);
    return err;
}

static void start(struct supervise *v) {
    struct worker *w = worker_of(v);
    int pair[2], err;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        v->shortage = is_shortage(-errno);
        snprintf(w->trouble, sizeof(w->trouble), "no socket pair: %s", err_text(-errno));
        start_later(v, false);
        return;
    }
    v->started_ns = fdutil_now_ns();
    recovery_reach(&v->recovery, RECOVERY_REAPED);
    w->state = WORKER_STARTING;
    channel_open(&w->channel, pair[0], v->broker->loop, on_poll, v);
    changes_started(&v->gpu->changes);
    err = launch(v, pair[1]);
    v->shortage = is_shortage(err);
    if (err < 0)
        lose_worker(v, "salus-gpu cannot be started: %s%s", err_text(err),
                    err == -ENOENT ? " (option worker names it)" : "");
    else
        still_alive(v);
}

static void start_now(uv_timer_t *t) {
    struct supervise *v = t->data;

    v->hung_up = v->shortage = false;
    v->last_words[0] = '\0';
    recovery_free_memory(&v->recovery);
    v->due = v->process_open;
    if (v->due) return; /* it goes on when the one before is reaped */
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
                    const struct server_hooks *hooks, struct announce *announce) {
    struct worker *w = &g->worker;

    v->broker = b;
    v->gpu = g;
    if (hooks) v->hooks = *hooks;
    v->announce = announce;
    recovery_init(&v->recovery, b, g);
    trial_init(&v->trial, &g->attachments, g->config.window_host_bytes);
    w->state = WORKER_DOWN;
    snprintf(w->trouble, sizeof(w->trouble), "it is being started");
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

    log_warn("worker", "event=killed gpu=%u pid=%d why=\"did not end when told\"", v->gpu->number,
             (int)pid);
    if (pid > 0) kill(pid, SIGKILL);
}

/* An honest worker ends when its socket does. */
void supervise_stop(struct supervise *v) {
    struct worker *w = worker_of(v);

    w->state = WORKER_STOPPED;
    uv_timer_stop(&v->timer);
    uv_close((uv_handle_t *)&w->retry, NULL);
    if (w->channel.fd >= 0) close_worker(v);
    inbox_worker_gone(v->gpu, "salusd is being stopped");
    recovery_worker_gone(&v->recovery, false);
    recovery_lose_all(&v->recovery, "salusd is being stopped");
    fdutil_close(&w->memory_fd);
    keeping_finish(&w->keeping);
    if (v->process_open)
        uv_timer_start(&v->timer, on_stop_timeout, STOP_TIMEOUT_MS, 0);
    else
        uv_close((uv_handle_t *)&v->timer, NULL);
}
