/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps: the arguments are stored word for word, and the encoded map is made of hashes of
 * them, which no other code would produce.
 */
#include <string.h>

#include "test/lib/driver/fake_state.h"

/* FNV-1a: the n-th word of the encoded map. */
static uint64_t word_of(const struct tensor_ask *a, uint64_t nth) {
    const unsigned char *bytes = (const unsigned char *)a;
    uint64_t hash = 0xcbf29ce484222325ull ^ nth;
    for (size_t i = 0; i < sizeof(*a); i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return hash;
}

static CUresult write_map(CUtensorMap *map, const struct tensor_ask *a, const char *call) {
    if (!map || (uintptr_t)map % 64) return fake_misuse(CUDA_ERROR_INVALID_VALUE, call, "no map");
    if (a->address % 16) return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t i = 0; i < 16; i++)
        map->opaque[i] = word_of(a, i);
    fake.last_tensor = *a;
    return CUDA_SUCCESS;
}

static struct tensor_ask ask_of(uint32_t kind, uint32_t rank, const void *address,
                                const uint64_t *size, const uint64_t *stride,
                                const uint32_t *step) {
    struct tensor_ask a = {.kind = kind, .rank = rank, .address = (uintptr_t)address};
    memcpy(a.size, size, rank * sizeof(*size));
    memcpy(a.stride, stride, (rank - 1) * sizeof(*stride));
    memcpy(a.step, step, rank * sizeof(*step));
    return a;
}

#define HOW                    \
    a.type = type;             \
    a.interleave = interleave; \
    a.swizzle = swizzle;       \
    a.promotion = promotion;   \
    a.fill = fill

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank,
                                void *address, const uint64_t *size, const uint64_t *stride,
                                const uint32_t *box, const uint32_t *step,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    FAKE_CALL(true);
    struct tensor_ask a = ask_of(TENSOR_TILED, rank, address, size, stride, step);
    HOW;
    memcpy(a.box, box, rank * sizeof(*box));
    return write_map(map, &a, __func__);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank,
                                 void *address, const uint64_t *size, const uint64_t *stride,
                                 const int *lower, const int *upper, uint32_t channels,
                                 uint32_t pixels, const uint32_t *step,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    FAKE_CALL(true);
    struct tensor_ask a = ask_of(TENSOR_COLUMNS, rank, address, size, stride, step);
    HOW;
    a.channels = channels;
    a.pixels = pixels;
    memcpy(a.lower, lower, (rank - 2) * sizeof(*lower));
    memcpy(a.upper, upper, (rank - 2) * sizeof(*upper));
    return write_map(map, &a, __func__);
}

CUresult cuTensorMapEncodeIm2colWide(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank,
                                     void *address, const uint64_t *size, const uint64_t *stride,
                                     int lower, int upper, uint32_t channels, uint32_t pixels,
                                     const uint32_t *step, CUtensorMapInterleave interleave,
                                     CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion,
                                     CUtensorMapFloatOOBfill fill) {
    FAKE_CALL(true);
    struct tensor_ask a = ask_of(TENSOR_WIDE, rank, address, size, stride, step);
    HOW;
    a.mode = mode;
    a.channels = channels;
    a.pixels = pixels;
    a.lower[0] = lower;
    a.upper[0] = upper;
    return write_map(map, &a, __func__);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
    FAKE_CALL(true);
    struct tensor_ask a = {.kind = TENSOR_ADDRESS, .address = (uintptr_t)address};
    memcpy(a.map, map, sizeof(a.map));
    return write_map(map, &a, __func__);
}

CUresult cuTensorMapSetAllocationClass(CUtensorMap *map, CUtensorMapAllocClass wanted,
                                       CUtensorMapAllocClass *is) {
    FAKE_CALL(true);
    struct tensor_ask a = {.kind = TENSOR_CLASS, .mode = wanted};
    memcpy(a.map, map, sizeof(a.map));
    *is = CU_TENSOR_MAP_ALLOC_CLASS_LARGE;
    return write_map(map, &a, __func__);
}
