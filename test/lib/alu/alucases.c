/* SPDX-License-Identifier: Apache-2.0
 *
 * See alucases.h.
 */
#include "test/lib/alu/alucases.h"

static uint64_t state;

/* xorshift64*: enough for test values. */
static uint64_t next(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1d;
}
static uint64_t below(uint64_t n) {
    return (next() >> 16) % n;
}

/* Values narrower than 64 bits get other bits above them (widened16, widened32). */
static const uint64_t edges16[] = {0,      1,      2,      3,      0x7f,   0x80,   0xff,   0x100,
                                   0x7fff, 0x8000, 0x8001, 0xffff, 0xfffe, 0xff80, 0xff7f, 31};
static const uint64_t edges32[] = {
    0,          1,          2,          5,        31,        32,         33,       63,
    64,         0x7fffffff, 0x80000000, ~0u,      ~0u - 1,   0x80000001, 0xffff,   0x10000,
    0xffff8000, 0x7fffff,   0x800000,   0xffffff, 0x1000001, 0x1ffffff,  0x2000001};
static const uint64_t edges64[] = {0,
                                   1,
                                   ~0ull,
                                   1ull << 63,
                                   INT64_MAX,
                                   0x80000000,
                                   0x7fffffff,
                                   ~0u,
                                   1ull << 32,
                                   -1ull << 31,
                                   -1ull << 32,
                                   1ull << 53,
                                   (1ull << 53) + 1,
                                   (1ull << 24) + 1,
                                   (1ull << 54) + 2,
                                   0xffffff8000000001,
                                   0x8000000000000001,
                                   0x7fffffc000000000,
                                   0x7fffffbfffffffff,
                                   0x7ffffffffffffdff,
                                   0x7ffffffffffffe00,
                                   65519,
                                   65520};
/* ±0, least and greatest subnormal, least normal, 1 and its neighbours, halves, greatest, infinity,
 * NaN quiet and signalling */
static const uint64_t edges_f16[] = {
    0,      0x8000, 1,      0x8001, 0x3ff,  0x83ff, 0x400,  0x8400, 0x3c00, 0xbc00, 0x3c01, 0x3bff,
    0x3800, 0x3e00, 0x4100, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfd01, 0x5800, 0x57f8, 0xd800};
static const uint64_t edges_bf16[] = {0,      0x8000, 1,      0x8001, 0x7f,   0x807f, 0x80,
                                      0x8080, 0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x3f00, 0x3fc0,
                                      0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffa0, 0x4300,
                                      0x4f00, 0x5f00, 0xcf00, 0x4f80};
static const uint64_t edges_f32[] = {
    0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x807fffff, 0x800000,   0x80800000,
    0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000,
    0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffa00001, 0x4f000000, 0xcf000000,
    0x4effffff, 0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, 0x477fe000, 0x477ff000, 0x33000000,
    0x33000001, 0x42fe0000, 0x43000000, 0xc3000000, 0x3f808000, 0x3f818000, 0x3f801000};
static const uint64_t edges_f64[] = {0,
                                     1ull << 63,
                                     1,
                                     0x8000000000000001,
                                     0xfffffffffffff,
                                     0x10000000000000,
                                     0x8010000000000000,
                                     0x3ff0000000000000,
                                     0xbff0000000000000,
                                     0x3ff0000000000001,
                                     0x3fefffffffffffff,
                                     0x3fe0000000000000,
                                     0xbfe0000000000000,
                                     0x3ff8000000000000,
                                     0x4004000000000000,
                                     0x7fefffffffffffff,
                                     0xffefffffffffffff,
                                     0x7ff0000000000000,
                                     0xfff0000000000000,
                                     0x7ff8000000000000,
                                     0xfff4000000000001,
                                     0x41e0000000000000,
                                     0xc1e0000000000000,
                                     0x41dfffffffc00000,
                                     0x41dfffffffe00000,
                                     0xc1e0000000200000,
                                     0x43e0000000000000,
                                     0xc3e0000000000000,
                                     0x43f0000000000000,
                                     0x47efffffe0000000,
                                     0x47efffffefffffff,
                                     0x47effffff0000000,
                                     0x3690000000000000,
                                     0x3690000000000001,
                                     0x36a0000000000000,
                                     0x380fffffffffffff,
                                     0x40effc0000000000,
                                     0x40effe0000000000,
                                     0x3e60000000000000,
                                     0x3f00000000000001,
                                     0x3ff0000010000000,
                                     0x3ff0000030000000};

/* 64 bits with only a few bits set: yields halfway cases of conversions and carries. */
static uint64_t sparse(void) {
    const uint64_t v = (1ull << below(64)) + (1ull << below(64));
    return below(2) ? v + below(3) - 1 : 0 - v;
}

/* A floating-point pattern of `exponent_bits` and `mantissa` bits with a moderate exponent and
 * few mantissa bits set. Sums, products and roundings of such values are often exact or halfway. */
static uint64_t sparse_real(unsigned exponent_bits, unsigned mantissa, unsigned spread) {
    const uint64_t bias = (1ull << (exponent_bits - 1)) - 1, ones = (1ull << mantissa) - 1;
    const uint64_t exponent = bias - spread + below(2 * spread + 1);
    uint64_t m = 0;
    for (uint64_t n = below(4); n; n--)
        m ^= 1ull << below(mantissa);
    if (!below(4)) m = ~m & ones;
    return below(2) << (exponent_bits + mantissa) | exponent << mantissa | m;
}

/* Two narrow values side by side, with garbage in the upper bits where registers may be wider. */
static uint64_t widened16(uint64_t low, uint64_t high) {
    return low | high << 16 | (next() & 0xffffffff00000000);
}
static uint64_t widened32(uint64_t low) {
    return low | (next() & 0xffffffff00000000);
}

enum shape {
    E16,
    E32,
    E64,
    F16,
    BF16,
    F32,
    F64,
    SMALL,
    SPARSE,
    SHAPE_F16,
    SHAPE_BF16,
    SHAPE_F32,
    SHAPE_F64,
    RANDOM,
    SHAPES
};

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define PICK(list, n) ((list)[(n) % COUNT(list)])

/* The n-th value of a shape. Edge values repeat cyclically; the other shapes are random. */
static uint64_t value(enum shape shape, uint64_t n) {
    switch (shape) {
    case E16: return widened16(PICK(edges16, n), PICK(edges16, next() >> 8));
    case E32: return widened32(PICK(edges32, n));
    case E64: return PICK(edges64, n);
    case F16: return widened16(PICK(edges_f16, n), PICK(edges_f16, next() >> 8));
    case BF16: return widened16(PICK(edges_bf16, n), PICK(edges_bf16, next() >> 8));
    case F32: return widened32(PICK(edges_f32, n));
    case F64: return PICK(edges_f64, n);
    case SMALL: return below(3) ? below(70) : below(300);
    case SPARSE: return sparse();
    case SHAPE_F16: return widened16(sparse_real(5, 10, 14), sparse_real(5, 10, 6));
    case SHAPE_BF16: return widened16(sparse_real(8, 7, 8), sparse_real(8, 7, 60));
    case SHAPE_F32: return widened32(sparse_real(8, 23, below(2) ? 30 : 126));
    case SHAPE_F64: return sparse_real(11, 52, below(2) ? 60 : 160);
    default: return next();
    }
}

static uint64_t count(enum shape shape) {
    const uint64_t counts[SHAPES] = {
        [E16] = COUNT(edges16),   [E32] = COUNT(edges32),     [E64] = COUNT(edges64),
        [F16] = COUNT(edges_f16), [BF16] = COUNT(edges_bf16), [F32] = COUNT(edges_f32),
        [F64] = COUNT(edges_f64)};
    return counts[shape];
}

static uint32_t mask_of(unsigned group) {
    switch (group % 8) {
    case 1: return (uint32_t)next();
    case 3: return 1u << below(32);
    case 5: return ~(1u << below(32));
    case 7: return (uint32_t)(next() & next());
    default: return ~0u;
    }
}

void alucases_fill(struct alucase *cases) {
    unsigned at = 0;
    state = 0x9e3779b97f4a7c15;
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        const uint64_t n = count(shape), crossed = n * n < 1764 ? n * n : 1764;
        const unsigned want = n ? (unsigned)crossed : 256;
        for (unsigned k = 0; k < want && at < ALUCASES; k++, at++) {
            struct alucase *c = &cases[at];
            c->a = value(shape, k % (n ? n : 1));
            c->b = value(shape, k / (n ? n : 1));
            c->c = below(4) ? value(shape, next() >> 8) : value(SMALL, 0);
            c->e = value(below(2) ? SMALL : RANDOM, 0);
        }
    }
    /* The remaining cases mix shapes, such as a wide value with a small shift amount. */
    for (; at < ALUCASES; at++) {
        struct alucase *c = &cases[at];
        c->a = value((enum shape)below(SHAPES), next() >> 8);
        c->b = value(below(2) ? SMALL : (enum shape)below(SHAPES), next() >> 8);
        c->c = value(below(2) ? SMALL : (enum shape)below(SHAPES), next() >> 8);
        c->e = value(SMALL, 0);
    }
    for (unsigned group = 0; group < ALUCASES / 32; group++) {
        const uint32_t mask = mask_of(group);
        for (unsigned l = 0; l < 32; l++) {
            struct alucase *c = &cases[group * 32 + l];
            c->old = next();
            c->unused[0] = c->unused[1] = 0;
            c->guard = mask >> l & 1;
        }
    }
}
