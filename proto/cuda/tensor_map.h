/* SPDX-License-Identifier: Apache-2.0
 *
 * Contents of a CUtensorMap of this driver. The client writes it, and kernels pass it to copies of
 * tiles of a tensor. Kernels' memory is the client's, so a reader copies the map and calls
 * tensor_map_is_valid before it trusts a field; the client calls the same before it writes a map. A
 * device may have maps in its own, private format; then the device makes each (struct tensor_ask).
 */
#ifndef PROTO_CUDA_TENSOR_MAP_H
#define PROTO_CUDA_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

#define TENSOR_MAP_MAGIC 0x70616d74u
#define TENSOR_MAP_RANK 5
#define TENSOR_MAP_BOX 256u  /* elements, at most */
#define TENSOR_MAP_STEP 8u   /* elements, at most */
#define TENSOR_MAP_ALIGN 64u /* bytes */
#define TENSOR_MAP_PIXELS 1024u
#define TENSOR_MAP_IMAGE 3 /* dimensions, at most */

struct tensor_map {
    uint32_t magic;
    uint8_t type;                   /* CUtensorMapDataType, without the packed ones */
    uint8_t rank;                   /* 1 to 5; fields of further dimensions are ignored */
    uint8_t swizzle, fill;          /* CUtensorMapSwizzle, up to 128B; CUtensorMapFloatOOBfill */
    uint64_t address;               /* address of element 0, aligned to 16 */
    uint32_t last[TENSOR_MAP_RANK]; /* sizes in elements, less one */
    uint16_t box[TENSOR_MAP_RANK];  /* elements, 1 to 256 */
    uint8_t step[TENSOR_MAP_RANK];  /* 1 to 8: of this many elements the first is taken */
    uint8_t columns;                /* bool: columns of a convolution, see below */
    uint8_t unused[4];
    uint64_t stride[TENSOR_MAP_RANK - 1]; /* bytes, of dimensions from 1 on: multiples of 16 */
    /* Fields of columns. The first dimension is channels (box: of a pixel), the last is images.
     * pixels: number of pixels. lower and upper, for the dimensions between: the beginning of the
     * range of pixels, and its end relative to the last pixel. */
    int16_t lower[TENSOR_MAP_IMAGE], upper[TENSOR_MAP_IMAGE];
    uint16_t pixels;
    uint16_t nothing;
    uint64_t reserved[3];
};
_Static_assert(sizeof(struct tensor_map) == sizeof(CUtensorMap), "all of a CUtensorMap");

/* Bytes of an element; 0: the type is not supported. */
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

/* ---- requests for a map ---------------------------------------------------------------------- */

enum tensor_kind {
    TENSOR_TILED,
    TENSOR_COLUMNS, /* im2col */
    TENSOR_WIDE,    /* im2col::w */
    TENSOR_ADDRESS, /* `map` with another address */
    TENSOR_CLASS,   /* `map` with another allocation class */
    TENSOR_KINDS
};

/* A call's arguments, as the program gave them. Dimensions beyond the rank, and arguments that the
 * call does not have, are 0. */
struct tensor_ask {
    uint32_t kind, rank;
    uint32_t type, interleave, swizzle, promotion, fill; /* CUtensorMap* */
    uint32_t mode; /* WIDE: CUtensorMapIm2ColWideMode; CLASS: CUtensorMapAllocClass */
    uint64_t address;
    uint64_t size[TENSOR_MAP_RANK], stride[TENSOR_MAP_RANK - 1];
    uint32_t step[TENSOR_MAP_RANK], box[TENSOR_MAP_RANK]; /* box: TILED */
    uint32_t channels, pixels;                            /* COLUMNS, WIDE */
    /* COLUMNS, WIDE; for WIDE only the first */
    int32_t lower[TENSOR_MAP_IMAGE], upper[TENSOR_MAP_IMAGE];
    uint64_t map[16];
};
_Static_assert(sizeof(((struct tensor_ask *)0)->map) == sizeof(CUtensorMap), "all of one");

struct tensor_answer {
    uint64_t map[16];
    uint32_t alloc_class, pad; /* CLASS: the present class */
};

/* True if the request, which any client may have sent, can be passed to a driver: CUDA knows
 * every number in it, and the dimensions fit. The device decides which values go together. */
static inline bool tensor_ask_is_sane(const struct tensor_ask *a) {
    if (a->kind >= TENSOR_KINDS) return false;
    if (a->kind == TENSOR_ADDRESS) return true;
    if (a->kind == TENSOR_CLASS) return a->mode <= CU_TENSOR_MAP_ALLOC_CLASS_LARGE;
    return a->rank >= (a->kind == TENSOR_TILED ? 1u : 3u) && a->rank <= TENSOR_MAP_RANK &&
           a->type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B &&
           a->interleave <= CU_TENSOR_MAP_INTERLEAVE_32B &&
           a->swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B &&
           a->promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B &&
           a->fill <= CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA &&
           a->mode <= CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
}

#endif
