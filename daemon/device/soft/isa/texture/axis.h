/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the lanes of a warp are along one axis of a texture: which elements, and with which
 * weights. The numbers are whole, in double precision, and far from where they would not be exact.
 * Pure.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_TEXTURE_AXIS_H
#define DAEMON_DEVICE_SOFT_ISA_TEXTURE_AXIS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"

#define AXIS_ONE 256      /* all the weight there is: CUDA's 9-bit fixed point */
#define AXIS_OUTSIDE (-1) /* instead of an element: what is around the texture */

struct axis {
    uint32_t count;        /* elements */
    uint8_t mode;          /* enum CUaddress_mode: what stands for those beyond, or */
    bool open;             /* nothing does: they are numbered on, up to a million */
    bool normalized;       /* coordinates are 0 to 1; else they are elements */
    bool whole;            /* coordinates are int32_t, the numbers of elements; else floats */
    const uint32_t *at;    /* their bits, a lane each */
    const uint32_t *moved; /* int32_t, elements added to it */
};

struct axis_pair {
    int32_t element[2][WARP_LANES]; /* the lower and the upper one */
    double weight[2][WARP_LANES];   /* of each: AXIS_ONE together */
};

/* The element that a place is in. */
void ISA_FN(axis_point)(const struct axis *a, int32_t element[WARP_LANES]);
/* The two whose middles a place is between. */
void ISA_FN(axis_between)(const struct axis *a, struct axis_pair *out);

#endif
