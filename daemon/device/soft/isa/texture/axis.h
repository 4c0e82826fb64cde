/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the elements, and their weights, that the lanes of a warp read along one axis of a texture.
 * The numbers are integers in double precision, small enough to be exact. Pure.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_TEXTURE_AXIS_H
#define DAEMON_DEVICE_SOFT_ISA_TEXTURE_AXIS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"

#define AXIS_ONE 256      /* the sum of all weights: CUDA's 9-bit fixed point */
#define AXIS_OUTSIDE (-1) /* instead of an element: the border around the texture */

struct axis {
    uint32_t count; /* elements */
    uint8_t mode;   /* enum CUaddress_mode for elements beyond the texture */
    bool open; /* elements beyond the texture keep their numbers, at most 2^20 on either side */
    bool normalized;       /* coordinates are 0 to 1; else they are elements */
    bool whole;            /* coordinates are int32_t element numbers; else floats */
    const uint32_t *at;    /* coordinates as bits, one per lane */
    const uint32_t *moved; /* int32_t elements added to the coordinate */
};

struct axis_pair {
    int32_t element[2][WARP_LANES]; /* the lower and the upper one */
    double weight[2][WARP_LANES];   /* weight of each; together AXIS_ONE */
};

/* Finds the element that contains the position. */
void ISA_FN(axis_point)(const struct axis *a, int32_t element[WARP_LANES]);
/* Finds the two elements between whose centres the position lies. */
void ISA_FN(axis_between)(const struct axis *a, struct axis_pair *out);

#endif
