/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's life: launched, tried, READY, watched by its heartbeat, ended, launched again. The
 * worker may die at any time and owes us nothing; its end is the end of every job it had, and each
 * of them is told. A worker that speaks nonsense is ended like one that is silent. Starts that fail
 * in a row come with growing pauses, and after worker_tries of them no more come by themselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/clients/pages.h"
#include "daemon/broker/control/change.h"
#include "daemon/broker/control/history.h"
#include "daemon/broker/control/overdue.h"
#include "daemon/broker/notify.h"
#include "daemon/broker/store/profile_store.h"
#include "daemon/broker/worker/board.h"
#include "daemon/broker/worker/kernel_link.h"
#include "daemon/broker/worker/trial.h"

#define NS_PER_MS 1000000u
#define START_TIMEOUT_MS 60000 /* a GPU's context takes seconds to make */
#define STOP_TIMEOUT_MS 2000
#define RESTART_DELAY_MS 20     /* after a worker that had been READY */
#define RESTART_OFTEN_MS 1000   /* after the 10th such restart within a minute */
#define RESTART_DELAY_MAX 10000 /* doubling from 100 ms while none gets READY */
#define SHORTAGE_DELAY_MS 500   /* until we may have descriptors or memory again */
#define OFTEN_NS (60ull * 1000000000u)
#define OUTBOX_MAX 4096u
#define BATCH 64 /* messages read before the loop looks at others */

static void lose_worker(struct server *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void start_now(uv_timer_t *t);

/* ---- sending --------------------------------------------------------------------------------- */

static void watch(struct server *s, int events);

static void drop_parcel(struct supervise *v, struct parcel *p) {
    list_remove(&p->link);
    v->outbox_count--;
    for (int i = 0; i < p->nfds; i++)
        fdutil_close(&p->fds[i]);
    free(p);
}

static int keep_parcel(struct server *s, const struct wire_worker_msg *msg, const int *fds,
                       int nfds) {
    struct supervise *v = &s->supervise;
    struct parcel *p = v->outbox_count < OUTBOX_MAX ? calloc(1, sizeof(*p)) : NULL;

    if (!p) return -ENOBUFS;
    p->msg = *msg;
    list_append(&v->outbox, &p->link);
    v->outbox_count++;
    for (; p->nfds < nfds; p->nfds++) {
        p->fds[p->nfds] = fcntl(fds[p->nfds], F_DUPFD_CLOEXEC, 0);
        if (p->fds[p->nfds] < 0) {
            int rc = -errno;

            drop_parcel(v, p);
            return rc;
        }
    }
    watch(s, UV_READABLE | UV_WRITABLE);
    return 0;
}

static int post(struct server *s, const struct wire_worker_msg *msg, const int *fds, int nfds) {
    struct supervise *v = &s->supervise;
    int rc = -EAGAIN;

    if (list_empty(&v->outbox)) rc = fdutil_send(v->fd, msg, sizeof(*msg), fds, nfds);
    if (nfds == 0 && fdutil_scarce(rc)) rc = -EAGAIN; /* it has to arrive */
    return rc == -EAGAIN ? keep_parcel(s, msg, fds, nfds) : rc;
}

/* Its descriptors cannot be sent, which is the newcomer's loss alone. The worker never heard of it,
 * and says so when it is told to let go of it. */
static void attach_failed(struct server *s, uint32_t job_id, int err) {
    struct wire_worker_msg reply = {.kind = WIRE_ATTACHED, .job_id = job_id, .result = err};
    struct attachment *a = supervise_find(s, job_id);

    if (a && a->client) client_attached(a->client, &reply, -1);
}

static int flush_outbox(struct server *s) {
    struct supervise *v = &s->supervise;

    while (!list_empty(&v->outbox)) {
        struct parcel *p = list_entry(v->outbox.next, struct parcel, link);
        int rc = fdutil_send(v->fd, &p->msg, sizeof(p->msg), p->fds, p->nfds);

        if (rc == -EAGAIN || (p->nfds == 0 && fdutil_scarce(rc))) return 0;
        if (rc < 0 && !fdutil_scarce(rc)) return rc;
        if (rc < 0) attach_failed(s, p->msg.job_id, rc);
        drop_parcel(v, p);
    }
    watch(s, UV_READABLE);
    return 0;
}

/* ---- attachments ----------------------------------------------------------------------------- */

struct attachment *supervise_find(struct server *s, uint32_t job_id) {
    struct list *pos;

    list_each(pos, &s->supervise.attachments) {
        struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->job_id == job_id) return a;
    }
    return NULL;
}

/* The job's last moment: its counters are final. */
static void free_attachment(struct server *s, struct attachment *a) {
    if (a->welcomed) {
        history_add(s->history, a);
        if (a->completion)
            profile_store_learn(s, a->uid, &a->job, &a->completion->stats,
                                !a->how && atom_load_relaxed(&a->completion->stats.faults) == 0);
    }
    pages_forget_completion(a);
    groups_put(&s->groups, a->group);
    list_remove(&a->link);
    slots_put(&s->slots, a->slot);
    free(a);
}

uint32_t supervise_next_id(struct server *s) {
    if (++s->supervise.next_job == 0) s->supervise.next_job = 1;
    return s->supervise.next_job;
}

/* It does not listen. Its end is seen by the poll handle, never in the middle of a caller's work.
 */
static void end_worker(struct server *s) {
    if (s->supervise.pid > 0) kill(s->supervise.pid, SIGKILL);
    shutdown(s->supervise.fd, SHUT_RDWR);
}

int supervise_tell(struct server *s, const struct wire_worker_msg *msg, const int *fds, int nfds) {
    int rc = post(s, msg, fds, nfds);

    if (rc < 0 && !(nfds > 0 && fdutil_scarce(rc))) end_worker(s);
    return rc;
}

static struct attachment *make_attachment(struct client *c, int slot) {
    struct server *s = c->server;
    struct attachment *a = calloc(1, sizeof(*a));
    bool trial = c == &s->supervise.trial;

    if (!a) return NULL;
    *a = (struct attachment){.job_id = trial ? WIRE_TRIAL_JOB : supervise_next_id(s),
                             .slot = slot,
                             .client = c,
                             .pid = c->pid,
                             .uid = c->uid,
                             .since = c->since,
                             .job = c->job,
                             .group = groups_take(&s->groups, c->uid, c->job.group),
                             .word = c->word};
    memcpy(a->name, c->name, sizeof(a->name));
    return a;
}

int supervise_attach(struct client *c, int slot) {
    struct server *s = c->server;
    struct attachment *a = make_attachment(c, slot);
    struct wire_worker_msg msg = {.kind = WIRE_ATTACH,
                                  .pid = c->pid,
                                  .uid = c->uid,
                                  .windows = client_windows(c, slot),
                                  .limits = users_wire_limits(c->user),
                                  .job = c->job};
    int fds[] = {c->submission_fd, c->host_fd, c->doorbell_fd}, rc;

    if (!a) return -ENOMEM;
    msg.job_id = a->job_id;
    msg.group = a->group;
    memcpy(msg.name, c->name, sizeof(msg.name));
    rc = supervise_tell(s, &msg, fds, 3);
    if (rc < 0) {
        groups_put(&s->groups, a->group);
        free(a);
        return rc;
    }
    list_append(&s->supervise.attachments, &a->link);
    c->attachment = a;
    return 0;
}

int supervise_set_job(struct server *s, const struct attachment *a) {
    struct wire_worker_msg msg = {
        .kind = WIRE_SET_JOB, .job_id = a->job_id, .job = a->job, .group = a->group};

    return supervise_tell(s, &msg, NULL, 0);
}

int supervise_set_policy(struct server *s, const struct wire_choice *choice) {
    struct wire_worker_msg msg = {.kind = WIRE_SET_POLICY, .choice = *choice};

    return supervise_tell(s, &msg, NULL, 0);
}

void supervise_detach(struct server *s, struct attachment *a) {
    struct wire_worker_msg msg = {.kind = WIRE_DETACH, .job_id = a->job_id, .result = a->lost};

    a->client = NULL;
    a->detached_ns = fdutil_now_ns();
    supervise_tell(s, &msg, NULL, 0);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void still_alive(struct server *s);

/* Timers run before sockets are looked at: after we ourselves were stopped for a while, what the
 * worker said meanwhile is still unread, and it must not die for that. */
static bool has_spoken(const struct supervise *v) {
    char byte;

    return recv(v->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* How long it may be silent. */
static uint64_t silence_ms(const struct server *s) {
    return s->supervise.state == SUPERVISE_READY ? s->config.worker_timeout / NS_PER_MS
                                                 : START_TIMEOUT_MS;
}

static void on_silence(uv_timer_t *t) {
    struct server *s = t->data;

    if (has_spoken(&s->supervise)) {
        still_alive(s);
        return;
    }
    lose_worker(
        s, s->supervise.state == SUPERVISE_READY ? "silent for %llu ms" : "not ready after %llu ms",
        (unsigned long long)silence_ms(s));
}

static void still_alive(struct server *s) {
    uv_timer_start(&s->supervise.timer, on_silence, silence_ms(s), 0);
}

/* A worker that shows no lanes is served as well. */
static void open_board(struct supervise *v, int fd) {
    int err = 0;

    if (fd == -1) return;
    v->board = fd < 0 ? NULL : board_open(fd, &err);
    if (fd < 0) err = fd;
    if (!v->board) log_warn("worker", "event=no-board why=\"%s\"", err_text(err));
}

/* What we ourselves lack at the moment is no failure of the worker, and no reason to give it up. */
static bool is_shortage(int rc) {
    return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -ENOBUFS || rc == -EAGAIN;
}

/* To systemd: readiness once, then how we are. */
static void tell_ready(struct supervise *v) {
    notify_send(v->served ? "STATUS=jobs are served" : "READY=1\nSTATUS=jobs are served");
    v->served = true;
}

/* The trial job is gone again: others may come. */
static void on_tried(struct server *s) {
    struct supervise *v = &s->supervise;

    trial_end(s);
    v->state = SUPERVISE_READY;
    v->failures = 0;
    v->trouble[0] = '\0';
    still_alive(s);
    log_info("worker", "event=ready pid=%d device=\"%.64s\" memory_bytes=%llu sms=%u start_ms=%llu",
             (int)v->pid, v->device.name, (unsigned long long)v->device.memory_bytes,
             v->device.sm_count,
             (unsigned long long)((fdutil_now_ns() - v->started_ns) / NS_PER_MS));
    change_sync_policy(s);
    kernel_link_ready(s);
    client_worker_ready(s);
    tell_ready(v);
}

static void on_ready(struct server *s, const struct wire_worker_msg *msg, int board_fd) {
    struct supervise *v = &s->supervise;
    char why[160];
    int rc;

    if (msg->result < 0) {
        lose_worker(s, "device %s cannot be opened: %.160s", s->config.device,
                    *msg->text ? msg->text : err_text(msg->result));
        return;
    }
    v->state = SUPERVISE_TRYING;
    v->device = msg->device;
    slots_unblock_all(&s->slots);
    open_board(v, board_fd);
    still_alive(s); /* once for all that the trial takes */
    rc = trial_begin(s, why, sizeof(why));
    v->shortage = is_shortage(rc);
    if (rc < 0) lose_worker(s, "no job would be served: %s", why);
}

static void on_trial_attached(struct server *s, const struct wire_worker_msg *msg, int fd) {
    char why[224];
    int rc = trial_attached(s, msg, fd, why, sizeof(why));

    s->supervise.shortage = is_shortage(rc);
    if (rc < 0) lose_worker(s, "no job would be served: %s", why);
}

/* The worker will not admit the job. The client lives on: it learns of it from its next call. */
static void on_refused(struct attachment *a, const struct wire_worker_msg *msg) {
    if (a->how) return;
    a->how = "refused";
    memcpy(a->why, msg->text, sizeof(a->why));
    log_warn("client", "event=not-admitted job=%u pid=%d uid=%u name=\"%s\" why=\"%s\"", a->job_id,
             (int)a->pid, (unsigned)a->uid, a->name, a->why);
}

/* Ends the text, and leaves nothing in it that would end a log record or its quotes: it may hold
 * names from a client's program. */
static void make_printable(char *text, size_t cap) {
    text[cap - 1] = '\0';
    for (; *text; text++)
        if (*text < ' ' || *text > '~' || *text == '"') *text = '?';
}

static int on_message(struct server *s, struct wire_worker_msg *msg, int *fd) {
    struct supervise *v = &s->supervise;
    struct attachment *a = supervise_find(s, msg->job_id);

    make_printable(msg->text, sizeof(msg->text));
    make_printable(msg->device.name, sizeof(msg->device.name));
    if (v->state == SUPERVISE_STARTING && msg->kind != WIRE_READY && msg->kind != WIRE_BEAT)
        return ERR_PROTOCOL;
    switch (msg->kind) {
    case WIRE_READY:
        if (v->state != SUPERVISE_STARTING) return ERR_PROTOCOL;
        on_ready(s, msg, *fd);
        return 0;
    case WIRE_BEAT:
        overdue_look(s);
        users_look(s);
        return 0;
    case WIRE_ATTACHED:
        if (!a) return ERR_PROTOCOL;
        if (a->client == &v->trial) {
            on_trial_attached(s, msg, *fd);
        } else if (a->client) {
            if (a->client->state != CLIENT_ATTACHING) return ERR_PROTOCOL;
            client_attached(a->client, msg, *fd);
            *fd = -1;
        }
        return 0;
    case WIRE_DETACHED:
        if (!a || a->client) return ERR_PROTOCOL;
        log_debug("worker", "event=detached job=%u after_us=%llu", a->job_id,
                  (unsigned long long)((fdutil_now_ns() - a->detached_ns) / 1000));
        free_attachment(s, a);
        if (v->state == SUPERVISE_TRYING && !v->trial.attachment) on_tried(s);
        return 0;
    case WIRE_EXPELLED:
        if (!a || a->client == &v->trial) return ERR_PROTOCOL;
        if (a->client) client_expelled(a->client, msg);
        return 0;
    case WIRE_REFUSED:
        if (!a) return ERR_PROTOCOL;
        on_refused(a, msg);
        return 0;
    case WIRE_DID: return change_did(s, msg);
    default: return ERR_PROTOCOL;
    }
}

/* A message of either kind, of so many bytes. */
static int on_any(struct server *s, union kwire_message *m, int bytes, int *fd) {
    if (bytes == (int)sizeof(m->msg) && m->msg.kind != WIRE_PROFILES)
        return on_message(s, &m->msg, fd);
    if (!kwire_is_batch(m, (size_t)bytes) || s->supervise.state == SUPERVISE_STARTING)
        return ERR_PROTOCOL;
    kernel_link_learn(s, &m->batch);
    return 0;
}

static void on_poll(uv_poll_t *p, int status, int events) {
    struct server *s = p->data;
    struct supervise *v = &s->supervise;

    if (status == 0 && (events & UV_WRITABLE) && flush_outbox(s) < 0) {
        lose_worker(s, "its socket broke");
        return;
    }
    for (int i = 0; i < BATCH && v->fd >= 0; i++) {
        union kwire_message m;
        int fd = -1, nfds = 1;
        int n = fdutil_recv(v->fd, &m, sizeof(m), &fd, &nfds);

        if (n == -EAGAIN) return;
        if (nfds <= 0 || n <= 0) fd = nfds == FDUTIL_LOST ? -EMFILE : -1;
        if (n <= 0) {
            v->hung_up = true;
            lose_worker(s, "it closed its socket%s%s", n < 0 ? ": " : "", n < 0 ? err_text(n) : "");
        } else if (on_any(s, &m, n, &fd) < 0) {
            lose_worker(s, "protocol error: message kind %u of %d bytes, job %u",
                        n >= 4 ? m.msg.kind : 0, n, n == sizeof(m.msg) ? m.msg.job_id : 0);
        } else if (v->fd >= 0 && v->state != SUPERVISE_TRYING) {
            still_alive(s);
        }
        fdutil_close(&fd);
    }
}

static void watch(struct server *s, int events) {
    struct supervise *v = &s->supervise;

    if (v->poll_events == events) return;
    v->poll_events = events;
    uv_poll_start(&v->poll, events, on_poll);
}

/* ---- end and beginning ----------------------------------------------------------------------- */

/* How long until the next start, and a warning when restarts come often. */
static uint64_t restart_delay_ms(struct supervise *v, bool had_been_ready) {
    uint64_t now = fdutil_now_ns(), *slot = &v->recent[v->restarts % 10];
    uint64_t oldest = *slot, ms;

    *slot = now;
    v->restarts++;
    if (v->shortage) return SHORTAGE_DELAY_MS;
    if (!had_been_ready) {
        ms = 100ull << (v->failures < 7 ? v->failures : 7);
        v->failures++;
        return ms < RESTART_DELAY_MAX ? ms : RESTART_DELAY_MAX;
    }
    if (oldest == 0 || now - oldest > OFTEN_NS) return RESTART_DELAY_MS;
    log_warn("worker", "event=restarts-often count=10 within_ms=%llu delay_ms=%d",
             (unsigned long long)((now - oldest) / NS_PER_MS), RESTART_OFTEN_MS);
    return RESTART_OFTEN_MS;
}

static void end_attachments(struct server *s) {
    struct supervise *v = &s->supervise;

    while (!list_empty(&v->attachments)) {
        struct attachment *a = list_entry(v->attachments.next, struct attachment, link);
        struct client *c = a->client;

        if (c && !a->how) {
            a->how = "lost";
            snprintf(a->why, sizeof(a->why), "the GPU worker ended: %.200s", v->trouble);
        }
        free_attachment(s, a);
        if (c && c != &v->trial) client_worker_lost(c);
    }
}

static void close_worker(struct server *s) {
    struct supervise *v = &s->supervise;

    uv_close((uv_handle_t *)&v->poll, NULL);
    fdutil_close(&v->fd);
    while (!list_empty(&v->outbox))
        drop_parcel(v, list_entry(v->outbox.next, struct parcel, link));
    v->poll_events = 0;
    board_close(v->board);
    v->board = NULL;
    trial_end(s);
}

/* Whoever waits is told now. Where no worker ever served, there is nothing to keep up. */
static void give_up(struct server *s) {
    struct supervise *v = &s->supervise;
    char status[sizeof(v->trouble) + 32];

    v->state = SUPERVISE_FAILED;
    log_error("worker", "event=given-up failures=%llu why=\"%s\"%s",
              (unsigned long long)v->failures, v->trouble,
              v->served ? " retry=\"SIGHUP, or 'salusctl gpu retry 0'\"" : "");
    snprintf(status, sizeof(status), "STATUS=failed: %s", v->trouble);
    notify_send(status);
    client_worker_failed(s);
    if (!v->served) server_fail(s);
}

/* The next start, or none. */
static void start_later(struct server *s, bool had_been_ready) {
    struct supervise *v = &s->supervise;
    uint64_t delay = restart_delay_ms(v, had_been_ready);
    char status[sizeof(v->trouble) + 32];

    v->state = SUPERVISE_DOWN;
    log_error("worker", "event=lost pid=%d why=\"%s\" restart_in_ms=%llu restarts=%llu",
              (int)v->pid, v->trouble, (unsigned long long)delay, (unsigned long long)v->restarts);
    change_lost(s, v->trouble);
    end_attachments(s);
    if (!had_been_ready && !v->shortage && v->failures >= s->config.worker_tries) {
        give_up(s);
        return;
    }
    snprintf(status, sizeof(status), "STATUS=degraded: %s", v->trouble);
    notify_send(status);
    uv_timer_start(&v->timer, start_now, delay, 0);
}

static void lose_worker(struct server *s, const char *fmt, ...) {
    struct supervise *v = &s->supervise;
    bool was_ready = v->state == SUPERVISE_READY;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(v->trouble, sizeof(v->trouble), fmt, ap);
    va_end(ap);
    close_worker(s);
    if (v->pid > 0) kill(v->pid, SIGKILL); /* our child, not reaped yet: the number is its own */
    start_later(s, was_ready);
}

static void on_process_closed(uv_handle_t *h) {
    struct server *s = h->data;

    s->supervise.process_open = false;
    if (s->supervise.state == SUPERVISE_STOPPED) uv_close((uv_handle_t *)&s->supervise.timer, NULL);
}

/* A better reason than that its socket was closed. */
static void say_end(struct supervise *v, int status, int signal) {
    if (signal == SIGKILL)
        snprintf(v->trouble, sizeof(v->trouble),
                 "it was killed, which the kernel does too where memory is short: see 'dmesg'");
    else if (signal)
        snprintf(v->trouble, sizeof(v->trouble), "signal %d (%s) ended it", signal,
                 sigabbrev_np(signal) ? sigabbrev_np(signal) : "?");
    else
        snprintf(v->trouble, sizeof(v->trouble), "it ended with status %d", status);
}

/* The socket's end, which comes with it, is what ends the jobs; here is only how it ended. */
static void on_exit_status(uv_process_t *p, int64_t status, int signal) {
    struct server *s = p->data;

    s->supervise.pid = 0;
    log_info("worker", "event=exited status=%d signal=%d", (int)status, signal);
    if (s->supervise.hung_up) say_end(&s->supervise, (int)status, signal);
    uv_close((uv_handle_t *)p, on_process_closed);
}

static int launch(struct server *s, int fd) {
    struct supervise *v = &s->supervise;
    int rc;

    if (s->hooks.launch) return s->hooks.launch(s->hooks.arg, fd);
    rc = spawn_worker(s, fd, on_exit_status);
    fdutil_close(&fd);
    if (rc == 0)
        v->pid = v->process.pid;
    else if (v->process_open)
        uv_close((uv_handle_t *)&v->process, on_process_closed);
    return rc;
}

static void start_now(uv_timer_t *t) {
    struct server *s = t->data;
    struct supervise *v = &s->supervise;
    int pair[2], rc;

    v->hung_up = v->shortage = false;
    if (v->process_open) { /* the one before has not been reaped yet */
        uv_timer_start(&v->timer, start_now, 10, 0);
        return;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        v->shortage = is_shortage(-errno);
        snprintf(v->trouble, sizeof(v->trouble), "no socket pair: %s", err_text(-errno));
        start_later(s, false);
        return;
    }
    v->started_ns = fdutil_now_ns();
    v->fd = pair[0];
    fcntl(v->fd, F_SETFL, O_NONBLOCK);
    uv_poll_init(&s->loop, &v->poll, v->fd);
    v->poll.data = s;
    v->state = SUPERVISE_STARTING;
    v->told = s->choice;
    watch(s, UV_READABLE);
    rc = launch(s, pair[1]);
    v->shortage = is_shortage(rc);
    if (rc < 0)
        lose_worker(s, "salus-gpu cannot be started: %s%s", err_text(rc),
                    rc == -ENOENT ? " (option worker names it)" : "");
    else
        still_alive(s);
}

void supervise_init(struct server *s) {
    struct supervise *v = &s->supervise;

    list_init(&v->attachments);
    list_init(&v->outbox);
    list_init(&v->changes);
    v->fd = -1;
    v->state = SUPERVISE_DOWN;
    snprintf(v->trouble, sizeof(v->trouble), "it is being started");
    uv_timer_init(&s->loop, &v->timer);
    v->timer.data = s;
}

void supervise_start(struct server *s) {
    start_now(&s->supervise.timer);
}

void supervise_retry(struct server *s) {
    struct supervise *v = &s->supervise;

    if (v->state != SUPERVISE_FAILED && v->state != SUPERVISE_DOWN) return;
    log_info("worker", "event=retry failures=%llu", (unsigned long long)v->failures);
    v->failures = 0;
    v->state = SUPERVISE_DOWN;
    uv_timer_start(&v->timer, start_now, 0, 0);
}

static void on_stop_timeout(uv_timer_t *t) {
    struct server *s = t->data;

    log_warn("worker", "event=killed pid=%d why=\"did not end when told\"", (int)s->supervise.pid);
    if (s->supervise.pid > 0) kill(s->supervise.pid, SIGKILL);
}

/* An honest worker ends when its socket does. */
void supervise_stop(struct server *s) {
    struct supervise *v = &s->supervise;

    v->state = SUPERVISE_STOPPED;
    uv_timer_stop(&v->timer);
    if (v->fd >= 0) close_worker(s);
    change_lost(s, "salusd is being stopped");
    end_attachments(s);
    if (v->process_open)
        uv_timer_start(&v->timer, on_stop_timeout, STOP_TIMEOUT_MS, 0);
    else
        uv_close((uv_handle_t *)&v->timer, NULL);
}
