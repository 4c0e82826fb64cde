/* SPDX-License-Identifier: Apache-2.0
 *
 * What waits in the client's deferred list, and what it does.
 */
#include "daemon/worker/engine/defer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/engine/allowance.h"
#include "daemon/worker/engine/arrays.h"
#include "daemon/worker/engine/fault.h"
#include "daemon/worker/engine/sharing.h"
#include "daemon/worker/engine/unload.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/stream/deferred.h"

static int add_record(struct client *c, uint16_t kind, const struct wire_mem *mem) {
    struct op *op = op_take(&c->pool, kind, 0);
    if (!op) return -ENOMEM;
    op->mem = *mem;
    deferred_add(&c->streams, op);
    defer_run(c);
    return 0;
}

int defer_unback(struct client *c, const struct wire_mem *mem) {
    return add_record(c, WIRE_MEM_UNBACK, mem);
}

int defer_back(struct client *c, const struct wire_mem *mem) {
    return add_record(c, WIRE_MEM_BACK, mem);
}

int defer_segment(struct client *c, const struct wire_segment *rec) {
    struct op *op = op_take(&c->pool, rec->rec.op, 0);
    if (!op) return -ENOMEM;
    op->segment = *rec;
    deferred_add(&c->streams, op);
    defer_run(c);
    return 0;
}

int defer_unload(struct client *c, struct module *module) {
    struct op *op = op_take(&c->pool, WIRE_MODULE_UNLOAD, 0);
    if (!op) return -ENOMEM;
    op->module = module;
    deferred_add(&c->streams, op);
    defer_run(c);
    return 0;
}

int defer_texture_drop(struct client *c, const struct wire_texture_drop *drop) {
    struct op *op = op_take(&c->pool, WIRE_TEXTURE_DROP, 0);
    if (!op) return -ENOMEM;
    op->texture = *drop;
    deferred_add(&c->streams, op);
    defer_run(c);
    return 0;
}

int defer_array_drop(struct client *c, const struct wire_array_drop *drop) {
    struct op *op = op_take(&c->pool, WIRE_ARRAY_DROP, 0);
    if (!op) return -ENOMEM;
    op->array = *drop;
    deferred_add(&c->streams, op);
    defer_run(c);
    return 0;
}

static int add_ask(struct client *c, uint16_t kind, const void *ask, uint32_t bytes) {
    struct op *op = op_take(&c->pool, kind, bytes);
    if (!op) return -ENOMEM;
    memcpy(op_params(op), ask, bytes);
    deferred_add(&c->streams, op);
    defer_run(c);
    return 0;
}

int defer_array(struct client *c, const struct arrays_make *ask) {
    return add_ask(c, WIRE_ARRAY_MAKE, ask, sizeof(*ask));
}

int defer_texture(struct client *c, const struct arrays_texture *ask) {
    return add_ask(c, WIRE_TEXTURE, ask, sizeof(*ask));
}

static void do_back(struct client *c, const struct wire_mem *mem) {
    int err = c->com.fault;
    if (!err) err = allowance_back(c, mem->addr, mem->bytes);
    allowance_answer(c, &mem->rec, err, mem->bytes);
    if (!err || mem->rec.ticket) return;
    char text[256];
    /* The client went on as if it had the memory. */
    snprintf(text, sizeof(text), "memory at 0x%llx cannot be backed: %s",
             (unsigned long long)mem->addr, err_text(err));
    if (err == ERR_NO_MEMORY) allowance_refusal(c, mem->bytes, text, sizeof(text));
    fault_raise(c, err, text);
}

static void do_unback(struct client *c, const struct wire_mem *mem) {
    int err = allowance_unback(c, mem->addr, mem->bytes);
    if (err)
        log_warn("client", "job=%u name=\"%s\" unback=0x%llx bytes=%llu error=%d", c->job_id,
                 c->name, (unsigned long long)mem->addr, (unsigned long long)mem->bytes, err);
    reply_status(&c->com, &mem->rec, err);
}

static void do_texture_drop(struct client *c, const struct wire_texture_drop *drop) {
    const struct dev_ops *ops = c->worker->ops;
    if (ops->texture_remove) ops->texture_remove(c->space, drop->handle);
    reply_status(&c->com, &drop->rec, c->com.fault);
}

static bool is_quiet_needed(const struct op *op) {
    switch (op->kind) {
    case WIRE_MEM_UNBACK:
    case WIRE_MEM_SHARE:
    case WIRE_MODULE_UNLOAD:
    case WIRE_ARRAY_DROP:
    case WIRE_TEXTURE_DROP: return true;
    default: return false; /* its place among the others is all it waits for */
    }
}

/* A dead client's later operations end at once, so its count alone says nothing. */
static bool is_due(const struct client *c) {
    if (c->throttled & CLIENT_OUT) return false;
    if (!is_quiet_needed(c->streams.deferred)) return true;
    return deferred_due(&c->streams) && c->inflight == 0;
}

void defer_run(struct client *c) {
    bool any = false;
    if (c->deferring) return; /* kicked streams are only queued, but be safe against a cycle */
    c->deferring = true;
    while (c->streams.deferred && is_due(c)) {
        struct op *op = deferred_take(&c->streams);
        switch (op->kind) {
        case WIRE_MEM_BACK: do_back(c, &op->mem); break;
        case WIRE_MEM_UNBACK: do_unback(c, &op->mem); break;
        case WIRE_MODULE_UNLOAD: unload_module(c, op->module); break;
        case WIRE_TEXTURE_DROP: do_texture_drop(c, &op->texture); break;
        case WIRE_TEXTURE: arrays_texture(c, op_params(op)); break;
        case WIRE_ARRAY_MAKE: arrays_make(c, op_params(op)); break;
        case WIRE_ARRAY_DROP: arrays_drop(c, &op->array); break;
        default: sharing_act(c, &op->segment);
        }
        op_give(&c->pool, op);
        any = true;
    }
    c->deferring = false;
    if (!any) return;
    c->worker->board.stale = true;
    stream_kick_list(&c->streams.fenced);
}
