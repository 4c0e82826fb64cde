/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults.
 */
#include "daemon/worker/faults/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/link/broker_link.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/stats.h"

/* Sets the fault that the client reads. From here on none of its completions is published:
 * stream.c. */
static void show_fault(struct client *c, int err) {
    c->com.fault = err;
    atom_store_release(&c->com.page->fault.cuda, (uint32_t)reply_cuda(err));
    c->com.published = true;
}

static void set_fault(struct client *c, int err) {
    stats_add(&c->com.page->stats.faults, 1);
    show_fault(c, err);
    if (list_empty(&c->fault_link)) list_append(&c->worker->work.faulted, &c->fault_link);
}

/* True when the client is dead for this worker alone. */
static bool is_spared(const struct client *c) {
    return c->com.fault == ERR_DEVICE_LOST && !atom_load_relaxed(&c->com.page->fault.cuda);
}

/* Returns true when the client is not told of the error. No later completion of it is published. */
static bool spare(struct client *c, int err) {
    if (!completion_withholds(&c->com, err)) return false;
    c->com.fault = err;
    return true;
}

static void describe_op(const struct op *op, char *text, size_t cap) {
    const char *what = op->dev.fault_text[0] ? op->dev.fault_text : err_text(op->dev.result);
    switch (op->kind) {
    case WIRE_COPY:
        snprintf(text, cap,
                 "%s (copy of %" PRIu64 "x%" PRIu64 "x%" PRIu64 " bytes from 0x%" PRIx64
                 " to 0x%" PRIx64 ")",
                 what, op->copy.width_bytes, op->copy.height, op->copy.depth, op->copy.src,
                 op->copy.dst);
        break;
    case WIRE_MEMSET:
        snprintf(text, cap, "%s (memset of %" PRIu64 "x%" PRIu64 " elements at 0x%" PRIx64 ")",
                 what, op->memset.width_elems, op->memset.height, op->memset.dst);
        break;
    default: snprintf(text, cap, "%s", what);
    }
}

void fault_raise_op(struct client *c, const struct op *op) {
    if ((c->com.fault && !is_spared(c)) || spare(c, op->dev.result)) return;
    struct wire_fault *f = &c->com.page->fault;
    bool known = op->kind == WIRE_LAUNCH && op->dev.suspects <= 1;
    const char *kernel = known ? op->launch.func->name : "";
    f->stream = stream_root(op->stream)->id;
    f->launch = known ? op->launch.number : 0;
    f->address = op->dev.fault_addr;
    snprintf(f->kernel, sizeof(f->kernel), "%s", kernel);
    describe_op(op, f->text, sizeof(f->text));
    set_fault(c, op->dev.result);
    log_error("fault",
              "job=%u name=\"%s\" kernel=%s launch=%" PRIu64 " stream=%u error=%s cuda=%d "
              "address=0x%" PRIx64 " text=\"%s\"",
              c->job_id, c->name, kernel[0] ? kernel : "-", f->launch, f->stream,
              err_name(op->dev.result), reply_cuda(op->dev.result), f->address, f->text);
}

/* On a lost device the loss may be the cause of any error: the next worker finds out. */
void fault_raise(struct client *c, int err, const char *text) {
    if (worker_lost(c->worker)) err = ERR_DEVICE_LOST;
    if (c->com.fault || spare(c, err)) return;
    snprintf(c->com.page->fault.text, sizeof(c->com.page->fault.text), "%s", text);
    set_fault(c, err);
    log_error("fault", "job=%u name=\"%s\" error=%s text=\"%s\"", c->job_id, c->name, err_name(err),
              text);
}

void fault_void(struct client *c, int err) {
    if (c->com.fault || spare(c, err)) return;
    snprintf(c->com.page->fault.text, sizeof(c->com.page->fault.text), "%s", err_text(err));
    show_fault(c, err);
}

void fault_expel(struct client *c, const char *why) {
    if (c->expelled) return;
    c->expelled = true;
    if (!c->com.fault) {
        snprintf(c->com.page->fault.text, sizeof(c->com.page->fault.text), "%s", why);
        set_fault(c, ERR_PROTOCOL);
    }
    log_error("fault", "job=%u name=\"%s\" event=expelled error=%s text=\"%s\"", c->job_id, c->name,
              err_name(ERR_PROTOCOL), why);
    broker_link_expelled(&c->worker->link, c->job_id, why);
}
