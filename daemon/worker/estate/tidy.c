/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a log is over. It is read backwards, for what came later ends what came before: the
 * places of all entries are noted first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/slotmap.h"
#include "daemon/worker/estate/log.h"
#include "proto/record.h"

/* What was ended by an entry that is read already. */
struct ends {
    const struct log_state *state;
    bool module[WIRE_MODULES], texture[WIRE_TEXTURES], graph[WIRE_GRAPHS];
    bool limit[16];
    /* Of streams: operations of it are open; its latest making, or end, was read. */
    bool open[WIRE_STREAMS], stream[WIRE_STREAMS], shared[WIRE_STREAMS];
    bool graphs;           /* some graph is alive, or being launched */
    struct slotmap blocks; /* MEM_DROP: tag of their addresses */
};

struct tidy {
    struct ends ends;
    uint64_t *places;
    bool *live;
    uint64_t count;
};

/* ---- single kinds ---------------------------------------------------------------------------- */

static bool has_happened(const struct ends *n, const struct log_entry *e) {
    return e->number <= n->state->deferred_done;
}

static bool is_open(const struct ends *n, uint32_t stream, uint64_t seq) {
    return seq > atom_load_relaxed(&n->state->stream_done[stream]);
}

static bool keep_ordered(struct ends *n, const struct wire_record *r) {
    if (r->stream >= WIRE_STREAMS || !is_open(n, r->stream, r->seq)) return false;
    n->open[r->stream] = true;
    return true;
}

static bool keep_graph_launch(struct ends *n, struct log_entry *e) {
    const struct wire_graph_launch *g = (const void *)log_record(e);
    const struct wire_graph_lane *lanes = (const void *)(g + 1);
    const uint64_t *ends = log_tail(e);
    bool live = false;
    if (e->bytes < sizeof(*g) + g->lanes * sizeof(*lanes) || e->tail_bytes < 8ull * g->lanes)
        return true;
    for (uint32_t i = 0; i < g->lanes; i++) {
        if (lanes[i].stream >= WIRE_STREAMS) return true;
        if (ends[i] && !is_open(n, lanes[i].stream, ends[i] - 1)) continue;
        live = n->open[lanes[i].stream] = true;
    }
    if (live) n->graphs = true;
    return live;
}

/* While operations are open all of its past is needed: who comes after a destroyed one has its
 * number. */
static bool keep_stream(struct ends *n, const struct wire_record *r) {
    if (r->stream >= WIRE_STREAMS) return true;
    bool latest = !n->stream[r->stream];
    n->stream[r->stream] = true;
    if (n->open[r->stream]) return true;
    return latest && r->op == WIRE_STREAM_CREATE;
}

static bool keep_share(struct ends *n, const struct wire_record *r) {
    if (r->stream >= WIRE_STREAMS || n->open[r->stream]) return true;
    bool latest = !n->shared[r->stream] && !n->stream[r->stream];
    n->shared[r->stream] = true;
    return latest;
}

/* An end that has taken effect goes, and takes what it ended along. */
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

static uint64_t block_of(const struct tidy *t, const struct log *l, uint32_t index) {
    const struct log_entry *e = (const void *)(l->memory + t->places[index]);
    return ((const struct wire_mem *)(const void *)log_record(e))->addr;
}

/* Given out, and freed later. */
static bool keep_use(struct tidy *t, const struct log *l, uint64_t addr) {
    struct slotmap_walk w = slotmap_walk(&t->ends.blocks, addr);
    for (uint32_t i; (i = slotmap_next(&t->ends.blocks, &w)) != SLOTMAP_NONE;) {
        if (block_of(t, l, i) != addr) continue;
        slotmap_remove(&t->ends.blocks, addr, i);
        return false;
    }
    return true;
}

static bool keep_limit(struct ends *n, const struct wire_limit *l) {
    if (l->limit >= 16) return true;
    bool latest = !n->limit[l->limit];
    n->limit[l->limit] = true;
    return latest;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Of what is not work. */
static bool keep(struct tidy *t, const struct log *l, const struct log_entry *e, uint32_t index) {
    const struct wire_record *r = log_record(e);
    const void *rec = r;
    struct ends *n = &t->ends;
    switch (r->op) {
    case WIRE_STREAM_CREATE:
    case WIRE_STREAM_DESTROY: return keep_stream(n, r);
    case WIRE_STREAM_SHARE: return keep_share(n, r);
    case WIRE_MEM_BACK:
    case WIRE_MEM_UNBACK: return !has_happened(n, e);
    case WIRE_MODULE_UNLOAD:
        return keep_end(
            n, e, &n->module[((const struct wire_module_unload *)rec)->module % WIRE_MODULES]);
    case WIRE_FUNC_GET:
        return !n->module[((const struct wire_func_get *)rec)->module % WIRE_MODULES];
    case LOG_PLACED: return !n->module[((const struct log_placed *)rec)->module % WIRE_MODULES];
    case WIRE_MODULE_LOAD:
        return keep_made(&n->module[((const struct wire_module_load *)rec)->module % WIRE_MODULES]);
    case WIRE_TEXTURE_DROP:
        return keep_end(n, e,
                        &n->texture[(uint16_t)((const struct wire_texture_drop *)rec)->handle]);
    case WIRE_TEXTURE:
        return keep_made(&n->texture[(uint16_t)((const struct wire_texture *)rec)->handle]);
    case WIRE_MEM_DROP:
        slotmap_add(&n->blocks, ((const struct wire_mem *)rec)->addr, index);
        return false;
    case WIRE_MEM_USE: return keep_use(t, l, ((const struct wire_mem *)rec)->addr);
    case WIRE_LIMIT: return keep_limit(n, rec);
    case WIRE_GRAPH_DATA:
        if (!n->graph[((const struct wire_graph_data *)rec)->graph % WIRE_GRAPHS]) n->graphs = true;
        return true; /* decided when all is read */
    case WIRE_GRAPH_DROP:
        n->graph[((const struct wire_graph_drop *)rec)->graph % WIRE_GRAPHS] = true;
        return true;
    default: return false;
    }
}

static void note_places(const struct log *l, struct tidy *t) {
    uint64_t at = 0, next;
    for (t->count = 0; log_at(l, at, &next); at = next)
        t->places[t->count++] = at;
}

static uint64_t count_entries(const struct log *l) {
    uint64_t at = 0, count = 0;
    while (log_at(l, at, &at))
        count++;
    return count;
}

static bool is_work(uint16_t op) {
    return record_ordered(op) || op == WIRE_GRAPH_LAUNCH;
}

/* Which streams have some decides about their other records. */
static void judge_work(const struct log *l, struct tidy *t) {
    uint64_t next;
    for (uint64_t i = 0; i < t->count; i++) {
        struct log_entry *e = log_at(l, t->places[i], &next);
        const struct wire_record *r = log_record(e);
        if (!is_work(r->op)) continue;
        t->live[i] =
            r->op == WIRE_GRAPH_LAUNCH ? keep_graph_launch(&t->ends, e) : keep_ordered(&t->ends, r);
    }
}

static void judge(const struct log *l, struct tidy *t) {
    uint64_t next;
    judge_work(l, t);
    for (uint64_t i = t->count; i-- > 0;) {
        const struct log_entry *e = log_at(l, t->places[i], &next);
        if (is_work(log_record(e)->op)) continue;
        t->live[i] = !(e->flags & LOG_VOID) && keep(t, l, e, (uint32_t)i);
    }
    t->live[t->count - 1] = true;
    if (t->ends.graphs) return;
    for (uint64_t i = 0; i + 1 < t->count; i++) {
        uint16_t op = log_record(log_at(l, t->places[i], &next))->op;
        if (op == WIRE_GRAPH_DATA || op == WIRE_GRAPH_DROP) t->live[i] = false;
    }
}

/* In place: killed in the middle of it the log is of no use, and says so. */
static void move_down(struct log *l, const struct tidy *t) {
    uint64_t to = 0, next, latest = UINT64_MAX;
    atom_store_release(&l->header->moving, 1);
    atom_compiler_fence();
    for (uint64_t i = 0; i < t->count; i++) {
        const struct log_entry *e = log_at(l, t->places[i], &next);
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
    return t->places && t->live ? slotmap_reserve(&t->ends.blocks, (uint32_t)count) : -ENOMEM;
}

int log_tidy(struct log *l, const struct log_state *state) {
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
    }
    free(t);
    return err;
}
