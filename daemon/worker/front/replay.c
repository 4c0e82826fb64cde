/* SPDX-License-Identifier: Apache-2.0
 *
 * What an earlier worker had read, once more.
 */
#include "daemon/worker/front/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/log.h"
#include "daemon/worker/engine/fault.h"
#include "daemon/worker/estate/promise.h"
#include "daemon/worker/front/redo.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/stats.h"
#include "proto/record.h"

/* ---- beginning and end ----------------------------------------------------------------------- */

static void finish(struct client *c) {
    struct replay *r = &c->replay;
    struct wire_stats *s = &c->com.page->stats;
    r->active = false;
    atom_store_relaxed(&s->launches, r->stats.launches);
    atom_store_relaxed(&s->copies, r->stats.copies);
    atom_store_relaxed(&s->copied_bytes, r->stats.copied_bytes);
    atom_store_relaxed(&s->ops, r->stats.ops);
    atom_store_relaxed(&s->modules, r->stats.modules);
    atom_store_relaxed(&s->functions, r->stats.functions);
    estate_suspect(&c->estate, 0); /* who they are is known */
    callback_settle(&c->callbacks);
    replay_forget(r);
    log_info("client", "job=%u name=\"%s\" restored", c->job_id, c->name);
}

/* Launches in the log, which were counted when they were read first. */
static uint64_t count_launches(const struct log *l) {
    uint64_t at = 0, count = 0;
    for (const struct log_entry *e; (e = log_at(l, at, &at));)
        count += log_record(e)->op == WIRE_LAUNCH && !(e->flags & (LOG_VOID | LOG_OVER));
    return count;
}

int replay_begin(struct client *c) {
    struct replay *r = &c->replay;
    struct estate *e = &c->estate;
    const struct wire_completion *page = c->com.page;
    const struct log_state state = {.stream_done = page->stream_done,
                                    .deferred_done = atom_load_relaxed(&e->header->deferred_done)};
    int err = log_tidy(&e->log, &state);
    if (!err) err = promise_modules(&e->log, c->worker->ops, c->worker->dev);
    r->promised = !err;
    if (!err) r->begun = calloc(WIRE_STREAMS, sizeof(*r->begun));
    if (!err && !r->begun) err = -ENOMEM;
    if (err) return err;
    for (uint32_t i = 0; i < WIRE_STREAMS; i++)
        r->begun[i] = atom_load_relaxed(&e->header->begun[i]);
    r->suspects = atom_load_relaxed(&e->header->suspects);
    r->deferred_done = e->deferred = state.deferred_done;
    r->stats = (struct replay_stats){
        .launches = atom_load_relaxed(&page->stats.launches),
        .copies = atom_load_relaxed(&page->stats.copies),
        .copied_bytes = atom_load_relaxed(&page->stats.copied_bytes),
        .ops = atom_load_relaxed(&page->stats.ops),
        .modules = atom_load_relaxed(&page->stats.modules),
        .functions = atom_load_relaxed(&page->stats.functions),
    };
    stats_sub(&c->com.page->stats.launches, count_launches(&e->log)); /* they keep their numbers */
    r->active = r->restored = true;
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A thread has one call open at a time, so that the tickets of a place only grow. */
static bool is_answered(const struct client *c, const struct wire_record *r) {
    return r->ticket && atom_load_acquire(&c->com.page->replies[r->reply].ticket) >= r->ticket;
}

/* What only asks, or is said once. */
static bool is_passing(uint16_t op) {
    switch (op) {
    case WIRE_GLOBAL_GET:
    case WIRE_PING:
    case WIRE_FUNC_NAME:
    case WIRE_TENSOR_MAP:
    case WIRE_CLUSTERS:
    case WIRE_ITERATION:
    case WIRE_IDLE: return true;
    default: return false;
    }
}

static void adapt(const struct client *c, struct wire_record *r) {
    if (is_answered(c, r)) r->ticket = 0;
    if (r->op != WIRE_STREAM_CREATE) return;
    struct wire_stream_create *s = (void *)r;
    uint64_t next = atom_load_relaxed(&c->com.page->stream_done[r->stream]) + 1;
    if (next > s->first_seq) s->first_seq = next;
}

int replay_next(struct client *c, void *record) {
    struct replay *r = &c->replay;
    while ((r->entry = log_at(&c->estate.log, r->at, &r->at))) {
        struct log_entry *e = r->entry;
        const struct wire_record *rec = log_record(e);
        if (rec->op == LOG_PLACED) continue;
        if (e->flags & LOG_VOID && (!rec->ticket || is_answered(c, rec))) continue;
        e->flags &= ~LOG_VOID; /* refused, and nobody was told: now it may be otherwise */
        if (is_passing(rec->op) && is_answered(c, rec)) continue;
        if (e->number > c->estate.deferred) c->estate.deferred = e->number;
        if (e->flags & LOG_OVER) {
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

bool replay_knows_graph(const struct client *c) {
    struct log_entry *e = c->replay.entry;
    const struct wire_graph_launch *g = e ? (const void *)log_record(e) : NULL;
    if (!g || g->rec.op != WIRE_GRAPH_LAUNCH) return false;
    const uint64_t *ends = log_tail(e);
    for (uint32_t i = 0; i < g->lanes; i++)
        if (ends[i]) return true;
    return false;
}

bool replay_has_image(const struct client *c) {
    return c->replay.active && !(c->replay.entry->flags & LOG_FILLING);
}

/* It stands directly behind the module. */
const struct dev_granule *replay_place(struct client *c, uint32_t module, uint32_t *count) {
    uint64_t at = c->replay.at;
    struct log_entry *e = c->replay.active ? log_at(&c->estate.log, at, &at) : NULL;
    const struct log_placed *p = e ? (const void *)log_record(e) : NULL;
    *count = 0;
    c->replay.placed =
        p && p->rec.op == LOG_PLACED && e->bytes == sizeof(*p) && p->module == module;
    if (!c->replay.placed) return NULL;
    *count = (uint32_t)(e->tail_bytes / sizeof(struct dev_granule));
    return log_tail(e);
}

void replay_lost(struct client *c, uint32_t module, const char *why) {
    uint32_t count;
    char text[256];
    replay_place(c, module, &count);
    if (!c->replay.active || !c->replay.placed) return;
    snprintf(text, sizeof(text), "it cannot go on with another worker: %.180s", why);
    fault_raise(c, ERR_WORKER_LOST, text);
}

/* ---- what had begun -------------------------------------------------------------------------- */

static bool is_work(uint16_t op) {
    return op == WIRE_LAUNCH || op == WIRE_COPY || op == WIRE_MEMSET || op == WIRE_VALUE_WRITE ||
           op == WIRE_GRAPH_CHOICE || op == WIRE_GRAPH_SETTLE;
}

static void refuse(struct client *c, const struct wire_record *rec, const char *why) {
    const struct wire_launch *l = (const void *)rec;
    const struct func *f = rec->op == WIRE_LAUNCH ? c->objects.funcs[l->func] : NULL;
    char text[512], suspects[64] = "";
    if (f && c->replay.suspects)
        snprintf(suspects, sizeof(suspects), ", one of %u that may have ended it",
                 c->replay.suspects);
    snprintf(text, sizeof(text),
             "the GPU's worker ended while %s%.110s was under way%s: what it had done by then "
             "cannot be undone%s%s",
             f ? "kernel " : "", f ? f->name : record_name(rec->op), suspects, why[0] ? ": " : "",
             why);
    if (f) snprintf(c->com.page->fault.kernel, sizeof(c->com.page->fault.kernel), "%s", f->name);
    fault_raise(c, ERR_WORKER_LOST, text);
}

bool replay_had_begun(const struct client *c, const struct wire_record *rec) {
    return rec->seq <= c->replay.begun[rec->stream];
}

void replay_judge(struct client *c, const struct wire_record *rec) {
    char why[256];
    if (!replay_had_begun(c, rec) || !is_work(rec->op) || client_dead(c)) return;
    if (!redo_may(c, rec, why, sizeof(why))) refuse(c, rec, why);
}
