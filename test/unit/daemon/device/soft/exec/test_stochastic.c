/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt.rs compared with a search through the values of the format. A number lies between two values.
 * The result is the one farther from zero if the fraction of the way to it plus the random bits
 * reaches one.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/ptx/matrixref.h"
#include "test/lib/ptx/ptxrun.h"

struct format {
    const char *name;
    unsigned elements, bits, random;
    double (*value)(uint32_t pattern);
    uint32_t most, nan, above;
};

static double f16_value(uint32_t v) {
    return matrixref_value(F16, v);
}
static double bf16_value(uint32_t v) {
    return matrixref_value(BF16, v);
}
static double e4m3_value(uint32_t v) {
    return matrixref_value(E4M3, v);
}
static double e5m2_value(uint32_t v) {
    return matrixref_value(E5M2, v);
}
static double e2m3_value(uint32_t v) {
    return matrixref_value(E2M3, v);
}
static double e3m2_value(uint32_t v) {
    return matrixref_value(E3M2, v);
}
static double e2m1_value(uint32_t v) {
    return matrixref_value(E2M1, v << 2);
}

static const struct format formats[] = {
    {"f16x2", 2, 16, 13, f16_value, 0x7bff, 0x7fff, 0x7c00},
    {"bf16x2", 2, 16, 16, bf16_value, 0x7f7f, 0x7fff, 0x7f80},
    {"satfinite.f16x2", 2, 16, 13, f16_value, 0x7bff, 0x7fff, 0x7bff},
    {"satfinite.bf16x2", 2, 16, 16, bf16_value, 0x7f7f, 0x7fff, 0x7f7f},
    {"satfinite.e4m3x4", 4, 8, 16, e4m3_value, 0x7e, 0x7f, 0x7e},
    {"satfinite.e5m2x4", 4, 8, 16, e5m2_value, 0x7b, 0x7f, 0x7b},
    {"satfinite.e2m3x4", 4, 6, 16, e2m3_value, 0x1f, 0x1f, 0x1f},
    {"satfinite.e3m2x4", 4, 6, 16, e3m2_value, 0x1f, 0x1f, 0x1f},
    {"satfinite.e2m1x4", 4, 4, 8, e2m1_value, 7, 7, 7},
};

/* Elements 0 to 3 are a, b, e and f. */
static double fraction_of(const struct format *f, uint32_t random, unsigned k) {
    static const unsigned shifts[][4] = {{16, 0}, {16, 16, 0, 0}, {24, 8, 16, 0}};
    const unsigned *shift = shifts[f->elements == 2 ? 0 : f->bits == 4 ? 2 : 1];
    return (double)(random >> shift[k] & ((1u << f->random) - 1)) / (1u << f->random);
}

static uint32_t want_one(const struct format *f, bool relu, float x, double fraction) {
    const double size = fabs((double)x);
    uint32_t low = 0, high = f->most + 1, sign = signbit(x) ? 1u << (f->bits - 1) : 0;
    if (x != x) return f->nan;
    if (sign && relu) return 0;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(f->value(middle) <= size ? &low : &high) = middle;
    }
    /* The step above the greatest value is as wide as the one below it. */
    const double step =
        low == f->most ? f->value(low) - f->value(low - 1) : f->value(low + 1) - f->value(low);
    if (isinf(size) || (size - f->value(low)) / step + fraction >= 1)
        return sign | (low == f->most ? f->above : low + 1);
    return sign | (size >= f->value(low) + step ? f->above : low);
}

static uint32_t want_of(const struct format *f, bool relu, const float *x, uint32_t random) {
    const unsigned step = f->bits == 6 ? 8 : f->bits;
    uint32_t v = 0;
    for (unsigned k = 0; k < f->elements; k++)
        v = v << step | want_one(f, relu, x[k], fraction_of(f, random, k));
    return v;
}

#define THREADS 256

static struct ptxrun *kernel(const struct format *f, bool relu) {
    char text[2048];
    const bool narrow = f->bits == 4;
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_100a\n.address_size 64\n"
             ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
             ".reg .b64 %%p,%%q;.reg .b32 %%t,%%d,%%r;.reg .b16 %%n;.reg .f32 %%a,%%b,%%e,%%f;\n"
             ".reg .pred %%g;ld.param.u64 %%p,[in];ld.param.u64 %%q,[out];mov.u32 %%t,%%tid.x;\n"
             "mad.wide.u32 %%p,%%t,32,%%p;mad.wide.u32 %%q,%%t,4,%%q;\n"
             "ld.global.v4.f32 {%%a,%%b,%%e,%%f},[%%p];ld.global.u32 %%r,[%%p+16];\n"
             "setp.ne.u32 %%g,%%t,77;mov.u32 %%d,12345;mov.b16 %%n,12345;\n"
             "@%%g cvt.rs.%s%s.f32 %s,%s,%%r;\n%sst.global.u32 [%%q],%%d;ret;\n}\n",
             relu ? "relu." : "", f->name, narrow ? "%n" : "%d",
             f->elements == 4 ? "{%a,%b,%e,%f}" : "%a,%b", narrow ? "cvt.u32.u16 %d,%n;" : "");
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s\n%s", r->why, text);
    return r;
}

/* Any float, or one that lies on a value of the format or close to it. */
static float some_float(const struct format *f) {
    uint32_t bits = (uint32_t)matrixref_dice();
    float x;
    memcpy(&x, &bits, sizeof(x));
    switch (matrixref_dice() % 4) {
    case 0: return x;
    case 1: return (float)f->value(bits % (f->most + 1)) * (bits & 1 << 20 ? -1.0f : 1.0f);
    case 2: return (float)(f->value(bits % (f->most + 1)) * (0.98 + (double)(bits >> 20) / 1e5));
    default: return (float)(f->value(1 + bits % 8) * (double)(bits >> 16) / 65536);
    }
}

static void check(const struct format *f, bool relu) {
    struct ptxrun *r = kernel(f, relu);
    struct {
        float x[4];
        uint32_t random, unused[3];
    } *in = ptxrun_alloc(r, THREADS * sizeof(*in));
    uint32_t *out = ptxrun_alloc(r, THREADS * sizeof(*out));
    for (int round = 0; round < 20; round++) {
        for (unsigned t = 0; t < THREADS; t++) {
            for (unsigned k = 0; k < 4; k++)
                in[t].x[k] = some_float(f);
            in[t].random = (uint32_t)matrixref_dice() | (round % 4 == 0 ? 0x1fff : 0);
        }
        in[0].x[0] = INFINITY, in[0].x[1] = -INFINITY, in[1].x[0] = NAN, in[1].x[1] = -0.0f;
        cr_assert_eq(
            ptxrun_launch(r, "k", 1, THREADS, 2, (uint64_t)(uintptr_t)in, (uint64_t)(uintptr_t)out),
            0, "%s", r->result.text);
        for (unsigned t = 0; t < THREADS; t++) {
            uint32_t want = t == 77 ? 12345 : want_of(f, relu, in[t].x, in[t].random);
            cr_assert_eq(out[t], want, "%s relu %d: %a %a %a %a random %x: %x, not %x", f->name,
                         relu, in[t].x[0], in[t].x[1], in[t].x[2], in[t].x[3], in[t].random, out[t],
                         want);
        }
    }
    ptxrun_destroy(r);
}

Test(stochastic, rounds_up_as_often_as_the_random_bits_say) {
    static const char *const builds[] = {"base", "v3", "v4"};
    for (unsigned b = 0; b < 3; b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        for (unsigned k = 0; k < sizeof(formats) / sizeof(formats[0]); k++) {
            check(&formats[k], false);
            check(&formats[k], true);
        }
    }
}
