/* SPDX-License-Identifier: Apache-2.0 */
#include "test/lib/ptx/textureref.h"

#include <math.h>
#include <string.h>

#include "daemon/device/device_textures.h"
#include "proto/cuda/cuda_abi.h"
#include "test/lib/ptx/matrixref.h"

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

static uint32_t dice(uint32_t n) {
    return (uint32_t)(matrixref_dice() % n);
}

/* ---- elements -------------------------------------------------------------------------------- */

static uint32_t channel_bytes(const struct dev_texture *t) {
    switch (t->format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    default: return 4;
    }
}

uint32_t textureref_element_bytes(const struct dev_texture *t) {
    return channel_bytes(t) * t->channels;
}

static bool is_float(const struct dev_texture *t) {
    return t->format == CU_AD_FORMAT_HALF || t->format == CU_AD_FORMAT_FLOAT;
}

static bool is_signed(const struct dev_texture *t) {
    return t->format == CU_AD_FORMAT_SIGNED_INT8 || t->format == CU_AD_FORMAT_SIGNED_INT16 ||
           t->format == CU_AD_FORMAT_SIGNED_INT32;
}

static bool gives_numbers(const struct dev_texture *t) {
    return is_float(t) || (t->normalized_values && channel_bytes(t) < 4);
}

/* A channel's raw value and, for numeric formats, its number. */
static void channel(const struct dev_texture *t, const unsigned char *at, int k, int64_t *raw,
                    double *number) {
    uint32_t bytes = channel_bytes(t);
    uint64_t v = 0;
    memcpy(&v, at + (uint32_t)k * bytes, bytes);
    *raw = (int64_t)v;
    *number = 0;
    if (is_signed(t)) {
        int64_t half = (int64_t)1 << (8 * bytes - 1);
        *raw = (int64_t)v >= half ? (int64_t)v - 2 * half : (int64_t)v;
    }
    if (t->format == CU_AD_FORMAT_FLOAT) *number = (double)float_of((uint32_t)v);
    if (t->format == CU_AD_FORMAT_HALF) *number = matrixref_value(F16, v);
    if (is_float(t) || bytes == 4) return;
    double most = (double)(((int64_t)1 << (8 * bytes - is_signed(t))) - 1);
    *number = (double)*raw / most;
    if (*number < -1) *number = -1;
    if (t->srgb && t->format == CU_AD_FORMAT_UNSIGNED_INT8 && k < 3)
        *number = *number <= 0.04045 ? *number / 12.92 : pow((*number + 0.055) / 1.055, 2.4);
}

/* The value of a border-colour element, as measured on an H200. */
static uint32_t border_channel(const struct dev_texture *t, int k) {
    const float v = t->linear ? 0 : t->border[k];
    const uint32_t bytes = channel_bytes(t);
    if (t->format == CU_AD_FORMAT_HALF) {
        const uint32_t sign = v < 0 ? 0x8000 : 0;
        uint32_t below = 0, most = 0x7bff; /* the largest value that is not above it */
        while (below < most) {
            const uint32_t middle = (below + most + 1) / 2;
            if (matrixref_value(F16, middle) <= fabs((double)v))
                below = middle;
            else
                most = middle - 1;
        }
        return sign | below;
    }
    if (!gives_numbers(t) || bytes == 4) return bits_of(v); /* the low bytes of the value */
    const float most = (float)((1 << (8 * bytes - is_signed(t))) - 1);
    const float least = is_signed(t) ? -1 : 0, in = v < least ? least : v > 1 ? 1 : v;
    const volatile float product = fabsf(in) * most;
    const double down = floor((double)product);
    const int32_t n = (int32_t)((double)product - down > 0.5 ? down + 1 : down);
    return (uint32_t)(in < 0 ? -n : n);
}

static void put_border(const struct dev_texture *t, unsigned char *at) {
    for (int k = 0; k < t->channels; k++) {
        const uint32_t v = border_channel(t, k);
        memcpy(at + (uint32_t)k * channel_bytes(t), &v, channel_bytes(t));
    }
}

/* One of the four results for an element, or for the border (NULL). */
static struct textureref_value value(const struct dev_texture *t, const unsigned char *at, int k) {
    struct textureref_value v = {.exact = true};
    bool numbers = gives_numbers(t);
    if (k >= t->channels) {
        v.number = k == 3;
        v.bits = k < 3 ? 0 : numbers ? bits_of(1) : 1;
        return v;
    }
    unsigned char border[16];
    if (!at) put_border(t, border);
    if (!at) at = border;
    int64_t raw;
    double number;
    channel(t, at, k, &raw, &number);
    v.number = (long double)number;
    v.exact = !isnan(number) || t->format != CU_AD_FORMAT_HALF; /* any NaN */
    v.bits = !numbers || t->format == CU_AD_FORMAT_FLOAT ? (uint32_t)raw : bits_of((float)number);
    return v;
}

/* ---- addressing ------------------------------------------------------------------------------ */

static uint32_t size_at(const struct dev_texture_level *l, uint32_t axis) {
    return axis == 0 ? l->width : axis == 1 ? l->height : l->depth;
}

static int mode_at(const struct dev_texture *t, uint32_t axis) {
    int mode = t->address_mode[axis];
    if (t->linear) return CU_TR_ADDRESS_MODE_BORDER;
    if (t->normalized_coords || mode == CU_TR_ADDRESS_MODE_BORDER) return mode;
    return CU_TR_ADDRESS_MODE_CLAMP; /* the other modes need normalised coordinates */
}

/* The element that index i selects among n; -1: the border. */
static int64_t index_in(int mode, int64_t i, int64_t n) {
    if (mode == CU_TR_ADDRESS_MODE_BORDER) return i < 0 || i >= n ? -1 : i;
    if (mode == CU_TR_ADDRESS_MODE_CLAMP) return i < 0 ? 0 : i > n - 1 ? n - 1 : i;
    int64_t period = mode == CU_TR_ADDRESS_MODE_WRAP ? n : 2 * n, k = i - period * (i / period);
    if (k < 0) k += period;
    return k >= n ? 2 * n - 1 - k : k;
}

static const unsigned char *element_at(const struct dev_texture *t,
                                       const struct dev_texture_level *l,
                                       const struct textureref_place *p, const int64_t i[3]) {
    uint64_t at[3] = {0};
    for (uint32_t k = 0; k < p->dims; k++) {
        int64_t in = index_in(mode_at(t, k), i[k], size_at(l, k));
        if (in < 0) return NULL;
        at[k] = (uint64_t)in;
    }
    if (p->dims < 3) at[2] = p->slice < l->depth ? p->slice : l->depth - 1;
    return (const unsigned char *)(uintptr_t)(l->addr + at[2] * l->slice + at[1] * l->pitch +
                                              at[0] * textureref_element_bytes(t));
}

/* x of the formulas, in elements. */
static long double scaled(const struct dev_texture *t, const struct textureref_place *p,
                          uint32_t axis, uint32_t n) {
    long double x = (long double)p->at[axis];
    int mode = mode_at(t, axis);
    if (t->normalized_coords) {
        long double below = floorl(x), part = x - below;
        if (mode == CU_TR_ADDRESS_MODE_WRAP) x = part;
        if (mode == CU_TR_ADDRESS_MODE_MIRROR) x = fmodl(below, 2) ? 1 - part : part;
        x = (long double)(float)(x * n);
    }
    x += p->offset[axis];
    if (isnan(x)) return 0;
    if (x > 1e12L) return 1e12L;
    return x < -1e12L ? -1e12L : x;
}

static long double weight_of(long double fraction) {
    return floorl(fraction * 256 + 0.5L) / 256;
}

static void level_values(const struct dev_texture *t, const struct dev_texture_level *l,
                         const struct textureref_place *p, bool words,
                         struct textureref_value out[4]) {
    int64_t i[3] = {0};
    long double alpha[3] = {0};
    bool linear =
        t->filter == CU_TR_FILTER_MODE_LINEAR && !p->whole && gives_numbers(t) && !t->linear;
    for (uint32_t k = 0; k < p->dims; k++) {
        if (p->whole) {
            i[k] = (int64_t)p->element[k] + p->offset[k];
            continue;
        }
        long double x = scaled(t, p, k, size_at(l, k));
        if (linear) x -= 0.5L;
        i[k] = (int64_t)floorl(x);
        if (linear) alpha[k] = weight_of(x - floorl(x));
    }
    if (words && !linear) {
        const unsigned char *at = element_at(t, l, p, i);
        for (int c = 0; c < 4; c++)
            out[c] = value(t, at, c);
        return;
    }
    memset(out, 0, 4 * sizeof(out[0]));
    for (int corner = 0; corner < 1 << p->dims; corner++) {
        int64_t at[3] = {0};
        long double w = 1;
        for (uint32_t k = 0; k < p->dims; k++) {
            bool high = corner >> k & 1;
            at[k] = i[k] + high;
            w *= high ? alpha[k] : 1 - alpha[k];
        }
        if (w == 0) continue;
        const unsigned char *from = element_at(t, l, p, at);
        for (int c = 0; c < 4; c++) {
            struct textureref_value v = value(t, from, c);
            out[c].number += w * v.number;
            out[c].error += fabsl(w * v.number) * 1e-15L;
        }
    }
}

void textureref_fetch(const struct dev_texture *t, const struct textureref_place *p,
                      struct textureref_value out[4]) {
    long double level = (long double)p->level;
    bool between = t->level_filter == CU_TR_FILTER_MODE_LINEAR && gives_numbers(t);
    if (p->biased) {
        level = (long double)((double)p->level + (double)t->level_bias);
        if (level > (long double)t->most_level) level = (long double)t->most_level;
        if (!(level >= (long double)t->least_level)) level = (long double)t->least_level;
    }
    if (isnan(level) || level < 0) level = 0;
    if (level > t->level_count - 1) level = t->level_count - 1;
    long double part = between ? weight_of(level - floorl(level)) : 0;
    int low = (int)floorl(between ? level : level + 0.5L);
    level_values(t, &t->levels[low], p, part == 0, out);
    if (part == 0) return;
    struct textureref_value above[4];
    level_values(t, &t->levels[low + 1], p, false, above);
    if (part == 1) memcpy(out, above, sizeof(above));
    for (int c = 0; c < 4 && part < 1; c++) {
        out[c].number = (1 - part) * out[c].number + part * above[c].number;
        out[c].error += above[c].error;
    }
}

void textureref_gather(const struct dev_texture *t, const struct textureref_place *p, int component,
                       struct textureref_value out[4]) {
    const struct dev_texture_level *l = &t->levels[0];
    int64_t x = (int64_t)floorl(scaled(t, p, 0, l->width) - 0.5L);
    int64_t y = (int64_t)floorl(scaled(t, p, 1, l->height) - 0.5L);
    const int64_t around[4][3] = {{x, y + 1}, {x + 1, y + 1}, {x + 1, y}, {x, y}};
    for (int k = 0; k < 4; k++)
        out[k] = value(t, element_at(t, l, p, around[k]), component);
}

bool textureref_same(const struct textureref_value *want, uint32_t got) {
    float f = float_of(got), exact = (float)want->number;
    if (want->exact) return want->bits == got;
    if (isnan(want->number)) return isnan(f);
    if (isinf(want->number) || isinf(exact) || isinf(f)) return f == exact;
    long double most = fabsl((long double)nextafterf(exact, INFINITY) - (long double)exact) / 2;
    return fabsl((long double)f - want->number) <= most * 1.0001L + want->error;
}

/* The table of "Cubemap Textures" in the guide. */
uint32_t textureref_face(const float d[3], float at[2]) {
    float ax = fabsf(d[0]), ay = fabsf(d[1]), az = fabsf(d[2]), m, s, t;
    uint32_t face;
    if (ax >= ay && ax >= az) {
        face = signbit(d[0]) ? 1 : 0;
        m = ax, s = face ? d[2] : -d[2], t = -d[1];
    } else if (ay >= az) {
        face = signbit(d[1]) ? 3 : 2;
        m = ay, s = d[0], t = face == 3 ? -d[2] : d[2];
    } else {
        face = signbit(d[2]) ? 5 : 4;
        m = az, s = face == 5 ? -d[0] : d[0], t = -d[1];
    }
    at[0] = (s / m + 1) / 2;
    at[1] = (t / m + 1) / 2;
    return face;
}

/* ---- random inputs --------------------------------------------------------------------------- */

void textureref_fill(void *memory, uint64_t bytes) {
    for (uint64_t k = 0; k + 4 <= bytes; k += 4) {
        uint32_t word = (uint32_t)matrixref_dice();
        if (dice(3)) word = bits_of((float)(int32_t)word / 1e8f);
        memcpy((char *)memory + k, &word, 4);
    }
}

static void random_modes(struct dev_texture *t) {
    for (int k = 0; k < 3; k++)
        t->address_mode[k] = (uint8_t)dice(4);
    t->filter = (uint8_t)dice(2);
    t->level_filter = (uint8_t)dice(2);
    t->normalized_coords = (uint8_t)dice(2);
    t->normalized_values = (uint8_t)dice(2);
    t->srgb = (uint8_t)dice(2);
    t->level_bias = (float)dice(5) / 4 - 0.5f;
    t->least_level = (float)dice(4) / 4;
    t->most_level = (float)dice(20) / 4;
    for (int k = 0; k < 4; k++)
        t->border[k] = dice(2) ? (float)dice(100) / 8 - 4 : (float)dice(1 << 20) / (1 << 19) - 1;
}

void textureref_random(struct dev_texture *t, uint32_t dims, bool layers, bool cube, void *memory,
                       uint64_t room) {
    static const uint8_t formats[] = {
        CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32,
        CU_AD_FORMAT_SIGNED_INT8,   CU_AD_FORMAT_SIGNED_INT16,   CU_AD_FORMAT_SIGNED_INT32,
        CU_AD_FORMAT_HALF,          CU_AD_FORMAT_FLOAT,          CU_AD_FORMAT_FLOAT};
    *t = (struct dev_texture){.format = formats[dice(9)], .channels = (uint8_t)(1 << dice(3))};
    random_modes(t);
    t->layered = layers || cube;
    t->level_count = (uint8_t)(dice(2) ? 1 : 1 + dice(4));
    t->linear = dims == 1 && !layers && t->level_count == 1 && dice(3) == 0;
    uint32_t w = 1 + dice(19), h = cube ? w : dims > 1 ? 1 + dice(13) : 1;
    uint32_t d = cube ? 6 * (1 + dice(layers ? 3 : 1)) : dims > 2 || layers ? 1 + dice(7) : 1;
    uint64_t at = (uint64_t)(uintptr_t)memory, end = at + room;
    for (uint32_t k = 0; k < t->level_count; k++) {
        struct dev_texture_level *l = &t->levels[k];
        *l = (struct dev_texture_level){.addr = at, .width = w, .height = h, .depth = d};
        l->pitch = (w * textureref_element_bytes(t) + 31) / 32 * 32;
        l->slice = l->pitch * h;
        at += l->slice * d;
        if (at > end) { /* as many levels as fit: the first always does */
            t->level_count = (uint8_t)k;
            break;
        }
        w = w > 1 ? w / 2 : 1;
        h = h > 1 ? h / 2 : 1;
        if (!t->layered && d > 1) d /= 2;
    }
}

float textureref_coordinate(const struct dev_texture *t, uint32_t axis) {
    static const float odd[] = {NAN,   INFINITY, -INFINITY, 0.0f,   -0.0f,       1.0f,       -1.0f,
                                1e30f, -1e30f,   0x1p106f,  1e-40f, 16777217.0f, 0.99999994f};
    uint32_t n = size_at(&t->levels[0], axis);
    float x;
    switch (dice(8)) {
    case 0: return odd[dice(13)];
    case 1: x = (float)dice(3 * n + 1) - (float)n; break;
    case 2: x = (float)dice(3 * n + 1) - (float)n + 0.5f; break;
    default: x = (float)dice(3000 * n) / 1000 - (float)n;
    }
    return t->normalized_coords ? x / (float)n : x;
}
