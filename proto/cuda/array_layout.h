/* SPDX-License-Identifier: Apache-2.0
 *
 * Layout of CUDA arrays in device memory, on which client and worker agree: elements in rows, rows
 * in slices (of a volume, layers, faces of cubes), levels of detail one after the other. Pure.
 */
#ifndef PROTO_CUDA_ARRAY_LAYOUT_H
#define PROTO_CUDA_ARRAY_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

#define ARRAY_LAYOUT_ALIGN 512u /* bytes: of an array and of each level */
#define ARRAY_LAYOUT_PITCH 32u  /* size of a row is a multiple of this */
#define ARRAY_LAYOUT_LEVELS 16u
#define ARRAY_LAYOUT_PIECE (64ull << 10)
/* Limits on the elements in a record, whatever the device supports. */
#define ARRAY_LAYOUT_LINEAR_MAX (1u << 28) /* linear memory */
#define ARRAY_LAYOUT_SIDE_MAX (1u << 17)   /* all other memory, along each axis */

/* Type of an element. UNORM and SNORM formats are integers that are always read as numbers. */
struct array_element {
    CUarray_format format; /* type of a channel: an integer of 8 to 32 bits, half or float */
    uint32_t channels;     /* 1, 2, 4 */
    uint32_t bytes;        /* size of all channels */
    bool normalized;
};

/* Returns false if there is no such element, or if it is not supported (planes, compressed
 * blocks). */
bool array_layout_element(CUarray_format format, uint32_t channels, struct array_element *out);

struct array_shape {
    uint32_t width, height, depth; /* elements, at least 1; depth: layers when layered */
    uint32_t element_bytes;
    bool layered;
};

struct array_level {
    uint64_t offset, pitch, slice; /* bytes: from the array's beginning; of a row; of a slice */
    uint32_t width, height, depth;
};

/* Maximum number of levels, down to one element. */
uint32_t array_layout_levels(const struct array_shape *s);
void array_layout_level(const struct array_shape *s, uint32_t level, struct array_level *out);
/* Bytes of that many levels; UINT64_MAX: more than any device has. */
uint64_t array_layout_bytes(const struct array_shape *s, uint32_t levels);
/* Bytes to charge for an array that the device lays out itself, whose real size is unknown: rounded
 * up to the pieces in which drivers allocate. */
uint64_t array_layout_charge(uint64_t bytes);

#endif
