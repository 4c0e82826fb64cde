/* SPDX-License-Identifier: Apache-2.0
 *
 * tex, tld4, txq, suld, sust, sured, suq and istypep in every form, in generated kernels, compared
 * with textureref.c and plain arrays. A thread reads 16 words from `in` and writes 4 to `out`.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_textures.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "proto/cuda/cuda_abi.h"
#include "test/lib/ptx/matrixref.h"
#include "test/lib/ptx/ptxrun.h"
#include "test/lib/ptx/textureref.h"

#define THREADS 64
#define ROOM (256u << 10) /* bytes of a texture's levels */
#define HANDLE(n) (0x5a1e000000000000ull | (n))

static char text[4096];

/* A test that runs on each build of the handlers that this processor supports. */
#define EVERY_BUILD(name)     \
    static void name(void);   \
    Test(texture, name) {     \
        on_every_build(name); \
    }                         \
    static void name(void)

static void on_every_build(void (*run)(void)) {
    static const char *const builds[] = {"base", "v3", "v4"};
    for (unsigned b = 0; b < 3; b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        if (!strcmp(isa_name(), builds[b])) run();
    }
    unsetenv("SALUS_SOFT_ISA");
}

static uint32_t dice(uint32_t n) {
    return (uint32_t)(matrixref_dice() % n);
}

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

/* k(out, in, handle): %f0-15 are the words as floats, %r0-15 as integers; the handle is %h. The
 * body writes its results to %o0 to %o3. */
static struct ptxrun *kernel(const char *body) {
    char loads[2048] = "";
    for (int k = 0; k < 16; k++)
        snprintf(loads + strlen(loads), sizeof(loads) - strlen(loads),
                 "ld.global.b32 %%r%d,[%%i+%d];mov.b32 %%f%d,%%r%d;\n", k, 4 * k, k, k);
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_90\n.address_size 64\n"
             ".visible .global .texref T;\n.visible .global .surfref S;\n"
             ".visible .entry k(.param .u64 out,.param .u64 in,.param .u64 handle){\n"
             ".reg .b64 %%p,%%i,%%h,%%x<8>;.reg .b32 %%t,%%r<16>,%%o<4>;.reg .f32 %%f<16>;"
             ".reg .b16 %%s<8>;.reg .pred %%q<4>;\n"
             "ld.param.u64 %%p,[out];ld.param.u64 %%i,[in];ld.param.u64 %%h,[handle];\n"
             "mov.u32 %%t,%%tid.x;mad.wide.u32 %%p,%%t,16,%%p;mad.wide.u32 %%i,%%t,64,%%i;\n%s"
             "mov.u32 %%o0,0;mov.u32 %%o1,0;mov.u32 %%o2,0;mov.u32 %%o3,0;\n%s\n"
             "st.global.v4.b32 [%%p],{%%o0,%%o1,%%o2,%%o3};ret;\n}\n",
             loads, body);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s\n%s", r->why, text);
    r->textures = textures_create();
    return r;
}

static uint64_t addr_of(const void *p) {
    return (uint64_t)(uintptr_t)p;
}

static int launch(struct ptxrun *r, void *out, const void *in, uint64_t handle) {
    return ptxrun_launch(r, "k", 1, THREADS, 3, addr_of(out), addr_of(in), handle);
}

static void runs(struct ptxrun *r, void *out, const void *in, uint64_t handle) {
    int err = launch(r, out, in, handle);
    cr_assert_eq(err, 0, "%d %s%s\n%s", err, r->why, r->result.text, text);
}

/* ---- fetches --------------------------------------------------------------------------------- */

static const struct geometry {
    const char *name, *coordinates; /* coordinates from word 0 (layer, number) and words 1 to 3 */
    uint32_t dims;
    bool layers, cube;
} geometries[] = {
    {"1d", "%c1", 1, false, false},
    {"2d", "%c1,%c2", 2, false, false},
    {"3d", "%c1,%c2,%c3,%c3", 3, false, false},
    {"a1d", "%r0,%c1", 1, true, false},
    {"a2d", "%r0,%c1,%c2,%c2", 2, true, false},
    {"cube", "%c1,%c2,%c3,%c3", 2, false, true},
    {"acube", "%r0,%c1,%c2,%c3", 2, true, true},
};

enum lod { BASE, LEVEL, GRAD };

/* The text of the coordinates, all of one type. */
static const char *coordinates(const struct geometry *g, bool whole) {
    static char s[64];
    snprintf(s, sizeof(s), "%s", g->coordinates);
    for (char *at = s; (at = strchr(at, 'c'));)
        *at = whole ? 'r' : 'f';
    return s;
}

/* Words 4 to 9 are the level or the derivatives of x and y, 10 to 12 the offset. */
static const char *fetch_text(const struct geometry *g, enum lod lod, bool whole, bool offset,
                              const char *type) {
    static char body[512];
    static const char *const lods[] = {"", ".level", ".grad"};
    char more[128] = "";
    uint32_t n = g->cube ? 3 : g->dims;
    if (lod == LEVEL) snprintf(more, sizeof(more), ",%%%c4", whole ? 'r' : 'f');
    if (lod == GRAD)
        snprintf(more, sizeof(more), "%s",
                 n == 1   ? ",{%f4},{%f7}"
                 : n == 2 ? ",{%f4,%f5},{%f7,%f8}"
                          : ",{%f4,%f5,%f6,%f6},{%f7,%f8,%f9,%f9}");
    if (offset)
        snprintf(more + strlen(more), sizeof(more) - strlen(more), "%s",
                 n == 1   ? ",{%r10}"
                 : n == 2 ? ",{%r10,%r11}"
                          : ",{%r10,%r11,%r12,%r12}");
    snprintf(body, sizeof(body),
             "tex%s.%s.v4.%s.%s {%%o0,%%o1,%%o2,%%o3}|%%q0,[%%h,{%s}]%s;\n"
             "@!%%q0 trap;",
             lods[lod], g->name, type, whole ? "s32" : "f32", coordinates(g, whole), more);
    return body;
}

struct word16 {
    uint32_t w[16];
};

/* Fills a thread's words with random values, and interprets them. */
static void random_words(const struct dev_texture *t, const struct geometry *g, struct word16 *in) {
    uint32_t slices = g->cube ? t->levels[0].depth / 6 : t->levels[0].depth;
    for (int k = 0; k < 16; k++)
        in->w[k] = (uint32_t)matrixref_dice();
    in->w[0] = dice(8) ? dice(slices) : in->w[0];
    for (uint32_t k = 0; k < 3; k++)
        in->w[1 + k] = bits_of(textureref_coordinate(t, k < g->dims ? k : 0));
    in->w[4] = bits_of((float)dice(1000) / 200 - 1);
}

static struct textureref_place place_of(const struct geometry *g, const struct word16 *in,
                                        bool whole, bool offset) {
    struct textureref_place p = {.dims = g->dims, .whole = whole};
    p.slice = g->layers ? in->w[0] : 0;
    memcpy(p.at, in->w + 1, sizeof(p.at));
    memcpy(p.element, in->w + 1, sizeof(p.element));
    if (offset) memcpy(p.offset, in->w + 10, sizeof(p.offset));
    return p;
}

static void set_cube(const struct dev_texture *t, struct textureref_place *p, bool layers) {
    float direction[3];
    uint32_t cubes = t->levels[0].depth / 6, cube = layers ? p->slice : 0;
    memcpy(direction, p->at, sizeof(direction));
    p->slice = 6 * (cube < cubes ? cube : cubes - 1) + textureref_face(direction, p->at);
}

/* The level by the formula: the logarithm of the number of elements that the coordinates span. */
static float grad_level(const struct dev_texture *t, uint32_t dims, const float g[6]) {
    double most = 0;
    for (int v = 0; v < 2; v++) {
        double sum = 0;
        for (uint32_t k = 0; k < dims; k++) {
            const struct dev_texture_level *l = &t->levels[0];
            double n = !t->normalized_coords ? 1
                       : k == 0              ? l->width
                       : k == 1              ? l->height
                                             : l->depth;
            sum += (double)g[3 * v + k] * n * (double)g[3 * v + k] * n;
        }
        if (sum > most) most = sum;
    }
    return (float)log2(sqrt(most));
}

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static void check(const struct textureref_value want[4], const uint32_t *got, const char *what,
                  const struct word16 *in, const struct dev_texture *t) {
    const struct dev_texture_level *l = &t->levels[0];
    const uint32_t *w = in->w;
    for (int c = 0; c < 4; c++)
        cr_assert(
            textureref_same(&want[c], got[c]),
            "%s, component %d: %08x, not %08x or %.9Lg; format %x x%u, %ux%ux%u, modes %u%u%u "
            "filter %u%u norm %u%u levels %u linear %u at %g %g %g (%d %d %d)",
            what, c, got[c], want[c].bits, want[c].number, t->format, t->channels, l->width,
            l->height, l->depth, t->address_mode[0], t->address_mode[1], t->address_mode[2],
            t->filter, t->level_filter, t->normalized_coords, t->normalized_values, t->level_count,
            t->linear, (double)float_of(w[1]), (double)float_of(w[2]), (double)float_of(w[3]),
            (int)w[1], (int)w[2], (int)w[3]);
}

struct stage {
    struct ptxrun *r;
    struct word16 *in;
    uint32_t (*out)[4];
    unsigned char *memory;
};

static struct stage stage(const char *body) {
    struct ptxrun *r = kernel(body);
    struct stage s = {r, ptxrun_alloc(r, THREADS * 64), ptxrun_alloc(r, THREADS * 16),
                      ptxrun_alloc(r, ROOM)};
    textureref_fill(s.memory, ROOM);
    return s;
}

static void fetches(const struct geometry *g, enum lod lod, bool whole, bool offset, int rounds) {
    struct stage s = stage(fetch_text(g, lod, whole, offset, "f32"));
    for (int round = 0; round < rounds; round++) {
        struct dev_texture t;
        textureref_random(&t, g->dims, g->layers, g->cube, s.memory, ROOM);
        t.handle = HANDLE(round);
        cr_assert_eq(textures_add(s.r->textures, &t), 0);
        for (int k = 0; k < THREADS; k++) {
            random_words(&t, g, &s.in[k]);
            for (int c = 0; c < 3; c++) {
                s.in[k].w[10 + c] = dice(16) - 8;
                if (whole) s.in[k].w[1 + c] = dice(8) ? dice(60) - 20 : s.in[k].w[1 + c];
            }
            if (lod == LEVEL && whole) s.in[k].w[4] = dice(8) - 2;
            for (int c = 0; lod == GRAD && c < 6; c++)
                s.in[k].w[4 + c] = bits_of((float)dice(1000) / 4000 - 0.1f);
        }
        runs(s.r, s.out, s.in, t.handle);
        for (int k = 0; k < THREADS; k++) {
            struct textureref_value want[4];
            struct textureref_place p = place_of(g, &s.in[k], whole, offset);
            float grads[6], level;
            memcpy(grads, s.in[k].w + 4, sizeof(grads));
            level = lod == GRAD ? grad_level(&t, g->dims, grads) : grads[0];
            p.biased = lod != BASE && !whole;
            if (lod != BASE) p.level = whole ? (float)(int)s.in[k].w[4] : level;
            if (g->cube) set_cube(&t, &p, g->layers);
            textureref_fetch(&t, &p, want);
            check(want, s.out[k], g->name, &s.in[k], &t);
        }
        textures_remove(s.r->textures, t.handle);
    }
    ptxrun_destroy(s.r);
}

EVERY_BUILD(fetches_follow_the_guide) {
    for (size_t g = 0; g < sizeof(geometries) / sizeof(geometries[0]); g++) {
        fetches(&geometries[g], BASE, false, false, 150);
        fetches(&geometries[g], LEVEL, false, false, 150);
    }
}

EVERY_BUILD(element_numbers_are_taken_as_they_are) {
    for (size_t g = 0; g < 5; g++) { /* cubes have no offsets */
        fetches(&geometries[g], BASE, true, false, 60);
        fetches(&geometries[g], LEVEL, true, false, 60);
    }
}

EVERY_BUILD(offsets_move_by_elements) {
    for (size_t g = 0; g < 5; g++) {
        fetches(&geometries[g], BASE, false, true, 60);
        fetches(&geometries[g], LEVEL, true, true, 30);
    }
}

EVERY_BUILD(gradients_choose_a_level) {
    for (size_t g = 0; g < 5; g++)
        fetches(&geometries[g], GRAD, false, false, 60);
}

/* The direction rotates: positions on the face are compared at two nearby points. */
EVERY_BUILD(gradients_of_cubes_are_those_on_the_face) {
    const struct geometry *g = &geometries[5];
    struct stage s = stage(fetch_text(g, GRAD, false, false, "f32"));
    struct dev_texture t = {.handle = HANDLE(1), .format = CU_AD_FORMAT_FLOAT, .channels = 1};
    t.normalized_coords = t.level_filter = 1;
    t.most_level = 16;
    t.level_count = 5;
    t.layered = 1;
    uint64_t at = addr_of(s.memory);
    for (uint32_t k = 0; k < 5; k++) { /* each level contains its number */
        uint32_t n = 16u >> k, pitch = n * 4 < 32 ? 32 : n * 4;
        t.levels[k] = (struct dev_texture_level){at, pitch, pitch * n, n, n, 6};
        for (uint32_t w = 0; w < pitch * n * 6 / 4; w++)
            ((float *)(uintptr_t)at)[w] = (float)k;
        at += pitch * n * 6;
    }
    textures_add(s.r->textures, &t);
    for (int k = 0; k < THREADS; k++)
        for (int c = 0; c < 3; c++) {
            s.in[k].w[1 + c] = bits_of((float)dice(2000) / 1000 - 1);
            s.in[k].w[4 + c] = bits_of((float)dice(2000) / 10000 - 0.1f);
            s.in[k].w[7 + c] = bits_of((float)dice(2000) / 10000 - 0.1f);
        }
    runs(s.r, s.out, s.in, t.handle);
    for (int k = 0; k < THREADS; k++) {
        float d[3], near[3], a[2], b[2], step[6], grads[6], got;
        memcpy(d, s.in[k].w + 1, sizeof(d));
        memcpy(step, s.in[k].w + 4, sizeof(step));
        uint32_t face = textureref_face(d, a);
        bool same = true;
        for (int v = 0; v < 2; v++) {
            for (int c = 0; c < 3; c++)
                near[c] = d[c] + step[3 * v + c] / 256;
            same &= textureref_face(near, b) == face;
            for (int c = 0; c < 2; c++)
                grads[3 * v + c] = (b[c] - a[c]) * 256;
        }
        float want = grad_level(&t, 2, grads);
        want = want < 0 ? 0 : want > 4 ? 4 : want;
        memcpy(&got, s.out[k], 4);
        cr_assert(!same || fabsf(got - want) < 0.05f, "%g, not %g", (double)got, (double)want);
    }
    ptxrun_destroy(s.r);
}

EVERY_BUILD(results_come_in_other_types) {
    static const char *const bodies[] = {
        "tex.2d.v4.u32.f32 {%o0,%o1,%o2,%o3},[%h,{%f1,%f2}];",
        "tex.2d.v4.f16.f32 {%s0,%s1,%s2,%s3},[%h,{%f1,%f2}];\n"
        "mov.b32 %o0,{%s0,%s1};mov.b32 %o1,{%s2,%s3};",
        "tex.2d.v2.f16x2.f32 {%o0,%o1},[%h,{%f1,%f2}];",
        "tex.2d.v4.f32.f32 {_,%o1,_,%o3},[%h,{%f1,%f2}];",
    };
    for (int n = 0; n < 4; n++) {
        struct stage s = stage(bodies[n]);
        struct dev_texture t = {.handle = HANDLE(n), .format = CU_AD_FORMAT_HALF, .channels = 4};
        t.level_count = 1;
        t.levels[0] = (struct dev_texture_level){addr_of(s.memory), 64, 512, 8, 8, 1};
        textures_add(s.r->textures, &t);
        for (int k = 0; k < THREADS; k++)
            for (int c = 0; c < 2; c++)
                s.in[k].w[1 + c] = bits_of((float)dice(8));
        runs(s.r, s.out, s.in, t.handle);
        for (int k = 0; k < THREADS; k++) {
            struct textureref_value want[4];
            struct textureref_place p = place_of(&geometries[1], &s.in[k], false, false);
            textureref_fetch(&t, &p, want);
            uint16_t halves[4];
            for (int c = 0; c < 4; c++) {
                float f;
                memcpy(&f, &want[c].bits, 4);
                halves[c] = (uint16_t)matrixref_bits(F16, 0, f);
                bool empty = n == 3 && c % 2 == 0;
                if (n == 0 || n == 3)
                    cr_assert(empty ? !s.out[k][c] : textureref_same(&want[c], s.out[k][c]));
            }
            if (n == 1 || n == 2) cr_assert_arr_eq(s.out[k], halves, 8, "thread %d", k);
        }
        ptxrun_destroy(s.r);
    }
}

EVERY_BUILD(gathers_take_the_four_around) {
    static const size_t which[] = {1, 4, 5, 6};
    for (int n = 0; n < 16; n++) {
        const struct geometry *g = &geometries[which[n / 4]];
        bool offset = !g->cube && n % 2;
        char body[256];
        snprintf(body, sizeof(body), "tld4.%c.%s.v4.f32.f32 {%%o0,%%o1,%%o2,%%o3},[%%h,{%s}]%s;",
                 "rgba"[n % 4], g -> name, coordinates(g, false), offset ? ",{%r10,%r11}" : "");
        struct stage s = stage(body);
        for (int round = 0; round < 50; round++) {
            struct dev_texture t;
            textureref_random(&t, g->dims, g->layers, g->cube, s.memory, ROOM);
            t.handle = HANDLE(round);
            textures_add(s.r->textures, &t);
            for (int k = 0; k < THREADS; k++) {
                random_words(&t, g, &s.in[k]);
                for (int c = 0; c < 2; c++)
                    s.in[k].w[10 + c] = dice(16) - 8;
            }
            runs(s.r, s.out, s.in, t.handle);
            for (int k = 0; k < THREADS; k++) {
                struct textureref_value want[4];
                struct textureref_place p = place_of(g, &s.in[k], false, offset);
                if (g->cube) set_cube(&t, &p, g->layers);
                textureref_gather(&t, &p, n % 4, want);
                check(want, s.out[k], "tld4", &s.in[k], &t);
            }
            textures_remove(s.r->textures, t.handle);
        }
        ptxrun_destroy(s.r);
    }
}

/* A cube whose elements hold their positions in space: filtering across an edge is continuous. */
EVERY_BUILD(seamless_cubes_filter_across_edges) {
    const uint32_t n = 32;
    struct stage s = stage(fetch_text(&geometries[5], BASE, false, false, "f32"));
    static const int axes[6][3] = {{2, 1, 0}, {2, 1, 0}, {0, 2, 1},
                                   {0, 2, 1}, {0, 1, 2}, {0, 1, 2}};
    static const int signs[6][3] = {{-1, -1, 1}, {1, -1, -1}, {1, 1, 1},
                                    {1, -1, -1}, {1, -1, 1},  {-1, -1, -1}};
    float(*cells)[4] = ptxrun_alloc(s.r, 6ull * n * n * 16);
    struct dev_texture t = {.handle = HANDLE(5), .format = CU_AD_FORMAT_FLOAT, .channels = 4};
    t.normalized_coords = t.filter = t.seamless = t.layered = t.level_count = 1;
    memset(t.address_mode, CU_TR_ADDRESS_MODE_CLAMP, 3);
    t.levels[0] = (struct dev_texture_level){addr_of(cells), n * 16, n * n * 16, n, n, 6};
    for (uint32_t f = 0; f < 6; f++)
        for (uint32_t y = 0; y < n; y++)
            for (uint32_t x = 0; x < n; x++) {
                float *c = cells[(f * n + y) * n + x];
                c[axes[f][0]] = (float)signs[f][0] * (2 * ((float)x + 0.5f) / (float)n - 1);
                c[axes[f][1]] = (float)signs[f][1] * (2 * ((float)y + 0.5f) / (float)n - 1);
                c[axes[f][2]] = (float)signs[f][2];
            }
    textures_add(s.r->textures, &t);
    for (int k = 0; k < THREADS; k++) { /* on edges, slightly to either side */
        int a = k % 3, b = (k + 1) % 3, c = (k + 2) % 3;
        s.in[k].w[1 + a] = bits_of(k & 4 ? 1 : -1);
        s.in[k].w[1 + b] = bits_of((k & 8 ? 1 : -1) * (1 + (k & 16 ? 1e-3f : -1e-3f)));
        s.in[k].w[1 + c] = bits_of((float)dice(1600) / 1000 - 0.8f);
    }
    runs(s.r, s.out, s.in, t.handle);
    for (int k = 0; k < THREADS; k++) {
        float got[3], want[3];
        memcpy(got, s.out[k], 12);
        memcpy(want, s.in[k].w + 1, 12);
        for (int c = 0; c < 3; c++)
            cr_assert(fabsf(got[c] - want[c]) < 0.02f, "thread %d: %g %g %g for %g %g %g", k,
                      (double)got[0], (double)got[1], (double)got[2], (double)want[0],
                      (double)want[1], (double)want[2]);
    }
    ptxrun_destroy(s.r);
}

/* ---- handles --------------------------------------------------------------------------------- */

static struct dev_texture plane(const void *memory, uint64_t handle, bool surface) {
    struct dev_texture t = {.handle = handle, .format = CU_AD_FORMAT_UNSIGNED_INT32, .channels = 1};
    t.surface = surface;
    t.level_count = 1;
    memset(t.address_mode, CU_TR_ADDRESS_MODE_CLAMP, 3);
    t.levels[0] = (struct dev_texture_level){addr_of(memory), 64, 1024, 16, 16, 1};
    return t;
}

EVERY_BUILD(every_lane_names_its_own) {
    struct stage s = stage("mov.b64 %h,{%r12,%r13};\n"
                           "tex.2d.v4.u32.s32 {%o0,%o1,%o2,%o3},[%h,{%r1,%r2}];");
    for (uint32_t n = 0; n < 5; n++) {
        struct dev_texture t = plane(s.memory + 1024 * n, HANDLE(300 + n), false);
        textures_add(s.r->textures, &t);
    }
    for (uint32_t k = 0; k < THREADS; k++) {
        s.in[k] = (struct word16){{0, k % 16, k / 16}};
        uint64_t handle = HANDLE(300 + k * 7 % 5);
        memcpy(s.in[k].w + 12, &handle, 8);
    }
    runs(s.r, s.out, s.in, 0);
    for (uint32_t k = 0; k < THREADS; k++) {
        uint32_t want;
        memcpy(&want, s.memory + 1024 * (k * 7 % 5) + 64 * (k / 16) + 4 * (k % 16), 4);
        cr_assert_eq(s.out[k][0], want, "lane %u", k);
        cr_assert(s.out[k][1] == 0 && s.out[k][2] == 0 && s.out[k][3] == 1);
    }
    ptxrun_destroy(s.r);
}

/* Filters, levels and all, for some of the lanes; the others keep their registers. */
EVERY_BUILD(lanes_read_what_they_name_and_the_rest_is_kept) {
    const struct geometry *g = &geometries[1];
    char body[640];
    snprintf(body, sizeof(body), "mov.b64 %%h,{%%r12,%%r13};setp.ne.u32 %%q1,%%r14,0;\n%s",
             fetch_text(g, LEVEL, false, false, "f32"));
    char *at = strstr(body, "tex."), guarded[700];
    snprintf(guarded, sizeof(guarded), "%.*smov.u32 %%o1,7;setp.eq.u32 %%q0,0,0;\n@%%q1 %s",
             (int)(at - body), body, at);
    struct stage s = stage(guarded);
    for (int round = 0; round < 200; round++) {
        struct dev_texture t[3];
        for (int n = 0; n < 3; n++) {
            textureref_random(&t[n], 2, false, false, s.memory, ROOM);
            t[n].handle = HANDLE(n);
            cr_assert_eq(textures_add(s.r->textures, &t[n]), 0);
        }
        for (int k = 0; k < THREADS; k++) {
            const struct dev_texture *one = &t[dice(3)];
            random_words(one, g, &s.in[k]);
            memcpy(s.in[k].w + 12, &one->handle, 8);
            s.in[k].w[14] = dice(3);
        }
        runs(s.r, s.out, s.in, 0);
        for (int k = 0; k < THREADS; k++) {
            const struct dev_texture *one = &t[(uint16_t)s.in[k].w[12]];
            struct textureref_value want[4];
            struct textureref_place p = place_of(g, &s.in[k], false, false);
            p.biased = true;
            p.level = float_of(s.in[k].w[4]);
            textureref_fetch(one, &p, want);
            if (s.in[k].w[14])
                check(want, s.out[k], "some lanes", &s.in[k], one);
            else
                cr_assert(!s.out[k][0] && s.out[k][1] == 7 && !s.out[k][2] && !s.out[k][3]);
        }
        for (int n = 0; n < 3; n++)
            textures_remove(s.r->textures, t[n].handle);
    }
    ptxrun_destroy(s.r);
}

static uint64_t moved_at(struct stage *s, const struct dev_texture *t, float x) {
    for (int k = 0; k < THREADS; k++)
        s->in[k].w[1] = bits_of(x);
    runs(s->r, s->out, s->in, t->handle);
    return s->r->result.memory_bytes;
}

/* Memory around a texture is not read; the texture itself is read. */
EVERY_BUILD(an_element_a_lane_counts_as_moved) {
    struct stage s = stage("tex.1d.v4.f32.f32 {%o0,%o1,%o2,%o3},[%h,{%f1}];");
    struct dev_texture t = {.handle = HANDLE(3), .format = CU_AD_FORMAT_FLOAT, .channels = 1};
    t.level_count = t.filter = 1;
    memset(t.address_mode, CU_TR_ADDRESS_MODE_BORDER, 3);
    t.levels[0] = (struct dev_texture_level){addr_of(s.memory), 64, 64, 16, 1, 1};
    textures_add(s.r->textures, &t);
    const uint64_t none = moved_at(&s, &t, 40), in = moved_at(&s, &t, 3);
    cr_assert_eq(in, none + 2 * 32, "%lu, %lu", in, none); /* one sector for each warp */
    cr_assert(moved_at(&s, &t, 0.25f) == in && moved_at(&s, &t, 15.75f) == in);
    ptxrun_destroy(s.r);
}

static void faults(const char *body, uint64_t handle, int want, const char *words) {
    struct stage s = stage(body);
    struct dev_texture t = plane(s.memory, HANDLE(7), false);
    textures_add(s.r->textures, &t);
    t = plane(s.memory, HANDLE(8), true);
    textures_add(s.r->textures, &t);
    t = plane(s.memory + ROOM, HANDLE(9), false);
    textures_add(s.r->textures, &t);
    t = plane(s.memory + ROOM - 512, HANDLE(10), true);
    textures_add(s.r->textures, &t);
    t = plane(s.memory, HANDLE(11), false);
    textures_add(s.r->textures, &t);
    textures_remove(s.r->textures, HANDLE(11));
    textures_remove(s.r->textures, HANDLE(12));
    int err = launch(s.r, s.out, s.in, handle);
    cr_assert_eq(err, want, "%d %s of %s", err, s.r->result.text, body);
    cr_assert(strstr(s.r->result.text, words), "%s", s.r->result.text);
    ptxrun_destroy(s.r);
}

#define TEX "tex.2d.v4.u32.s32 {%o0,%o1,%o2,%o3},[%h,{5,5}];"
#define SULD "suld.b.2d.b32.trap %o0,[%h,{4,4}];"

EVERY_BUILD(a_kernel_may_name_anything) {
    static const char *const texture = "names no texture", *const surface = "names no surface";
    static const uint64_t numbers[] = {
        0,    1,          8, UINT64_MAX, HANDLE(6), HANDLE(65543), HANDLE(7) + (1ull << 32),
        4096, HANDLE(11), 7};
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
        faults(TEX, numbers[k], ERR_ILLEGAL_ADDRESS, texture);
        faults(SULD, numbers[k], ERR_ILLEGAL_ADDRESS, surface);
        faults("txq.width.b32 %o0,[%h];", numbers[k], ERR_ILLEGAL_ADDRESS, texture);
    }
    faults(TEX, HANDLE(8), ERR_ILLEGAL_ADDRESS, texture);
    faults(SULD, HANDLE(7), ERR_ILLEGAL_ADDRESS, surface);
    faults(TEX, HANDLE(9), ERR_ILLEGAL_ADDRESS, "memory was freed");
    faults(SULD, HANDLE(10), ERR_ILLEGAL_ADDRESS, "memory was freed");
    faults("sust.b.2d.b32.zero [%h,{4,4}],5;", HANDLE(10), ERR_ILLEGAL_ADDRESS, "memory was freed");
}

EVERY_BUILD(what_is_no_fetch_from_here_is_refused_by_name) {
    static const char *const bodies[] = {
        "tex.2d.v4.u32.f32 {%o0,%o1,%o2,%o3},[%h,%p,{%f1,%f2}];",
        "tex.2d.v4.u32.f32 {%o0,%o1,%o2,%o3},[%h,{%f1,%f2}],%f3;",
        "tex.2dms.v4.f32.s32 {%o0,%o1,%o2,%o3},[%h,{%r0,%r1,%r2,%r3}];",
    };
    static const char *const words[] = {"a sampler of its own",
                                        "comparison of depths is not supported",
                                        "not supported by the software GPU: line"};
    for (int n = 0; n < 3; n++) {
        struct ptxrun *r = kernel(bodies[n]);
        struct code_kernel *k;
        cr_assert_eq(code_kernel_get(r->module, "k", &k, r->why, sizeof(r->why)),
                     ERR_ILLEGAL_INSTRUCTION);
        cr_assert(strstr(r->why, words[n]), "%s", r->why);
        ptxrun_destroy(r);
    }
}

/* The driver writes the handle into the variable; instructions accept its name or its address. */
EVERY_BUILD(references_are_variables) {
    struct stage s = stage("tex.2d.v4.u32.s32 {%o0,%o1,%o2,%o3},[T,{%r1,%r2}];\nmov.u64 %x0,T;\n"
                           "tex.2d.v4.u32.s32 {%o1,_,_,_},[%x0,{%r1,%r2}];\n"
                           "suld.b.2d.b32.clamp %o2,[S,{%r3,%r2}];\nsuq.width.b32 %o3,[S];");
    uint64_t at, bytes;
    struct dev_texture t = plane(s.memory, HANDLE(40), false);
    textures_add(s.r->textures, &t);
    t = plane(s.memory, HANDLE(41), true);
    textures_add(s.r->textures, &t);
    for (uint32_t k = 0; k < THREADS; k++)
        s.in[k] = (struct word16){{0, k % 16, k / 16, k % 16 * 4}};
    cr_assert_eq(code_global_get(s.r->module, "T", &at, &bytes), 0);
    cr_assert_eq(bytes, 8);
    cr_assert_eq(launch(s.r, s.out, s.in, 0), ERR_ILLEGAL_ADDRESS, "not bound");
    *(uint64_t *)(uintptr_t)at = HANDLE(40);
    cr_assert_eq(code_global_get(s.r->module, "S", &at, &bytes), 0);
    *(uint64_t *)(uintptr_t)at = HANDLE(41);
    runs(s.r, s.out, s.in, 0);
    for (uint32_t k = 0; k < THREADS; k++) {
        uint32_t want;
        memcpy(&want, s.memory + 64 * (k / 16) + 4 * (k % 16), 4);
        for (int c = 0; c < 3; c++)
            cr_assert_eq(s.out[k][c], want, "%u %d", k, c);
        cr_assert_eq(s.out[k][3], 16);
    }
    ptxrun_destroy(s.r);
}

/* ---- queries --------------------------------------------------------------------------------- */

static uint32_t ask(const char *question, const struct dev_texture *described) {
    char body[160];
    snprintf(body, sizeof(body), "%s", question);
    struct stage s = stage(body);
    struct dev_texture t = *described;
    for (uint32_t k = 0; k < t.level_count; k++)
        t.levels[k].addr = addr_of(s.memory);
    textures_add(s.r->textures, &t);
    runs(s.r, s.out, s.in, t.handle);
    uint32_t got = s.out[33][0];
    ptxrun_destroy(s.r);
    return got;
}

EVERY_BUILD(questions_are_answered) {
    struct dev_texture t = {.handle = HANDLE(3), .format = CU_AD_FORMAT_UNSIGNED_INT8};
    t.channels = 2;
    t.level_count = 3;
    t.normalized_coords = t.filter = t.normalized_values = 1;
    t.address_mode[1] = CU_TR_ADDRESS_MODE_BORDER;
    t.address_mode[2] = CU_TR_ADDRESS_MODE_CLAMP;
    for (uint32_t k = 0; k < 3; k++)
        t.levels[k] = (struct dev_texture_level){0, 32, 320, 12u >> k, 10u >> k, 5};
#define ASK(what) ask("txq." what ".b32 %o0,[%h];", &t)
    cr_assert(ASK("width") == 12 && ASK("height") == 10 && ASK("depth") == 5);
    cr_assert(ASK("array_size") == 1 && ASK("num_mipmap_levels") == 3 && ASK("num_samples") == 1);
    cr_assert(ASK("normalized_coords") == 1 && ASK("force_unnormalized_coords") == 0);
    cr_assert(ASK("filter_mode") == 1 && ASK("addr_mode_0") == 0);
    cr_assert(ASK("addr_mode_1") == 4 && ASK("addr_mode_2") == 3);
    cr_assert(ASK("channel_order") == 0x10b2 && ASK("channel_data_type") == 0x10d2);
    cr_assert_eq(ask("txq.level.width.b32 %o0,[%h],1;", &t), 6);
    cr_assert_eq(ask("txq.level.height.b32 %o0,[%h],100;", &t), 2);
    t.layered = 1;
    t.format = CU_AD_FORMAT_SIGNED_INT16;
    t.normalized_values = 0;
    cr_assert(ASK("array_size") == 5 && ASK("depth") == 1 && ASK("channel_data_type") == 0x10d8);
    t.format = CU_AD_FORMAT_FLOAT;
    cr_assert_eq(ASK("channel_data_type"), 0x10de);
    cr_assert_eq(ask("istypep.texref %q0,%h;selp.u32 %o0,1,0,%q0;", &t), 1);
    cr_assert_eq(ask("istypep.surfref %q0,%h;selp.u32 %o0,1,0,%q0;", &t), 0);
    cr_assert_eq(ask("istypep.samplerref %q0,%h;selp.u32 %o0,1,0,%q0;", &t), 0);
    t.surface = 1;
    cr_assert_eq(ask("istypep.surfref %q0,%h;selp.u32 %o0,1,0,%q0;", &t), 1);
    cr_assert_eq(ask("suq.height.b32 %o0,[%h];", &t), 10);
    cr_assert_eq(ask("suq.memory_layout.b32 %o0,[%h];", &t), 0);
}

/* ---- surfaces -------------------------------------------------------------------------------- */

static const struct access {
    const char *type, *vector; /* parts of the opcode */
    const char *load, *store;  /* registers; %x and %s are converted from and to %r */
    uint32_t bytes;
} accesses[] = {
    {"b8", "", "%s0", "%s0", 1},
    {"b16", "", "%s0", "%s0", 2},
    {"b32", "", "%o0", "%r4", 4},
    {"b64", "", "%x0", "%x0", 8},
    {"b8", ".v2", "{%s0,%s1}", "{%s0,%s1}", 2},
    {"b16", ".v4", "{%s0,%s1,%s2,%s3}", "{%s0,%s1,%s2,%s3}", 8},
    {"b8", ".v4", "{%s0,%s1,%s2,%s3}", "{%s0,%s1,%s2,%s3}", 4},
    {"b32", ".v2", "{%o0,%o1}", "{%r4,%r5}", 8},
    {"b32", ".v4", "{%o0,%o1,%o2,%o3}", "{%r4,%r5,%r6,%r7}", 16},
    {"b64", ".v2", "{%x0,%x1}", "{%x0,%x1}", 16},
};

/* Converts words 4 to 7 to %s and %x before a store; into %o after a load. */
static const char *spread(const struct access *a) {
    if (!strcmp(a->type, "b64")) return "mov.b64 %x0,{%r4,%r5};mov.b64 %x1,{%r6,%r7};";
    if (!strcmp(a->type, "b16")) return "mov.b32 {%s0,%s1},%r4;mov.b32 {%s2,%s3},%r5;";
    if (!strcmp(a->type, "b8"))
        return "mov.b32 {%s0,%s1},%r4;shr.u16 %s1,%s0,8;mov.b32 {%s4,%s2},%r4;shr.u16 %s3,%s2,8;";
    return "";
}

static const char *collect(const struct access *a) {
    if (!strcmp(a->type, "b64")) return "mov.b64 {%o0,%o1},%x0;mov.b64 {%o2,%o3},%x1;";
    if (!strcmp(a->type, "b16")) return "mov.b32 %o0,{%s0,%s1};mov.b32 %o1,{%s2,%s3};";
    if (!strcmp(a->type, "b8"))
        return "shl.b16 %s1,%s1,8;or.b16 %s0,%s0,%s1;shl.b16 %s3,%s3,8;or.b16 %s2,%s2,%s3;"
               "mov.b32 %o0,{%s0,%s2};";
    return "";
}

static const char *const beyonds[] = {"trap", "clamp", "zero"};

/* A surface of 2 layers or slices, 3 rows, 2 elements of 16 bytes. */
static struct dev_texture small(const void *memory, uint64_t handle) {
    struct dev_texture t = {.handle = handle, .surface = 1, .format = CU_AD_FORMAT_UNSIGNED_INT32};
    t.channels = 4;
    t.level_count = 1;
    t.levels[0] = (struct dev_texture_level){addr_of(memory), 64, 256, 2, 3, 2};
    return t;
}

/* Returns the address of the accessed bytes by the rules, or NULL for none. */
static unsigned char *place_in(unsigned char *memory, const struct geometry *g,
                               const struct word16 *in, int beyond, uint32_t bytes) {
    int64_t most[3] = {32 - bytes, 2, 1}, at[3] = {0};
    for (uint32_t k = 0; k < g->dims; k++)
        at[k] = (int32_t)in->w[1 + k];
    if (g->layers) at[2] = in->w[0];
    for (int k = 0; k < 3; k++) {
        bool inside = at[k] >= 0 && at[k] <= most[k];
        if (!inside && beyond != 1) return NULL;
        if (!inside) at[k] = at[k] < 0 ? 0 : most[k];
    }
    return memory + 256 * at[2] + 64 * at[1] + at[0];
}

static void random_places(struct stage *s, uint32_t bytes, int beyond) {
    for (int k = 0; k < THREADS; k++)
        for (int c = 0; c < 16; c++) {
            struct word16 *w = &s->in[k];
            w->w[c] = (uint32_t)matrixref_dice();
            if (c == 0) w->w[c] = dice(beyond ? 5 : 2);
            if (c == 1) w->w[c] = bytes * (beyond ? dice(64) - 16 : dice(32 / bytes));
            if (c == 2) w->w[c] = beyond ? dice(9) - 3 : dice(3);
            if (c == 3) w->w[c] = beyond ? dice(6) - 2 : dice(2);
        }
}

EVERY_BUILD(surfaces_are_read_and_written_as_bytes) {
    for (size_t n = 0; n < 5 * 3 * sizeof(accesses) / sizeof(accesses[0]); n++) {
        const struct access *a = &accesses[n / 15];
        const struct geometry *g = &geometries[n % 5];
        int beyond = (int)(n / 5 % 3);
        char body[512], at[64];
        snprintf(at, sizeof(at), "%s", coordinates(g, true));
        snprintf(body, sizeof(body),
                 "suld.b.%s%s.%s.%s %s,[%%h,{%s}];\n%s\nxor.b64 %%h,%%h,1;\n%s\n"
                 "sust.b.%s%s.%s.%s [%%h,{%s}],%s;",
                 g->name, a->vector, a->type, beyonds[beyond], a->load, at, collect(a), spread(a),
                 g->name, a->vector, a->type, beyonds[beyond], at, a->store);
        struct stage s = stage(body);
        struct dev_texture from = small(s.memory, HANDLE(20)),
                           to = small(s.memory + 512, HANDLE(21));
        textures_add(s.r->textures, &from);
        textures_add(s.r->textures, &to);
        static unsigned char before[512], mine[THREADS][16];
        memcpy(before, s.memory + 512, 512);
        random_places(&s, a->bytes, beyond);
        runs(s.r, s.out, s.in, HANDLE(20));
        for (int k = 0; k < THREADS; k++) {
            unsigned char want[16] = {0}, got[16] = {0};
            const unsigned char *p = place_in(s.memory, g, &s.in[k], beyond, a->bytes);
            if (p) memcpy(want, p, a->bytes);
            memcpy(got, s.out[k], a->bytes);
            cr_assert_arr_eq(got, want, 16, "%s thread %d", body, k);
            memcpy(mine[k], s.in[k].w + 4, 16);
            unsigned char *q = place_in(before, g, &s.in[k], beyond, a->bytes);
            if (q) memcpy(q, mine[k], a->bytes); /* lanes write in order */
        }
        cr_assert_arr_eq(s.memory + 512, before, 512, "%s", body);
        ptxrun_destroy(s.r);
    }
}

/* Two launches of one warp, because lanes write in the order of their numbers. */
EVERY_BUILD(formatted_stores_convert) {
    static const struct {
        uint8_t format, channels;
        uint32_t values[4];
        unsigned char want[16];
        uint32_t bytes;
    } cases[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, 2, {7, 300}, {7, 255}, 2},
        {CU_AD_FORMAT_SIGNED_INT8, 1, {0xffffff00}, {0x80}, 1},
        {CU_AD_FORMAT_SIGNED_INT16, 1, {0xfffffffe}, {0xfe, 0xff}, 2},
        {CU_AD_FORMAT_UNSIGNED_INT16, 1, {70000}, {0xff, 0xff}, 2},
        {CU_AD_FORMAT_HALF, 4, {0x3f800000, 0, 0xc0000000, 0}, {0, 0x3c, 0, 0, 0, 0xc0, 0, 0}, 8},
        {CU_AD_FORMAT_FLOAT,
         2,
         {0x12345678, 0x9abcdef0},
         {0x78, 0x56, 0x34, 0x12, 0xf0, 0xde, 0xbc, 0x9a},
         8},
        {CU_AD_FORMAT_UNSIGNED_INT32, 4, {1, 2, 3, 4}, {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4}, 16},
    };
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        struct stage s = stage("sust.p.2d.v4.b32.zero [%h,{%r0,1}],{%r1,%r2,%r3,%r4};");
        struct dev_texture t = small(s.memory, HANDLE(20));
        t.format = cases[n].format;
        t.channels = cases[n].channels;
        textures_add(s.r->textures, &t);
        /* element 1; all other accesses are out of bounds */
        for (uint32_t k = 0; k < THREADS; k++) {
            s.in[k].w[0] = k == 5 ? 1 : 2 + k;
            memcpy(s.in[k].w + 1, cases[n].values, 16);
        }
        runs(s.r, s.out, s.in, HANDLE(20));
        cr_assert_arr_eq(s.memory + 64 + cases[n].bytes, cases[n].want, cases[n].bytes, "case %zu",
                         n);
        ptxrun_destroy(s.r);
    }
}

EVERY_BUILD(reductions_are_atomic) {
    static const struct {
        const char *what;
        uint64_t start, want;
        bool wide;
    } cases[] = {
        {"b.add.1d.u32.trap [%h,{8}],%t", 5, 5 + 2016, false},
        {"b.add.1d.u64.trap [%h,{8}],%x0", 1, 1 + 2016, true},
        {"b.min.1d.s32.trap [%h,{8}],%r15", 3, (uint32_t)-63, false},
        {"b.max.1d.s32.trap [%h,{8}],%r15", (uint32_t)-70, 0, false},
        {"b.min.1d.u32.trap [%h,{8}],%r15", 7, 0, false},
        {"b.max.1d.u32.trap [%h,{8}],%r15", 7, UINT32_MAX, false},
        {"b.and.1d.b32.trap [%h,{8}],%r14", UINT32_MAX, 0xf0, false},
        {"b.or.1d.b32.trap [%h,{8}],%t", 256, 256 + 63, false},
        {"b.max.1d.s64.trap [%h,{8}],%x0", (uint64_t)-5, 63, true},
        {"p.add.1d.b32.trap [%h,{2}],%t", 0, 2016, false},
        {"p.min.1d.b32.trap [%h,{2}],%r15", 3, 0, false}, /* the texture has an unsigned format */
    };
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        char body[256];
        snprintf(body, sizeof(body),
                 "cvt.u64.u32 %%x0,%%t;neg.s32 %%r15,%%t;\n"
                 "or.b32 %%r14,%%t,0xf0;sured.%s;",
                 cases[n].what);
        struct stage s = stage(body);
        struct dev_texture t = small(s.memory, HANDLE(20));
        t.channels = 1;
        t.levels[0].width = 8;
        textures_add(s.r->textures, &t);
        memcpy(s.memory + 8, &cases[n].start, cases[n].wide ? 8 : 4);
        runs(s.r, s.out, s.in, HANDLE(20));
        uint64_t got = 0;
        memcpy(&got, s.memory + 8, cases[n].wide ? 8 : 4);
        cr_assert_eq(got, cases[n].want, "%s: %llx", cases[n].what, (unsigned long long)got);
        ptxrun_destroy(s.r);
    }
}

EVERY_BUILD(what_lies_beyond_a_surface) {
    static const char *const edges = "outside the surface";
    faults("suld.b.2d.b32.trap %o0,[%h,{64,0}];", HANDLE(8), ERR_LAUNCH_FAILED, edges);
    faults("suld.b.2d.b32.trap %o0,[%h,{-4,0}];", HANDLE(8), ERR_LAUNCH_FAILED, edges);
    faults("suld.b.2d.b32.trap %o0,[%h,{0,16}];", HANDLE(8), ERR_LAUNCH_FAILED, edges);
    faults("suld.b.a2d.b32.trap %o0,[%h,{1,0,0,0}];", HANDLE(8), ERR_LAUNCH_FAILED, edges);
    faults("suld.b.2d.v2.b32.trap {%o0,%o1},[%h,{60,0}];", HANDLE(8), ERR_LAUNCH_FAILED, edges);
    faults("sust.b.2d.b32.trap [%h,{64,0}],1;", HANDLE(8), ERR_LAUNCH_FAILED, edges);
    faults("sured.b.add.2d.u32.trap [%h,{64,0}],1;", HANDLE(8), ERR_LAUNCH_FAILED, edges);
    faults("suld.b.2d.b32.trap %o0,[%h,{2,0}];", HANDLE(8), ERR_MISALIGNED, "misaligned");
    faults("sust.b.2d.b64.trap [%h,{4,0}],%x0;", HANDLE(8), ERR_MISALIGNED, "misaligned");
}
