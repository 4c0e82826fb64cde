/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/cuda/array_layout.h"

#define BYTES_MAX (1ull << 48)

static uint32_t channel_bytes(CUarray_format plain) {
    switch (plain) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

/* Converts a format that names its channels; each kind has three, for 1, 2 and 4 channels. */
static bool normalized(CUarray_format f, struct array_element *out) {
    static const struct {
        CUarray_format first, plain;
    } kinds[] = {{CU_AD_FORMAT_UNORM_INT8X1, CU_AD_FORMAT_UNSIGNED_INT8},
                 {CU_AD_FORMAT_UNORM_INT16X1, CU_AD_FORMAT_UNSIGNED_INT16},
                 {CU_AD_FORMAT_SNORM_INT8X1, CU_AD_FORMAT_SIGNED_INT8},
                 {CU_AD_FORMAT_SNORM_INT16X1, CU_AD_FORMAT_SIGNED_INT16}};
    for (unsigned int k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        unsigned int n = (unsigned int)f - (unsigned int)kinds[k].first;
        if (n > 2) continue;
        *out = (struct array_element){kinds[k].plain, 1u << n, 0, true};
        return true;
    }
    return false;
}

bool array_layout_element(CUarray_format format, uint32_t channels, struct array_element *out) {
    if (!normalized(format, out)) *out = (struct array_element){format, channels, 0, false};
    if (channels != out->channels || (channels != 1 && channels != 2 && channels != 4))
        return false;
    out->bytes = channel_bytes(out->format) * channels;
    return out->bytes != 0;
}

static uint32_t halved(uint32_t size, uint32_t level) {
    return size >> level ? size >> level : 1;
}

uint32_t array_layout_levels(const struct array_shape *s) {
    uint32_t most = s->width > s->height ? s->width : s->height;
    if (!s->layered && s->depth > most) most = s->depth;
    uint32_t levels = 32 - (uint32_t)__builtin_clz(most);
    return levels < ARRAY_LAYOUT_LEVELS ? levels : ARRAY_LAYOUT_LEVELS;
}

static uint64_t whole(uint64_t bytes, uint64_t of) {
    return (bytes + of - 1) / of * of;
}

/* Fills all fields but the offset. Returns the size of the level in bytes. */
static uint64_t describe(const struct array_shape *s, uint32_t level, struct array_level *out) {
    out->width = halved(s->width, level);
    out->height = halved(s->height, level);
    out->depth = s->layered ? s->depth : halved(s->depth, level);
    out->pitch = whole((uint64_t)out->width * s->element_bytes, ARRAY_LAYOUT_PITCH);
    uint64_t bytes;
    if (__builtin_mul_overflow(out->pitch, out->height, &out->slice) || out->slice > BYTES_MAX ||
        __builtin_mul_overflow(out->slice, out->depth, &bytes) || bytes > BYTES_MAX)
        return UINT64_MAX;
    return whole(bytes, ARRAY_LAYOUT_ALIGN);
}

void array_layout_level(const struct array_shape *s, uint32_t level, struct array_level *out) {
    *out = (struct array_level){0};
    out->offset = array_layout_bytes(s, level);
    describe(s, level, out);
}

uint64_t array_layout_bytes(const struct array_shape *s, uint32_t levels) {
    uint64_t all = 0;
    for (uint32_t k = 0; k < levels; k++) {
        struct array_level l;
        uint64_t bytes = describe(s, k, &l);
        if (bytes == UINT64_MAX) return UINT64_MAX;
        all += bytes;
    }
    return all;
}

uint64_t array_layout_charge(uint64_t bytes) {
    return whole(bytes, ARRAY_LAYOUT_PIECE);
}
