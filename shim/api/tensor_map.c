/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps, by which kernels copy tiles: written into the program's memory and nowhere else.
 * Interleaved tensors, packed elements, swizzles of other pieces than 16 bytes and columns of
 * convolutions are refused by name.
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

/* False: one of them is no size, box or step of a tensor. */
static bool set_dimensions(struct tensor_map *m, const uint64_t *size, const uint64_t *stride,
                           const uint32_t *box, const uint32_t *step) {
    for (uint32_t d = 0; d < m->rank; d++) {
        const uint32_t by = d ? step[d] : 1; /* the first is not looked at */
        if (!size[d] || size[d] > 1ull << 32 || box[d] > TENSOR_MAP_BOX || by > TENSOR_MAP_STEP)
            return false;
        m->last[d] = (uint32_t)(size[d] - 1);
        m->box[d] = (uint16_t)box[d];
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
    CUresult r = state_ready();
    if (r) return r;
    if (!tensorMap || !is_aligned(tensorMap, TENSOR_MAP_ALIGN) || !globalAddress || !globalDim ||
        !boxDim || !elementStrides || !tensorRank || tensorRank > TENSOR_MAP_RANK ||
        (!globalStrides && tensorRank > 1) || l2Promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        oobFill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
        return CUDA_ERROR_INVALID_VALUE;
    if ((r = lacking(tensorDataType, interleave, swizzle))) return r;
    struct tensor_map m = {.magic = TENSOR_MAP_MAGIC,
                           .type = (uint8_t)tensorDataType,
                           .rank = (uint8_t)tensorRank,
                           .swizzle = (uint8_t)swizzle,
                           .fill = (uint8_t)oobFill,
                           .address = (uint64_t)(uintptr_t)globalAddress};
    if (!set_dimensions(&m, globalDim, globalStrides, boxDim, elementStrides) ||
        !tensor_map_is_valid(&m))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(tensorMap, &m, sizeof(m));
    return CUDA_SUCCESS;
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
