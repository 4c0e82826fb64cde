/* SPDX-License-Identifier: Apache-2.0
 *
 * A message about a job that does not exist, or is not in the right state, is a protocol error.
 */
#include "daemon/broker/life/inbox.h"

#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/clients/disconnect.h"
#include "daemon/broker/clients/fd_forward.h"
#include "daemon/broker/clients/handshake.h"
#include "daemon/broker/clients/pinned.h"
#include "daemon/broker/control/control.h"
#include "daemon/broker/jobs/overdue.h"
#include "daemon/broker/jobs/share.h"

void inbox_end_job(struct broker *b, struct gpu *g, struct attachment *a) {
    const struct wire_stats *st = a->completion ? &a->completion->stats : NULL;

    if (a->welcomed && attachments_is_used(a)) history_add(b->history, a);
    if (a->welcomed && st)
        program_profile_store_learn(&b->profiles, a->job.uid, &a->job.spec, st,
                                    !a->how && atom_load_relaxed(&st->faults) == 0);
    attachments_remove(&g->attachments, a);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Called about once a second. */
static void on_beat(struct broker *b, struct gpu *g) {
    overdue_look(&g->attachments, b->config.overdue);
    share_look(&g->attachments, strcmp(g->changes.policy.lane, "fair") == 0, fdutil_now_ns());
    pinned_look(&b->clients);
}

static int on_attached(struct attachment *a, const struct wire_worker_msg *msg, int fds[2]) {
    if (!a) return ERR_PROTOCOL;
    return a->client ? handshake_attached(a->client, msg, fds) : 0;
}

static int on_detached(struct broker *b, struct gpu *g, struct attachment *a) {
    if (!a || !a->detached || a->place != ATTACHMENT_WORKER) return ERR_PROTOCOL;
    log_debug("worker", "event=detached job=%u after_us=%llu", a->job_id,
              (unsigned long long)((fdutil_now_ns() - a->detached_ns) / 1000));
    inbox_end_job(b, g, a);
    return 0;
}

static int on_filed(struct attachment *a) {
    if (!a) return ERR_PROTOCOL;
    return !a->client || fd_forward_done(a->client) ? 0 : ERR_PROTOCOL;
}

static int on_expelled(struct attachment *a, const struct wire_worker_msg *msg) {
    if (!a || a->job_id == WIRE_TRIAL_JOB) return ERR_PROTOCOL;
    if (a->client) disconnect_expelled(a->client, msg);
    return 0;
}

/* The worker refuses to admit the job. The client stays connected and learns of it at its next
 * call. */
static int on_refused(struct attachment *a, const struct wire_worker_msg *msg) {
    if (!a) return ERR_PROTOCOL;
    if (a->how) return 0;
    attachments_say_how(a, "refused", "%s", msg->text);
    log_warn("client", "event=not-admitted job=%u pid=%d uid=%u name=\"%s\" why=\"%s\"", a->job_id,
             (int)a->job.pid, (unsigned)a->job.uid, a->job.name, a->why);
    return 0;
}

static int on_did(struct gpu *g, const struct wire_worker_msg *msg) {
    struct control *requester;
    int err = changes_did(&g->changes, msg, &requester);

    if (err == 0 && requester)
        control_done(requester, msg->result, *msg->text ? msg->text : err_text(msg->result));
    return err;
}

int inbox_take(struct broker *b, struct gpu *g, const struct wire_worker_msg *msg, int fds[2]) {
    struct attachment *a = attachments_find(&g->attachments, msg->job_id);

    if (a && a->place == ATTACHMENT_ORPHAN) a = NULL; /* this worker does not have the job */
    switch (msg->kind) {
    case WIRE_BEAT: on_beat(b, g); return 0;
    case WIRE_ATTACHED: return on_attached(a, msg, fds);
    case WIRE_DETACHED: return on_detached(b, g, a);
    case WIRE_FILED: return on_filed(a);
    case WIRE_EXPELLED: return on_expelled(a, msg);
    case WIRE_REFUSED: return on_refused(a, msg);
    case WIRE_DID: return on_did(g, msg);
    default: return ERR_PROTOCOL;
    }
}

/* Answers for the worker when a file or the job itself could not be sent. The worker has never
 * heard of the job, and says so when told to release it. */
void inbox_not_sent(struct gpu *g, uint32_t job_id, int err) {
    struct wire_worker_msg reply = {.kind = WIRE_ATTACHED, .job_id = job_id, .result = err};
    struct attachment *a = attachments_find(&g->attachments, job_id);

    if (a && a->client && fd_forward_lost(a->client, err)) return;
    on_attached(a, &reply, (int[]){-1, -1});
}

/* ---- end of the worker ----------------------------------------------------------------------- */

void inbox_worker_gone(struct gpu *g, const char *why) {
    char text[CTL_TEXT_BYTES];
    struct control *requester;

    snprintf(text, sizeof(text), "the GPU worker ended: %s", why);
    while (changes_lost(&g->changes, &requester))
        if (requester) control_done(requester, ERR_WORKER_LOST, text);
}
