/* SPDX-License-Identifier: Apache-2.0
 *
 * Any texture record that passes its check, over memory of exactly its size, read and written by
 * every instruction at any position: nothing outside that memory is accessed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_textures.h"
#include "daemon/worker/front/texture_record.h"
#include "proto/wire/record.h"
#include "test/lib/ptx/ptxrun.h"

#define MOST (1u << 20) /* bytes of a texture */
#define WORDS 16        /* words of a thread's coordinates */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define R "{%o0,%o1,%o2,%o3}"
static const char *const bodies[] = {
    "tex.1d.v4.f32.f32 " R ",[%h,{%f1}];",
    "tex.2d.v4.f32.f32 " R ",[%h,{%f1,%f2}];",
    "tex.3d.v4.f32.f32 " R ",[%h,{%f1,%f2,%f3,%f3}];",
    "tex.a1d.v4.f32.f32 " R ",[%h,{%r0,%f1}];",
    "tex.a2d.v4.f32.f32 " R ",[%h,{%r0,%f1,%f2,%f2}];",
    "tex.cube.v4.f32.f32 " R ",[%h,{%f1,%f2,%f3,%f3}];",
    "tex.level.acube.v4.f32.f32 " R ",[%h,{%r0,%f1,%f2,%f3}],%f4;",
    "tex.level.3d.v4.f32.f32 " R ",[%h,{%f1,%f2,%f3,%f3}],%f4,{%r5,%r6,%r7,%r7};",
    "tex.grad.2d.v4.f32.f32 " R ",[%h,{%f1,%f2}],{%f4,%f5},{%f6,%f7};",
    "tex.grad.cube.v4.f32.f32 " R ",[%h,{%f1,%f2,%f3,%f3}],{%f4,%f5,%f6,%f6},{%f7,%f8,%f9,%f9};",
    "tex.2d.v4.f32.s32 " R ",[%h,{%r1,%r2}],{%r5,%r6};",
    "tex.level.3d.v4.f32.s32 " R ",[%h,{%r1,%r2,%r3,%r3}],%r4;",
    "tld4.g.a2d.v4.f32.f32 " R ",[%h,{%r0,%f1,%f2,%f2}],{%r5,%r6};",
    "tld4.r.cube.v4.f32.f32 " R ",[%h,{%f1,%f2,%f3,%f3}];",
    "txq.level.depth.b32 %o0,[%h],%r4;",
    "suld.b.1d.v4.b32.clamp " R ",[%h,{%r1}];",
    "suld.b.2d.b32.zero %o0,[%h,{%r1,%r2}];",
    "suld.b.3d.b64.clamp %x0,[%h,{%r1,%r2,%r3,%r3}];",
    "suld.b.a2d.b8.clamp %s0,[%h,{%r0,%r1,%r2,%r2}];",
    "suld.b.a1d.v2.b16.trap {%s0,%s1},[%h,{%r0,%r1}];",
    "sust.b.2d.v4.b32.clamp [%h,{%r1,%r2}]," R ";",
    "sust.b.3d.v2.b64.zero [%h,{%r1,%r2,%r3,%r3}],{%x0,%x0};",
    "sust.p.a2d.v4.b32.clamp [%h,{%r0,%r1,%r2,%r2}]," R ";",
    "sured.b.add.2d.u32.clamp [%h,{%r1,%r2}],%r3;",
    "sured.p.min.3d.b64.clamp [%h,{%r1,%r2,%r3,%r3}],%x0;",
    "sured.b.max.1d.s64.zero [%h,{%r1}],%x0;",
};
#define BODIES (sizeof(bodies) / sizeof(bodies[0]))

static struct ptxrun *runs[BODIES];
static uint32_t *places[BODIES];

static struct ptxrun *prepare(size_t n) {
    char loads[1024] = "", text[4096];
    for (int k = 0; k < 10; k++)
        snprintf(loads + strlen(loads), sizeof(loads) - strlen(loads),
                 "ld.global.b32 %%r%d,[%%i+%d];mov.b32 %%f%d,%%r%d;\n", k, 4 * k, k, k);
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 in,.param .u64 handle){\n"
             ".reg .b64 %%i,%%h,%%x<2>;.reg .b32 %%t,%%r<16>,%%o<4>;.reg .f32 %%f<16>;"
             ".reg .b16 %%s<4>;\nld.param.u64 %%i,[in];ld.param.u64 %%h,[handle];\n"
             "mov.u32 %%t,%%tid.x;mad.wide.u32 %%i,%%t,64,%%i;\n%s%s ret;}\n",
             loads, bodies[n]);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 0);
    r->textures = textures_create();
    places[n] = ptxrun_alloc(r, 32 * 4 * WORDS);
    return r;
}

static void run(size_t n, const struct dev_texture *t, const struct ranges *all,
                const uint8_t *data, size_t size) {
    if (!runs[n]) runs[n] = prepare(n);
    struct ptxrun *r = runs[n];
    for (size_t k = 0; size && k < 32 * 4 * WORDS; k++)
        ((uint8_t *)places[n])[k] = data[(k + n) % size] ^ (uint8_t)(k / size);
    struct ranges *own = r->ranges;
    uint64_t lo = all->items[0].lo, hi = all->items[0].hi;
    r->ranges = ranges_with(own, lo, hi);
    if (textures_add(r->textures, t)) abort();
    int err = ptxrun_launch(r, "k", 1, 32, 2, (uint64_t)(uintptr_t)places[n], t->handle);
    if (err && err != ERR_ILLEGAL_ADDRESS && err != ERR_MISALIGNED && err != ERR_LAUNCH_FAILED)
        abort();
    textures_remove(r->textures, t->handle);
    ranges_unref(r->ranges);
    r->ranges = own;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct wire_texture w;
    char why[128];
    if (size < sizeof(w)) return 0;
    memcpy(&w, data, sizeof(w));
    w.rec = (struct wire_record){.op = WIRE_TEXTURE};
    w.addr = 512; /* the record does not decide its address */
    if (record_check(&w, sizeof(w), why, sizeof(why))) return 0;
    uint64_t bytes = record_texture_bytes(&w);
    if (bytes > MOST) return 0;
    void *memory;
    if (posix_memalign(&memory, 512, bytes)) return 0;
    w.addr = (uint64_t)(uintptr_t)memory;
    struct dev_texture t = texture_record_describe(&w);
    struct ranges *all = ranges_with(NULL, w.addr, w.addr + bytes);
    for (size_t n = 0; n < BODIES; n++) {
        t.surface = strncmp(bodies[n], "su", 2) == 0;
        run(n, &t, all, data + sizeof(w), size - sizeof(w));
    }
    ranges_unref(all);
    free(memory);
    return 0;
}
