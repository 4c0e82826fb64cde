/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies with attributes, one or several by one call. CUDA promises no order among several; here
 * they run in the stream one after the other, each as cuMemcpyAsync does it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/texture/array.h"

#define NO_COPY SIZE_MAX /* the call as a whole is wrong, not one of its copies */

/* ---- linear copies --------------------------------------------------------------------------- */

struct batch {
    const CUdeviceptr *dsts, *srcs;
    const size_t *sizes;
    size_t count;
    const CUmemcpyAttributes *attrs;
    const size_t *firsts; /* first copy that each of the attributes applies to */
    size_t attr_count;
};

static bool is_order(CUmemcpySrcAccessOrder order) {
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

/* Checks that each copy has attributes, and that each of the attributes applies to a copy. */
static bool is_sound(const struct batch *b) {
    if (!b->dsts || !b->srcs || !b->sizes || !b->count) return false;
    if (!b->attrs || !b->firsts || !b->attr_count || b->attr_count > b->count) return false;
    for (size_t i = 0; i < b->attr_count; i++) {
        bool rises = i ? b->firsts[i] > b->firsts[i - 1] : b->firsts[i] == 0;
        if (!rises || b->firsts[i] >= b->count || !is_order(b->attrs[i].srcAccessOrder))
            return false;
    }
    return true;
}

/* True when a source may change as soon as the call returns. */
static bool must_wait(const struct batch *b) {
    for (size_t i = 0; i < b->attr_count; i++)
        if (b->attrs[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL) return true;
    return false;
}

static CUresult run(const struct batch *b, size_t *failed, CUstream hStream) {
    size_t ignored;
    if (!failed) failed = &ignored;
    *failed = NO_COPY;
    CUresult r = ctx_enter();
    if (r) return r;
    if (!is_sound(b) || !hStream || hStream == CU_STREAM_LEGACY) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < b->count; i++) {
        r = cuMemcpyAsync(b->dsts[i], b->srcs[i], b->sizes[i], hStream);
        if (r) *failed = i;
        if (r) return r;
    }
    return must_wait(b) ? cuStreamSynchronize(hStream) : CUDA_SUCCESS;
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                            CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                            size_t *failIdx, CUstream hStream) {
    struct batch b = {dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs};
    return run(&b, failIdx, hStream);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                               CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                               CUstream hStream) {
    struct batch b = {dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs};
    return run(&b, NULL, hStream);
}

CUresult cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t size,
                                     CUmemcpyAttributes *attr, CUstream hStream) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!attr || !is_order(attr->srcAccessOrder)) return CUDA_ERROR_INVALID_VALUE;
    r = cuMemcpyAsync(dst, src, size, hStream);
    bool during = attr->srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    return r || !during ? r : cuStreamSynchronize(hStream);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static bool is_array(const CUmemcpy3DOperand *o) {
    return o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
}

/* Returns the bytes of one side's element: 1 for memory without elements, 0 for an invalid operand.
 */
static size_t element_of(const CUmemcpy3DOperand *o) {
    if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER) return 1;
    const struct array *a = is_array(o) ? array_find(o->op.array.array) : NULL;
    return a ? a->element.bytes : 0;
}

/* Returns the bytes of the copy's element; 0: the two sides do not match. */
static size_t element(const CUDA_MEMCPY3D_BATCH_OP *b) {
    size_t src = element_of(&b->src), dst = element_of(&b->dst);
    if (!src || !dst) return 0;
    if (!is_array(&b->src)) return dst;
    return !is_array(&b->dst) || src == dst ? src : 0;
}

static bool is_packed(const CUmemcpy3DOperand *o, const CUextent3D *e) {
    if (is_array(o)) return true;
    size_t row = o->op.ptr.rowLength, layer = o->op.ptr.layerHeight;
    return (!row || row >= e->width) && (!layer || layer >= e->height);
}

static bool is_box(const CUDA_MEMCPY3D_BATCH_OP *b) {
    const CUextent3D *e = &b->extent;
    size_t bytes;
    if (!e->width || !e->height || !e->depth || !is_order(b->srcAccessOrder)) return false;
    if (!is_packed(&b->src, e) || !is_packed(&b->dst, e)) return false;
    return !__builtin_mul_overflow(e->width, element(b), &bytes) && bytes;
}

#define FILL_SIDE(side, o, e, bytes)                                             \
    do {                                                                         \
        if (is_array(o)) {                                                       \
            c.side##MemoryType = CU_MEMORYTYPE_ARRAY;                            \
            c.side##Array = (o)->op.array.array;                                 \
            c.side##XInBytes = (o)->op.array.offset.x * (bytes);                 \
            c.side##Y = (o)->op.array.offset.y;                                  \
            c.side##Z = (o)->op.array.offset.z;                                  \
        } else {                                                                 \
            size_t row = (o)->op.ptr.rowLength, layer = (o)->op.ptr.layerHeight; \
            c.side##MemoryType = CU_MEMORYTYPE_UNIFIED;                          \
            c.side##Device = (o)->op.ptr.ptr;                                    \
            c.side##Pitch = (row ? row : (e)->width) * (bytes);                  \
            c.side##Height = layer ? layer : (e)->height;                        \
        }                                                                        \
    } while (0)

static CUresult copy_box(const CUDA_MEMCPY3D_BATCH_OP *b, CUstream hStream) {
    const CUextent3D *e = &b->extent;
    size_t bytes = element(b);
    CUDA_MEMCPY3D c = {.WidthInBytes = e->width * bytes, .Height = e->height, .Depth = e->depth};
    FILL_SIDE(src, &b->src, e, bytes);
    FILL_SIDE(dst, &b->dst, e, bytes);
    return cuMemcpy3DAsync_v2(&c, hStream);
}

static CUresult run_boxes(size_t count, const CUDA_MEMCPY3D_BATCH_OP *boxes, size_t *failed,
                          unsigned long long flags, CUstream hStream) {
    bool during = false;
    *failed = NO_COPY;
    CUresult r = ctx_enter();
    if (r) return r;
    if (!count || !boxes || flags) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        *failed = i;
        if (!is_box(&boxes[i])) return CUDA_ERROR_INVALID_VALUE;
        during |= boxes[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    }
    for (size_t i = 0; !r && i < count; i++) {
        *failed = i;
        r = copy_box(&boxes[i], hStream);
    }
    if (!r) *failed = NO_COPY;
    return r || !during ? r : cuStreamSynchronize(hStream);
}

/* A batch of copies may not be in a default stream. */
static CUresult run_batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *boxes, size_t *failed,
                          unsigned long long flags, CUstream hStream) {
    bool named = hStream && hStream != CU_STREAM_LEGACY;
    if (named) return run_boxes(count, boxes, failed, flags, hStream);
    *failed = NO_COPY;
    CUresult r = ctx_enter();
    return r ? r : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
                              unsigned long long flags, CUstream hStream) {
    size_t ignored;
    return run_batch(numOps, opList, failIdx ? failIdx : &ignored, flags, hStream);
}

CUresult cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                 unsigned long long flags, CUstream hStream) {
    size_t ignored;
    return run_batch(numOps, opList, &ignored, flags, hStream);
}

CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags,
                                       CUstream hStream) {
    size_t ignored;
    return run_boxes(1, op, &ignored, flags, hStream);
}
