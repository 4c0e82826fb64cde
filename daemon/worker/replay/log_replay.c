/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads again the records that an earlier worker had read.
 */
#include "daemon/worker/replay/log_replay.h"
#include "daemon/worker/recovery/record_log_tidy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/log.h"
#include "daemon/device/device_recovery.h"
#include "daemon/policy/reason.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/link/broker_link.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/recovery/module_reservation.h"
#include "daemon/worker/replay/redo.h"
#include "daemon/worker/stats.h"
#include "proto/wire/record.h"

/* ---- beginning and end ----------------------------------------------------------------------- */

/* All completed operations are repeated: the client's memory matches its page. */
static void came_back(struct client *c) {
    struct savepoint *k = &c->recovery_state.savepoint;
    c->replay.awaited = NULL;
    atom_store_release(&k->header->returning, 0);
    stats_add(&k->shown->returns, 1);
    log_info("savepoint", "job=%u name=\"%s\" event=returned-to-savepoint operations=%" PRIu64,
             c->job_id, c->name, c->replay.done_again);
}

static void finish(struct client *c) {
    struct replay *r = &c->replay;
    struct wire_stats *s = &c->com.page->stats;
    r->active = false;
    atom_store_release(&c->recovery_state.header->counting, 0);
    atom_store_relaxed(&s->launches, r->stats.launches);
    atom_store_relaxed(&s->copies, r->stats.copies);
    atom_store_relaxed(&s->copied_bytes, r->stats.copied_bytes);
    atom_store_relaxed(&s->ops, r->stats.ops);
    atom_store_relaxed(&s->modules, r->stats.modules);
    atom_store_relaxed(&s->functions, r->stats.functions);
    recovery_suspect(&c->recovery_state, 0); /* the suspects are known by now */
    callback_settle(&c->callbacks);
    if (r->back) came_back(c);
    replay_forget(r);
    broker_link_resumed(&c->worker->link, c->job_id, c->com.fault);
    if (!client_dead(c))
        log_info("client", "job=%u name=\"%s\" event=restored", c->job_id, c->name);
}

/* ---- repeating completed operations ---------------------------------------------------------- */

static bool is_done_again(const struct client *c, uint32_t stream, uint64_t seq) {
    return !savepoint_past(&c->recovery_state.savepoint, stream, seq) &&
           seq <= atom_load_relaxed(WIRE_DONE(c->com.page, stream));
}

/* A graph with an incomplete record may have completed ones. */
static bool graph_has_done_again(const struct client *c, struct log_entry *e) {
    const struct wire_graph_launch *g = (const void *)record_log_record(e);
    const struct wire_graph_lane *lanes = (const void *)(g + 1);
    const uint64_t *ends = record_log_tail(e);
    for (uint32_t i = 0; i < g->lanes; i++) {
        uint32_t s = lanes[i].stream;
        if (ends[i] && savepoint_past(&c->recovery_state.savepoint, s, ends[i] - 1)) continue;
        if (lanes[i].first_seq <= atom_load_relaxed(WIRE_DONE(c->com.page, s))) return true;
    }
    return false;
}

static bool has_done_again(const struct client *c, struct log_entry *e) {
    const struct wire_record *rec = record_log_record(e);
    if (rec->op == WIRE_GRAPH_LAUNCH) return graph_has_done_again(c, e);
    return record_ordered(rec->op) && is_done_again(c, rec->stream, rec->seq);
}

static uint64_t end_of_done(const struct client *c) {
    uint64_t at = 0, end = 0;
    for (struct log_entry *e; (e = record_log_at(&c->recovery_state.log, at, &at));)
        if (has_done_again(c, e)) end = at;
    return end;
}

enum log_replay_turn log_replay_turn(struct client *c, const struct wire_record *rec) {
    if (!c->replay.active) return REPLAY_NOW;
    if (c->replay.back && is_done_again(c, rec->stream, rec->seq)) return REPLAY_AGAIN;
    return rec->seq <= atom_load_relaxed(WIRE_DONE(c->com.page, rec->stream)) ? REPLAY_PAST
                                                                              : REPLAY_NOW;
}

void log_replay_await(struct client *c, const struct stream *s, uint64_t seq) {
    c->replay.awaited = s;
    c->replay.awaited_seq = seq;
    c->replay.done_again++;
}

/* True for the client's host memory: the host may use it again since the operation completed, so
 * nothing is written there. */
static bool in_host(const struct client *c, uint64_t addr) {
    return client_host(c, addr, 1) != NULL;
}

static enum log_replay_how copy_how(struct client *c, const struct wire_copy *y,
                                    const void **data) {
    uint64_t bytes = y->width_bytes * y->height * y->depth;
    if (in_host(c, y->dst)) return REPLAY_PASS;
    if (!in_host(c, y->src)) return REPLAY_RUN;
    *data = savepoint_find(&c->recovery_state.savepoint, y->rec.stream, y->rec.seq, bytes);
    return *data ? REPLAY_DATA : REPLAY_LOST;
}

enum log_replay_how log_replay_how(struct client *c, const struct wire_record *rec,
                                   const void **data) {
    const void *r = rec;
    *data = NULL;
    switch (rec->op) {
    case WIRE_LAUNCH: return REPLAY_RUN;
    case WIRE_COPY: return copy_how(c, r, data);
    case WIRE_MEMSET:
        return in_host(c, ((const struct wire_memset *)r)->dst) ? REPLAY_PASS : REPLAY_RUN;
    case WIRE_VALUE_WRITE:
        return in_host(c, ((const struct wire_value *)r)->addr) ? REPLAY_PASS : REPLAY_RUN;
    default: return REPLAY_PASS;
    }
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* The page's counters before any record was read again, also where an earlier worker ended while
 * reading them again. */
static struct replay_stats counts_of(struct client *c) {
    struct recovery_header *h = c->recovery_state.header;
    const struct wire_stats *s = &c->com.page->stats;
    if (atom_load_relaxed(&h->counting)) return h->counts;
    h->counts = (struct replay_stats){
        .launches = atom_load_relaxed(&s->launches),
        .copies = atom_load_relaxed(&s->copies),
        .copied_bytes = atom_load_relaxed(&s->copied_bytes),
        .ops = atom_load_relaxed(&s->ops),
        .modules = atom_load_relaxed(&s->modules),
        .functions = atom_load_relaxed(&s->functions),
    };
    atom_store_release(&h->counting, 1);
    return h->counts;
}

/* Launches in the log that were counted at the first reading, and will be counted again. */
static uint64_t count_launches(struct client *c) {
    const struct log *l = &c->recovery_state.log;
    uint64_t at = 0, count = 0;
    for (const struct log_entry *e; (e = record_log_at(l, at, &at));) {
        const struct wire_record *rec = record_log_record(e);
        bool read = rec->op == WIRE_LAUNCH && !(e->flags & (RECORD_LOG_VOID | RECORD_LOG_OVER));
        count += read && log_replay_turn(c, rec) != REPLAY_PAST;
    }
    return count;
}

int log_replay_begin(struct client *c) {
    struct replay *r = &c->replay;
    struct recovery_state *e = &c->recovery_state;
    const struct wire_completion *page = c->com.page;
    const struct log_state state = recovery_over(e, page);
    int err = record_log_tidy(&e->log, &state);
    if (!err) err = module_reservation_make(&e->log, c->worker->ops, c->worker->dev);
    r->promised = !err;
    if (!err) r->begun = calloc(WIRE_STREAMS, sizeof(*r->begun));
    if (!err && !r->begun) err = -ENOMEM;
    if (err) return err;
    for (uint32_t i = 0; i < atom_load_relaxed(&page->streams_end); i++)
        r->begun[i] = atom_load_relaxed(&e->header->begun[i]);
    r->suspects = atom_load_relaxed(&e->header->suspects);
    r->deferred_done = e->deferred = state.deferred_done;
    r->stats = counts_of(c);
    r->active = r->restored = true;
    /* Launches keep their numbers. */
    atom_store_relaxed(&c->com.page->stats.launches, r->stats.launches - count_launches(c));
    if (!r->back) return 0;
    stream_rewind(c->streams.streams[0], atom_load_relaxed(&e->header->savepoint.done[0]) + 1);
    r->done_end = end_of_done(c);
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A thread has one call open at a time, so the tickets of a reply slot only grow. */
static bool is_answered(const struct client *c, const struct wire_record *r) {
    return r->ticket && atom_load_acquire(&c->com.page->replies[r->reply].ticket) >= r->ticket;
}

/* True for records that only ask, or that are sent once. */
static bool is_passing(uint16_t op) {
    switch (op) {
    case WIRE_GLOBAL_GET:
    case WIRE_PING:
    case WIRE_FUNC_NAME:
    case WIRE_TENSOR_MAP:
    case WIRE_CLUSTERS:
    case WIRE_TEXT: /* the page has its place */
    case WIRE_ITERATION:
    case WIRE_IDLE: return true;
    default: return false;
    }
}

static void adapt(const struct client *c, struct wire_record *r) {
    if (is_answered(c, r)) r->ticket = 0;
    if (r->op != WIRE_STREAM_CREATE) return;
    struct wire_stream_create *s = (void *)r;
    const _Atomic uint64_t *done = c->replay.back
                                       ? &c->recovery_state.header->savepoint.done[r->stream]
                                       : WIRE_DONE(c->com.page, r->stream);
    uint64_t next = atom_load_relaxed(done) + 1;
    if (next > s->first_seq) s->first_seq = next;
}

int log_replay_next(struct client *c, void *record) {
    struct replay *r = &c->replay;
    while ((r->entry = record_log_at(&c->recovery_state.log, r->at, &r->at))) {
        struct log_entry *e = r->entry;
        const struct wire_record *rec = record_log_record(e);
        if (rec->op == RECORD_LOG_PLACED) continue;
        if (e->flags & RECORD_LOG_VOID && (!rec->ticket || is_answered(c, rec))) continue;
        e->flags &= ~RECORD_LOG_VOID; /* refused, and the client was not told: now it may succeed */
        if (is_passing(rec->op) && is_answered(c, rec)) continue;
        if (e->number > c->recovery_state.deferred) c->recovery_state.deferred = e->number;
        if (e->flags & RECORD_LOG_OVER) {
            if (!is_answered(c, rec)) reply_status(&c->com, rec, 0);
            continue;
        }
        memcpy(record, rec, e->bytes);
        adapt(c, record);
        return (int)e->bytes;
    }
    finish(c);
    return 0;
}

bool log_replay_knows_graph(const struct client *c) {
    struct log_entry *e = c->replay.entry;
    const struct wire_graph_launch *g = e ? (const void *)record_log_record(e) : NULL;
    if (!g || g->rec.op != WIRE_GRAPH_LAUNCH) return false;
    const uint64_t *ends = record_log_tail(e);
    for (uint32_t i = 0; i < g->lanes; i++)
        if (ends[i]) return true;
    return false;
}

bool log_replay_has_image(const struct client *c) {
    return c->replay.active && !(c->replay.entry->flags & RECORD_LOG_FILLING);
}

/* The place is directly behind the module. */
const struct dev_granule *log_replay_place(struct client *c, uint32_t module, uint32_t *count) {
    uint64_t at = c->replay.at;
    struct log_entry *e = c->replay.active ? record_log_at(&c->recovery_state.log, at, &at) : NULL;
    const struct log_placed *p = e ? (const void *)record_log_record(e) : NULL;
    *count = 0;
    c->replay.placed =
        p && p->rec.op == RECORD_LOG_PLACED && e->bytes == sizeof(*p) && p->module == module;
    if (!c->replay.placed) return NULL;
    *count = (uint32_t)(e->tail_bytes / sizeof(struct dev_granule));
    return record_log_tail(e);
}

bool log_replay_variables(struct client *c, const struct module *m) {
    const struct worker *w = c->worker;
    if (!c->replay.active || !c->replay.placed || !c->replay.back) return false;
    int err = variables_load(&c->variables, w->ops, w->dev, &c->recovery_state.savepoint, m);
    if (err)
        fault_raise(
            c, ERR_WORKER_LOST,
            "the job cannot return to its savepoint: its modules' variables were not saved");
    return true;
}

void log_replay_lost(struct client *c, uint32_t module, const char *why) {
    uint32_t count;
    char text[256];
    log_replay_place(c, module, &count);
    if (!c->replay.active || !c->replay.placed) return;
    snprintf(text, sizeof(text), "the job cannot continue on another worker: %.180s", why);
    fault_raise(c, ERR_WORKER_LOST, text);
}

/* ---- operations that had begun --------------------------------------------------------------- */

static bool is_work(uint16_t op) {
    return op == WIRE_LAUNCH || op == WIRE_COPY || op == WIRE_MEMSET || op == WIRE_VALUE_WRITE ||
           op == WIRE_GRAPH_CHOICE || op == WIRE_GRAPH_SETTLE;
}

/* Tells why a client that asked for savepoints had none when the worker ended. */
static void say_savepoint(const struct client *c, char *out, size_t bytes) {
    const struct savepoint *k = &c->recovery_state.savepoint;
    out[0] = '\0';
    if (!k->header) return;
    const char *why = reason_savepoint(atom_load_relaxed(&k->shown->reason));
    snprintf(out, bytes, "; no savepoint: %s",
             savepoint_whole(k) ? "the savepoint could not be read"
             : why[0]           ? why
                                : "the job was being saved");
}

static void refuse(struct client *c, const struct wire_record *rec, const char *why) {
    const struct wire_launch *l = (const void *)rec;
    const struct func *f = rec->op == WIRE_LAUNCH ? c->objects.funcs[l->func] : NULL;
    char text[512], suspects[64] = "", savepoint[160];
    say_savepoint(c, savepoint, sizeof(savepoint));
    if (f && c->replay.suspects)
        snprintf(suspects, sizeof(suspects), ", one of %u kernels that may have ended the worker",
                 c->replay.suspects);
    snprintf(text, sizeof(text),
             "the GPU worker ended while %s%.110s was running%s: its partial effects cannot be "
             "undone%s%s%s",
             f ? "kernel " : "", f ? f->name : record_name(rec->op), suspects, why[0] ? ": " : "",
             why, savepoint);
    if (f) snprintf(c->com.page->fault.kernel, sizeof(c->com.page->fault.kernel), "%s", f->name);
    fault_raise(c, ERR_WORKER_LOST, text);
}

bool log_replay_had_begun(const struct client *c, const struct wire_record *rec) {
    return rec->seq <= c->replay.begun[rec->stream];
}

void log_replay_judge(struct client *c, const struct wire_record *rec) {
    char why[256];
    if (c->replay.back || !log_replay_had_begun(c, rec) || !is_work(rec->op) || client_dead(c))
        return;
    if (!redo_may(c, rec, why, sizeof(why))) refuse(c, rec, why);
}
