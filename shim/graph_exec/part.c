/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes records, and the data that they need.
 */
#include "shim/graph_exec/part.h"

#include <stdlib.h>
#include <string.h>

#include "shim/connection/refuse.h"
#include "shim/context/event.h"
#include "shim/memory/mem.h"

#define BUFFER_BYTES \
    (1ull << 20) /* for the pageable memory of one copy, which is copied in pieces */

/* Rows that a host function copies. */
struct part_rows {
    struct part_rows *next;
    uint64_t dst, dst_pitch, src, src_pitch, width, count;
    bool early; /* read when the part is launched */
};

/* The same rows, with their contents when the part was launched. */
struct part_read {
    struct part_rows rows;
    unsigned char bytes[];
};

struct part_buffer {
    struct part_buffer *next;
    uint64_t addr;
};

/* ---- records --------------------------------------------------------------------------------- */

static CUresult reserve_bytes(struct part *p, uint64_t bytes) {
    if (bytes > WIRE_GRAPH_BYTES - p->used) {
        refuse_more(REFUSE_GRAPH_BYTES, WIRE_GRAPH_BYTES);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
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

static CUresult put_item(struct part *p, const void *head, uint32_t head_bytes, const void *tail,
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

CUresult part_put_aside(struct part *p, const void *head, uint32_t head_bytes) {
    return put_item(p, head, head_bytes, NULL, 0);
}

CUresult part_put(struct part *p, uint32_t lane, void *head, uint32_t head_bytes, const void *tail,
                  uint32_t tail_bytes) {
    struct wire_record *rec = head;
    rec->stream = lane;
    rec->seq = lanes_put(&p->lanes, lane);
    return put_item(p, head, head_bytes, tail, tail_bytes);
}

void *part_grow(void **array, uint32_t *count, size_t bytes) {
    void *more = realloc(*array, (*count + 1) * bytes);
    if (!more) return NULL;
    *array = more;
    return (char *)more + (*count)++ * bytes;
}

static CUresult put_wait(struct part *p, uint32_t lane, uint32_t on, uint64_t on_seq,
                         uint32_t slot) {
    struct wire_stream_wait w = {
        .rec = {.op = WIRE_STREAM_WAIT}, .on = on, .slot = slot, .on_seq = on_seq};
    return part_put(p, lane, &w, sizeof(w), NULL, 0);
}

CUresult part_put_waits(struct part *p, uint32_t lane, const struct lanes_place *after) {
    uint32_t on;
    uint64_t on_seq;
    CUresult r = CUDA_SUCCESS;
    while (!r && lanes_wait(&p->lanes, lane, after, &on, &on_seq))
        r = put_wait(p, lane, on, on_seq, 0);
    return r;
}

CUresult part_put_function(struct part *p, uint32_t lane, CUhostFn fn, void *arg) {
    struct wire_host_func h = {.rec = {.op = WIRE_HOST_FUNC}, .token = p->function_count};
    struct hostfunc *f = part_grow((void **)&p->functions, &p->function_count, sizeof(*f));
    if (!f) return CUDA_ERROR_OUT_OF_MEMORY;
    *f = (struct hostfunc){.function = fn, .arg = arg};
    return part_put(p, lane, &h, sizeof(h), NULL, 0);
}

CUresult part_put_record(struct part *p, uint32_t lane, CUevent event) {
    const struct event *e = event_find(event);
    if (!e) return CUDA_ERROR_INVALID_HANDLE;
    struct wire_event_record rec = {.rec = {.op = WIRE_EVENT_RECORD}, .event = e->id};
    struct part_record *out = part_grow((void **)&p->records, &p->record_count, sizeof(*out));
    CUresult r = out ? part_put(p, lane, &rec, sizeof(rec), NULL, 0) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) *out = (struct part_record){event, e->id, lane, rec.rec.seq};
    return r;
}

CUresult part_put_event_wait(struct part *p, uint32_t lane, CUevent event) {
    if (!event_find(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (p->wait_count + 1 == WIRE_GRAPH_WAITS)
        return refuse_call("a graph that waits for more than 1023 events");
    CUevent *out = part_grow((void **)&p->waits, &p->wait_count, sizeof(*out));
    if (!out) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = event;
    return put_wait(p, lane, 0, 0, 1 + p->wait_count);
}

/* ---- conditional nodes ----------------------------------------------------------------------- */

static uint32_t kind_of(CUgraphConditionalNodeType type) {
    switch (type) {
    case CU_GRAPH_COND_TYPE_WHILE: return WIRE_CHOICE_WHILE;
    case CU_GRAPH_COND_TYPE_SWITCH: return WIRE_CHOICE_SWITCH;
    default: return WIRE_CHOICE_IF;
    }
}

static CUresult put_choice(struct part *p, uint32_t lane, struct wire_choice rec,
                           struct part *const *bodies) {
    struct part_choice *c = calloc(1, sizeof(*c) + rec.count * sizeof(struct part *));
    uint32_t *ids = calloc(rec.count, sizeof(*ids));
    CUresult r = c && ids ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t at = p->used + sizeof(struct wire_graph_item);
    if (!r) r = part_put(p, lane, &rec, sizeof(rec), ids, rec.count * (uint32_t)sizeof(*ids));
    free(ids);
    if (r) {
        free(c);
        return r;
    }
    *c = (struct part_choice){.next = p->choices, .at = at, .count = rec.count};
    memcpy(c->bodies, bodies, rec.count * sizeof(*bodies));
    p->choices = c;
    return CUDA_SUCCESS;
}

CUresult part_put_choice(struct part *p, uint32_t lane, const struct params_choice *n,
                         struct part *const *bodies) {
    const struct wire_choice rec = {.rec = {.op = WIRE_GRAPH_CHOICE},
                                    .value = n->handle,
                                    .kind = kind_of(n->type),
                                    .count = n->count};
    return put_choice(p, lane, rec, bodies);
}

CUresult part_put_changing(struct part *p, uint32_t lane, uint64_t node, struct part *body) {
    const struct wire_choice rec = {
        .rec = {.op = WIRE_GRAPH_CHOICE}, .value = node, .kind = WIRE_CHOICE_LAUNCH, .count = 1};
    return put_choice(p, lane, rec, &body);
}

void part_number_choices(struct part *p) {
    for (const struct part_choice *c = p->choices; c; c = c->next) {
        uint32_t *ids = (uint32_t *)(p->bytes + c->at + sizeof(struct wire_choice));
        for (uint32_t i = 0; i < c->count; i++)
            ids[i] = c->bodies[i]->used ? c->bodies[i]->id : WIRE_GRAPH_NONE;
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

static CUresult put_transfer(struct part *p, uint32_t lane, const struct transfer *t) {
    struct wire_copy rec = transfer_record(t);
    return part_put(p, lane, &rec, sizeof(rec), NULL, 0);
}

static void copy_rows(void *arg) {
    const struct part_rows *r = arg;
    transfer_rows(r->dst, r->dst_pitch, r->src, r->src_pitch, r->width, r->count);
}

static void copy_read(void *arg) {
    const struct part_read *r = arg;
    uint64_t w = r->rows.width;
    transfer_rows(r->rows.dst, w, (uint64_t)(uintptr_t)r->bytes, w, w, r->rows.count);
}

static bool is_early(const struct hostfunc *f) {
    return f->function == copy_rows && ((const struct part_rows *)f->arg)->early;
}

static bool read_now(struct hostfunc *f) {
    const struct part_rows *rows = f->arg;
    uint64_t w = rows->width;
    struct part_read *r = malloc(sizeof(*r) + w * rows->count);
    if (!r) return false;
    r->rows = *rows;
    transfer_rows((uint64_t)(uintptr_t)r->bytes, w, rows->src, rows->src_pitch, w, rows->count);
    *f = (struct hostfunc){.function = copy_read, .arg = r, .owned = true};
    return true;
}

struct hostfunc *part_read(const struct part *p) {
    struct hostfunc *list = malloc((p->function_count + 1) * sizeof(*list));
    if (!list) return NULL;
    if (p->function_count) memcpy(list, p->functions, p->function_count * sizeof(*list));
    for (uint32_t i = 0; i < p->function_count; i++) {
        if (!is_early(&list[i]) || read_now(&list[i])) continue;
        while (i-- > 0)
            if (list[i].owned) free(list[i].arg);
        free(list);
        return NULL;
    }
    return list;
}

static CUresult put_rows(struct part *p, uint32_t lane, const struct part_rows *what) {
    struct part_rows *r = malloc(sizeof(*r));
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    *r = *what;
    r->next = p->rows;
    p->rows = r;
    return part_put_function(p, lane, copy_rows, r);
}

static CUresult take_buffer(struct part *p, uint64_t bytes, uint64_t *addr) {
    struct part_buffer *b = malloc(sizeof(*b));
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

static CUresult put_upload(struct part *p, uint32_t lane, const struct transfer *t,
                           const struct transfer_rect *at, uint64_t buffer) {
    uint64_t w = at->width, rows = at->rows;
    const struct part_rows from = {NULL, buffer, w, at->src, t->src_pitch, w, rows, !p->awaited};
    if (from.early) p->early_bytes += w * rows;
    CUresult r = put_rows(p, lane, &from);
    if (r) return r;
    return put_transfer(p, lane,
                        &(struct transfer){at->dst, buffer, w, rows, 1, t->dst_pitch, w,
                                           t->dst_pitch * rows, w * rows});
}

static CUresult put_download(struct part *p, uint32_t lane, const struct transfer *t,
                             const struct transfer_rect *at, uint64_t buffer) {
    uint64_t w = at->width, rows = at->rows;
    CUresult r = put_transfer(p, lane,
                              &(struct transfer){buffer, at->src, w, rows, 1, w, t->src_pitch,
                                                 w * rows, t->src_pitch * rows});
    if (r) return r;
    return put_rows(p, lane,
                    &(struct part_rows){NULL, at->dst, t->dst_pitch, buffer, w, w, rows, false});
}

/* Puts a copy with one or two pageable places. */
static CUresult put_pageable(struct part *p, uint32_t lane, const struct transfer *t,
                             const struct transfer_places *places) {
    bool both = places->dst_pageable && places->src_pageable;
    uint64_t all = t->width * t->height, buffer = 0;
    struct transfer_walk walk = {.t = t, .bytes = both || all < BUFFER_BYTES ? all : BUFFER_BYTES};
    struct transfer_rect at;
    CUresult r = both ? CUDA_SUCCESS : take_buffer(p, walk.bytes, &buffer);
    p->awaited |= places->dst_pageable;
    while (!r && transfer_next(&walk, &at)) {
        if (both)
            r = put_rows(p, lane,
                         &(struct part_rows){NULL, at.dst, t->dst_pitch, at.src, t->src_pitch,
                                             at.width, at.rows, false});
        else if (places->src_pageable)
            r = put_upload(p, lane, t, &at, buffer);
        else
            r = put_download(p, lane, t, &at, buffer);
    }
    return r;
}

CUresult part_put_copy(struct part *p, uint32_t lane, const struct transfer *asked,
                       unsigned int flags) {
    struct transfer t = *asked;
    struct transfer_places places;
    CUresult r = transfer_check(&t, flags, &places);
    if (r || t.width == 0) return r;
    if (places.dst_pageable || places.src_pageable) return put_pageable(p, lane, &t, &places);
    return put_transfer(p, lane, &t);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct part *part_create(bool launched) {
    struct part *p = calloc(1, sizeof(*p));
    if (!p || !launched || put_wait(p, 0, 0, 0, 1) == CUDA_SUCCESS) return p;
    free(p);
    return NULL;
}

void part_free(struct part *p) {
    for (struct part_rows *r = p->rows, *next; r; r = next) {
        next = r->next;
        free(r);
    }
    for (struct part_buffer *b = p->buffers, *next; b; b = next) {
        next = b->next;
        mem_give_kept(b->addr); /* host memory, of which the worker need not be told */
        free(b);
    }
    for (struct part_choice *c = p->choices, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(p->bytes);
    free(p->functions);
    free(p->records);
    free(p->waits);
    free(p);
}
