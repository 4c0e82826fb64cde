/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies through the ring. Pageable memory is copied in pieces of at most STAGING_BYTES, two in
 * flight at a time: this thread fills or empties one while the worker copies the other.
 */
#include "shim/transfer/transfer.h"

#include <string.h>

#include "proto/wire/wire.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/connection/text.h"
#include "shim/connection/wait.h"
#include "shim/context/ctx.h"
#include "shim/context/mark.h"
#include "shim/context/stream.h"
#include "shim/host_memory/registered.h"
#include "shim/memory/identity.h"
#include "shim/memory/mem.h"
#include "shim/texture/opaque.h"
#include "shim/transfer/lookup.h"
#include "shim/transfer/staging.h"
#include "shim/transfer/stray.h"

/* The kind of a place. PLACE_ARRAY: an array of the device itself, whose rows are separate. */
enum place { PLACE_BAD, PLACE_DEVICE, PLACE_ARRAY, PLACE_PINNED, PLACE_PAGEABLE };

/* Computes the bytes from the first to the last; false on overflow. */
static bool extent(const struct transfer *t, uint64_t pitch, uint64_t slice, uint64_t *bytes) {
    uint64_t rows = 0, slices = 0;
    if (t->height > 1 && __builtin_mul_overflow(t->height - 1, pitch, &rows)) return false;
    if (t->depth > 1 && __builtin_mul_overflow(t->depth - 1, slice, &slices)) return false;
    if (__builtin_add_overflow(rows, t->width, bytes)) return false;
    return !__builtin_add_overflow(*bytes, slices, bytes);
}

/* True when rows and slices do not overlap. Overlapping ones are refused. */
static bool rows_apart(const struct transfer *t, uint64_t pitch, uint64_t slice) {
    if (t->height > 1 && pitch < t->width) return false;
    return t->depth <= 1 || slice >= (t->height - 1) * (t->height > 1 ? pitch : 0) + t->width;
}

/* Classifies host memory. Registered memory that the device can access counts as pinned, and `*at`
 * becomes its address on the device. */
static enum place classify_host(uint64_t *at, uint64_t bytes) {
    uint64_t device = registered_device(*at, bytes);
    if (!device) return PLACE_PAGEABLE;
    *at = device;
    return PLACE_PINNED;
}

static enum place classify(uint64_t *at, uint64_t bytes, bool written) {
    uint64_t addr = *at;
    const struct conn *c = &state.conn;
    const struct wire_windows *w = &c->windows;
    struct mem_block b;
    if (addr + bytes < addr) return PLACE_BAD;
    if (conn_in_device(c, addr) && addr - w->dev_base >= w->alloc_bytes) {
        /* The worker places variables of modules, and checks the range itself. */
        return conn_in_device(c, addr + bytes - 1) ? PLACE_DEVICE : PLACE_BAD;
    }
    if (stray_has(addr, bytes)) return PLACE_DEVICE;
    if (!conn_in_device(c, addr) && !conn_in_host(c, addr)) return classify_host(at, bytes);
    if (opaque_has(addr, bytes)) return PLACE_ARRAY;
    if (!lookup_range(addr, bytes, &b)) return PLACE_BAD;
    if (!b.device) return PLACE_PINNED;
    if (written) mem_written(&b);
    return PLACE_DEVICE;
}

/* Joins rows without gaps into one row. */
static void flatten(struct transfer *t) {
    if (t->height > 1 && t->dst_pitch == t->width && t->src_pitch == t->width) {
        uint64_t plane = t->width * t->height;
        bool whole = t->depth == 1 || (t->dst_slice == plane && t->src_slice == plane);
        if (!whole) return;
        t->width = plane * t->depth;
        t->height = t->depth = 1;
    }
    if (t->height == 1 && t->depth == 1)
        t->dst_pitch = t->src_pitch = t->dst_slice = t->src_slice = t->width;
    if (t->depth == 1) {
        t->dst_slice = t->dst_pitch * t->height;
        t->src_slice = t->src_pitch * t->height;
    }
}

struct wire_copy transfer_record(const struct transfer *t) {
    return (struct wire_copy){
        .rec = {.op = WIRE_COPY},
        .dst = t->dst,
        .src = t->src,
        .width_bytes = t->width,
        .height = t->height,
        .depth = t->depth,
        .dst_pitch = t->dst_pitch,
        .src_pitch = t->src_pitch,
        .dst_slice = t->dst_slice,
        .src_slice = t->src_slice,
    };
}

static CUresult send(const struct transfer *t, const struct stream *s, uint64_t *seq) {
    struct wire_copy rec = transfer_record(t);
    rec.rec.stream = s->id;
    return submit_ordered(&rec, sizeof(rec), NULL, 0, seq);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

bool transfer_next(struct transfer_walk *w, struct transfer_rect *r) {
    const struct transfer *t = w->t;
    if (w->slice == t->depth) return false;
    r->dst = t->dst + w->slice * t->dst_slice + w->row * t->dst_pitch + w->column;
    r->src = t->src + w->slice * t->src_slice + w->row * t->src_pitch + w->column;
    if (t->width > w->bytes) {
        uint64_t left = t->width - w->column;
        r->width = left < w->bytes ? left : w->bytes;
        r->rows = 1;
        w->column += r->width;
        if (w->column < t->width) return true;
        w->column = 0;
    } else {
        uint64_t fit = w->bytes / t->width, left = t->height - w->row;
        r->width = t->width;
        r->rows = left < fit ? left : fit;
    }
    w->row += r->rows;
    if (w->row < t->height) return true;
    w->row = 0;
    w->slice++;
    return true;
}

void transfer_rows(uint64_t dst, uint64_t dst_pitch, uint64_t src, uint64_t src_pitch,
                   uint64_t width, uint64_t rows) {
    for (uint64_t i = 0; i < rows; i++)
        memcpy((char *)(uintptr_t)dst + i * dst_pitch, (const char *)(uintptr_t)src + i * src_pitch,
               width);
}

static CUresult upload(const struct transfer *t, const struct stream *s) {
    struct transfer_walk w = {.t = t, .bytes = STAGING_BYTES};
    struct transfer_rect rect;
    uint64_t sent[2] = {0, 0};
    for (unsigned int i = 0; transfer_next(&w, &rect); i++) {
        struct staging piece;
        /* No more than two pieces of this transfer at a time, so that the next piece stays in the
         * cache. */
        CUresult r = sent[i % 2] ? wait_stream(s->id, sent[i % 2]) : CUDA_SUCCESS;
        if (!r) r = staging_take(&piece);
        if (r) return r;
        transfer_rows(piece.addr, rect.width, rect.src, t->src_pitch, rect.width, rect.rows);
        struct transfer part = {rect.dst,
                                piece.addr,
                                rect.width,
                                rect.rows,
                                1,
                                t->dst_pitch,
                                rect.width,
                                t->dst_pitch * rect.rows,
                                rect.width * rect.rows};
        r = send(&part, s, &sent[i % 2]);
        staging_give(&piece, s->id, r ? 0 : sent[i % 2]);
        if (r) return r;
    }
    return CUDA_SUCCESS;
}

/* A piece that the worker fills. */
struct pending {
    struct staging piece;
    struct transfer_rect rect;
    uint64_t seq;
    bool used;
};

static CUresult collect(struct pending *p, const struct transfer *t, const struct stream *s) {
    if (!p->used) return CUDA_SUCCESS;
    CUresult r = wait_stream(s->id, p->seq);
    if (!r)
        transfer_rows(p->rect.dst, t->dst_pitch, p->piece.addr, p->rect.width, p->rect.width,
                      p->rect.rows);
    staging_give(&p->piece, s->id, p->seq);
    p->used = false;
    return r;
}

static CUresult ask(struct pending *p, const struct transfer *t, const struct stream *s) {
    CUresult r = staging_take(&p->piece);
    if (r) return r;
    const struct transfer_rect *rect = &p->rect;
    struct transfer part = {p->piece.addr,
                            rect->src,
                            rect->width,
                            rect->rows,
                            1,
                            rect->width,
                            t->src_pitch,
                            rect->width * rect->rows,
                            t->src_pitch * rect->rows};
    r = send(&part, s, &p->seq);
    p->used = !r;
    if (r) staging_give(&p->piece, s->id, 0);
    return r;
}

static CUresult download(const struct transfer *t, const struct stream *s) {
    struct transfer_walk w = {.t = t, .bytes = STAGING_BYTES};
    struct pending two[2] = {{.used = false}, {.used = false}};
    CUresult r = CUDA_SUCCESS;
    unsigned int i = 0;
    for (; !r && transfer_next(&w, &two[i % 2].rect); i++) {
        r = ask(&two[i % 2], t, s);
        /* The walk fills the other rectangle next. */
        if (!r) r = collect(&two[(i + 1) % 2], t, s);
    }
    CUresult first = collect(&two[i % 2], t, s), second = collect(&two[(i + 1) % 2], t, s);
    if (r) return r;
    return first ? first : second;
}

/* Copies between two pageable places on this thread, in the order of the stream. */
static CUresult copy_here(const struct transfer *t, const struct stream *s) {
    CUresult r = stream_wait(s);
    for (uint64_t i = 0; !r && i < t->depth; i++)
        transfer_rows(t->dst + i * t->dst_slice, t->dst_pitch, t->src + i * t->src_slice,
                      t->src_pitch, t->width, t->height);
    return r;
}

CUresult transfer_check(struct transfer *t, unsigned int flags, struct transfer_places *places) {
    uint64_t dst_bytes, src_bytes;
    if (t->width == 0 || t->height == 0 || t->depth == 0) {
        t->width = 0;
        return CUDA_SUCCESS;
    }
    if (!extent(t, t->dst_pitch, t->dst_slice, &dst_bytes) ||
        !extent(t, t->src_pitch, t->src_slice, &src_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (!rows_apart(t, t->dst_pitch, t->dst_slice) || !rows_apart(t, t->src_pitch, t->src_slice))
        return CUDA_ERROR_INVALID_VALUE;
    enum place dst = classify(&t->dst, dst_bytes, true), src = classify(&t->src, src_bytes, false);
    if (dst == PLACE_BAD || src == PLACE_BAD) return CUDA_ERROR_INVALID_VALUE;
    if ((flags & TRANSFER_DST_DEVICE && dst == PLACE_PAGEABLE) ||
        (flags & TRANSFER_SRC_DEVICE && src == PLACE_PAGEABLE))
        return CUDA_ERROR_INVALID_VALUE;
    if (dst != PLACE_ARRAY && src != PLACE_ARRAY) flatten(t);
    *places = (struct transfer_places){dst == PLACE_PAGEABLE, src == PLACE_PAGEABLE,
                                       dst == PLACE_PINNED, src == PLACE_PINNED};
    return CUDA_SUCCESS;
}

/* True when SYNC_MEMOPS is set for one of the places, or the context. Arrays cannot have it. */
static bool synchronizes(const struct transfer *t) {
    return ctx_synchronizes() || identity_sync(t->dst) || identity_sync(t->src);
}

CUresult transfer_run(const struct transfer *asked, const struct stream *s, unsigned int flags) {
    struct transfer t = *asked;
    struct transfer_places at;
    uint64_t seq;
    CUresult r = transfer_check(&t, flags, &at);
    if (r || t.width == 0) return r;
    if (at.dst_pageable && at.src_pageable) return copy_here(&t, s);
    if (at.src_pageable) {
        r = upload(&t, s);
        /* The program can read the destination directly. */
        if (!r && !(flags & TRANSFER_ASYNC) && (at.dst_pinned || synchronizes(asked)))
            r = wait_stream(s->id, submit_last(s->id));
        return r;
    }
    if (at.dst_pageable) {
        r = download(&t, s);
        text_flush();
        if (!r) mark_idle();
        return r;
    }
    r = send(&t, s, &seq);
    /* CUDA does not wait for copies between two places of the device. */
    bool host = at.dst_pinned || at.src_pinned;
    if (r || flags & TRANSFER_ASYNC || (!host && !synchronizes(asked))) return r;
    r = wait_stream(s->id, seq);
    text_flush();
    if (!r) mark_idle();
    return r;
}
