/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions along an axis, for all lanes at once, in loops that the compiler vectorises.
 */
#include "daemon/device/soft/isa/texture/axis.h"

#include <math.h>

#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/launch/each_lane.h"
#include "proto/cuda/cuda_abi.h"

/* Bounds in elements. FAR is farther than any texture or coordinate offset reaches; OPEN is the
 * bound on an axis whose elements are numbered on beyond the texture. */
#define FAR 0x1p40
#define OPEN 0x1p20

/* Returns the greatest integer not above x, for a float or a value below 2^51: the addition leaves
 * no place for a fraction. Larger floats have no fraction. */
static inline double floor_of(double x) {
    const double near = (x + 0x1.8p52) - 0x1.8p52, below = near > x ? near - 1 : near;
    return fabs(x) < 0x1p51 ? below : x;
}

static inline double kept(double x, double least, double most) {
    x = x < least ? least : x;
    return x > most ? most : x;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* Brings a coordinate into 0 to 1 by wrapping or mirroring, if the mode says so. */
static void bring_back(uint8_t mode, double x[WARP_LANES]) {
    if (mode == CU_TR_ADDRESS_MODE_WRAP) {
        EACH_LANE(l) x[l] -= floor_of(x[l]);
    } else if (mode == CU_TR_ADDRESS_MODE_MIRROR) {
        EACH_LANE(l) {
            const double below = floor_of(x[l]), within = x[l] - below;
            x[l] = 2 * floor_of(below / 2) == below ? within : 1 - within;
        }
    }
}

/* Computes positions in units of elements. NaN becomes 0. */
static void find_places(const struct axis *a, double x[WARP_LANES]) {
    const double n = a->count;
    EACH_LANE(l) x[l] = (double)half_float_of_bits(a->at[l]);
    if (a->normalized) {
        bring_back(a->mode, x);
        EACH_LANE(l) x[l] = (double)(float)(x[l] * n);
    }
    EACH_LANE(l) {
        const double moved = x[l] + (int32_t)a->moved[l];
        x[l] = kept(moved == moved ? moved : 0, -FAR, FAR);
    }
}

static void find_numbers(const struct axis *a, double x[WARP_LANES]) {
    EACH_LANE(l) x[l] = (double)(int32_t)a->at[l] + (int32_t)a->moved[l];
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Finds the elements that represent element numbers, which may lie outside the texture. */
static void find_elements(const struct axis *a, const double x[WARP_LANES],
                          int32_t element[WARP_LANES]) {
    const double n = a->count;
    if (a->open) {
        EACH_LANE(l) element[l] = (int32_t)kept(x[l], -OPEN, OPEN);
    } else if (a->mode == CU_TR_ADDRESS_MODE_WRAP) {
        EACH_LANE(l) element[l] = (int32_t)(x[l] - n * floor_of(x[l] / n));
    } else if (a->mode == CU_TR_ADDRESS_MODE_MIRROR) {
        EACH_LANE(l) {
            const double k = x[l] - 2 * n * floor_of(x[l] / (2 * n));
            element[l] = (int32_t)(k < n ? k : 2 * n - 1 - k);
        }
    } else if (a->mode == CU_TR_ADDRESS_MODE_BORDER) {
        EACH_LANE(l) {
            const double in = kept(x[l], -1, n);
            element[l] = (int32_t)(in < n ? in : AXIS_OUTSIDE);
        }
    } else {
        EACH_LANE(l) element[l] = (int32_t)kept(x[l], 0, n - 1);
    }
}

/* The usual case: positions are elements. Those beyond the texture become its first or last
 * element, NaN the first. */
static void find_within(const struct axis *a, int32_t element[WARP_LANES]) {
    const double last = a->count - 1.0;
    EACH_LANE(l) {
        const double x = (double)half_float_of_bits(a->at[l]) + (int32_t)a->moved[l];
        const double below = x < last ? x : last;
        element[l] = (int32_t)(x > 0 ? below : 0);
    }
}

void ISA_FN(axis_point)(const struct axis *a, int32_t element[WARP_LANES]) {
    double x[WARP_LANES];
    if (!a->whole && !a->normalized && !a->open && a->mode == CU_TR_ADDRESS_MODE_CLAMP) {
        find_within(a, element);
        return;
    }
    if (a->whole) {
        find_numbers(a, x);
    } else {
        find_places(a, x);
        EACH_LANE(l) x[l] = floor_of(x[l]);
    }
    find_elements(a, x, element);
}

void ISA_FN(axis_between)(const struct axis *a, struct axis_pair *out) {
    double x[WARP_LANES], *const upper = out->weight[1], *const lower = out->weight[0];
    find_places(a, x);
    EACH_LANE(l) {
        const double below = floor_of(x[l] - 0.5);
        upper[l] = floor_of((x[l] - 0.5 - below) * AXIS_ONE + 0.5);
        lower[l] = AXIS_ONE - upper[l];
        x[l] = below;
    }
    find_elements(a, x, out->element[0]);
    EACH_LANE(l) x[l] += 1;
    find_elements(a, x, out->element[1]);
}
