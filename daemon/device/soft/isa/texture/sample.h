/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a texture at a place for each lane of a warp. The CUDA C++ Programming Guide's "Texture
 * Fetching" is the source; what it leaves open is written down in
 * docs/adr/0009-what-ptx-leaves-open.md. Only reads within the texture's memory (textures.h), which
 * the caller has checked. Pure but for that.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_TEXTURE_SAMPLE_H
#define DAEMON_DEVICE_SOFT_ISA_TEXTURE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/texture/textures.h"

/* Of the lanes that do not ask anything may be said here, and nothing is answered. */
struct sample {
    const struct texture *texture;
    uint32_t lanes; /* that ask */
    uint32_t dims;  /* of a layer: 1 to 3 */
    bool whole;     /* coordinates are element numbers, and no filter is applied */
    bool cube;      /* the slice is a face */
    bool biased;    /* `level` counts with the texture's bias and bounds */
    /* A lane each: */
    const uint32_t *at[3];     /* floats, or int32_t when whole */
    const uint32_t *offset[3]; /* int32_t, elements, added to either */
    const uint32_t *slice;     /* layer or face; the last one stands for those beyond */
    const float *level;        /* of detail, whole or between two */
};

struct sampled {
    uint32_t words[4][WARP_LANES]; /* registers of 32 bits, of numbers as floats */
    uint64_t at[WARP_LANES] __attribute__((aligned(64))); /* one of the elements that were read */
    uint32_t touched; /* lanes for which there is one: it was not the border */
};

void ISA_FN(sample_fetch)(const struct sample *s, struct sampled *out);
/* One component of the four elements around a place of two dimensions, counter-clockwise from the
 * lower left (the next row is below). */
void ISA_FN(sample_gather)(const struct sample *s, uint32_t component, struct sampled *out);

/* The level of detail where the coordinates move by dx and dy. */
float ISA_FN(sample_level)(const struct texture *t, uint32_t dims, const float dx[3],
                           const float dy[3]);

#endif
