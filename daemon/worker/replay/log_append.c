/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the log.
 */
#include "daemon/worker/replay/log_append.h"
#include "daemon/worker/recovery/record_log_tidy.h"

#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/log.h"
#include "daemon/device/device_recovery.h"
#include "proto/wire/record.h"

/* True for requests of the deferred list that the log numbers: recovery_deferred_over counts them.
 */
static bool is_deferred(uint16_t op) {
    switch (op) {
    case WIRE_MEM_BACK:
    case WIRE_MEM_UNBACK:
    case WIRE_MODULE_UNLOAD:
    case WIRE_TEXTURE_DROP: return true;
    default: return false;
    }
}

/* Objects that cannot be made again. Where arrays are the device's own, texture handles are too. */
static enum recovery_lack lack_of(const struct dev_ops *ops, uint16_t op) {
    switch (op) {
    case WIRE_TEXTURE_REF: return RECOVERY_TEXTURES;
    case WIRE_TEXTURE: return ops->arrays ? RECOVERY_TEXTURES : RECOVERY_COMPLETE;
    case WIRE_MEM_MAKE:
    case WIRE_MEM_OPEN:
    case WIRE_MEM_CLOSE:
    case WIRE_MEM_SHOW:
    case WIRE_MEM_EXPORT:
    case WIRE_MEM_SHARE: return RECOVERY_SEGMENTS;
    case WIRE_SIGNAL_MAKE:
    case WIRE_SIGNAL_OPEN:
    case WIRE_SIGNAL_CLOSE:
    case WIRE_SIGNAL_ASK: return RECOVERY_SIGNALS;
    case WIRE_FILE_MAP:
    case WIRE_FILE_UNMAP:
    case WIRE_FILE_DROP: return RECOVERY_FILES;
    case WIRE_ARRAY_MAKE:
    case WIRE_ARRAY_DROP: return RECOVERY_ARRAYS;
    case WIRE_GRAPH_OFFER: return RECOVERY_OFFERS;
    default: return RECOVERY_COMPLETE;
    }
}

/* Records that make a savepoint void: the client loses something that it had then, or the effect of
 * the record is unknown and cannot be repeated. Memory that it gets is zeros when it goes back. */
static enum savepoint_reason void_of(uint16_t op) {
    switch (op) {
    case WIRE_MEM_UNBACK:
    case WIRE_MODULE_UNLOAD:
    case WIRE_TEXTURE_DROP: return SAVEPOINT_CHANGED;
    case WIRE_VALUE_WAIT:
    case WIRE_GRAPH_CHOICE:
    case WIRE_GRAPH_SETTLE:
    case WIRE_LIMIT: return SAVEPOINT_ONCE;
    default: return SAVEPOINT_NONE;
    }
}

/* The record belongs to the iteration that is being read, or begins the next one. */
void log_append_savepoint(struct client *c, uint16_t op) {
    struct savepoint *k = &c->recovery_state.savepoint;
    enum savepoint_reason reason = void_of(op);
    if (reason == SAVEPOINT_NONE) return;
    k->settles = c->boundary.iteration_gate.reading + 1;
    if (savepoint_whole(k))
        log_debug("savepoint", "job=%u name=\"%s\" event=savepoint-void record=%s", c->job_id,
                  c->name, record_name(op));
    savepoint_void(k, reason);
}

/* All records of the latest launched graph are read: notes how far its streams went. */
static void end_graph(struct client *c) {
    struct recovery_state *e = &c->recovery_state;
    uint64_t next;
    struct log_entry *entry = record_log_at(&e->log, e->graph, &next);
    const struct wire_graph_launch *g = (const void *)record_log_record(entry);
    const struct wire_graph_lane *lanes = (const void *)(g + 1);
    uint64_t *ends = record_log_tail(entry);
    for (uint32_t i = 0; i < g->lanes; i++) {
        const struct stream *s = c->streams.streams[lanes[i].stream];
        if (s) ends[i] = s->next;
    }
    e->graph = UINT64_MAX;
}

static void drop_over(struct client *c) {
    const struct log_state state = recovery_over(&c->recovery_state, c->com.page);
    record_log_tidy(&c->recovery_state.log, &state);
}

/* The savepoint is the first to be given up for space. */
static void tidy(struct client *c) {
    drop_over(c);
    if (record_log_crowded(&c->recovery_state.log) &&
        savepoint_whole(&c->recovery_state.savepoint)) {
        savepoint_void(&c->recovery_state.savepoint, SAVEPOINT_ROOM);
        drop_over(c);
    }
    if (record_log_crowded(&c->recovery_state.log))
        recovery_note_lack(&c->recovery_state, RECOVERY_LOG);
}

static struct log_entry *reserve(struct client *c, const void *rec, uint32_t bytes, uint64_t tail) {
    struct recovery_state *e = &c->recovery_state;
    if (record_log_full(&e->log, bytes + tail) && e->graph == UINT64_MAX) tidy(c);
    struct log_entry *entry = record_log_reserve(&e->log, rec, bytes, tail);
    if (!entry) recovery_note_lack(e, RECOVERY_LOG);
    return entry;
}

void log_append_record(struct client *c, const struct wire_record *rec, uint32_t bytes,
                       bool graph) {
    struct recovery_state *e = &c->recovery_state;
    if (!recovery_is_complete(e) || client_dead(c)) return;
    if (e->graph != UINT64_MAX && !graph) end_graph(c);
    enum recovery_lack lack = lack_of(c->worker->ops, rec->op);
    if (lack != RECOVERY_COMPLETE) {
        recovery_note_lack(e, lack);
        return;
    }
    uint64_t tail = record_log_tail_bytes(rec);
    struct log_entry *entry = reserve(c, rec, bytes, tail);
    if (!entry) return;
    entry->ring_next = c->rx.next;
    if (is_deferred(rec->op)) entry->number = ++e->deferred;
    if (rec->op == WIRE_MODULE_LOAD) entry->flags = RECORD_LOG_FILLING;
    if (rec->op == WIRE_GRAPH_LAUNCH) memset(record_log_tail(entry), 0, tail);
    record_log_commit(&e->log, entry);
    if (rec->op == WIRE_GRAPH_LAUNCH) e->graph = e->log.latest;
}

/* The latest entry read, whether again or for the first time; NULL: it is not logged. */
static struct log_entry *latest(struct client *c) {
    if (!recovery_is_complete(&c->recovery_state)) return NULL;
    return c->replay.active ? c->replay.entry : record_log_latest(&c->recovery_state.log);
}

void log_append_refused(struct client *c) {
    struct log_entry *e = latest(c);
    if (e) e->flags |= RECORD_LOG_VOID;
}

void log_append_bodies(struct client *c) {
    struct log_entry *e = latest(c);
    if (e) e->flags |= RECORD_LOG_BODIES;
}

void *log_append_image(struct client *c) {
    struct log_entry *e = latest(c);
    return e ? record_log_tail(e) : NULL;
}

/* Reserves an entry directly behind its module's. Entries that are read again must not move, so
 * with more entries behind it none is reserved. That does not happen: no client sends while a
 * module loads. */
static struct log_entry *reserve_place(struct client *c, const struct module *m, uint32_t count) {
    struct recovery_state *e = &c->recovery_state;
    const struct log_placed rec = {.rec.op = RECORD_LOG_PLACED, .module = m->id};
    uint64_t tail = count * sizeof(struct dev_granule), next;
    if (!c->replay.active) return reserve(c, &rec, sizeof(rec), tail);
    bool last = !record_log_at(&e->log, c->replay.at, &next);
    struct log_entry *entry = last ? record_log_reserve(&e->log, &rec, sizeof(rec), tail) : NULL;
    if (!entry) recovery_note_lack(e, RECOVERY_LOG);
    return entry;
}

void log_append_module(struct client *c, const struct module *m) {
    struct worker *w = c->worker;
    struct log_entry *e = latest(c);
    if (!e || !w->ops->recovery) return;
    e->flags &= ~RECORD_LOG_FILLING;
    if (c->replay.placed) return; /* the entry exists already */
    uint64_t ring_next = e->ring_next;
    uint32_t count = w->ops->recovery->module_where(m->dev, NULL, 0);
    e = reserve_place(c, m, count);
    if (!e) return;
    w->ops->recovery->module_where(m->dev, record_log_tail(e), count);
    e->ring_next = ring_next;
    record_log_commit(&c->recovery_state.log, e);
}
