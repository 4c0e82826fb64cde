/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays: blocks of device memory with a shape, laid out as in array_layout.h. Levels of
 * mipmapped arrays are arrays too. Any thread; a program does not use an array while it destroys
 * it.
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
    CUDA_ARRAY3D_DESCRIPTOR asked; /* the sizes of this level; 0: no such dimension */
    struct array_element element;
    struct array_shape shape; /* the shape of level 0 */
    uint64_t addr;          /* address of level 0; for an array of the device, a name (opaque.h) */
    uint32_t level, levels; /* this level, and the number of levels at `addr` */
    struct array *whole;    /* for a level: the mipmapped array that owns the memory */
    uint32_t parts[ARRAY_LAYOUT_LEVELS]; /* table numbers + 1 of the levels that are arrays */
};

/* Creates an array as `d` describes it. CUDA's errors; CUDA_ERROR_NOT_SUPPORTED, with a log line,
 * for unsupported kinds. `levels` 0: an array that is not mipmapped. */
CUresult array_create(const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t levels, struct array **out);
/* Waits until all work sent before is complete, then releases the memory.
 * CUDA_ERROR_INVALID_HANDLE: `a` is a level, which ends with its mipmapped array. */
CUresult array_destroy(struct array *a);
/* Returns level `level` of a mipmapped array as an array, the same one each time. */
CUresult array_part(struct array *a, uint32_t level, CUarray *out);

/* Return NULL for an invalid handle. */
struct array *array_find(CUarray handle);
struct array *array_find_mipmapped(CUmipmappedArray handle);

/* The position of this array's own level; its offset counts from `addr`. */
struct array_level array_place(const struct array *a);

/* Destroys the arrays of a context that ended. mem_release frees their memory, except that of the
 * device's own arrays. */
void array_release(uint32_t owner);

#endif
