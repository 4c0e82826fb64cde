/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a texture at one position per lane of a warp. Source: "Texture Fetching" in the CUDA C++
 * Programming Guide; docs/adr/0009-what-ptx-leaves-open.md records what the guide leaves open.
 * Reads only within the texture's memory (textures.h), which the caller has checked. Otherwise
 * pure.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_TEXTURE_SAMPLE_H
#define DAEMON_DEVICE_SOFT_ISA_TEXTURE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/texture/textures.h"

/* A request of some lanes of a warp. Values of other lanes are ignored, and their results are
 * undefined. */
struct sample {
    const struct texture *texture;
    uint32_t lanes; /* lanes that make the request */
    uint32_t dims;  /* dimensions of a layer: 1 to 3 */
    bool whole;     /* coordinates are element numbers, and no filter is applied */
    bool cube;      /* the slice is a face */
    bool biased;    /* the texture's bias and bounds apply to `level` */
    /* One value per lane: */
    const uint32_t *at[3];     /* coordinates: floats, or int32_t if `whole` */
    const uint32_t *offset[3]; /* int32_t elements added to the coordinates */
    const uint32_t *slice;     /* layer or face; numbers beyond the last mean the last */
    const float *level;        /* level of detail; a fraction lies between two levels */
};

struct sampled {
    uint32_t words[4][WARP_LANES]; /* 32-bit register values; numbers are floats */
    uint64_t at[WARP_LANES] __attribute__((aligned(64))); /* address of one of the elements read */
    uint32_t touched; /* lanes with a valid `at`: they did not read the border only */
};

void ISA_FN(sample_fetch)(const struct sample *s, struct sampled *out);
/* Reads one component of the four elements around a position in two dimensions, counter-clockwise
 * from the lower left (the next row is below). */
void ISA_FN(sample_gather)(const struct sample *s, uint32_t component, struct sampled *out);

/* Computes the level of detail for coordinates that change by dx and dy. */
float ISA_FN(sample_level)(const struct texture *t, uint32_t dims, const float dx[3],
                           const float dy[3]);

#endif
