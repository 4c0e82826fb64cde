/* SPDX-License-Identifier: Apache-2.0
 *
 * The counts of executed instructions and moved bytes. They are exact for accesses whose sectors
 * can be counted by hand, and equal a plain count for random ones. Every build of the handlers
 * gives the same counts with any number of threads.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/device/soft/isa/dispatch/select.h"
#include "test/lib/ptx/ptxrun.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define SECTOR 32ull

/* Runs `fn` with each build of the handlers that this processor can use. */
static void each_build(void (*fn)(void)) {
    static const char *const builds[] = {"base", "v3", "v4"};
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        if (!strcmp(isa_name(), builds[b])) fn();
    }
    unsetenv("SALUS_SOFT_ISA");
}

/* ---- one warp, one access
 * ----------------------------------------------------------------------
 *
 * The byte offset r2 of lane r1 counts from p, 4 KiB into a buffer; the access at rd3 follows. */

struct shape {
    const char *name, *offset, *access;
    uint64_t sectors;
};

#define LOAD "ld.global.u32 %r3,[%rd3];"
#define STORE "st.global.u32 [%rd3],%r1;"

static const struct shape shapes[] = {
    {"contiguous", "shl.b32 %r2,%r1,2;", LOAD, 4},
    {"contiguous store", "shl.b32 %r2,%r1,2;", STORE, 4},
    {"contiguous, one word late", "shl.b32 %r2,%r1,2; add.u32 %r2,%r2,4;", LOAD, 5},
    {"contiguous, by the constant", "shl.b32 %r2,%r1,2;", "ld.global.u32 %r3,[%rd3+28];", 5},
    {"broadcast", "mov.u32 %r2,12;", LOAD, 1},
    {"broadcast store", "mov.u32 %r2,12;", STORE, 1},
    {"backward", "shl.b32 %r2,%r1,2; sub.u32 %r2,128,%r2;", LOAD, 5},
    {"every second word", "shl.b32 %r2,%r1,3;", LOAD, 8},
    {"a sector apart", "shl.b32 %r2,%r1,5;", LOAD, 32},
    {"36 bytes apart", "mul.lo.u32 %r2,%r1,36;", LOAD, 32},
    {"28 bytes apart", "mul.lo.u32 %r2,%r1,28;", LOAD, 28},
    {"28 bytes apart, backward", "mul.lo.u32 %r2,%r1,28; sub.u32 %r2,1024,%r2;", LOAD, 29},
    {"64 bytes apart", "shl.b32 %r2,%r1,6;", LOAD, 32},
    {"a line apart, backward", "mul.lo.u32 %r2,%r1,-128;", LOAD, 32},
    {"two rows of a tile",
     "and.b32 %r2,%r1,15; shl.b32 %r2,%r2,2; shr.u32 %r3,%r1,4; mad.lo.u32 "
     "%r2,%r3,1024,%r2;",
     LOAD, 4},
    {"two rows that overlap",
     "and.b32 %r2,%r1,15; shl.b32 %r2,%r2,2; shr.u32 %r3,%r1,4; mad.lo.u32 %r2,%r3,32,%r2;", LOAD,
     3},
    {"two rows, the later one lower",
     "and.b32 %r2,%r1,15; shl.b32 %r2,%r2,2; shr.u32 %r3,%r1,4; mul.lo.u32 %r3,%r3,-1056; "
     "add.u32 %r2,%r2,%r3;",
     LOAD, 4},
    {"a word for each half", "shr.u32 %r2,%r1,4; shl.b32 %r2,%r2,9;", LOAD, 2},
    {"a row and a word",
     "shl.b32 %r2,%r1,2; and.b32 %r3,%r1,16; setp.ne.u32 %p1,%r3,0; @%p1 "
     "mov.u32 %r2,40;",
     LOAD, 2},
    {"the odd lanes", "shl.b32 %r2,%r1,5; and.b32 %r3,%r1,1; setp.ne.u32 %p1,%r3,0;", "@%p1 " LOAD,
     16},
    {"the first five lanes", "shl.b32 %r2,%r1,2; setp.lt.u32 %p1,%r1,5;", "@%p1 " STORE, 1},
    {"no lane", "mov.u32 %r2,0; setp.lt.u32 %p1,%r1,0;", "@%p1 " LOAD, 0},
    {"bytes", "mov.u32 %r2,%r1;", "ld.global.u8 %h1,[%rd3];", 1},
    {"bytes, across", "add.u32 %r2,%r1,8;", "ld.global.s8 %r3,[%rd3];", 2},
    {"halves of words", "shl.b32 %r2,%r1,1;", "ld.global.u16 %r3,[%rd3];", 2},
    {"bytes stored", "mov.u32 %r2,%r1;", "st.global.u8 [%rd3],%r1;", 1},
    {"64 bits", "shl.b32 %r2,%r1,3;", "ld.global.u64 %rd4,[%rd3];", 8},
    {"64 bits stored", "shl.b32 %r2,%r1,3;", "st.global.u64 [%rd3],%rd3;", 8},
    {"vectors of four", "shl.b32 %r2,%r1,4;", "ld.global.v4.u32 {%r3,%r4,%r5,%r6},[%rd3];", 16},
    {"vectors of two stored", "shl.b32 %r2,%r1,4;", "st.global.v2.u64 [%rd3],{%rd1,%rd2};", 16},
    {"volatile", "shl.b32 %r2,%r1,2;", "ld.volatile.global.u32 %r3,[%rd3];", 4},
    {"generic", "shl.b32 %r2,%r1,2;", "ld.u32 %r3,[%rd3];", 4},
    {"atomic on one word", "mov.u32 %r2,0;", "atom.global.add.u32 %r3,[%rd3],%r1;", 1},
    {"atomic on a row", "shl.b32 %r2,%r1,2;", "red.global.add.u32 [%rd3],%r1;", 4},
    {"atomic, of another kind", "shl.b32 %r2,%r1,4;", "red.global.max.u32 [%rd3],%r1;", 16},
    {"atomic in shared memory", "shl.b32 %r2,%r1,2;", "red.shared.add.u32 [s],%r1;", 0},
    {"shared", "shl.b32 %r2,%r1,2;",
     "mov.u32 %r4,s; st.shared.u32 [%r4],%r1; ld.shared.u32 "
     "%r3,[s+4];",
     0},
    {"shared, generic",
     "shl.b32 %r2,%r1,2; mov.u32 %r4,s; add.u32 %r4,%r4,%r2; cvt.u64.u32 "
     "%rd4,%r4; cvta.shared.u64 %rd5,%rd4;",
     "st.u32 [%rd5],%r1; ld.u32 %r3,[%rd5]; atom.add.u32 %r3,[%rd5],1;", 0},
    {"local", "mov.u32 %r2,0;", "st.local.u32 [l],%r1; ld.local.u32 %r3,[l];", 0},
    {"local, generic", "mov.u64 %rd4,l; cvta.local.u64 %rd5,%rd4; mov.u32 %r2,0;",
     "st.u32 [%rd5],%r1; ld.u32 %r3,[%rd5];", 0},
    {"constant",
     "and.b32 %r2,%r1,1; shl.b32 %r2,%r2,2; cvt.u64.u32 %rd5,%r2; mov.u64 %rd4,c; "
     "add.u64 %rd4,%rd4,%rd5;",
     "ld.const.u32 %r3,[%rd4]; ld.const.u32 %r3,[c+4];", 0},
    {"parameter", "mov.u32 %r2,0;", "ld.param.u64 %rd4,[p];", 0},
    {"half shared, half global",
     "shl.b32 %r2,%r1,2; mov.u32 %r4,s; add.u32 %r4,%r4,%r2; cvt.u64.u32 %rd4,%r4; cvta.shared.u64 "
     "%rd5,%rd4; setp.lt.u32 %p1,%r1,16;",
     "@%p1 mov.u64 %rd3,%rd5; ld.u32 %r3,[%rd3]; st.u32 [%rd3],%r3;", 4},
    {"copied asynchronously", "shl.b32 %r2,%r1,4; mov.u32 %r4,s; add.u32 %r4,%r4,%r2;",
     "cp.async.cg.shared.global [%r4],[%rd3],16; cp.async.wait_all;", 16},
};

static struct ptxrun *shape_create(const struct shape *s) {
    char text[4096];
    int n = snprintf(
        text, sizeof(text),
        HEAD
        ".const .align 4 .u32 c[2] = {7, 8};\n"
        ".visible .entry k(.param .u64 p)\n{\n.reg .b16 %%h<2>; .reg .b32 %%r<8>; .reg .b64 "
        "%%rd<6>; .reg .pred %%p<2>;\n.shared .align 16 .b8 s[512]; .local .align 4 .b8 l[8];\n"
        "ld.param.u64 %%rd1,[p]; mov.u32 %%r1,%%tid.x;\n%s\n"
        "cvt.s64.s32 %%rd2,%%r2; add.s64 %%rd3,%%rd1,%%rd2;\n%s\nret;\n}\n",
        s->offset, s->access);
    return ptxrun_create(text, (size_t)n, 0);
}

static void shapes_count(void) {
    for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
        const struct shape *s = &shapes[k];
        struct ptxrun *r = shape_create(s);
        char *buffer = ptxrun_alloc(r, 12288);
        uint64_t p = (uint64_t)(uintptr_t)buffer + 4096;
        cr_assert_eq(ptxrun_launch(r, "k", 3, 32, 1, p), 0, "%s: %s", s->name, r->result.text);
        cr_expect_eq(r->result.memory_bytes, 3 * s->sectors * SECTOR,
                     "%s on %s: %lu sectors, not %lu", s->name, isa_name(),
                     (unsigned long)(r->result.memory_bytes / 3 / SECTOR),
                     (unsigned long)s->sectors);
        ptxrun_destroy(r);
    }
}

Test(counts, sectors_of_known_accesses) {
    each_build(shapes_count);
}

/* ---- any addresses, any lanes ------------------------------------------------------------------
 */

/* Loads 32 offsets, then the word at each offset whose lane's bit is set in the mask. */
static const char gather[] =
    HEAD ".visible .entry gather(.param .u64 p, .param .u64 offsets, .param .u32 mask)\n{\n"
         ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %q;\n"
         "ld.param.u64 %rd1,[p]; ld.param.u64 %rd2,[offsets]; ld.param.u32 %r1,[mask];\n"
         "mov.u32 %r2,%tid.x; shl.b32 %r3,%r2,3; cvt.u64.u32 %rd3,%r3; add.u64 %rd4,%rd2,%rd3;\n"
         "ld.global.u64 %rd5,[%rd4]; add.u64 %rd6,%rd1,%rd5;\n"
         "shr.u32 %r4,%r1,%r2; and.b32 %r4,%r4,1; setp.ne.u32 %q,%r4,0;\n"
         "@%q ld.global.u32 %r5,[%rd6]; ret;\n}\n";
#define GATHER_BYTES (1u << 20)

static uint64_t random_next(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 33;
}

static uint64_t sectors_plainly(uint64_t base, const uint64_t *offsets, uint32_t mask) {
    uint64_t count = 0;
    for (uint32_t l = 0; l < 32; l++) {
        bool seen = !(mask >> l & 1);
        for (uint32_t k = 0; k < l; k++)
            seen |= (mask >> k & 1) && (base + offsets[k]) / SECTOR == (base + offsets[l]) / SECTOR;
        count += !seen;
    }
    return count;
}

/* Offsets within a few sectors, a few pages or all of the memory, some of them sorted. */
static void random_offsets(uint64_t *state, uint64_t *offsets) {
    static const uint32_t spans[] = {64, 2048, 4096, 65536, GATHER_BYTES};
    uint64_t span = spans[random_next(state) % 5], step = random_next(state) % (span / 32);
    uint64_t kind = random_next(state) % 3;
    for (uint64_t l = 0; l < 32; l++) {
        uint64_t at = kind == 0 ? l * step : random_next(state) % span;
        if (kind == 2 && l >= 16) at = offsets[random_next(state) % l];
        offsets[l] = at / 4 * 4;
    }
}

static void gathers_count(void) {
    struct ptxrun *r = ptxrun_create(gather, sizeof(gather) - 1, 0);
    char *memory = ptxrun_alloc(r, GATHER_BYTES);
    uint64_t *offsets = ptxrun_alloc(r, 256), state = 7;
    for (int k = 0; k < 3000; k++) {
        random_offsets(&state, offsets);
        uint32_t mask = k % 2 ? UINT32_MAX : (uint32_t)(random_next(&state) << 16 ^ state >> 40);
        uint64_t base = (uint64_t)(uintptr_t)memory;
        cr_assert_eq(ptxrun_launch(r, "gather", 1, 32, 3, base, offsets, (uint64_t)mask), 0, "%s",
                     r->result.text);
        uint64_t sectors = 8 + sectors_plainly(base, offsets, mask);
        cr_assert_eq(r->result.memory_bytes, sectors * SECTOR, "%s, round %d: %lu, not %lu",
                     isa_name(), k, (unsigned long)(r->result.memory_bytes / SECTOR),
                     (unsigned long)sectors);
    }
    ptxrun_destroy(r);
}

Test(counts, sectors_of_random_accesses) {
    each_build(gathers_count);
}

/* Lanes access two buffers that are farther apart than 32-bit sector numbers reach. */
static void far_lanes_count(void) {
    struct ptxrun *r = ptxrun_create(gather, sizeof(gather) - 1, 0);
    uint64_t *offsets = ptxrun_alloc(r, 256), low = 0x230000000000ull, high = low + (1ull << 40);
    uint64_t at[2] = {low, high};
    for (int k = 0; k < 2; k++) {
        void *p = mmap((void *)(uintptr_t)at[k], 8192, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        cr_assert_eq(p, (void *)(uintptr_t)at[k]);
        struct ranges *more = ranges_with(r->ranges, at[k], at[k] + 8192);
        ranges_unref(r->ranges);
        r->ranges = more;
    }
    for (uint64_t l = 0; l < 32; l++) /* the low 37 bits of pairs are equal */
        offsets[l] = (l / 2) * 100 / 4 * 4 + (l % 2 ? high - low : 0);
    cr_assert_eq(ptxrun_launch(r, "gather", 1, 32, 3, low, offsets, (uint64_t)UINT32_MAX), 0, "%s",
                 r->result.text);
    cr_expect_eq(r->result.memory_bytes, (8 + 32) * SECTOR);
    munmap((void *)(uintptr_t)low, 8192);
    munmap((void *)(uintptr_t)high, 8192);
    ptxrun_destroy(r);
}

Test(counts, sectors_of_lanes_far_apart) {
    each_build(far_lanes_count);
}

/* ---- instructions, whole grids -----------------------------------------------------------------
 */

static void instructions_count(void) {
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>; .reg .pred %q; .reg .b64 %rd<2>;\n"
        "mov.u32 %r1,%tid.x; setp.lt.u32 %q,%r1,10;\n@%q add.u32 %r2,%r1,1;\n"
        "@%q bra $S; add.u32 %r2,%r1,2; add.u32 %r2,%r2,3;\n$S: ret;\n}\n";
    struct ptxrun *r = ptxrun_create(text, sizeof(text) - 1, 0);
    cr_assert_eq(ptxrun_launch(r, "k", 5, 40, 1, (uint64_t)0), 0);
    /* mov, setp, ret: 40 threads; the guarded ones: 10; the two that those jump over: 30 */
    cr_expect_eq(r->result.thread_insts, 5u * (3 * 40 + 2 * 10 + 2 * 30), "%lu",
                 (unsigned long)r->result.thread_insts);
    cr_expect_eq(r->result.memory_bytes, 0);
    ptxrun_destroy(r);
}

Test(counts, instructions_of_each_thread) {
    each_build(instructions_count);
}

/* A loop of another length in each thread, scattered stores, and atomics on a few words. */
static const char busy[] = HEAD
    ".visible .entry busy(.param .u64 p)\n{\n.reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .pred %q;\n"
    ".shared .align 4 .b8 s[512];\n"
    "ld.param.u64 %rd1,[p]; mov.u32 %r1,%tid.x; mov.u32 %r2,%ctaid.x; mov.u32 %r3,%ntid.x;\n"
    "mad.lo.u32 %r4,%r2,%r3,%r1; and.b32 %r5,%r4,13; mov.u32 %r6,0;\n$L:\n"
    "mul.lo.u32 %r7,%r4,2654435761; add.u32 %r7,%r7,%r6; and.b32 %r7,%r7,65532;\n"
    "cvt.u64.u32 %rd2,%r7; add.u64 %rd3,%rd1,%rd2; st.global.u32 [%rd3],%r6;\n"
    "and.b32 %r8,%r7,60; cvt.u64.u32 %rd4,%r8; add.u64 %rd5,%rd1,%rd4;\n"
    "red.global.add.u32 [%rd5+65536],1;\n"
    "add.u32 %r6,%r6,1; setp.le.u32 %q,%r6,%r5; @%q bra $L; bar.sync 0; ret;\n}\n";

static struct grid_result busy_first; /* the result for all builds, thread counts and slices */

static void busy_count(void) {
    static const uint32_t threads[] = {1, 3}, slices[] = {50, 100000};
    struct ptxrun *r = ptxrun_create(busy, sizeof(busy) - 1, 0);
    char *p = ptxrun_alloc(r, 1 << 17);
    for (int k = 0; k < 4; k++) {
        r->threads = threads[k % 2];
        r->slice = slices[k / 2];
        cr_assert_eq(ptxrun_launch(r, "busy", 20, 100, 1, p), 0, "%s", r->result.text);
        if (!busy_first.thread_insts) busy_first = r->result;
        cr_expect_eq(r->result.thread_insts, busy_first.thread_insts);
        cr_expect_eq(r->result.memory_bytes, busy_first.memory_bytes, "%lu on %s, %lu before",
                     (unsigned long)r->result.memory_bytes, isa_name(),
                     (unsigned long)busy_first.memory_bytes);
        cr_expect_gt(r->result.memory_bytes, 2000 * SECTOR);
    }
    ptxrun_destroy(r);
}

Test(counts, the_same_however_it_runs) {
    each_build(busy_count);
}
