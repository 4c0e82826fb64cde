/* SPDX-License-Identifier: Apache-2.0
 *
 * Records suspects.
 */
#include "daemon/worker/faults/device_loss.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/worker/client.h"

static void note_suspect(struct worker *w, struct client *c, const struct op *op) {
    w->recovery.suspects = op->dev.suspects;
    if (op->dev.result != ERR_DEVICE_LOST) {
        w->recovery.culprit = c->job_id;
        return;
    }
    recovery_suspect(&c->recovery_state, op->dev.suspects);
    log_warn("fault",
             "job=%u name=\"%s\" event=suspect kernel=%s launch=%" PRIu64
             " suspects=%u text=\"%s\"",
             c->job_id, c->name, op->launch.func->name, op->launch.number, op->dev.suspects,
             op->dev.fault_text);
}

/* An operation that an earlier worker began may be half done, whatever this worker did with it. */
void device_loss_note(struct worker *w, const struct op *op) {
    if (!op->dev.result || !worker_lost(w)) return;
    struct client *c = client_of(op->stream);
    if (op->dev.suspects) note_suspect(w, c, op);
    if (!op->dev.begun && !op->again)
        recovery_take_back(&c->recovery_state, op->stream->id, op->seq);
}

void device_loss_restored(struct worker *w) {
    w->recovery.restoring = false;
}

void device_loss_say(struct worker *w, int err) {
    w->recovery.ending = ERR_DEVICE_LOST;
    struct wire_worker_msg msg = {.kind = WIRE_BROKE, .job_id = w->recovery.culprit, .result = err};
    const struct client *c = w->recovery.culprit ? client_find(w, w->recovery.culprit) : NULL;
    if (c && c->com.page->fault.kernel[0]) {
        const struct wire_fault *f = &c->com.page->fault;
        snprintf(msg.text, sizeof(msg.text), "kernel %.100s, launch %" PRIu64, f->kernel,
                 f->launch);
    } else if (c) {
        snprintf(msg.text, sizeof(msg.text), "one of %u kernels of this job did it",
                 w->recovery.suspects);
    } else if (w->recovery.suspects) {
        snprintf(msg.text, sizeof(msg.text), "one of %u kernels of several jobs caused it",
                 w->recovery.suspects);
    }
    broker_link_say(&w->link, &msg);
}
