/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies in a CUtensorMap of this driver: the client writes it, kernels hand it to whoever
 * copies tiles of a tensor. Since kernels' memory is the client's, a reader copies it and then asks
 * tensor_map_is_valid before it believes a word; the client asks the same before it writes one.
 */
#ifndef PROTO_TENSOR_MAP_H
#define PROTO_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

#define TENSOR_MAP_MAGIC 0x70616d74u
#define TENSOR_MAP_RANK 5
#define TENSOR_MAP_BOX 256u  /* elements, at most */
#define TENSOR_MAP_STEP 8u   /* the same */
#define TENSOR_MAP_ALIGN 64u /* bytes */
#define TENSOR_MAP_PIXELS 1024u
#define TENSOR_MAP_IMAGE 3 /* dimensions, at most */

struct tensor_map {
    uint32_t magic;
    uint8_t type;          /* CUtensorMapDataType, without the packed ones */
    uint8_t rank;          /* 1 to 5; what is said of further dimensions is not looked at */
    uint8_t swizzle, fill; /* CUtensorMapSwizzle, up to 128B; CUtensorMapFloatOOBfill */
    uint64_t address;      /* of element 0, aligned to 16 */
    uint32_t last[TENSOR_MAP_RANK]; /* sizes in elements, less one */
    uint16_t box[TENSOR_MAP_RANK];  /* elements, 1 to 256 */
    uint8_t step[TENSOR_MAP_RANK];  /* 1 to 8: of so many elements the first is taken */
    uint8_t columns;                /* bool: of a convolution, of which more below */
    uint8_t unused[4];
    uint64_t stride[TENSOR_MAP_RANK - 1]; /* bytes, of dimensions 1 and on: multiples of 16 */
    /* Of columns, whose first dimension is channels (box: of a pixel), the last one images: how
     * many pixels; and of the dimensions between where the range of pixels begins, and where it
     * ends, from the last pixel on. */
    int16_t lower[TENSOR_MAP_IMAGE], upper[TENSOR_MAP_IMAGE];
    uint16_t pixels;
    uint16_t nothing;
    uint64_t reserved[3];
};
_Static_assert(sizeof(struct tensor_map) == sizeof(CUtensorMap), "all of a CUtensorMap");

/* Bytes of an element; 0: of no type that is supported. */
static inline uint32_t tensor_map_element(uint32_t type) {
    static const uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return type < sizeof(bytes) ? bytes[type] : 0;
}

static inline bool tensor_map_is_real(uint32_t type) {
    return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

/* Bytes of a box's row in shared memory. */
static inline uint32_t tensor_map_row(const struct tensor_map *m) {
    return m->box[0] * tensor_map_element(m->type);
}

static inline bool tensor_map_dimension_ok(const struct tensor_map *m, uint32_t d) {
    if (!m->box[d] || m->box[d] > TENSOR_MAP_BOX || !m->step[d] || m->step[d] > TENSOR_MAP_STEP)
        return false;
    return !d || (m->stride[d - 1] % 16 == 0 && m->stride[d - 1] < 1ull << 40);
}

static inline bool tensor_map_columns_ok(const struct tensor_map *m) {
    return m->columns == 1 && m->rank > 2 && m->pixels && m->pixels <= TENSOR_MAP_PIXELS;
}

static inline bool tensor_map_is_valid(const struct tensor_map *m) {
    if (m->magic != TENSOR_MAP_MAGIC || !tensor_map_element(m->type) || !m->rank ||
        m->rank > TENSOR_MAP_RANK || m->swizzle > CU_TENSOR_MAP_SWIZZLE_128B ||
        m->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA || m->address % 16)
        return false;
    if (m->fill && !tensor_map_is_real(m->type)) return false;
    if (m->columns && !tensor_map_columns_ok(m)) return false;
    for (uint32_t d = 0; d < m->rank; d++)
        if (!tensor_map_dimension_ok(m, d)) return false;
    const uint32_t row = tensor_map_row(m);
    return row % 16 == 0 && (!m->swizzle || row <= 16u << m->swizzle);
}

#endif
