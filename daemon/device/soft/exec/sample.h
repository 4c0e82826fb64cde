/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a texture at a place: which elements, and with which weights. The CUDA C++ Programming
 * Guide's "Texture Fetching" is the source; what it leaves open is written down in
 * docs/adr/0009-what-ptx-leaves-open.md. Only reads within the texture's memory (textures.h), which
 * the caller has checked. Pure but for that.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_SAMPLE_H
#define DAEMON_DEVICE_SOFT_EXEC_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/exec/textures.h"

struct sample {
    uint32_t dims; /* of a layer: 1 to 3 */
    bool whole;    /* coordinates are element numbers, and no filter is applied */
    bool cube;     /* the slice is a face */
    float at[3];
    int32_t element[3]; /* instead of `at` when whole */
    int32_t offset[3];  /* elements, added to either */
    uint32_t slice;     /* layer or face; the last one stands for those beyond */
    float level;        /* of detail, whole or between two */
    bool biased;        /* `level` counts with the texture's bias and bounds */
};

/* Four registers of 32 bits, of numbers as floats. The address of an element that was read, or 0
 * where it was only the border. */
uint64_t sample_fetch(const struct texture *t, const struct sample *s, uint32_t out[4]);
/* One component of the four elements around a place of two dimensions, counter-clockwise from the
 * lower left (the next row is below). */
uint64_t sample_gather(const struct texture *t, const struct sample *s, uint32_t component,
                       uint32_t out[4]);

/* The level of detail where the coordinates move by dx and dy. */
float sample_level(const struct texture *t, uint32_t dims, const float dx[3], const float dy[3]);

#endif
