/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages from and to the broker.
 */
#include "daemon/worker/link/broker_link.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/engine/engine.h"
#include "daemon/worker/link/board.h"
#include "daemon/worker/link/kernel_link.h"
#include "daemon/worker/tenant.h"

#define LINK_FDS 3 /* submission, host, doorbell */

/* The socket may be non-blocking, and the broker briefly busy; it reads or dies. Without
 * descriptors a message waits for memory as well. */
static int link_send(int fd, const struct wire_worker_msg *msg, const int *fds, int nfds) {
    for (;;) {
        int err = fdutil_send(fd, msg, sizeof(*msg), fds, nfds);
        if (err != -EAGAIN && (nfds > 0 || !fdutil_scarce(err))) return err;
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        poll(&p, 1, 1000);
        if (err != -EAGAIN) usleep(1000);
    }
}

/* The broker ended; with messages of ours unread, it is a reset that tells us. */
static bool link_over(int result) {
    return result == 0 || result == -EPIPE || result == -ECONNRESET;
}

static void link_gone(struct worker *w, const struct wire_worker_msg *msg, int err) {
    if (!link_over(err))
        log_error("worker", "broker does not listen: kind=%u error=%s", msg->kind, err_name(err));
    w->stop = true;
}

static void link_say(struct worker *w, const struct wire_worker_msg *msg, const int *fds,
                     int nfds) {
    int err = link_send(w->broker_fd, msg, fds, nfds);
    if (err) link_gone(w, msg, err);
}

/* ---- what we say ----------------------------------------------------------------------------- */

static void link_device(struct wire_device *out, const struct dev_info *d) {
    *out = (struct wire_device){
        .memory_bytes = d->memory_bytes,
        .granularity_bytes = d->granularity_bytes,
        .sm_count = d->sm_count,
        .cc_major = d->cc_major,
        .cc_minor = d->cc_minor,
        .threads_per_sm = d->threads_per_sm,
        .blocks_per_sm = d->blocks_per_sm,
        .regs_per_sm = d->regs_per_sm,
        .shared_per_sm_bytes = d->shared_per_sm_bytes,
        .shared_per_block_bytes = d->shared_per_block_bytes,
        .shared_optin_bytes = d->shared_optin_bytes,
        .shared_reserved_bytes = d->shared_reserved_bytes,
        .clock_khz = d->clock_khz,
        .mem_clock_khz = d->mem_clock_khz,
        .mem_bus_bits = d->mem_bus_bits,
        .l2_bytes = d->l2_bytes,
    };
    memcpy(out->name, d->name, sizeof(out->name));
    memcpy(out->uuid, d->uuid, sizeof(out->uuid));
}

int broker_link_ready(int broker_fd, const struct dev_info *info, int board_fd, int result,
                      const char *text) {
    struct wire_worker_msg msg = {.kind = WIRE_READY, .result = result, .pid = getpid()};
    if (info) link_device(&msg.device, info);
    snprintf(msg.text, sizeof(msg.text), "%s", text);
    return link_send(broker_fd, &msg, &board_fd, board_fd >= 0 ? 1 : 0);
}

void broker_link_beat(struct worker *w) {
    struct wire_worker_msg msg = {.kind = WIRE_BEAT, .pid = getpid()};
    link_say(w, &msg, NULL, 0);
}

static void link_end(struct worker *w, enum wire_worker_kind kind, const struct client *c, int err,
                     const char *why) {
    struct wire_worker_msg msg = {.kind = kind, .job_id = c->job_id, .result = err};
    snprintf(msg.text, sizeof(msg.text), "%s", why);
    link_say(w, &msg, NULL, 0);
}

void broker_link_expelled(struct worker *w, const struct client *c, const char *why) {
    link_end(w, WIRE_EXPELLED, c, ERR_PROTOCOL, why);
}

void broker_link_refused(struct worker *w, const struct client *c, const char *why) {
    link_end(w, WIRE_REFUSED, c, ERR_NO_MEMORY, why);
}

/* The broker's own job is of no interest to people. */
static enum log_level link_level(uint32_t job_id) {
    return job_id == WIRE_TRIAL_JOB ? LOG_DEBUG : LOG_INFO;
}

static bool link_reapable(const struct client *c) {
    return c->leaving && !c->inflight;
}

bool broker_link_pending(const struct worker *w) {
    const struct list *pos;
    if (!w->leaving_count) return false;
    list_each(pos, &w->clients) {
        if (link_reapable(list_entry(pos, struct client, link))) return true;
    }
    return false;
}

void broker_link_reap(struct worker *w) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, &w->clients) {
        struct client *c = list_entry(pos, struct client, link);
        if (!link_reapable(c)) continue;
        struct wire_worker_msg msg = {.kind = WIRE_DETACHED, .job_id = c->job_id};
        log_write("client", link_level(c->job_id),
                  "job=%u name=%s left launches=%" PRIu64 " busy_ns=%" PRIu64 " faults=%" PRIu64,
                  c->job_id, c->name, c->launches, atom_load_relaxed(&c->com->stats.busy_ns),
                  atom_load_relaxed(&c->com->stats.faults));
        epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, c->doorbell, NULL);
        client_destroy(c);
        w->leaving_count--;
        w->telling = true;
        kernel_link_tell(w); /* whoever sees that it is gone sees what was learned of it */
        link_say(w, &msg, NULL, 0);
    }
}

/* ---- what we hear ---------------------------------------------------------------------------- */

static void link_undo_attach(struct client *c) {
    engine_left(c);
    client_destroy(c);
}

static int link_attach_client(struct worker *w, const struct wire_worker_msg *msg, int *fds,
                              int nfds, int *completion_fd) {
    struct client *c;
    if (nfds != LINK_FDS) {
        for (int i = 0; i < nfds; i++)
            fdutil_close(&fds[i]);
        return nfds == FDUTIL_LOST ? -EMFILE : -EPROTO;
    }
    int err = worker_client(w, msg->job_id) ? -EALREADY : 0;
    if (w->client_count >= WORKER_CLIENTS) err = -EUSERS;
    if (err) {
        for (int i = 0; i < nfds; i++)
            fdutil_close(&fds[i]);
        return err;
    }
    err = client_create(w, msg, fds, completion_fd, &c);
    if (err) return err;
    /* Edge-triggered, so that it never has to be read: the client has this very file too, and could
     * empty it first and leave us blocked in read(). */
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = c->doorbell};
    if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, c->doorbell, &event) == 0) return 0;
    err = -errno;
    link_undo_attach(c);
    fdutil_close(completion_fd);
    return err;
}

/* With the descriptor that goes along; that none can is the newcomer's loss, not ours. */
static int link_say_attached(struct worker *w, const struct wire_worker_msg *reply, int fd) {
    struct client *c = worker_client(w, reply->job_id);
    int err = link_send(w->broker_fd, reply, &fd, 1);
    if (err && !fdutil_scarce(err)) link_gone(w, reply, err);
    if (!fdutil_scarce(err)) return 0;
    epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, c->doorbell, NULL);
    link_undo_attach(c);
    return err;
}

static void link_attach(struct worker *w, const struct wire_worker_msg *msg, int *fds, int nfds) {
    int completion_fd = -1;
    struct wire_worker_msg reply = {.kind = WIRE_ATTACHED, .job_id = msg->job_id};
    reply.result = link_attach_client(w, msg, fds, nfds, &completion_fd);
    if (!reply.result) reply.result = link_say_attached(w, &reply, completion_fd);
    fdutil_close(&completion_fd);
    log_write("client",
              reply.result && reply.result != -EEXIST ? LOG_ERROR : link_level(msg->job_id),
              "job=%u name=%.63s pid=%d attached result=%s", msg->job_id, msg->name, msg->pid,
              reply.result ? err_name(reply.result) : "ok");
    if (!reply.result) return;
    snprintf(reply.text, sizeof(reply.text), "attaching failed: %s%s", err_text(reply.result),
             reply.result == -EMFILE ? "; raise LimitNOFILE of salusd's unit, or 'ulimit -Hn'"
                                     : "");
    link_say(w, &reply, NULL, 0);
}

static void link_detach(struct worker *w, const struct wire_worker_msg *msg) {
    struct client *c = worker_client(w, msg->job_id);
    if (!c) {
        log_warn("client", "job=%u detached but unknown", msg->job_id);
        struct wire_worker_msg reply = {.kind = WIRE_DETACHED, .job_id = msg->job_id};
        link_say(w, &reply, NULL, 0);
        return;
    }
    if (c->leaving) return;
    c->leaving = true;
    w->leaving_count++;
    client_abandon(c, msg->result < 0 ? msg->result : ERR_LEFT);
}

static void link_did(struct worker *w, const struct wire_worker_msg *msg, int err,
                     const char *text) {
    struct wire_worker_msg reply = {.kind = WIRE_DID, .job_id = msg->job_id, .result = err};
    snprintf(reply.text, sizeof(reply.text), "%s", text);
    link_say(w, &reply, NULL, 0);
}

/* What it asked for in the beginning, P and E, stays. */
static void link_set_job(struct worker *w, const struct wire_worker_msg *msg) {
    struct client *c = worker_client(w, msg->job_id);
    if (!c || c->abandoned) {
        link_did(w, msg, -ENOENT, "the job is gone");
        return;
    }
    c->spec.weight = msg->job.weight;
    c->spec.priority = msg->job.priority;
    c->spec.paused = msg->job.flags & WIRE_JOB_PAUSED;
    c->spec.iterations = msg->job.iterations;
    c->spec.duration_ns = msg->job.duration_ns;
    c->spec.request_ns = msg->job.request_ns;
    engine_set(c);
    link_did(w, msg, 0, "");
}

static void link_set_policy(struct worker *w, const struct wire_worker_msg *msg) {
    struct sched_choice choice;
    char why[160] = "a policy's name does not end";
    int err = board_to_choice(&choice, &msg->choice);
    if (!err) err = sched_choice_check(&choice, why, sizeof(why));
    if (!err) engine_policy(w, &choice);
    link_did(w, msg, err, err ? why : "");
}

/* False when it is none of these. */
static bool link_take(struct worker *w, const struct wire_worker_msg *msg) {
    switch (msg->kind) {
    case WIRE_DETACH: link_detach(w, msg); return true;
    case WIRE_SET_JOB: link_set_job(w, msg); return true;
    case WIRE_SET_POLICY: link_set_policy(w, msg); return true;
    case WIRE_FORGET: kernel_link_forget(w, msg); return true;
    case WIRE_LIMITS: tenant_set(w, msg->uid, &msg->limits); return true;
    case WIRE_KERNELS: return true; /* taken already */
    default: return false;
    }
}

/* False when nothing more is to be read now. */
static bool link_read_one(struct worker *w) {
    struct wire_worker_msg msg;
    int fds[FDUTIL_MAX_FDS], nfds = FDUTIL_MAX_FDS;
    struct pollfd p = {.fd = w->broker_fd, .events = POLLIN};
    if (poll(&p, 1, 0) <= 0) return false;
    int n = fdutil_recv(w->broker_fd, &msg, sizeof(msg), fds, &nfds);
    if (n == -EAGAIN) return false;
    if (n == (int)sizeof(msg) && msg.kind == WIRE_ATTACH) {
        msg.name[sizeof(msg.name) - 1] = 0;
        link_attach(w, &msg, fds, nfds);
        return true;
    }
    if (n == (int)sizeof(msg) && msg.kind == WIRE_KERNELS && nfds == 1) kernel_link_take(w, fds[0]);
    if (nfds == FDUTIL_LOST)
        log_error("worker", "event=lost_descriptors kind=%u why=\"none left\"", msg.kind);
    for (int i = 0; i < nfds; i++)
        fdutil_close(&fds[i]);
    if (n == (int)sizeof(msg) && link_take(w, &msg)) return true;
    if (n > 0)
        log_error("worker", "broker sent %d bytes that are no message", n);
    else if (!link_over(n))
        log_error("worker", "broker cannot be heard: error=%s", err_name(n));
    w->stop = true;
    return false;
}

void broker_link_read(struct worker *w) {
    for (int i = 0; i < 64 && !w->stop && link_read_one(w); i++)
        continue;
}
