/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps, by which kernels copy tiles: written into the program's memory and nowhere else.
 * Interleaved tensors, packed elements and swizzles of other pieces than 16 bytes are refused by
 * name.
 */
#include <string.h>

#include "common/log.h"
#include "proto/gen/prototypes.h"
#include "proto/tensor_map.h"
#include "shim/connection/state.h"

static CUresult refuse(const char *what, unsigned int number) {
    log_warn("shim", "what=\"tensor maps with %s are not supported\" value=%u", what, number);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static bool is_aligned(const void *p, uint64_t bytes) {
    return (uint64_t)(uintptr_t)p % bytes == 0;
}

/* What CUDA knows and this driver lacks. */
static CUresult lacking(CUtensorMapDataType type, CUtensorMapInterleave interleave,
                        CUtensorMapSwizzle swizzle) {
    if (type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B || interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B)
        return CUDA_ERROR_INVALID_VALUE;
    if (type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return refuse("packed elements", type);
    if (interleave) return refuse("interleaved elements", interleave);
    if (swizzle > CU_TENSOR_MAP_SWIZZLE_128B) return refuse("such a swizzle", swizzle);
    return CUDA_SUCCESS;
}

/* What maps of both kinds have, but for their dimensions. */
struct wanted {
    CUtensorMap *map;
    CUtensorMapDataType type;
    uint32_t rank;
    void *address;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

static CUresult begin(const struct wanted *w, struct tensor_map *m) {
    CUresult r = state_ready();
    if (r) return r;
    if (!w->map || !is_aligned(w->map, TENSOR_MAP_ALIGN) || !w->address || !w->rank ||
        w->rank > TENSOR_MAP_RANK || w->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        w->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
        return CUDA_ERROR_INVALID_VALUE;
    if ((r = lacking(w->type, w->interleave, w->swizzle))) return r;
    *m = (struct tensor_map){.magic = TENSOR_MAP_MAGIC,
                             .type = (uint8_t)w->type,
                             .rank = (uint8_t)w->rank,
                             .swizzle = (uint8_t)w->swizzle,
                             .fill = (uint8_t)w->fill,
                             .address = (uint64_t)(uintptr_t)w->address};
    return CUDA_SUCCESS;
}

static CUresult finish(const struct wanted *w, const struct tensor_map *m) {
    if (!tensor_map_is_valid(m)) return CUDA_ERROR_INVALID_VALUE;
    memcpy(w->map, m, sizeof(*m));
    return CUDA_SUCCESS;
}

/* False: one of them is no size or step of a tensor. */
static bool set_dimensions(struct tensor_map *m, const uint64_t *size, const uint64_t *stride,
                           const uint32_t *step) {
    if (!size || !step || (!stride && m->rank > 1)) return false;
    for (uint32_t d = 0; d < m->rank; d++) {
        const uint32_t by = d ? step[d] : 1; /* the first is not looked at */
        if (!size[d] || size[d] > 1ull << 32 || by > TENSOR_MAP_STEP) return false;
        m->last[d] = (uint32_t)(size[d] - 1);
        m->box[d] = 1;
        m->step[d] = (uint8_t)by;
        if (d) m->stride[d - 1] = stride[d - 1];
    }
    return true;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                uint32_t tensorRank, void *globalAddress, const uint64_t *globalDim,
                                const uint64_t *globalStrides, const uint32_t *boxDim,
                                const uint32_t *elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                CUtensorMapFloatOOBfill oobFill) {
    const struct wanted w = {tensorMap,  tensorDataType, tensorRank,  globalAddress,
                             interleave, swizzle,        l2Promotion, oobFill};
    struct tensor_map m;
    CUresult r = begin(&w, &m);
    if (r) return r;
    if (!boxDim || !set_dimensions(&m, globalDim, globalStrides, elementStrides))
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t d = 0; d < m.rank; d++) {
        if (boxDim[d] > TENSOR_MAP_BOX) return CUDA_ERROR_INVALID_VALUE;
        m.box[d] = (uint16_t)boxDim[d];
    }
    return finish(&w, &m);
}

/* Corners of the range of pixels, of the innermost dimension first, as CUTLASS gives them. False:
 * further off than the map of so many dimensions can say. */
static bool set_corners(struct tensor_map *m, const int *lower, const int *upper) {
    static const int most[] = {[3] = 1 << 15, [4] = 1 << 7, [5] = 1 << 4};
    for (uint32_t d = 0; d + 2 < m->rank; d++) {
        const int end = most[m->rank];
        if (lower[d] < -end || lower[d] >= end || upper[d] < -end || upper[d] >= end) return false;
        m->lower[d] = (int16_t)lower[d];
        m->upper[d] = (int16_t)upper[d];
    }
    return true;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                 uint32_t tensorRank, void *globalAddress,
                                 const uint64_t *globalDim, const uint64_t *globalStrides,
                                 const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner,
                                 uint32_t channelsPerPixel, uint32_t pixelsPerColumn,
                                 const uint32_t *elementStrides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                 CUtensorMapFloatOOBfill oobFill) {
    const struct wanted w = {tensorMap,  tensorDataType, tensorRank,  globalAddress,
                             interleave, swizzle,        l2Promotion, oobFill};
    struct tensor_map m;
    CUresult r = begin(&w, &m);
    if (r) return r;
    if (tensorRank < 3 || !pixelBoxLowerCorner || !pixelBoxUpperCorner ||
        channelsPerPixel > TENSOR_MAP_BOX || pixelsPerColumn > TENSOR_MAP_PIXELS ||
        !set_dimensions(&m, globalDim, globalStrides, elementStrides) ||
        !set_corners(&m, pixelBoxLowerCorner, pixelBoxUpperCorner))
        return CUDA_ERROR_INVALID_VALUE;
    m.columns = 1;
    m.box[0] = (uint16_t)channelsPerPixel;
    m.pixels = (uint16_t)pixelsPerColumn;
    return finish(&w, &m);
}

/* The copies here never touch more than the tensor. */
CUresult cuTensorMapSetAllocationClass(CUtensorMap *tensorMap, CUtensorMapAllocClass allocClass,
                                       CUtensorMapAllocClass *outAllocClass) {
    CUresult r = state_ready();
    struct tensor_map m;
    if (r) return r;
    if (outAllocClass) *outAllocClass = CU_TENSOR_MAP_ALLOC_CLASS_SMALL;
    if (!tensorMap || !is_aligned(tensorMap, TENSOR_MAP_ALIGN) ||
        allocClass > CU_TENSOR_MAP_ALLOC_CLASS_LARGE)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&m, tensorMap, sizeof(m));
    return tensor_map_is_valid(&m) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress) {
    CUresult r = state_ready();
    struct tensor_map m;
    if (r) return r;
    if (!tensorMap || !is_aligned(tensorMap, TENSOR_MAP_ALIGN) || !globalAddress)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&m, tensorMap, sizeof(m));
    m.address = (uint64_t)(uintptr_t)globalAddress;
    if (!tensor_map_is_valid(&m)) return CUDA_ERROR_INVALID_VALUE;
    memcpy(tensorMap, &m, sizeof(m));
    return CUDA_SUCCESS;
}
