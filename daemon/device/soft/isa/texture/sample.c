/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples a texture. Weights are CUDA's 9-bit fixed point: multiples of 1/256. Sums of weighted
 * numbers are exact, or nearly so, in double precision and are rounded once. An element of weight 0
 * does not count, not even if it is NaN. All lanes are computed, since that costs as much as one.
 */
#include "daemon/device/soft/isa/texture/sample.h"

#include <math.h>
#include <string.h>

#include "daemon/device/device_textures.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/texture/axis.h"
#include "daemon/device/soft/isa/texture/texel.h"
#include "daemon/device/soft/launch/each_lane.h"
#include "daemon/device/soft/texture/cube.h"
#include "proto/cuda/cuda_abi.h"

static uint32_t size_of(const struct dev_texture_level *l, uint32_t axis) {
    return axis == 0 ? l->width : axis == 1 ? l->height : l->depth;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* True if elements beyond a face of a cube lie on another face. */
static bool is_seamless(const struct sample *s, const struct dev_texture_level *l) {
    return s->cube && s->texture->as.seamless && l->depth >= CUBE_FACES;
}

static struct axis axis_of(const struct sample *s, const struct dev_texture_level *l, uint32_t k) {
    return (struct axis){
        .count = size_of(l, k),
        .mode = s->texture->as.address_mode[k],
        .open = is_seamless(s, l),
        .normalized = s->texture->as.normalized_coords,
        .whole = s->whole,
        .at = s->at[k],
        .moved = s->offset[k],
    };
}

static uint64_t slice_of(const struct sample *s, const struct dev_texture_level *l, uint32_t lane) {
    return s->slice[lane] < l->depth ? s->slice[lane] : l->depth - 1;
}

/* Moves lanes that are beyond their face to the neighbouring one, where the cube has one. */
static void go_across(const struct sample *s, const struct dev_texture_level *l,
                      const int32_t *const element[3], struct texel *t) {
    for (uint32_t left = t->border; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        int64_t x = element[0][lane], y = element[1][lane];
        uint64_t slice = slice_of(s, l, lane);
        uint32_t face = (uint32_t)(slice % CUBE_FACES);
        slice -= face;
        cube_across(l->width, &face, &x, &y);
        slice += face;
        if (slice >= l->depth || y >= l->height) continue;
        t->at[lane] = l->addr + slice * l->slice + (uint64_t)y * l->pitch +
                      (uint64_t)x * t->texture->element_bytes;
        t->border &= ~(1u << lane);
    }
}

/* Computes the addresses of elements. Lanes on the border get the first element's address. */
static void find(const struct sample *s, const struct dev_texture_level *l,
                 const int32_t *const element[3], struct texel *t) {
    const uint32_t *x = (const uint32_t *)element[0], *y = (const uint32_t *)element[1],
                   *z = (const uint32_t *)element[2];
    const uint32_t bytes = s->texture->element_bytes, width = l->width, height = l->height,
                   depth = l->depth, last = s->dims == 3 ? UINT32_MAX : depth - 1;
    const uint32_t *slices = s->dims == 3 ? z : s->slice;
    const uint64_t addr = l->addr, pitch = l->pitch, slice_bytes = l->slice;
    uint32_t beyond[WARP_LANES], border = 0;
    EACH_LANE(lane) {
        beyond[lane] = (x[lane] >= width) | (y[lane] >= height) | (z[lane] >= depth);
        const uint64_t slice = slices[lane] < last ? slices[lane] : last;
        const uint64_t off = slice * slice_bytes + y[lane] * pitch + (uint64_t)x[lane] * bytes;
        t->at[lane] = addr + (beyond[lane] ? 0 : off);
    }
    for (uint32_t lane = 0; lane < WARP_LANES; lane++)
        border |= beyond[lane] << lane;
    t->border = border;
    if (border && is_seamless(s, l)) go_across(s, l, element, t);
}

/* Records the element address of lanes that so far had only the border, or nothing. */
static void keep_place(const struct sample *s, const struct texel *t, struct sampled *out) {
    const uint32_t in = s->lanes & ~t->border & ~out->touched;
    if (in == s->lanes)
        memcpy(out->at, t->at, sizeof(out->at));
    else
        for (uint32_t left = in; left; left &= left - 1)
            out->at[__builtin_ctz(left)] = t->at[__builtin_ctz(left)];
    out->touched |= in;
}

/* ---- one level ------------------------------------------------------------------------------- */

static const int32_t zeros[WARP_LANES];

/* Finds the element that contains each lane's position. */
static void find_point(const struct sample *s, const struct dev_texture_level *l, struct texel *t) {
    int32_t element[3][WARP_LANES];
    const int32_t *at[3] = {zeros, zeros, zeros};
    for (uint32_t k = 0; k < s->dims; k++) {
        const struct axis a = axis_of(s, l, k);
        ISA_FN(axis_point)(&a, element[k]);
        at[k] = element[k];
    }
    find(s, l, at, t);
}

static void fetch_words(const struct sample *s, const struct dev_texture_level *l,
                        struct sampled *out) {
    struct texel e = {.texture = s->texture};
    find_point(s, l, &e);
    keep_place(s, &e, out);
    ISA_FN(texel_all_words)(&e, out->words);
}

/* Result of a filter on one level: numbers for the channels that the texture has. */
struct numbers {
    double of[4][WARP_LANES];
};

/* Adds an element with its weight. */
static void add_weighted(const struct texel *e, const double weight[WARP_LANES],
                         struct numbers *sum) {
    for (uint32_t c = 0; c < e->texture->as.channels; c++) {
        double numbers[WARP_LANES], *const of = sum->of[c];
        ISA_FN(texel_numbers)(e, c, numbers);
        EACH_LANE(lane) of[lane] += weight[lane] != 0 ? weight[lane] * numbers[lane] : 0;
    }
}

/* Reads the elements around a position, 2 along each axis, and sums them by weight. */
static void fetch_around(const struct sample *s, const struct dev_texture_level *l,
                         struct sampled *out, struct numbers *sum) {
    struct axis_pair pairs[3];
    struct texel e = {.texture = s->texture};
    double part = 1; /* scales the products of weights to a sum of 1 */
    for (uint32_t k = 0; k < s->dims; k++) {
        const struct axis a = axis_of(s, l, k);
        ISA_FN(axis_between)(&a, &pairs[k]);
        part /= AXIS_ONE;
    }
    memset(sum, 0, sizeof(*sum));
    for (uint32_t corner = 0; corner < 1u << s->dims; corner++) {
        const int32_t *at[3] = {zeros, zeros, zeros};
        double weight[WARP_LANES];
        EACH_LANE(lane) weight[lane] = part;
        for (uint32_t k = 0; k < 3 && k < s->dims; k++) {
            const double *of = pairs[k].weight[corner >> k & 1];
            at[k] = pairs[k].element[corner >> k & 1];
            EACH_LANE(lane) weight[lane] *= of[lane];
        }
        find(s, l, at, &e);
        keep_place(s, &e, out);
        add_weighted(&e, weight, sum);
    }
}

static void fetch_numbers(const struct sample *s, const struct dev_texture_level *l, bool filter,
                          struct sampled *out, struct numbers *n) {
    struct texel e = {.texture = s->texture};
    if (filter) return fetch_around(s, l, out, n);
    find_point(s, l, &e);
    keep_place(s, &e, out);
    for (uint32_t c = 0; c < s->texture->as.channels; c++)
        ISA_FN(texel_numbers)(&e, c, n->of[c]);
}

/* ---- levels of detail ------------------------------------------------------------------------ */

/* Level of detail of a lane: the lower level, and the weight of the next one. */
struct detail {
    uint32_t level, weight;
};

static struct detail detail_at(const struct texture *t, double level, bool biased) {
    const double last = t->as.level_count - 1;
    if (biased) {
        level += (double)t->as.level_bias;
        if (level > (double)t->as.most_level) level = (double)t->as.most_level;
        if (!(level >= (double)t->as.least_level)) level = (double)t->as.least_level;
    }
    if (!(level > 0)) return (struct detail){0, 0}; /* true for NaN as well */
    if (level > last) level = last;
    if (t->as.level_filter == CU_TR_FILTER_MODE_POINT)
        return (struct detail){(uint32_t)(level + 0.5), 0};
    struct detail d = {(uint32_t)level, (uint32_t)((level - floor(level)) * AXIS_ONE + 0.5)};
    if (d.weight == AXIS_ONE) d = (struct detail){d.level + 1, 0};
    return d;
}

/* Computes the level and weight of each lane in `lanes`. Returns the lanes that read the same
 * levels as the first. */
static uint32_t details(const struct sample *s, uint32_t lanes, uint32_t weight[WARP_LANES],
                        struct detail *first) {
    uint32_t same = 0;
    *first = (struct detail){0, 0};
    if (s->texture->as.level_count == 1) return lanes;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        const struct detail d = detail_at(s->texture, (double)s->level[lane], s->biased);
        if (left == lanes) *first = d;
        weight[lane] = d.weight;
        same |= (uint32_t)(d.level == first->level && !d.weight == !first->weight) << lane;
    }
    return same;
}

float ISA_FN(sample_level)(const struct texture *t, uint32_t dims, const float dx[3],
                           const float dy[3]) {
    double x = 0, y = 0;
    for (uint32_t k = 0; k < dims; k++) {
        const double n = t->as.normalized_coords ? size_of(&t->as.levels[0], k) : 1;
        x += (double)dx[k] * n * (double)dx[k] * n;
        y += (double)dy[k] * n * (double)dy[k] * n;
    }
    return (float)(log2(x > y ? x : y) / 2);
}

/* ---- sampling -------------------------------------------------------------------------------- */

static void mix(const struct numbers *above, const uint32_t weight[WARP_LANES], uint32_t channels,
                struct numbers *n) {
    for (uint32_t c = 0; c < channels; c++) {
        const double *const over = above->of[c];
        double *const of = n->of[c];
        EACH_LANE(lane) {
            const double w = (int32_t)weight[lane];
            of[lane] = ((AXIS_ONE - w) * of[lane] + w * over[lane]) / AXIS_ONE;
        }
    }
}

/* Samples for lanes that read the same levels. */
static void fetch_level(const struct sample *s, const struct detail *d,
                        const uint32_t weight[WARP_LANES], struct sampled *out) {
    const struct texture *t = s->texture;
    const struct dev_texture_level *l = &t->as.levels[d->level];
    const bool filter = t->as.filter == CU_TR_FILTER_MODE_LINEAR && !s->whole;
    struct numbers n, above;
    if (!filter && !d->weight) return fetch_words(s, l, out);
    fetch_numbers(s, l, filter, out, &n);
    if (d->weight) {
        fetch_numbers(s, l + 1, filter, out, &above);
        mix(&above, weight, t->as.channels, &n);
    }
    for (uint32_t c = 0; c < t->as.channels; c++) {
        const double *const of = n.of[c];
        uint32_t *const words = out->words[c];
        EACH_LANE(lane) words[lane] = half_bits_of_float((float)of[lane]);
    }
}

static void keep_some(const struct sampled *from, uint32_t lanes, struct sampled *out) {
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        for (uint32_t c = 0; c < 4; c++)
            out->words[c][lane] = from->words[c][lane];
        out->at[lane] = from->at[lane];
    }
    out->touched |= from->touched & lanes;
}

static void fill_missing(const struct texture *t, struct sampled *out) {
    for (uint32_t c = t->as.channels; c < 4; c++) {
        const uint32_t word = ISA_FN(texel_missing)(t, c);
        EACH_LANE(lane) out->words[c][lane] = word;
    }
}

void ISA_FN(sample_fetch)(const struct sample *s, struct sampled *out) {
    struct detail d;
    uint32_t weight[WARP_LANES] = {0}, group = details(s, s->lanes, weight, &d);
    out->touched = 0;
    if (group == s->lanes) {
        fetch_level(s, &d, weight, out);
    } else {
        for (uint32_t left = s->lanes; left; left &= ~group) {
            struct sampled some = {0};
            group = details(s, left, weight, &d);
            fetch_level(s, &d, weight, &some);
            keep_some(&some, group, out);
        }
    }
    fill_missing(s->texture, out);
}

void ISA_FN(sample_gather)(const struct sample *s, uint32_t component, struct sampled *out) {
    static const uint8_t steps[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    const struct dev_texture_level *l = &s->texture->as.levels[0];
    const bool there = component < s->texture->as.channels;
    struct axis_pair x = {0}, y = {0};
    struct texel e = {.texture = s->texture};
    const struct axis along = axis_of(s, l, 0), across = axis_of(s, l, 1);
    ISA_FN(axis_between)(&along, &x);
    ISA_FN(axis_between)(&across, &y);
    out->touched = 0;
    for (int k = 0; k < 4; k++) {
        const int32_t *at[3] = {x.element[steps[k][0]], y.element[steps[k][1]], zeros};
        find(s, l, at, &e);
        if (there)
            ISA_FN(texel_words)(&e, component, out->words[k]);
        else
            EACH_LANE(lane) out->words[k][lane] = ISA_FN(texel_missing)(s->texture, component);
        keep_place(s, &e, out);
    }
}
