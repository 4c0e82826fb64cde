/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a worker's messages until none is left, or until the loop must handle other events.
 */
#include "daemon/broker/life/messages.h"

#include <errno.h>
#include <stdio.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/life/inbox.h"
#include "daemon/broker/life/supervise.h"
#include "daemon/broker/printable.h"
#include "daemon/broker/worker/board.h"

#define BATCH 64 /* messages read before the loop handles other events */

static struct worker *worker_of(const struct supervise *v) {
    return &v->gpu->worker;
}

/* ---- getting ready --------------------------------------------------------------------------- */

/* Opens the worker's board. A worker without one is served as well. */
static void open_board(struct worker *w, int fd) {
    int err = 0;

    if (fd == -1) return;
    w->board = fd < 0 ? NULL : board_open(fd, &err);
    if (fd < 0) err = fd;
    if (!w->board) log_warn("worker", "event=no-status-page why=\"%s\"", err_text(err));
}

/* Asks for the next orphan. The worker has as long for each as for its start. */
static void restore_next(struct supervise *v) {
    supervise_heard(v);
    if (recovery_next(&v->recovery) > 0) supervise_serve(v);
}

/* The trial job is detached again. */
static void on_tried(struct supervise *v) {
    trial_end(&v->trial);
    recovery_reach(&v->recovery, RECOVERY_TRIED);
    worker_of(v)->state = WORKER_RESTORING;
    restore_next(v);
}

/* Takes over the descriptor of memory that outlives the worker. Decides whether its contents belong
 * to orphans. */
static void take_memory(struct supervise *v, const struct wire_worker_msg *msg, int *fd) {
    struct worker *w = worker_of(v);
    bool adopted = v->given_memory && (msg->flags & WIRE_READY_ADOPTED);

    if (!adopted) {
        recovery_lose_all(&v->recovery, "the new worker could not take over the device's memory");
        fdutil_close(&w->memory_fd);
        held_memory_forget(&w->keeping, v->broker->loop);
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
        supervise_lose(v, "the worker cannot open device %s: %.160s", v->gpu->config.device,
                       *msg->text ? msg->text : err_text(msg->result));
        return;
    }
    w->state = WORKER_TRYING;
    recovery_reach(&v->recovery, RECOVERY_OPENED);
    gpu_opened(v->gpu, &msg->device);
    open_board(w, fds[0]);
    take_memory(v, msg, &fds[1]);
    supervise_heard(v); /* once for the whole trial */
    err = trial_begin(&v->trial, why, sizeof(why));
    v->shortage = supervise_is_shortage(err);
    if (err < 0) supervise_lose(v, "the worker cannot serve jobs: %s", why);
}

static void on_trial_attached(struct supervise *v, const struct wire_worker_msg *msg, int fds[2]) {
    char why[224];
    int err = trial_attached(&v->trial, msg, fds, why, sizeof(why));

    v->shortage = supervise_is_shortage(err);
    if (err < 0) supervise_lose(v, "the worker cannot serve jobs: %s", why);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* A worker that is starting may not send messages about jobs. */
static int on_starting(struct supervise *v, const struct wire_worker_msg *msg, int fds[2]) {
    if (msg->kind == WIRE_READY)
        on_ready(v, msg, fds);
    else if (msg->kind != WIRE_BEAT)
        return ERR_PROTOCOL;
    return 0;
}

/* Handles the answer to RESTORE. */
static int on_restored(struct supervise *v, const struct wire_worker_msg *msg, int fds[2]) {
    int err = recovery_attached(&v->recovery, msg, fds);

    if (err == 0) restore_next(v);
    return err;
}

/* The worker's device is lost. The kernel's name is only logged, because the culprit may be another
 * user's job. */
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

/* A restored job continued, failed to, or was detached before that. */
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

/* Buffer for a message of any kind. */
union message {
    union kernel_wire_message any;
    struct wire_part part;
};

/* Handles a message of any kind of this length. */
static int on_any(struct supervise *v, union message *message, int bytes, int fds[2]) {
    union kernel_wire_message *m = &message->any;

    if (bytes == (int)sizeof(message->part) && message->part.kind == WIRE_PART)
        return held_memory_take(&worker_of(v)->keeping, message->part.id, &fds[0]);
    if (bytes == (int)sizeof(m->msg) && m->msg.kind != WIRE_PROFILES)
        return on_message(v, &m->msg, fds);
    if (!kernel_wire_is_batch(m, (size_t)bytes) || worker_of(v)->state == WORKER_STARTING)
        return ERR_PROTOCOL;
    kernel_link_learn(&v->gpu->kernels, &m->batch);
    return 0;
}

/* Sets the descriptors that did not come to -1, or to -EMFILE if there was no room for them. */
static void settle_fds(int fds[2], int n, int nfds) {
    for (int i = 0; i < 2; i++)
        if (n <= 0 || i >= nfds) fds[i] = n > 0 && nfds == FDUTIL_LOST ? -EMFILE : -1;
}

/* Reads one message. Returns false when no more can be read now. */
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
        supervise_lose(v, "the worker closed its socket%s%s", n < 0 ? ": " : "",
                       n < 0 ? err_text(n) : "");
    } else if (on_any(v, &message, n, fds) < 0) {
        supervise_lose(v, "the worker broke the protocol: message kind %u of %d bytes, job %u",
                       n >= 4 ? m->kind : 0, n, n == sizeof(*m) ? m->job_id : 0);
    }
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0) fdutil_close(&fds[i]);
    return w->channel.fd >= 0;
}

/* Handles a message whose descriptors could not be sent: only its job is lost. */
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

void messages_poll(uv_poll_t *p, int status, int events) {
    struct supervise *v = p->data;
    const struct worker *w = worker_of(v);
    int heard = 0;

    if (status == 0 && (events & UV_WRITABLE) && flush(v) < 0) {
        supervise_lose(v, "the socket to the worker failed");
        return;
    }
    while (heard < BATCH && receive(v))
        heard++;
    if (heard && w->channel.fd >= 0 && w->state != WORKER_TRYING && w->state != WORKER_RESTORING)
        supervise_heard(v);
}
