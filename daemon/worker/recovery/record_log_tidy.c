/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds obsolete entries. The log is read backwards, because later entries end earlier ones; so the
 * offsets of all entries are collected first.
 */
#include "daemon/worker/recovery/record_log_tidy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/slotmap.h"
#include "proto/wire/record.h"

/* Objects that an entry already read has ended. */
struct ends {
    const struct log_state *state;
    bool module[WIRE_MODULES], texture[WIRE_TEXTURES];
    bool limit[16];
    /* For each stream: 1 + the index of its first open operation, 0: none is open; whether a later
     * creation or end of it was read. */
    uint32_t open[WIRE_STREAMS];
    bool stream[WIRE_STREAMS], shared[WIRE_STREAMS], prioritized[WIRE_STREAMS];
    /* For each graph: 1 + the index of its end, if that was read, 0: the graph exists; whether one
     * of its launches is open. `bodies`: the first of all entries that need earlier graphs
     * (RECORD_LOG_BODIES). */
    uint32_t dropped[WIRE_GRAPHS], bodies;
    bool launched[WIRE_GRAPHS];
    struct slotmap blocks; /* MEM_DROP: tags are addresses */
    struct slotmap shows;  /* HOST_SHOW: likewise */
};

struct tidy {
    struct ends ends;
    uint64_t *places;
    bool *live;
    uint64_t count;
};

/* ---- single kinds of records ----------------------------------------------------------------- */

static bool has_happened(const struct ends *n, const struct log_entry *e) {
    return e->number <= n->state->deferred_done;
}

static bool is_open(const struct ends *n, uint32_t stream, uint64_t seq) {
    return seq > record_log_done(n->state, stream);
}

static void note_open(struct ends *n, uint32_t stream, uint32_t index) {
    if (!n->open[stream]) n->open[stream] = index + 1;
}

static bool keep_ordered(struct ends *n, const struct wire_record *r, uint32_t index) {
    if (!is_open(n, r->stream, r->seq)) return false;
    note_open(n, r->stream, index);
    return true;
}

static bool keep_graph_launch(struct ends *n, struct log_entry *e, uint32_t index) {
    const struct wire_graph_launch *g = (const void *)record_log_record(e);
    const struct wire_graph_lane *lanes = (const void *)(g + 1);
    const uint64_t *ends = record_log_tail(e);
    bool live = false;
    for (uint32_t i = 0; i < g->lanes; i++) {
        if (ends[i] && !is_open(n, lanes[i].stream, ends[i] - 1)) continue;
        note_open(n, lanes[i].stream, index);
        live = true;
    }
    return live;
}

/* All entries behind an open operation are needed, because a new stream may have a destroyed one's
 * number. Before the operation, only the latest creation is needed. */
static bool is_behind_open(const struct ends *n, uint32_t stream, uint32_t index) {
    return n->open[stream] && index >= n->open[stream];
}

static bool keep_stream(struct ends *n, const struct wire_record *r, uint32_t index) {
    if (is_behind_open(n, r->stream, index)) return true;
    bool latest = !n->stream[r->stream];
    n->stream[r->stream] = true;
    return latest && r->op == WIRE_STREAM_CREATE;
}

/* `said`: a later entry sets the same property of the stream. */
static bool keep_said(const struct ends *n, bool *said, const struct wire_record *r,
                      uint32_t index) {
    if (is_behind_open(n, r->stream, index)) return true;
    bool latest = !said[r->stream] && !n->stream[r->stream];
    said[r->stream] = true;
    return latest;
}

/* Drops an end that has taken effect, together with the entries that it ended. */
static bool keep_end(struct ends *n, const struct log_entry *e, bool *ended) {
    if (!has_happened(n, e)) return true;
    *ended = true;
    return false;
}

static bool keep_made(bool *ended) {
    bool live = !*ended;
    *ended = false;
    return live;
}

static bool *texture_at(struct ends *n, uint64_t handle) {
    return &n->texture[handle % WIRE_TEXTURES];
}

static uint64_t block_of(const struct tidy *t, const struct log *l, uint32_t index) {
    const struct log_entry *e = (const void *)(l->memory + t->places[index]);
    return ((const struct wire_mem *)(const void *)record_log_record(e))->addr;
}

/* Drops the use of a block that is freed later. */
static bool keep_use(struct tidy *t, const struct log *l, uint64_t addr) {
    struct slotmap_walk w = slotmap_walk(&t->ends.blocks, addr);
    for (uint32_t i; (i = slotmap_next(&t->ends.blocks, &w)) != SLOTMAP_NONE;) {
        if (block_of(t, l, i) != addr) continue;
        slotmap_remove(&t->ends.blocks, addr, i);
        return false;
    }
    return true;
}

/* A mapping stays, so the first of equal entries is needed: work behind it may use the mapping. */
static bool keep_show(struct tidy *t, const struct log *l, const struct wire_mem *m,
                      uint32_t index) {
    struct slotmap_walk w = slotmap_walk(&t->ends.shows, m->addr);
    for (uint32_t i; (i = slotmap_next(&t->ends.shows, &w)) != SLOTMAP_NONE;) {
        const struct log_entry *e = (const void *)(l->memory + t->places[i]);
        const struct wire_mem *first = (const void *)record_log_record(e);
        if (first->addr == m->addr && first->bytes == m->bytes) return false;
    }
    slotmap_add(&t->ends.shows, m->addr, index);
    return true;
}

static bool keep_graph(struct tidy *t, const struct log_entry *e, uint32_t index) {
    const struct wire_graph_data *d = (const void *)record_log_record(e);
    struct ends *n = &t->ends;
    uint32_t dropped = n->dropped[d->graph];
    if (dropped && !n->launched[d->graph] && n->bodies >= dropped) return false;
    if (dropped) t->live[dropped - 1] = true;
    if (e->flags & RECORD_LOG_BODIES) n->bodies = index;
    return true;
}

/* A drop is needed as long as the entries that it ended. */
static bool keep_graph_drop(struct ends *n, const struct wire_graph_drop *d, uint32_t index) {
    n->dropped[d->graph] = index + 1;
    n->launched[d->graph] = false;
    return false;
}

static bool keep_limit(struct ends *n, const struct wire_limit *l) {
    if (l->limit >= 16) return true;
    bool latest = !n->limit[l->limit];
    n->limit[l->limit] = true;
    return latest;
}

/* ---- all records ----------------------------------------------------------------------------- */

/* Decides about entries that are not work. */
static bool keep(struct tidy *t, const struct log *l, const struct log_entry *e, uint32_t index) {
    const struct wire_record *r = record_log_record(e);
    const void *rec = r;
    struct ends *n = &t->ends;
    switch (r->op) {
    case WIRE_STREAM_CREATE:
    case WIRE_STREAM_DESTROY: return keep_stream(n, r, index);
    case WIRE_STREAM_SHARE: return keep_said(n, n->shared, r, index);
    case WIRE_STREAM_PRIORITY: return keep_said(n, n->prioritized, r, index);
    case WIRE_MEM_BACK:
    case WIRE_MEM_UNBACK: return !has_happened(n, e);
    case WIRE_MODULE_UNLOAD:
        return keep_end(n, e, &n->module[((const struct wire_module_unload *)rec)->module]);
    case WIRE_FUNC_GET: return !n->module[((const struct wire_func_get *)rec)->module];
    case RECORD_LOG_PLACED: return !n->module[((const struct log_placed *)rec)->module];
    case WIRE_MODULE_LOAD:
        return keep_made(&n->module[((const struct wire_module_load *)rec)->module]);
    case WIRE_TEXTURE_DROP:
        return keep_end(n, e, texture_at(n, ((const struct wire_texture_drop *)rec)->handle));
    case WIRE_TEXTURE: return keep_made(texture_at(n, ((const struct wire_texture *)rec)->handle));
    case WIRE_MEM_DROP:
        slotmap_add(&n->blocks, ((const struct wire_mem *)rec)->addr, index);
        return false;
    case WIRE_MEM_USE: return keep_use(t, l, ((const struct wire_mem *)rec)->addr);
    case WIRE_LIMIT: return keep_limit(n, rec);
    case WIRE_GRAPH_DATA: return keep_graph(t, e, index);
    case WIRE_GRAPH_DROP: return keep_graph_drop(n, rec, index);
    default: return false;
    }
}

static void note_places(const struct log *l, struct tidy *t) {
    uint64_t at = 0, next;
    for (t->count = 0; record_log_at(l, at, &next); at = next)
        t->places[t->count++] = at;
}

static uint64_t count_entries(const struct log *l) {
    uint64_t at = 0, count = 0;
    while (record_log_at(l, at, &at))
        count++;
    return count;
}

static bool is_work(uint16_t op) {
    return record_ordered(op) || op == WIRE_GRAPH_LAUNCH;
}

/* Finds the streams with open operations; their other records depend on that. */
static void judge_first(const struct log *l, struct tidy *t) {
    uint64_t next;
    for (uint64_t i = 0; i < t->count; i++) {
        struct log_entry *e = record_log_at(l, t->places[i], &next);
        const struct wire_record *r = record_log_record(e);
        if (r->op == WIRE_HOST_SHOW) t->live[i] = keep_show(t, l, (const void *)r, (uint32_t)i);
        if (!is_work(r->op)) continue;
        t->live[i] = r->op == WIRE_GRAPH_LAUNCH ? keep_graph_launch(&t->ends, e, (uint32_t)i)
                                                : keep_ordered(&t->ends, r, (uint32_t)i);
    }
}

static void judge(const struct log *l, struct tidy *t) {
    uint64_t next;
    t->ends.bodies = UINT32_MAX;
    judge_first(l, t);
    for (uint64_t i = t->count; i-- > 0;) {
        const struct log_entry *e = record_log_at(l, t->places[i], &next);
        const struct wire_graph_launch *g = (const void *)record_log_record(e);
        if (g->rec.op == WIRE_GRAPH_LAUNCH && t->live[i]) t->ends.launched[g->graph] = true;
        if (is_work(g->rec.op) || g->rec.op == WIRE_HOST_SHOW) continue;
        t->live[i] =
            !(e->flags & (RECORD_LOG_VOID | RECORD_LOG_OVER)) && keep(t, l, e, (uint32_t)i);
    }
}

/* True for records that end an object: the ended entries were dropped, or the end has taken effect,
 * so it must not be repeated. */
static bool is_end(uint16_t op) {
    switch (op) {
    case WIRE_STREAM_DESTROY:
    case WIRE_MEM_BACK:
    case WIRE_MEM_UNBACK:
    case WIRE_MEM_DROP:
    case WIRE_MODULE_UNLOAD:
    case WIRE_TEXTURE_DROP:
    case WIRE_GRAPH_DROP: return true;
    default: return false;
    }
}

/* Keeps the latest entry, which has the ring position. */
static void keep_latest(const struct log *l, const struct tidy *t) {
    uint64_t next, last = t->count - 1;
    struct log_entry *e = record_log_at(l, t->places[last], &next);
    if (!t->live[last] && is_end(record_log_record(e)->op)) e->flags |= RECORD_LOG_OVER;
    t->live[last] = true;
}

/* Moves the entries in place. If the worker dies meanwhile, the log is unusable, and `moving` says
 * so. */
static void move_down(struct log *l, const struct tidy *t) {
    uint64_t to = 0, next, latest = UINT64_MAX;
    atom_store_release(&l->header->moving, 1);
    atom_compiler_fence();
    keep_latest(l, t);
    for (uint64_t i = 0; i < t->count; i++) {
        const struct log_entry *e = record_log_at(l, t->places[i], &next);
        if (!t->live[i]) continue;
        latest = to;
        if (to != t->places[i]) memmove(l->memory + to, e, next - t->places[i]);
        to += next - t->places[i];
    }
    l->latest = latest;
    atom_store_release(&l->header->end, to);
    atom_store_release(&l->header->moving, 0);
}

static void set_limit(struct log *l) {
    uint64_t end = atom_load_relaxed(&l->header->end);
    while (l->limit < l->room && end > l->limit / 2)
        l->limit *= 2;
}

static int make(struct tidy *t, uint64_t count) {
    t->places = malloc(count * sizeof(*t->places));
    t->live = malloc(count * sizeof(*t->live));
    if (!t->places || !t->live) return -ENOMEM;
    int err = slotmap_reserve(&t->ends.blocks, (uint32_t)count);
    return err ? err : slotmap_reserve(&t->ends.shows, (uint32_t)count);
}

int record_log_tidy(struct log *l, const struct log_state *state) {
    uint64_t count = count_entries(l);
    struct tidy *t = count ? calloc(1, sizeof(*t)) : NULL;
    if (!count) return 0;
    int err = t ? make(t, count) : -ENOMEM;
    if (!err) {
        t->ends.state = state;
        note_places(l, t);
        judge(l, t);
        move_down(l, t);
        set_limit(l);
    }
    if (t) {
        free(t->places);
        free(t->live);
        slotmap_finish(&t->ends.blocks);
        slotmap_finish(&t->ends.shows);
    }
    free(t);
    return err;
}
