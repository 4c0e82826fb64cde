/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a fill.
 */
#include "shim/transfer/fill.h"

#include <stdbool.h>

#include "shim/transfer/lookup.h"

static bool in_range(const struct fill *f) {
    uint64_t rows, bytes;
    struct mem_block b;
    if (__builtin_mul_overflow(f->width, f->elem_bytes, &bytes)) return false;
    if (f->height > 1 && f->pitch < bytes) return false;
    if (__builtin_mul_overflow(f->height - 1, f->pitch, &rows) ||
        __builtin_add_overflow(bytes, rows, &bytes))
        return false;
    if (lookup_variable(f->dst, bytes)) return true;
    if (!lookup_range(f->dst, bytes, &b)) return false;
    mem_written(&b);
    return true;
}

CUresult fill_check(struct fill *f) {
    if (f->height == 1) f->pitch = 0;
    bool aligned = (f->dst | f->pitch) % f->elem_bytes == 0;
    return aligned && in_range(f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct wire_memset fill_record(const struct fill *f) {
    return (struct wire_memset){.rec = {.op = WIRE_MEMSET},
                                .dst = f->dst,
                                .pitch = f->pitch,
                                .width_elems = f->width,
                                .height = f->height,
                                .value = f->value,
                                .elem_bytes = f->elem_bytes};
}
