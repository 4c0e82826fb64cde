/* SPDX-License-Identifier: Apache-2.0
 *
 * Several copies by one call. CUDA promises no order among them: here they are in their stream one
 * after the other, each as cuMemcpyAsync makes it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"

#define NO_COPY SIZE_MAX /* the call is wrong, rather than one of its copies */

struct batch {
    const CUdeviceptr *dsts, *srcs;
    const size_t *sizes;
    size_t count;
    const CUmemcpyAttributes *attrs;
    const size_t *firsts; /* of the copies that have each of the attributes */
    size_t attr_count;
};

static bool is_order(CUmemcpySrcAccessOrder order) {
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

/* Each copy has attributes, and each of these a copy. */
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

/* Some source may change as soon as the call returns. */
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
