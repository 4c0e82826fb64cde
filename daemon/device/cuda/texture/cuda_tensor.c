/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of the driver for each kind; it only computes, without the GPU.
 */
#include "daemon/device/cuda/texture/cuda_tensor.h"

#include <string.h>

static void *address_of(const struct tensor_ask *a) {
    return (void *)(uintptr_t)a->address;
}

static CUresult encode_tiled(const struct driver *d, const struct tensor_ask *a, CUtensorMap *map) {
    return d->cuTensorMapEncodeTiled(
        map, (CUtensorMapDataType)a->type, a->rank, address_of(a), a->size, a->stride, a->box,
        a->step, (CUtensorMapInterleave)a->interleave, (CUtensorMapSwizzle)a->swizzle,
        (CUtensorMapL2promotion)a->promotion, (CUtensorMapFloatOOBfill)a->fill);
}

static CUresult encode_columns(const struct driver *d, const struct tensor_ask *a,
                               CUtensorMap *map) {
    return d->cuTensorMapEncodeIm2col(
        map, (CUtensorMapDataType)a->type, a->rank, address_of(a), a->size, a->stride, a->lower,
        a->upper, a->channels, a->pixels, a->step, (CUtensorMapInterleave)a->interleave,
        (CUtensorMapSwizzle)a->swizzle, (CUtensorMapL2promotion)a->promotion,
        (CUtensorMapFloatOOBfill)a->fill);
}

static CUresult encode_wide(const struct driver *d, const struct tensor_ask *a, CUtensorMap *map) {
    if (!d->cuTensorMapEncodeIm2colWide) return CUDA_ERROR_NOT_SUPPORTED;
    return d->cuTensorMapEncodeIm2colWide(
        map, (CUtensorMapDataType)a->type, a->rank, address_of(a), a->size, a->stride, a->lower[0],
        a->upper[0], a->channels, a->pixels, a->step, (CUtensorMapInterleave)a->interleave,
        (CUtensorMapIm2ColWideMode)a->mode, (CUtensorMapSwizzle)a->swizzle,
        (CUtensorMapL2promotion)a->promotion, (CUtensorMapFloatOOBfill)a->fill);
}

static CUresult set_class(const struct driver *d, const struct tensor_ask *a, CUtensorMap *map,
                          uint32_t *has) {
    CUtensorMapAllocClass is = CU_TENSOR_MAP_ALLOC_CLASS_AUTO;
    if (!d->cuTensorMapSetAllocationClass) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult r = d->cuTensorMapSetAllocationClass(map, (CUtensorMapAllocClass)a->mode, &is);
    *has = (uint32_t)is;
    return r;
}

static CUresult ask_driver(const struct driver *d, const struct tensor_ask *a, CUtensorMap *map,
                           uint32_t *has) {
    switch (a->kind) {
    case TENSOR_TILED: return encode_tiled(d, a, map);
    case TENSOR_COLUMNS: return encode_columns(d, a, map);
    case TENSOR_WIDE: return encode_wide(d, a, map);
    case TENSOR_ADDRESS: return d->cuTensorMapReplaceAddress(map, address_of(a));
    case TENSOR_CLASS: return set_class(d, a, map, has);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

int cuda_tensor_map(struct context *c, const struct tensor_ask *ask, struct tensor_answer *out) {
    CUtensorMap map; /* has the alignment that the driver requires */
    memcpy(&map, ask->map, sizeof(map));
    *out = (struct tensor_answer){0};
    int err = context_result(c, ask_driver(&c->driver, ask, &map, &out->alloc_class));
    if (!err) memcpy(out->map, &map, sizeof(map));
    return err;
}
