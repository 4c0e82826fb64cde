/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights are CUDA's 9-bit fixed point: whole 256ths, 256 of them possible. Sums of weighted
 * numbers are exact, or nearly, in double precision and rounded once; an element of weight 0 is not
 * looked at.
 */
#include "daemon/device/soft/exec/sample.h"

#include <math.h>

#include "daemon/device/soft/exec/cube.h"
#include "daemon/device/soft/exec/texel.h"
#include "daemon/device/soft/isa/half.h"
#include "proto/cuda_abi.h"

#define ONE 256 /* a weight */
#define OUTSIDE (-1)
#define FAR 0x1p40 /* elements: farther away than any texture reaches */

static uint32_t size_of(const struct dev_texture_level *l, uint32_t axis) {
    return axis == 0 ? l->width : axis == 1 ? l->height : l->depth;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* In units of elements, as far away as a number can say it; NaN is at 0. */
static double place(const struct texture *t, const struct sample *s, uint32_t axis, uint32_t n) {
    double x = (double)s->at[axis];
    if (t->as.normalized_coords) {
        const double below = floor(x);
        if (t->as.address_mode[axis] == CU_TR_ADDRESS_MODE_WRAP) x -= below;
        if (t->as.address_mode[axis] == CU_TR_ADDRESS_MODE_MIRROR)
            x = fmod(below, 2) == 0 ? x - below : 1 - (x - below);
        x = (double)(float)(x * n);
    }
    x += s->offset[axis];
    if (!(x == x)) return 0;
    return x < -FAR ? -FAR : x > FAR ? FAR : x;
}

/* The element that stands for number `i` of `n`. */
static int64_t within(uint8_t mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    switch (mode) {
    case CU_TR_ADDRESS_MODE_WRAP: return (i % n + n) % n;
    case CU_TR_ADDRESS_MODE_MIRROR: {
        const int64_t k = (i % (2 * n) + 2 * n) % (2 * n);
        return k < n ? k : 2 * n - 1 - k;
    }
    case CU_TR_ADDRESS_MODE_BORDER: return OUTSIDE;
    default: return i < 0 ? 0 : n - 1;
    }
}

/* The lower of the elements around a place along an axis, and the weight of the one above. */
struct pair {
    int64_t low;
    uint32_t weight;
};

static struct pair pair_at(const struct texture *t, const struct sample *s, uint32_t axis,
                           uint32_t n, bool filter) {
    if (s->whole) return (struct pair){(int64_t)s->element[axis] + s->offset[axis], 0};
    const double x = place(t, s, axis, n);
    if (!filter) return (struct pair){(int64_t)floor(x), 0};
    const double low = floor(x - 0.5);
    return (struct pair){(int64_t)low, (uint32_t)((x - 0.5 - low) * ONE + 0.5)};
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Address of element `at` of a level; 0: the border's. */
static uint64_t find(const struct texture *t, const struct sample *s,
                     const struct dev_texture_level *l, const int64_t at[3]) {
    int64_t in[3] = {0};
    uint64_t slice = s->slice < l->depth ? s->slice : l->depth - 1;
    const bool beyond = at[0] < 0 || at[0] >= l->width || at[1] < 0 || at[1] >= l->height;
    if (s->cube && t->as.seamless && beyond && l->depth >= CUBE_FACES) {
        uint32_t face = (uint32_t)(slice % CUBE_FACES);
        in[0] = at[0];
        in[1] = at[1];
        slice -= face;
        cube_across(l->width, &face, &in[0], &in[1]);
        slice += face;
        if (slice >= l->depth || in[1] >= l->height) return 0;
    } else {
        for (uint32_t k = 0; k < s->dims; k++) {
            in[k] = within(t->as.address_mode[k], at[k], size_of(l, k));
            if (in[k] == OUTSIDE) return 0;
        }
        if (s->dims == 3) slice = (uint64_t)in[2];
    }
    return l->addr + slice * l->slice + (uint64_t)in[1] * l->pitch +
           (uint64_t)in[0] * t->element_bytes;
}

/* ---- one level ------------------------------------------------------------------------------- */

static uint64_t fetch_words(const struct texture *t, const struct sample *s,
                            const struct dev_texture_level *l, uint32_t out[4]) {
    int64_t at[3] = {0};
    for (uint32_t k = 0; k < s->dims; k++)
        at[k] = pair_at(t, s, k, size_of(l, k), false).low;
    const uint64_t addr = find(t, s, l, at);
    if (addr)
        texel_words(t, addr, out);
    else
        texel_border_words(t, out);
    return addr;
}

static uint64_t fetch_numbers(const struct texture *t, const struct sample *s,
                              const struct dev_texture_level *l, double out[4]) {
    const bool filter = t->as.filter == CU_TR_FILTER_MODE_LINEAR && !s->whole;
    struct pair pairs[3];
    uint64_t any = 0;
    double whole = 1;
    for (uint32_t k = 0; k < s->dims; k++) {
        pairs[k] = pair_at(t, s, k, size_of(l, k), filter);
        whole *= ONE;
    }
    for (int c = 0; c < 4; c++)
        out[c] = 0;
    for (uint32_t corner = 0; corner < 1u << s->dims; corner++) {
        int64_t at[3] = {0};
        double weight = 1, numbers[4];
        for (uint32_t k = 0; k < s->dims; k++) {
            const uint32_t high = corner >> k & 1;
            at[k] = pairs[k].low + high;
            weight *= high ? pairs[k].weight : ONE - pairs[k].weight;
        }
        if (weight == 0) continue;
        const uint64_t addr = find(t, s, l, at);
        if (addr) {
            texel_numbers(t, addr, numbers);
            any = addr;
        } else {
            texel_border_numbers(t, numbers);
        }
        for (int c = 0; c < 4; c++)
            out[c] += weight * numbers[c];
    }
    for (int c = 0; c < 4; c++)
        out[c] /= whole;
    return any;
}

/* ---- levels of detail ------------------------------------------------------------------------ */

/* The level below, and the weight of the one above it. */
static struct pair level_at(const struct texture *t, const struct sample *s) {
    const double last = t->as.level_count - 1;
    double level = (double)s->level;
    if (s->biased) {
        level += (double)t->as.level_bias;
        if (level > (double)t->as.most_level) level = (double)t->as.most_level;
        if (!(level >= (double)t->as.least_level)) level = (double)t->as.least_level;
    }
    if (!(level > 0)) return (struct pair){0, 0}; /* NaN too */
    if (level > last) level = last;
    if (t->as.level_filter == CU_TR_FILTER_MODE_POINT)
        return (struct pair){(int64_t)floor(level + 0.5), 0};
    struct pair p = {(int64_t)floor(level), (uint32_t)((level - floor(level)) * ONE + 0.5)};
    if (p.weight == ONE) p = (struct pair){p.low + 1, 0};
    return p;
}

float sample_level(const struct texture *t, uint32_t dims, const float dx[3], const float dy[3]) {
    double x = 0, y = 0;
    for (uint32_t k = 0; k < dims; k++) {
        const double n = t->as.normalized_coords ? size_of(&t->as.levels[0], k) : 1;
        x += (double)dx[k] * n * (double)dx[k] * n;
        y += (double)dy[k] * n * (double)dy[k] * n;
    }
    return (float)(log2(x > y ? x : y) / 2);
}

/* ---- all of it ------------------------------------------------------------------------------- */

uint64_t sample_fetch(const struct texture *t, const struct sample *s, uint32_t out[4]) {
    const struct pair level = level_at(t, s);
    const struct dev_texture_level *l = &t->as.levels[level.low];
    if ((t->as.filter == CU_TR_FILTER_MODE_POINT || s->whole) && !level.weight)
        return fetch_words(t, s, l, out);
    double numbers[4], above[4];
    uint64_t any = fetch_numbers(t, s, l, numbers);
    if (level.weight) {
        const uint64_t other = fetch_numbers(t, s, l + 1, above);
        any = other ? other : any;
        for (int c = 0; c < 4; c++)
            numbers[c] = ((ONE - level.weight) * numbers[c] + level.weight * above[c]) / ONE;
    }
    for (int c = 0; c < 4; c++)
        out[c] = half_bits_of_float((float)numbers[c]);
    return any;
}

uint64_t sample_gather(const struct texture *t, const struct sample *s, uint32_t component,
                       uint32_t out[4]) {
    static const uint8_t steps[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    const struct dev_texture_level *l = &t->as.levels[0];
    const int64_t x = pair_at(t, s, 0, l->width, true).low,
                  y = pair_at(t, s, 1, l->height, true).low;
    uint64_t any = 0;
    for (int k = 0; k < 4; k++) {
        const int64_t at[3] = {x + steps[k][0], y + steps[k][1], 0};
        const uint64_t addr = find(t, s, l, at);
        uint32_t words[4];
        if (addr)
            texel_words(t, addr, words);
        else
            texel_border_words(t, words);
        any = addr ? addr : any;
        out[k] = words[component];
    }
    return any;
}
