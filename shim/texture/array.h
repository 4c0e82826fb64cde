/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays: blocks of device memory with a shape, laid out as array_layout.h says; mipmapped
 * ones give out their levels as arrays. Any thread; what a program destroys it does not use
 * meanwhile.
 */
#ifndef SHIM_TEXTURE_ARRAY_H
#define SHIM_TEXTURE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/array_layout.h"
#include "proto/cuda/cuda_abi.h"
#include "shim/table.h"

struct array {
    struct table_item place;
    uint64_t handle; /* 0 while the place is free */
    uint16_t generation;
    uint32_t owner; /* index of the context */
    bool mipmapped;
    CUDA_ARRAY3D_DESCRIPTOR asked; /* of its own level; 0: no such dimension */
    struct array_element element;
    struct array_shape shape;            /* of level 0 */
    uint64_t addr;                       /* of level 0; of the device's own, a name (opaque.h) */
    uint32_t level, levels;              /* the one it is; how many there are behind addr */
    struct array *whole;                 /* of a level: the mipmapped array, whose memory it is */
    uint32_t parts[ARRAY_LAYOUT_LEVELS]; /* its levels that are arrays: place + 1 */
};

/* Memory for it, as `d` says. CUDA's errors; CUDA_ERROR_NOT_SUPPORTED for what is not, having said
 * so. `levels` 0: an array that is not mipmapped. */
CUresult array_create(const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t levels, struct array **out);
/* Releases the memory once no operation that was sent uses it. CUDA_ERROR_INVALID_HANDLE: `a` is a
 * level of a mipmapped array, which ends with that. */
CUresult array_destroy(struct array *a);
/* Level `level` of a mipmapped array as an array, the same each time. */
CUresult array_part(struct array *a, uint32_t level, CUarray *out);

/* NULL for what is none. */
struct array *array_find(CUarray handle);
struct array *array_find_mipmapped(CUmipmappedArray handle);

/* Where its own level lies: offset counts from `addr`. */
struct array_level array_place(const struct array *a);

/* The context ended: its arrays' memory, unless it is the device's own, is freed by mem_release. */
void array_release(uint32_t owner);

#endif
