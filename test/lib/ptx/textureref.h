/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of a texture fetch, computed from the formulas of the CUDA C++ Programming Guide
 * ("Texture Fetching") without regard to speed; and random textures and places.
 */
#ifndef TEST_LIB_TEXTUREREF_H
#define TEST_LIB_TEXTUREREF_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/device/device_textures.h"

struct textureref_place {
    uint32_t dims; /* dimensions of a layer */
    bool whole;    /* coordinates are element numbers */
    float at[3];
    int32_t element[3], offset[3];
    uint32_t slice;
    float level; /* level before bias and clamping, which `biased` enables */
    bool biased;
};

/* A result register: exact bits, or a number rounded to float within the error of its sums. */
struct textureref_value {
    bool exact;
    uint32_t bits;
    long double number, error;
};

void textureref_fetch(const struct dev_texture *t, const struct textureref_place *p,
                      struct textureref_value out[4]);
/* The four elements around the point, at level 0. */
void textureref_gather(const struct dev_texture *t, const struct textureref_place *p, int component,
                       struct textureref_value out[4]);
bool textureref_same(const struct textureref_value *want, uint32_t got);

/* Returns the face of a cube that direction `d` meets; sets `at` to the position on it. */
uint32_t textureref_face(const float d[3], float at[2]);

/* A random texture description in `room` bytes at `memory`, with `dims` dimensions per layer. */
void textureref_random(struct dev_texture *t, uint32_t dims, bool layers, bool cube, void *memory,
                       uint64_t room);
/* A random coordinate: mostly near the texture, often at edges and centres, sometimes anywhere. */
float textureref_coordinate(const struct dev_texture *t, uint32_t axis);
/* Fills memory with values that are mostly floats of moderate size. */
void textureref_fill(void *memory, uint64_t bytes);

uint32_t textureref_element_bytes(const struct dev_texture *t);

#endif
