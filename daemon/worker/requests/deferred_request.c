/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's deferred list, and the effect of each request.
 */
#include "daemon/worker/requests/deferred_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/device/device_textures.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/requests/device_array.h"
#include "daemon/worker/requests/memory_grant.h"
#include "daemon/worker/requests/module_unload.h"
#include "daemon/worker/requests/segment_request.h"
#include "daemon/worker/residency/memory_move.h"
#include "daemon/worker/stream/deferred.h"

static int add_record(struct client *c, uint16_t kind, const struct wire_mem *mem) {
    struct op *op = op_take(&c->pool, kind, 0);
    if (!op) return -ENOMEM;
    op->mem.rec = *mem;
    op->mem.done_bytes = 0;
    op->mem.err = 0;
    deferred_add(&c->streams, op);
    deferred_request_run(c);
    return 0;
}

int deferred_request_unback(struct client *c, const struct wire_mem *mem) {
    return add_record(c, WIRE_MEM_UNBACK, mem);
}

int deferred_request_back(struct client *c, const struct wire_mem *mem) {
    return add_record(c, WIRE_MEM_BACK, mem);
}

int deferred_request_segment(struct client *c, const struct wire_segment *rec) {
    struct op *op = op_take(&c->pool, rec->rec.op, 0);
    if (!op) return -ENOMEM;
    op->segment.rec = *rec;
    op->segment.done_bytes = 0;
    deferred_add(&c->streams, op);
    deferred_request_run(c);
    return 0;
}

int deferred_request_unload(struct client *c, struct module *module) {
    struct op *op = op_take(&c->pool, WIRE_MODULE_UNLOAD, 0);
    if (!op) return -ENOMEM;
    op->module = module;
    deferred_add(&c->streams, op);
    deferred_request_run(c);
    return 0;
}

int deferred_request_texture_drop(struct client *c, const struct wire_texture_drop *drop) {
    struct op *op = op_take(&c->pool, WIRE_TEXTURE_DROP, 0);
    if (!op) return -ENOMEM;
    op->texture = *drop;
    deferred_add(&c->streams, op);
    deferred_request_run(c);
    return 0;
}

int deferred_request_array_drop(struct client *c, const struct wire_array_drop *drop) {
    struct op *op = op_take(&c->pool, WIRE_ARRAY_DROP, 0);
    if (!op) return -ENOMEM;
    op->array = *drop;
    deferred_add(&c->streams, op);
    deferred_request_run(c);
    return 0;
}

static int add_ask(struct client *c, uint16_t kind, const void *ask, uint32_t bytes) {
    struct op *op = op_take(&c->pool, kind, bytes);
    if (!op) return -ENOMEM;
    memcpy(op_params(op), ask, bytes);
    deferred_add(&c->streams, op);
    deferred_request_run(c);
    return 0;
}

int deferred_request_array(struct client *c, const struct device_array_make *ask) {
    return add_ask(c, WIRE_ARRAY_MAKE, ask, sizeof(*ask));
}

int deferred_request_texture(struct client *c, const struct device_array_texture *ask) {
    return add_ask(c, WIRE_TEXTURE, ask, sizeof(*ask));
}

int deferred_request_reference(struct client *c, const struct device_array_reference *ask,
                               const char *name, uint32_t name_bytes) {
    struct op *op = op_take(&c->pool, WIRE_TEXTURE_REF, (uint32_t)sizeof(*ask) + name_bytes);
    if (!op) return -ENOMEM;
    memcpy(op_params(op), ask, sizeof(*ask));
    memcpy((char *)op_params(op) + sizeof(*ask), name, name_bytes);
    deferred_add(&c->streams, op);
    deferred_request_run(c);
    return 0;
}

/* ---- memory, in parts ------------------------------------------------------------------------ */

/* True for the first request that an earlier worker had not counted: it may have carried it out
 * wholly or partly. */
static bool is_again(const struct client *c) {
    return c->replay.restored &&
           atom_load_relaxed(&c->recovery_state.header->deferred_done) == c->replay.deferred_done;
}

/* The size of the next part; 0: all parts are done. */
static uint64_t part_of(const struct client *c, const struct op *op) {
    uint64_t left = op->mem.rec.bytes - op->mem.done_bytes;
    uint64_t most = WORKER_GRANULES * c->worker->info.granularity_bytes;
    return left < most ? left : most;
}

/* Bytes of the rest that an earlier worker had already backed. */
static uint64_t backed(const struct client *c, const struct op *op, uint64_t bytes) {
    uint64_t addr = op->mem.rec.addr + op->mem.done_bytes;
    return is_again(c) && c->memory ? memory_in_use(c->memory, addr, bytes) : 0;
}

static void answer_back(struct client *c, const struct wire_mem *mem, int err) {
    memory_grant_answer(c, &mem->rec, err, mem->bytes);
    if (!err || mem->rec.ticket) return;
    char text[256];
    /* The client continued as if it had the memory. */
    snprintf(text, sizeof(text), "the GPU worker cannot back memory at 0x%llx: %s",
             (unsigned long long)mem->addr, err_text(err));
    if (err == ERR_NO_MEMORY) memory_grant_refusal(c, mem->bytes, text, sizeof(text));
    fault_raise(c, err, text);
}

static int back_part(struct client *c, struct op *op) {
    const struct wire_mem *mem = &op->mem.rec;
    uint64_t part = part_of(c, op);
    int err = c->com.fault;
    if (!err && !op->mem.done_bytes)
        err = memory_grant_await(c, mem->addr, mem->bytes - backed(c, op, mem->bytes));
    if (!err && backed(c, op, part) < part)
        err = memory_grant_back(c, mem->addr + op->mem.done_bytes, part);
    if (err) return err;
    op->mem.done_bytes += part;
    pace_add(&c->worker->moves.pace, (uint32_t)(part / c->worker->info.granularity_bytes));
    return 0;
}

/* Returns whether the request is finished. If it fails, the parts already backed are freed once
 * nothing of the client is on the device. A dead client's memory is freed as a whole. */
static bool do_back(struct client *c, struct op *op) {
    const struct wire_mem *mem = &op->mem.rec;
    int err = op->mem.err;
    if (err) {
        if (!client_dead(c)) memory_grant_unback(c, mem->addr, op->mem.done_bytes);
    } else {
        err = back_part(c, op);
        if (err == MEMORY_GRANT_WAITS || (!err && part_of(c, op))) return false;
        op->mem.err = err;
        if (err && op->mem.done_bytes && !client_dead(c)) return false;
    }
    answer_back(c, mem, err);
    return true;
}

/* Returns whether the request is finished. */
static bool do_unback(struct client *c, struct op *op) {
    const struct wire_mem *mem = &op->mem.rec;
    uint64_t part = part_of(c, op);
    int err = memory_grant_unback(c, mem->addr + op->mem.done_bytes, part);
    if (err == -ENOENT && is_again(c)) err = 0;
    op->mem.done_bytes += part;
    pace_add(&c->worker->moves.pace, (uint32_t)(part / c->worker->info.granularity_bytes));
    if (!err && part_of(c, op) && !client_dead(c)) return false;
    if (err)
        log_warn("client", "job=%u name=\"%s\" event=not-freed addr=0x%llx bytes=%llu error=%s",
                 c->job_id, c->name, (unsigned long long)mem->addr, (unsigned long long)mem->bytes,
                 err_name(err));
    reply_status(&c->com, &mem->rec, err);
    return true;
}

/* ---- other requests -------------------------------------------------------------------------- */

static void do_texture_drop(struct client *c, const struct wire_texture_drop *drop) {
    const struct dev_ops *ops = c->worker->ops;
    if (ops->textures) ops->textures->texture_remove(c->space, drop->handle);
    reply_status(&c->com, &drop->rec, c->com.fault);
}

static bool is_quiet_needed(const struct op *op) {
    switch (op->kind) {
    case WIRE_MEM_BACK: return op->mem.err; /* a part of it is freed again */
    case WIRE_MEM_UNBACK:
    case WIRE_MEM_SHARE:
    case WIRE_MODULE_UNLOAD:
    case WIRE_ARRAY_DROP:
    case WIRE_TEXTURE_REF:
    case WIRE_TEXTURE_DROP: return true;
    default: return false; /* it waits only for its turn in the list */
    }
}

/* A dead client's later operations end at once, so its count alone proves nothing. */
static bool is_due(const struct client *c) {
    if (c->throttled & CLIENT_OUT || (c->moves && !client_dead(c))) return false;
    if (!is_quiet_needed(c->streams.deferred)) return true;
    return deferred_due(&c->streams) && c->inflight == 0;
}

/* Memory that the scheduler would give exists only once all earlier moves are done; memory that it
 * has just granted exists. */
static bool has_to_wait(const struct client *c, const struct op *op) {
    const struct wire_mem *mem = &op->mem.rec;
    if (client_dead(c) || !memory_move_any(c->worker)) return false;
    if (c->asks[MEMORY_ASK_DEFERRED].state == MEMORY_ASK_GRANTED) return false;
    switch (op->kind) {
    case WIRE_MEM_BACK: return !op->mem.done_bytes && memory_grant_lacks(c, mem->addr, mem->bytes);
    case WIRE_MEM_MAKE:
    case WIRE_MEM_OPEN:
    case WIRE_MEM_SHARE: return !op->segment.done_bytes;
    case WIRE_ARRAY_MAKE: return true;
    default: return false;
    }
}

/* Returns whether the request is finished: if not, the loop's next round continues it. */
static bool act(struct client *c, struct op *op) {
    switch (op->kind) {
    case WIRE_MEM_BACK: return do_back(c, op);
    case WIRE_MEM_UNBACK: return do_unback(c, op);
    case WIRE_MODULE_UNLOAD: module_unload_one(c, op->module); return true;
    case WIRE_TEXTURE_DROP: do_texture_drop(c, &op->texture); return true;
    case WIRE_TEXTURE: device_array_texture(c, op_params(op)); return true;
    case WIRE_TEXTURE_REF: device_array_reference(c, op_params(op)); return true;
    case WIRE_ARRAY_MAKE: return device_array_make(c, op_params(op));
    case WIRE_ARRAY_DROP: device_array_drop(c, &op->array); return true;
    default: return segment_request_act(c, &op->segment.rec, &op->segment.done_bytes);
    }
}

void deferred_request_run(struct client *c) {
    struct memory_ask *ask = &c->asks[MEMORY_ASK_DEFERRED];
    bool any = false;
    ask->resume = deferred_request_run;
    if (!list_empty(&c->parts) && !client_dead(c)) return;  /* waits for its turn */
    if (memory_ask_pending(ask) && !client_dead(c)) return; /* the answer resumes it */
    if (c->deferring) return; /* kicked streams are only queued, but a cycle must be impossible */
    c->deferring = true;
    while (c->streams.deferred && is_due(c) && !worker_lost(c->worker)) {
        if (has_to_wait(c, c->streams.deferred) || !act(c, c->streams.deferred)) {
            list_remove(&c->parts);
            if (!memory_ask_pending(ask)) list_append(&c->worker->work.parts, &c->parts);
            break;
        }
        memory_ask_end(ask);
        op_give(&c->pool, deferred_take(&c->streams));
        if (!worker_lost(c->worker)) recovery_deferred_over(&c->recovery_state);
        any = true;
    }
    c->deferring = false;
    if (!any) return;
    c->worker->board.stale = true;
    stream_kick_list(&c->streams.fenced);
}

unsigned deferred_request_go_on(struct worker *w) {
    unsigned count = 0;
    const struct list *pos;
    list_each(pos, &w->work.parts) count++;
    /* Unfinished ones are appended behind these. */
    for (unsigned i = 0; i < count && !list_empty(&w->work.parts); i++) {
        struct client *c = list_entry(w->work.parts.next, struct client, parts);
        list_remove(&c->parts);
        deferred_request_run(c);
    }
    return count;
}
