/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out orders of the broker.
 */
#include "daemon/worker/front/broker_order.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/device/device_recovery.h"
#include "daemon/sched/core/config.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/device_loss.h"
#include "daemon/worker/front/kernel_link.h"
#include "daemon/worker/operations/client_end.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/replay/log_replay.h"
#include "daemon/worker/requests/segment_request.h"
#include "daemon/worker/residency/obtainable.h"
#include "daemon/worker/residency/savepoint_writer.h"
#include "daemon/worker/residency/user_limits.h"
#include "daemon/worker/scheduling/sched_link.h"
#include "proto/wire/job.h"

/* ---- clients that have left ------------------------------------------------------------------ */

/* The broker's own job does not interest people. */
static enum log_level log_level_of(uint32_t job_id) {
    return job_id == WIRE_TRIAL_JOB ? LOG_DEBUG : LOG_INFO;
}

static bool is_reapable(const struct client *c) {
    return c->leaving && !client_busy(c) && !c->moves;
}

bool broker_order_pending(const struct worker *w) {
    const struct list *pos;
    if (!w->clients.leaving) return false;
    list_each(pos, &w->clients.list) {
        if (is_reapable(list_entry(pos, struct client, link))) return true;
    }
    return false;
}

void broker_order_reap(struct worker *w) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (!is_reapable(c)) continue;
        struct wire_worker_msg msg = {.kind = WIRE_DETACHED, .job_id = c->job_id};
        log_write("client", log_level_of(c->job_id),
                  "job=%u name=\"%s\" event=left launches=%" PRIu64 " busy_ns=%" PRIu64
                  " faults=%" PRIu64,
                  c->job_id, c->name, atom_load_relaxed(&c->com.page->stats.launches),
                  atom_load_relaxed(&c->com.page->stats.busy_ns),
                  atom_load_relaxed(&c->com.page->stats.faults));
        epoll_ctl(w->loop.epoll_fd, EPOLL_CTL_DEL, c->doorbell, NULL);
        client_end_destroy(c);
        w->board.stale = true; /* the scheduler forgot the client before its memory was released */
        kernel_link_begin(w);
        kernel_link_tell(w); /* anyone who sees that the client has ended also sees its profiles */
        broker_link_say(&w->link, &msg);
    }
}

/* ---- messages of the broker ------------------------------------------------------------------ */

static void undo_attach(struct client *c) {
    sched_link_left(c);
    client_end_destroy(c);
}

/* The scheduler's description of the job, at first and after each change. */
static struct sched_spec job_spec(const struct client *c, const struct wire_worker_msg *msg) {
    const struct wire_job *j = &msg->job;
    return (struct sched_spec){.persistent_bytes = c->credit.reserved_p,
                               .ephemeral_bytes = c->credit.reserved_e,
                               .unknown = !c->credit.known,
                               .weight = j->weight,
                               .priority = j->priority,
                               .group = msg->group,
                               .run = msg->run,
                               .user = c->uid,
                               .paused = c->held || j->flags & WIRE_JOB_PAUSED,
                               .iterations = j->iterations,
                               .duration_ns = j->duration_ns,
                               .request_ns = j->request_ns,
                               .slo_ns = j->slo_ns,
                               .slo_of = j->slo_of,
                               .admit_timeout_ns = j->admit_timeout_ns};
}

static int attach_client(struct worker *w, const struct wire_worker_msg *msg, int *fds, int nfds,
                         int *completion_fd, char *why, size_t why_bytes) {
    struct client *c;
    if (nfds != (msg->kind == WIRE_RESTORE ? CLIENT_AGAIN : CLIENT_FDS)) {
        for (int i = 0; i < nfds; i++)
            fdutil_close(&fds[i]);
        return nfds == FDUTIL_LOST ? -EMFILE : -EPROTO;
    }
    int err = client_find(w, msg->job_id) ? -EALREADY : 0;
    if (w->clients.count >= WORKER_CLIENTS) err = -EUSERS;
    if (err) {
        for (int i = 0; i < nfds; i++)
            fdutil_close(&fds[i]);
        return err;
    }
    err = client_create(w, msg, fds, nfds, completion_fd, &c, why, why_bytes);
    if (err) return err;
    if (nfds == CLIENT_AGAIN) err = log_replay_begin(c);
    if (err) {
        client_destroy(c);
        fdutil_close(completion_fd);
        return err;
    }
    if (c->replay.restored) savepoint_writer_restored(c);
    c->held = msg->kind == WIRE_ATTACH && msg->flags & WIRE_ATTACH_HELD;
    user_limits_share(w, c->uid);
    struct sched_spec spec = job_spec(c, msg);
    sched_link_joined(c, &spec);
    /* Edge-triggered, so that it never has to be read. The client has this file open too, and could
     * empty it first and leave the worker blocked in read(). */
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = c->doorbell};
    if (epoll_ctl(w->loop.epoll_fd, EPOLL_CTL_ADD, c->doorbell, &event) == 0) return 0;
    err = -errno;
    undo_attach(c);
    fdutil_close(completion_fd);
    return err;
}

/* Sends the reply with its descriptors. If none can be sent, the new client is lost, not the
 * worker. */
static int say_attached(struct worker *w, const struct wire_worker_msg *reply, int fd) {
    struct client *c = client_find(w, reply->job_id);
    const int given[] = {fd, c->recovery_state.fd};
    bool kept = !c->replay.restored && c->recovery_state.fd >= 0;
    int err = broker_link_give(&w->link, reply, given, kept ? 2 : 1);
    if (!err) return 0;
    epoll_ctl(w->loop.epoll_fd, EPOLL_CTL_DEL, c->doorbell, NULL);
    undo_attach(c);
    return err;
}

/* The device as this job sees it; left empty where that is what all jobs see. */
static void describe_to(const struct worker *w, const struct wire_job *job,
                        struct wire_device *out) {
    bool null = job->flags & WIRE_JOB_NULL;
    if (!job->capability && !null) return;
    broker_link_describe(out, &w->info, &w->description);
    if (job->capability) {
        out->cc_major = job->capability / 10;
        out->cc_minor = job->capability % 10;
    }
    out->library_capability = 0; /* it asked for this capability, or takes machine code */
    if (null) job_tag(out->name, sizeof(out->name));
}

static const char *remedy(const struct worker *w, const struct wire_job *job, int err) {
    if (err == -EMFILE) return "; raise LimitNOFILE of salusd's unit, or 'ulimit -Hn'";
    if (err != -ENOTSUP) return "";
    return job->flags & WIRE_JOB_NULL && !w->ops->null_mode
               ? "; this GPU always computes: it does not support --device-mode=null"
               : "; this GPU reports only its own compute capability: omit --capability";
}

static void take_attach(struct worker *w, const struct wire_worker_msg *msg, int *fds, int nfds) {
    int completion_fd = -1;
    struct wire_worker_msg reply = {.kind = WIRE_ATTACHED, .job_id = msg->job_id};
    char why[160] = "";
    reply.result = attach_client(w, msg, fds, nfds, &completion_fd, why, sizeof(why));
    describe_to(w, &msg->job, &reply.device);
    reply.windows = reply.result ? msg->windows : client_find(w, msg->job_id)->windows;
    if (!reply.result) reply.result = say_attached(w, &reply, completion_fd);
    fdutil_close(&completion_fd);
    log_write("client",
              reply.result && reply.result != -EEXIST ? LOG_ERROR : log_level_of(msg->job_id),
              "job=%u name=\"%.63s\" pid=%d event=attached result=%s", msg->job_id, msg->name,
              msg->pid, reply.result ? err_name(reply.result) : "ok");
    if (!reply.result) return;
    /* the job is attached to the next worker: the broker hears at once that this one ends */
    if (worker_lost(w)) return;
    if (why[0])
        snprintf(reply.text, sizeof(reply.text), "%s", why);
    else
        snprintf(reply.text, sizeof(reply.text), "the GPU worker cannot attach the job: %s%s",
                 err_text(reply.result), remedy(w, &msg->job, reply.result));
    broker_link_say(&w->link, &reply);
}

static void take_detach(struct worker *w, const struct wire_worker_msg *msg) {
    struct client *c = client_find(w, msg->job_id);
    if (!c) {
        /* A job whose windows could not be used here is detached, too. */
        log_debug("client", "job=%u event=detached text=\"the worker did not have the job\"",
                  msg->job_id);
        struct wire_worker_msg reply = {.kind = WIRE_DETACHED, .job_id = msg->job_id};
        broker_link_say(&w->link, &reply);
        return;
    }
    if (c->leaving) return;
    client_leave(c);
    client_end_abandon(c, msg->result < 0 ? msg->result : ERR_LEFT);
}

static void reply_done(struct worker *w, const struct wire_worker_msg *msg, int err,
                       const char *text) {
    struct wire_worker_msg reply = {.kind = WIRE_DID, .job_id = msg->job_id, .result = err};
    snprintf(reply.text, sizeof(reply.text), "%s", text);
    broker_link_say(&w->link, &reply);
}

/* P and E, for which the job asked at first, stay. */
static void take_set_job(struct worker *w, const struct wire_worker_msg *msg) {
    struct client *c = client_find(w, msg->job_id);
    if (!c || c->abandoned) {
        reply_done(w, msg, -ENOENT, "the job has ended");
        return;
    }
    struct sched_spec spec = job_spec(c, msg);
    sched_link_set(c, &spec);
    reply_done(w, msg, 0, "");
}

static void take_begin(struct worker *w, const struct wire_worker_msg *msg) {
    struct client *c = client_find(w, msg->job_id);
    if (!c || c->abandoned || !c->held) return;
    c->held = false;
    struct sched_spec spec = job_spec(c, msg);
    sched_link_set(c, &spec);
}

static void take_set_policy(struct worker *w, const struct wire_worker_msg *msg) {
    char why[160] = "";
    int err = sched_policy_check(&msg->policy, why, sizeof(why));
    if (!err) sched_link_policy(w, &msg->policy);
    reply_done(w, msg, err, why);
}

static void answer_file(struct client *c, const struct wire_file *f, int fd, int err) {
    struct wire_record asked = {.reply = (uint16_t)f->reply, .ticket = f->ticket};
    recovery_note_lack(&c->recovery_state, RECOVERY_FILES);
    if (!err) err = hostfile_take(&c->files, f->file, fd);
    reply_status(&c->com, &asked, err);
}

static void answer_keep(struct client *c, const struct wire_file *f, int fd, int err) {
    recovery_note_lack(&c->recovery_state, RECOVERY_SEGMENTS);
    segment_request_keep(c, f, fd, err);
}

/* Takes a file, or a descriptor of a segment. A message without one has the broker's reason, or
 * this process had no free descriptor. */
static void take_file(struct worker *w, const struct wire_worker_msg *msg, int *fds, int nfds) {
    const struct wire_file *f = &msg->file;
    bool keep = msg->kind == WIRE_KEEP;
    struct client *c = client_find(w, msg->job_id);
    struct wire_worker_msg reply = {.kind = WIRE_FILED, .job_id = msg->job_id};
    bool known = c && !c->leaving && f->file < (keep ? WIRE_SEGMENTS : WIRE_FILES) &&
                 f->reply < WIRE_REPLIES;
    int err = nfds == 1 ? 0 : msg->result < 0 ? msg->result : -EMFILE;
    if (known) {
        (keep ? answer_keep : answer_file)(c, f, err ? -1 : fds[0], err);
        if (!err) fds[0] = -1;
        reply_wake(&c->com, &c->sub->client_sleeping);
    }
    for (int i = 0; i < nfds; i++)
        fdutil_close(&fds[i]);
    broker_link_say(&w->link, &reply);
}

/* All clients of the earlier worker have their memory again. */
static void take_restored(struct worker *w) {
    device_loss_restored(w);
    if (w->ops->recovery) w->ops->recovery->memory_settle(w->dev);
}

/* Returns false for any other kind of message. */
static bool take_order(struct worker *w, const struct wire_worker_msg *msg) {
    switch (msg->kind) {
    case WIRE_DETACH: take_detach(w, msg); return true;
    case WIRE_SET_JOB: take_set_job(w, msg); return true;
    case WIRE_BEGIN: take_begin(w, msg); return true;
    case WIRE_SET_POLICY: take_set_policy(w, msg); return true;
    case WIRE_FORGET: kernel_link_forget(w, msg); return true;
    case WIRE_RESTORED: take_restored(w); return true;
    case WIRE_LIMITS:
        user_limits_set(w, msg->uid, &msg->limits);
        obtainable_update(w);
        return true;
    case WIRE_KERNELS:
    case WIRE_EVENTS: return true; /* handled before */
    default: return false;
    }
}

/* Returns false when nothing more can be read now. */
static bool read_one(struct worker *w) {
    struct wire_worker_msg msg;
    int fds[FDUTIL_MAX_FDS], nfds = FDUTIL_MAX_FDS;
    struct pollfd p = {.fd = w->link.fd, .events = POLLIN};
    if (poll(&p, 1, 0) <= 0) return false;
    int n = fdutil_recv(w->link.fd, &msg, sizeof(msg), fds, &nfds);
    if (n == -EAGAIN) return false;
    if (n == (int)sizeof(msg) && (msg.kind == WIRE_ATTACH || msg.kind == WIRE_RESTORE)) {
        msg.name[sizeof(msg.name) - 1] = 0;
        take_attach(w, &msg, fds, nfds);
        return true;
    }
    if (n == (int)sizeof(msg) && (msg.kind == WIRE_FILE || msg.kind == WIRE_KEEP)) {
        take_file(w, &msg, fds, nfds);
        return true;
    }
    if (n == (int)sizeof(msg) && msg.kind == WIRE_KERNELS && nfds == 1) kernel_link_take(w, fds[0]);
    if (n == (int)sizeof(msg) && msg.kind == WIRE_EVENTS)
        events_link_take(&w->events_link, w->now_ns, &msg, nfds == 1 ? fds[0] : -1);
    if (nfds == FDUTIL_LOST)
        log_error(
            "worker",
            "event=lost-descriptors kind=%u why=\"the worker has no file descriptors left, so it "
            "ignores what the broker sent\"",
            msg.kind);
    for (int i = 0; i < nfds; i++)
        fdutil_close(&fds[i]);
    if (n == (int)sizeof(msg) && take_order(w, &msg)) return true;
    if (n > 0)
        log_error("worker",
                  "event=bad-message bytes=%d text=\"the broker sent an invalid message, so the "
                  "worker ends\"",
                  n);
    else if (!broker_link_closed(n))
        log_error("worker",
                  "event=broker-lost error=%s text=\"the worker cannot receive from the broker, so "
                  "it ends\"",
                  err_name(n));
    w->link.over = true;
    return false;
}

void broker_order_read(struct worker *w) {
    for (int i = 0; i < 64 && !w->link.over && read_one(w); i++)
        continue;
}
