/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps, by which kernels copy tiles. They are written into the program's memory only. A
 * device with a format of its own has the worker make each map.
 */
#include <string.h>

#include "proto/cuda/tensor_map.h"
#include "proto/gen/prototypes.h"
#include "shim/api/texture/tensor_own.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"

static CUresult ask_device(const struct tensor_ask *ask, struct tensor_answer *out) {
    struct wire_tensor_map rec = {.rec = {.op = WIRE_TENSOR_MAP}, .ask = *ask};
    struct reply answer = {0};
    CUresult r = reply_call(&rec, sizeof(rec), NULL, 0, &answer);
    if (r) return r;
    if (answer.bytes != sizeof(*out)) return CUDA_ERROR_UNKNOWN;
    memcpy(out, answer.data, sizeof(*out));
    return CUDA_SUCCESS;
}

static bool is_map(const CUtensorMap *map) {
    return map && (uintptr_t)map % TENSOR_MAP_ALIGN == 0;
}

/* Makes a map. Only success changes the program's memory. */
static CUresult make(CUtensorMap *map, const struct tensor_ask *ask, uint32_t *alloc_class) {
    struct tensor_answer answer = {.alloc_class = CU_TENSOR_MAP_ALLOC_CLASS_SMALL};
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    if (is_map(map) && tensor_ask_is_sane(ask))
        r = state_has_maps() ? ask_device(ask, &answer) : tensor_own(ask, &answer);
    if (alloc_class) *alloc_class = answer.alloc_class;
    if (!r) memcpy(map, answer.map, sizeof(*map));
    return r;
}

/* Copies sizes, strides and steps; false when some are missing. */
static bool take_dimensions(struct tensor_ask *a, const uint64_t *size, const uint64_t *stride,
                            const uint32_t *step) {
    if (!a->rank || a->rank > TENSOR_MAP_RANK || !size || !step || (!stride && a->rank > 1))
        return false;
    memcpy(a->size, size, a->rank * sizeof(*size));
    memcpy(a->step, step, a->rank * sizeof(*step));
    if (a->rank > 1) memcpy(a->stride, stride, (a->rank - 1) * sizeof(*stride));
    return true;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                uint32_t tensorRank, void *globalAddress, const uint64_t *globalDim,
                                const uint64_t *globalStrides, const uint32_t *boxDim,
                                const uint32_t *elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                CUtensorMapFloatOOBfill oobFill) {
    struct tensor_ask a = {.kind = TENSOR_TILED,
                           .rank = tensorRank,
                           .type = tensorDataType,
                           .interleave = interleave,
                           .swizzle = swizzle,
                           .promotion = l2Promotion,
                           .fill = oobFill,
                           .address = (uintptr_t)globalAddress};
    CUresult r = state_ready();
    if (r) return r;
    if (!boxDim || !take_dimensions(&a, globalDim, globalStrides, elementStrides))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(a.box, boxDim, a.rank * sizeof(*boxDim));
    return make(tensorMap, &a, NULL);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                 uint32_t tensorRank, void *globalAddress,
                                 const uint64_t *globalDim, const uint64_t *globalStrides,
                                 const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner,
                                 uint32_t channelsPerPixel, uint32_t pixelsPerColumn,
                                 const uint32_t *elementStrides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                 CUtensorMapFloatOOBfill oobFill) {
    struct tensor_ask a = {.kind = TENSOR_COLUMNS,
                           .rank = tensorRank,
                           .type = tensorDataType,
                           .interleave = interleave,
                           .swizzle = swizzle,
                           .promotion = l2Promotion,
                           .fill = oobFill,
                           .address = (uintptr_t)globalAddress,
                           .channels = channelsPerPixel,
                           .pixels = pixelsPerColumn};
    CUresult r = state_ready();
    if (r) return r;
    if (tensorRank < 3 || !pixelBoxLowerCorner || !pixelBoxUpperCorner ||
        !take_dimensions(&a, globalDim, globalStrides, elementStrides))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(a.lower, pixelBoxLowerCorner, (a.rank - 2) * sizeof(int));
    memcpy(a.upper, pixelBoxUpperCorner, (a.rank - 2) * sizeof(int));
    return make(tensorMap, &a, NULL);
}

CUresult cuTensorMapEncodeIm2colWide(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, uint32_t tensorRank,
    void *globalAddress, const uint64_t *globalDim, const uint64_t *globalStrides,
    int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, uint32_t channelsPerPixel,
    uint32_t pixelsPerColumn, const uint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
    struct tensor_ask a = {.kind = TENSOR_WIDE,
                           .rank = tensorRank,
                           .type = tensorDataType,
                           .interleave = interleave,
                           .swizzle = swizzle,
                           .promotion = l2Promotion,
                           .fill = oobFill,
                           .mode = mode,
                           .address = (uintptr_t)globalAddress,
                           .channels = channelsPerPixel,
                           .pixels = pixelsPerColumn,
                           .lower = {pixelBoxLowerCornerWidth},
                           .upper = {pixelBoxUpperCornerWidth}};
    CUresult r = state_ready();
    if (r) return r;
    if (!take_dimensions(&a, globalDim, globalStrides, elementStrides))
        return CUDA_ERROR_INVALID_VALUE;
    return make(tensorMap, &a, NULL);
}

CUresult cuTensorMapSetAllocationClass(CUtensorMap *tensorMap, CUtensorMapAllocClass allocClass,
                                       CUtensorMapAllocClass *outAllocClass) {
    struct tensor_ask a = {.kind = TENSOR_CLASS, .mode = allocClass};
    uint32_t is;
    CUresult r = state_ready();
    if (r) return r;
    if (is_map(tensorMap)) memcpy(a.map, tensorMap, sizeof(a.map));
    r = make(tensorMap, &a, &is);
    if (outAllocClass) *outAllocClass = (CUtensorMapAllocClass)is;
    return r;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress) {
    struct tensor_ask a = {.kind = TENSOR_ADDRESS, .address = (uintptr_t)globalAddress};
    CUresult r = state_ready();
    if (r) return r;
    if (is_map(tensorMap)) memcpy(a.map, tensorMap, sizeof(a.map));
    return make(tensorMap, &a, NULL);
}
