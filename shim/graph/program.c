/* SPDX-License-Identifier: Apache-2.0
 *
 * From nodes to records. A node comes after a place (lanes.h); its records stand one behind the
 * other in one lane, and the place after it is what its dependents come after.
 *
 * What the worker cannot reach, host functions of this library copy: into and out of a buffer of
 * the program's, in the graph's order. A program is launched again only behind its last launch.
 */
#include "shim/graph/program.h"

#include <stdlib.h>
#include <string.h>

#include "shim/code/function.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/context/event.h"
#include "shim/context/hostfunc.h"
#include "shim/context/stream.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/lanes.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"
#include "shim/memory/fill.h"
#include "shim/memory/mem.h"
#include "shim/memory/transfer.h"

#define BUFFER_BYTES (1ull << 20) /* for the pageable memory of one copy: it goes in pieces */

/* Rows that a host function copies. */
struct rows {
    struct rows *next;
    uint64_t dst, dst_pitch, src, src_pitch, width, count;
};

struct buffer {
    struct buffer *next;
    uint64_t addr;
};

struct recorded {
    CUevent event;
    uint32_t id, lane;
    uint64_t seq; /* in its lane */
};

/* Memory that it allocates or frees. */
struct effect {
    struct graph_memory *memory;
    bool before, after; /* whether it is allocated */
};

struct program {
    uint32_t id;   /* on the wire */
    uint32_t age;  /* function_age when it was made */
    uint32_t busy; /* launches that are being sent */
    struct lanes lanes;
    unsigned char *bytes;
    uint64_t used, cap;
    struct hostfunc *functions;
    uint32_t function_count;
    struct recorded *recorded;
    uint32_t recorded_count;
    CUevent *waits; /* behind the first wait, which is for the launch before */
    uint32_t wait_count;
    struct rows *rows;
    struct buffer *buffers;
    struct effect *effects;
    uint32_t effect_count;
    struct program_point last; /* the end of its latest launch */
    struct program *next;      /* among the retired */
    struct graph *with;
};

static struct {
    uint64_t taken[WIRE_GRAPHS / 64]; /* ids, a bit each */
    uint64_t bytes;                   /* that the worker may have of all */
    _Atomic(struct program *) retired;
} programs;

/* ---- ids ------------------------------------------------------------------------------------- */

static CUresult take_id(struct program *p) {
    if (p->used > WIRE_GRAPH_BYTES - programs.bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < WIRE_GRAPHS / 64; i++) {
        if (programs.taken[i] == UINT64_MAX) continue;
        uint32_t bit = (uint32_t)__builtin_ctzll(~programs.taken[i]);
        programs.taken[i] |= 1ull << bit;
        programs.bytes += p->used;
        p->id = i * 64 + bit;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void give_id(const struct program *p) {
    programs.taken[p->id / 64] &= ~(1ull << p->id % 64);
    programs.bytes -= p->used;
}

/* ---- records --------------------------------------------------------------------------------- */

static CUresult reserve_bytes(struct program *p, uint64_t bytes) {
    if (bytes > WIRE_GRAPH_BYTES - p->used) return CUDA_ERROR_OUT_OF_MEMORY;
    if (p->used + bytes <= p->cap) return CUDA_SUCCESS;
    uint64_t cap = p->cap ? 2 * p->cap : 4096;
    while (cap < p->used + bytes)
        cap *= 2;
    unsigned char *more = realloc(p->bytes, cap);
    if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
    p->bytes = more;
    p->cap = cap;
    return CUDA_SUCCESS;
}

static CUresult put_item(struct program *p, const void *head, uint32_t head_bytes, const void *tail,
                         uint32_t tail_bytes) {
    struct wire_graph_item item = {.bytes = head_bytes + tail_bytes};
    uint64_t padded = ((uint64_t)item.bytes + 7) & ~7ull;
    CUresult r = reserve_bytes(p, sizeof(item) + padded);
    if (r) return r;
    unsigned char *at = p->bytes + p->used;
    memcpy(at, &item, sizeof(item));
    memcpy(at + sizeof(item), head, head_bytes);
    if (tail_bytes) memcpy(at + sizeof(item) + head_bytes, tail, tail_bytes);
    memset(at + sizeof(item) + item.bytes, 0, padded - item.bytes);
    p->used += sizeof(item) + padded;
    return CUDA_SUCCESS;
}

/* A record that is numbered in its lane. */
static CUresult put(struct program *p, uint32_t lane, void *head, uint32_t head_bytes,
                    const void *tail, uint32_t tail_bytes) {
    struct wire_record *rec = head;
    rec->stream = lane;
    rec->seq = lanes_put(&p->lanes, lane);
    return put_item(p, head, head_bytes, tail, tail_bytes);
}

/* One more at the end of an array: its place, or NULL. */
static void *grow(void **array, uint32_t *count, size_t bytes) {
    void *more = realloc(*array, (*count + 1) * bytes);
    if (!more) return NULL;
    *array = more;
    return (char *)more + (*count)++ * bytes;
}

static CUresult put_wait(struct program *p, uint32_t lane, uint32_t on, uint64_t on_seq,
                         uint32_t slot) {
    struct wire_stream_wait w = {
        .rec = {.op = WIRE_STREAM_WAIT}, .on = on, .slot = slot, .on_seq = on_seq};
    return put(p, lane, &w, sizeof(w), NULL, 0);
}

static CUresult put_function(struct program *p, uint32_t lane, CUhostFn fn, void *arg) {
    struct wire_host_func h = {.rec = {.op = WIRE_HOST_FUNC}, .token = p->function_count};
    struct hostfunc *f = grow((void **)&p->functions, &p->function_count, sizeof(*f));
    if (!f) return CUDA_ERROR_OUT_OF_MEMORY;
    *f = (struct hostfunc){.function = fn, .arg = arg};
    return put(p, lane, &h, sizeof(h), NULL, 0);
}

/* ---- kernels and events ---------------------------------------------------------------------- */

/* CUDA_ERROR_NOT_READY: the worker has to be asked about it. */
static CUresult put_kernel(struct program *p, uint32_t lane, const struct params_kernel *k,
                           struct function **ask) {
    struct function *f = function_find(k->function);
    struct wire_launch l = k->launch;
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!atom_load_acquire(&f->ready)) {
        *ask = f;
        return CUDA_ERROR_NOT_READY;
    }
    if (l.param_bytes != f->info.param_bytes) return CUDA_ERROR_INVALID_VALUE;
    l.rec = (struct wire_record){.op = WIRE_LAUNCH};
    l.func = f->id;
    return put(p, lane, &l, sizeof(l), k->values, l.param_bytes);
}

static CUresult put_record(struct program *p, uint32_t lane, CUevent event) {
    const struct event *e = event_find(event);
    if (!e) return CUDA_ERROR_INVALID_HANDLE;
    struct wire_event_record rec = {.rec = {.op = WIRE_EVENT_RECORD}, .event = e->id};
    struct recorded *out = grow((void **)&p->recorded, &p->recorded_count, sizeof(*out));
    CUresult r = out ? put(p, lane, &rec, sizeof(rec), NULL, 0) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) *out = (struct recorded){event, e->id, lane, rec.rec.seq};
    return r;
}

static CUresult put_event_wait(struct program *p, uint32_t lane, CUevent event) {
    if (!event_find(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (p->wait_count + 1 == WIRE_GRAPH_WAITS)
        return refuse_call("a graph that waits for more than 1023 events");
    CUevent *out = grow((void **)&p->waits, &p->wait_count, sizeof(*out));
    if (!out) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = event;
    return put_wait(p, lane, 0, 0, 1 + p->wait_count);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static CUresult put_fill(struct program *p, uint32_t lane, const CUDA_MEMSET_NODE_PARAMS *m) {
    struct fill f = {m->dst, m->pitch, m->width, m->height, m->value, m->elementSize};
    CUresult r = fill_check(&f);
    if (r) return r;
    struct wire_memset rec = fill_record(&f);
    return put(p, lane, &rec, sizeof(rec), NULL, 0);
}

static CUresult put_transfer(struct program *p, uint32_t lane, const struct transfer *t) {
    struct wire_copy rec = transfer_record(t);
    return put(p, lane, &rec, sizeof(rec), NULL, 0);
}

static void copy_rows(void *arg) {
    const struct rows *r = arg;
    transfer_rows(r->dst, r->dst_pitch, r->src, r->src_pitch, r->width, r->count);
}

static CUresult put_rows(struct program *p, uint32_t lane, const struct rows *what) {
    struct rows *r = malloc(sizeof(*r));
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    *r = *what;
    r->next = p->rows;
    p->rows = r;
    return put_function(p, lane, copy_rows, r);
}

static CUresult take_buffer(struct program *p, uint64_t bytes, uint64_t *addr) {
    struct buffer *b = malloc(sizeof(*b));
    CUresult r = b ? mem_take(MEM_OWN, 0, 0, bytes, &b->addr) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        free(b);
        return r;
    }
    b->next = p->buffers;
    p->buffers = b;
    *addr = b->addr;
    return CUDA_SUCCESS;
}

static CUresult put_upload(struct program *p, uint32_t lane, const struct transfer *t,
                           const struct transfer_rect *at, uint64_t buffer) {
    uint64_t w = at->width, rows = at->rows;
    CUresult r = put_rows(p, lane, &(struct rows){NULL, buffer, w, at->src, t->src_pitch, w, rows});
    if (r) return r;
    return put_transfer(p, lane,
                        &(struct transfer){at->dst, buffer, w, rows, 1, t->dst_pitch, w,
                                           t->dst_pitch * rows, w * rows});
}

static CUresult put_download(struct program *p, uint32_t lane, const struct transfer *t,
                             const struct transfer_rect *at, uint64_t buffer) {
    uint64_t w = at->width, rows = at->rows;
    CUresult r = put_transfer(p, lane,
                              &(struct transfer){buffer, at->src, w, rows, 1, w, t->src_pitch,
                                                 w * rows, t->src_pitch * rows});
    if (r) return r;
    return put_rows(p, lane, &(struct rows){NULL, at->dst, t->dst_pitch, buffer, w, w, rows});
}

/* One of the places is pageable, or both are. */
static CUresult put_pageable(struct program *p, uint32_t lane, const struct transfer *t,
                             const struct transfer_places *places) {
    bool both = places->dst_pageable && places->src_pageable;
    uint64_t all = t->width * t->height, buffer = 0;
    struct transfer_walk walk = {.t = t, .bytes = both || all < BUFFER_BYTES ? all : BUFFER_BYTES};
    struct transfer_rect at;
    CUresult r = both ? CUDA_SUCCESS : take_buffer(p, walk.bytes, &buffer);
    while (!r && transfer_next(&walk, &at)) {
        if (both)
            r = put_rows(p, lane,
                         &(struct rows){NULL, at.dst, t->dst_pitch, at.src, t->src_pitch, at.width,
                                        at.rows});
        else if (places->src_pageable)
            r = put_upload(p, lane, t, &at, buffer);
        else
            r = put_download(p, lane, t, &at, buffer);
    }
    return r;
}

static CUresult put_copy(struct program *p, uint32_t lane, const struct params_copy *c) {
    struct transfer t = c->transfer;
    struct transfer_places places;
    CUresult r = transfer_check(&t, c->flags, &places);
    if (r || t.width == 0) return r;
    if (places.dst_pageable || places.src_pageable) return put_pageable(p, lane, &t, &places);
    return put_transfer(p, lane, &t);
}

/* ---- allocations ----------------------------------------------------------------------------- */

static struct effect *effect_on(struct program *p, struct graph_memory *m, bool before) {
    for (uint32_t i = 0; i < p->effect_count; i++)
        if (p->effects[i].memory == m) return &p->effects[i];
    struct effect *e = grow((void **)&p->effects, &p->effect_count, sizeof(*e));
    if (e) *e = (struct effect){m, before, before};
    return e;
}

/* They say so when they are read, in no lane, as the calls do that allocate and free. */
static CUresult put_memory(struct program *p, struct graph_memory *m, bool live) {
    struct effect *e = effect_on(p, m, !live);
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    if (e->after == live) return CUDA_ERROR_INVALID_VALUE;
    e->after = live;
    struct wire_mem rec = {
        .rec = {.op = live ? WIRE_MEM_USE : WIRE_MEM_DROP}, .addr = m->addr, .bytes = m->bytes};
    return put_item(p, &rec, sizeof(rec), NULL, 0);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static CUresult put_node(struct program *p, uint32_t lane, const struct params *n,
                         struct function **ask) {
    switch (n->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return put_kernel(p, lane, &n->kernel, ask);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return put_copy(p, lane, &n->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET: return put_fill(p, lane, &n->fill);
    case CU_GRAPH_NODE_TYPE_HOST: return put_function(p, lane, n->host.fn, n->host.userData);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return put_event_wait(p, lane, n->event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return put_record(p, lane, n->event);
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static CUresult put_waits(struct program *p, uint32_t lane, const struct lanes_place *after) {
    uint32_t on;
    uint64_t on_seq;
    CUresult r = CUDA_SUCCESS;
    while (!r && lanes_wait(&p->lanes, lane, after, &on, &on_seq))
        r = put_wait(p, lane, on, on_seq, 0);
    return r;
}

/* `place`: what it comes after, then what comes after it. */
static CUresult put_step(struct program *p, const struct params *n, struct lanes_place *place,
                         struct function **ask) {
    uint32_t lane = lanes_choose(&p->lanes, place);
    CUresult r = put_waits(p, lane, place);
    if (!r) r = put_node(p, lane, n, ask);
    *place = lanes_end(&p->lanes, lane);
    return r;
}

static CUresult put_graph(struct program *p, struct graph *g, struct lanes_place *place,
                          struct function **ask);

static CUresult put_any(struct program *p, const struct graph_node *n, struct lanes_place *place,
                        struct function **ask) {
    if (n->disabled || n->params.type == CU_GRAPH_NODE_TYPE_EMPTY) return CUDA_SUCCESS;
    if (n->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
        return put_graph(p, n->params.child, place, ask);
    if (n->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return put_memory(p, n->params.memory, true);
    if (n->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return put_memory(p, n->params.memory, false);
    return put_step(p, &n->params, place, ask);
}

static CUresult put_ordered(struct program *p, struct graph_node **order, uint32_t count,
                            struct lanes_place *places, struct lanes_place *place,
                            struct function **ask) {
    struct lanes_place all = *place;
    for (uint32_t i = 0; i < count; i++) {
        struct graph_node *n = order[i];
        n->mark = i;
        places[i] = *place;
        for (uint32_t k = 0; k < n->before.count; k++)
            lanes_join(&places[i], &places[n->before.list[k].node->mark]);
        CUresult r = put_any(p, n, &places[i], ask);
        if (r) return r;
        lanes_join(&all, &places[i]);
    }
    *place = all;
    return CUDA_SUCCESS;
}

static CUresult put_graph(struct program *p, struct graph *g, struct lanes_place *place,
                          struct function **ask) {
    struct graph_node **order;
    CUresult r = graph_order(g, &order);
    if (r) return r;
    struct lanes_place *places = malloc((g->count + 1u) * sizeof(*places));
    r = places ? put_ordered(p, order, g->count, places, place, ask) : CUDA_ERROR_OUT_OF_MEMORY;
    free(places);
    free(order);
    return r;
}

/* Lane 0 is the stream's own: it begins with the wait for the launch before, behind which all lanes
 * begin, and ends behind all of them. */
static CUresult put_all(struct program *p, struct graph *g, struct function **ask) {
    CUresult r = put_wait(p, 0, 0, 0, 1);
    struct lanes_place place = lanes_end(&p->lanes, 0);
    if (!r) r = put_graph(p, g, &place, ask);
    if (!r) r = put_waits(p, 0, &place);
    return r;
}

static void free_program(struct program *p) {
    for (struct rows *r = p->rows, *next; r; r = next) {
        next = r->next;
        free(r);
    }
    for (struct buffer *b = p->buffers, *next; b; b = next) {
        next = b->next;
        mem_give_kept(b->addr); /* host memory: there is nothing to tell */
        free(b);
    }
    free(p->bytes);
    free(p->functions);
    free(p->recorded);
    free(p->waits);
    free(p->effects);
    free(p);
}

CUresult program_build(struct graph *g, struct program **out, struct function **ask) {
    struct program *p = calloc(1, sizeof(*p));
    *ask = NULL;
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    p->age = atom_load_acquire(&function_age);
    CUresult r = put_all(p, g, ask);
    if (!r) r = take_id(p);
    if (r)
        free_program(p);
    else
        *out = p;
    return r;
}

int program_current(const struct program *p) {
    return p->age == atom_load_acquire(&function_age);
}

/* ---- said, launched, retired ----------------------------------------------------------------- */

CUresult program_say(struct program *p) {
    CUresult r = CUDA_SUCCESS;
    for (uint64_t at = 0; !r && at < p->used; at += WIRE_GRAPH_PIECE) {
        uint64_t left = p->used - at;
        struct wire_graph_data rec = {
            .rec = {.op = WIRE_GRAPH_DATA},
            .graph = p->id,
            .piece_bytes = (uint32_t)(left < WIRE_GRAPH_PIECE ? left : WIRE_GRAPH_PIECE),
            .offset = at,
            .total_bytes = p->used,
        };
        r = submit_record(&rec, sizeof(rec), p->bytes + at, rec.piece_bytes);
    }
    return r;
}

/* The tail of a launch: lanes, then waits. */
struct launch_tail {
    uint32_t bytes;
    uint64_t room[WIRE_GRAPH_LANES * sizeof(struct wire_graph_lane) / 8 +
                  WIRE_GRAPH_WAITS * sizeof(struct wire_graph_wait) / 8];
};

/* What each wait is for just now. */
static CUresult fill_waits(const struct program *p, const struct stream *s,
                           const struct program_point *after, struct wire_graph_wait *waits) {
    bool behind = after->stream != s->id && !submit_done(after->stream, after->seq);
    waits[0] = (struct wire_graph_wait){.on = behind ? after->stream : 0,
                                        .on_seq = behind ? after->seq : 0};
    for (uint32_t i = 0; i < p->wait_count; i++) {
        const struct event *e = event_find(p->waits[i]);
        if (!e) return CUDA_ERROR_INVALID_HANDLE;
        struct event_point at = event_point(e);
        waits[i + 1] = (struct wire_graph_wait){.on = at.stream, .on_seq = at.seq};
    }
    return CUDA_SUCCESS;
}

static CUresult check_events(const struct program *p) {
    for (uint32_t i = 0; i < p->recorded_count; i++) {
        const struct event *e = event_find(p->recorded[i].event);
        if (!e || e->id != p->recorded[i].id) return CUDA_ERROR_INVALID_HANDLE;
    }
    return CUDA_SUCCESS;
}

static void set_events(const struct program *p, const struct wire_graph_lane *lanes) {
    for (uint32_t i = 0; i < p->recorded_count; i++) {
        const struct recorded *rec = &p->recorded[i];
        struct event *e = event_find(rec->event);
        if (e) event_set(e, lanes[rec->lane].stream, lanes[rec->lane].first_seq - 1 + rec->seq);
    }
}

static CUresult fill_lanes(const struct program *p, struct stream *s, uint32_t count,
                           struct wire_graph_lane *lanes) {
    uint32_t ids[WIRE_GRAPH_LANES];
    CUresult r = stream_lanes(s, count, ids);
    for (uint32_t i = 0; !r && i < count; i++)
        lanes[i] = (struct wire_graph_lane){.stream = ids[i]};
    return r;
}

CUresult program_launch(struct program *p, struct stream *s, struct program_point *after) {
    struct launch_tail tail;
    struct wire_graph_launch head = {
        .rec = {.op = WIRE_GRAPH_LAUNCH},
        .graph = p->id,
        .lanes = (uint16_t)lanes_used(&p->lanes),
        .waits = (uint16_t)(p->wait_count + 1),
    };
    struct wire_graph_lane *lanes = (struct wire_graph_lane *)tail.room;
    struct wire_graph_wait *waits = (struct wire_graph_wait *)(lanes + head.lanes);
    tail.bytes = (uint32_t)(head.lanes * sizeof(*lanes) + head.waits * sizeof(*waits));
    CUresult r = check_events(p);
    if (!r) r = fill_lanes(p, s, head.lanes, lanes);
    if (!r) r = fill_waits(p, s, after, waits);
    if (!r) r = hostfunc_expect(p->functions, p->function_count, &head.first_token);
    if (r) return r;
    r = submit_graph(&head, lanes, p->lanes.count, tail.bytes);
    if (r) {
        hostfunc_forget(head.first_token, p->function_count);
        return r;
    }
    set_events(p, lanes);
    *after = p->last = (struct program_point){s->id, lanes[0].first_seq - 1 + p->lanes.count[0]};
    return CUDA_SUCCESS;
}

static bool may_begin(const struct effect *e, bool again) {
    const struct graph_memory *m = e->memory;
    return !m->gone && (m->live == e->before || (again && m->live));
}

CUresult program_begin_memory(const struct program *p, int again) {
    for (uint32_t i = 0; i < p->effect_count; i++)
        if (!may_begin(&p->effects[i], again)) return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < p->effect_count; i++) {
        const struct effect *e = &p->effects[i];
        if (e->memory->live && !e->before) mem_rest(e->memory->addr, e->memory->bytes);
        graph_memory_set(e->memory, true); /* for the most that ever was */
        graph_memory_set(e->memory, e->after);
    }
    return CUDA_SUCCESS;
}

void program_hold(struct program *p) {
    p->busy++;
}

void program_drop(struct program *p) {
    p->busy--;
}

void program_retire(struct program *p, struct graph *with) {
    p->with = with;
    p->next = atom_load_relaxed(&programs.retired);
    atom_store_relaxed(&programs.retired, p);
}

/* Takes those off the list that nothing uses any more. */
static struct program *take_done(void) {
    struct program *done = NULL, *rest = NULL;
    for (struct program *p = atom_load_relaxed(&programs.retired), *next; p; p = next) {
        bool free = !p->busy && submit_done(p->last.stream, p->last.seq);
        struct program **to = free ? &done : &rest;
        next = p->next;
        p->next = *to;
        *to = p;
    }
    atom_store_relaxed(&programs.retired, rest);
    return done;
}

void program_reap(void) {
    if (!atom_load_relaxed(&programs.retired)) return;
    lock_enter(&graph_lock);
    struct program *done = take_done();
    lock_leave(&graph_lock);
    for (struct program *p = done, *next; p; p = next) {
        struct wire_graph_drop rec = {.rec = {.op = WIRE_GRAPH_DROP}, .graph = p->id};
        next = p->next;
        submit_record(&rec, sizeof(rec), NULL, 0);
        lock_enter(&graph_lock);
        give_id(p);
        graph_free(p->with);
        lock_leave(&graph_lock);
        free_program(p);
    }
    if (done) user_object_destroy_unheld();
}
