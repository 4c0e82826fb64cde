/* SPDX-License-Identifier: Apache-2.0
 *
 * Register allocation: random programs compared with a model that has no slots
 * (test/lib/ptx/ptxrandom.h), and some earlier failures as readable kernels. SALUS_TEST_PROGRAMS:
 * the number of random programs.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/isa/dispatch/select.h"
#include "test/lib/part.h"
#include "test/lib/ptx/ptxrandom.h"
#include "test/lib/ptx/ptxrun.h"

#define LANES 32
#define MEMORY (LANES * PTXRANDOM_LANE_BYTES)

static const char *const builds[] = {"base", "v3", "v4"};

/* Returns the first difference in a run of program `seed`, or NULL. */
static const char *difference(struct ptxrandom *p, uint32_t seed, const unsigned char *want) {
    static char text[600];
    const char *ptx = ptxrandom_make(p, seed);
    struct ptxrun *r = ptxrun_create(ptx, strlen(ptx), 0);
    unsigned char *got = ptxrun_alloc(r, MEMORY);
    for (uint32_t k = 0; k < MEMORY; k++)
        got[k] = (unsigned char)(k * 37);
    r->max_steps = 100; /* with a broken allocation, a program may never end */
    int err = ptxrun_launch(r, "main", 1, LANES, 1, (uint64_t)got);
    const char *what = NULL;
    for (uint32_t k = 0; !what && k < MEMORY; k++)
        if (err || got[k] != want[k]) {
            snprintf(text, sizeof(text),
                     "program %u on %s: lane %u, byte %u: %u, expected %u; %d %s%s", seed,
                     isa_name(), k / PTXRANDOM_LANE_BYTES, k % PTXRANDOM_LANE_BYTES, got[k],
                     want[k], err, r->why, r->result.text);
            what = text;
        }
    ptxrun_destroy(r);
    return what;
}

static void check_program(struct ptxrandom *p, uint32_t seed) {
    static unsigned char want[MEMORY];
    for (uint32_t k = 0; k < MEMORY; k++)
        want[k] = (unsigned char)(k * 37);
    ptxrandom_make(p, seed);
    for (uint32_t lane = 0; lane < LANES; lane++)
        ptxrandom_run(p, lane, want + lane * PTXRANDOM_LANE_BYTES);
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        if (strcmp(isa_name(), builds[b])) continue; /* not supported by this processor */
        const char *what = difference(p, seed, want);
        cr_assert(!what, "%s", what);
    }
    unsetenv("SALUS_SOFT_ISA");
}

Test(regalloc, random_programs) {
    const char *count = getenv("SALUS_TEST_PROGRAMS");
    struct ptxrandom *p = ptxrandom_create();
    for (uint32_t seed = 0; seed < (count ? (uint32_t)atoi(count) : part_of(4000)); seed++)
        check_program(p, seed);
    ptxrandom_destroy(p);
}

/* ---- readable kernels
 * ---------------------------------------------------------------------------- */

#define HEAD                                          \
    ".version 8.0\n.target sm_90\n.address_size 64\n" \
    ".visible .entry main(.param .u64 out) {\n"       \
    ".reg .b64 %out; .reg .b32 %lane; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n"
#define TAIL " mad.wide.u32 %out, %lane, 4, %out; st.global.u32 [%out], %r; ret; }\n"

static void check_kernel(const char *ptx, uint32_t (*want)(uint32_t lane)) {
    struct ptxrun *r = ptxrun_create(ptx, strlen(ptx), 0);
    uint32_t *out = ptxrun_alloc(r, LANES * 4);
    cr_assert_eq(ptxrun_launch(r, "main", 1, LANES, 1, (uint64_t)out), 0, "%s%s", r->why,
                 r->result.text);
    for (uint32_t l = 0; l < LANES; l++)
        cr_assert_eq(out[l], want(l), "lane %u: %u, expected %u", l, out[l], want(l));
    ptxrun_destroy(r);
}

/* Lanes leave the loop at different times and wait with live 16-bit values. The looping lanes
 * write a predicate that is dead where those values are live. */
static const char pred_text[] =
    HEAD ".reg .pred %p, %q; .reg .b16 %h; .reg .b32 %r, %n, %x; mov.u32 %n, 0;\n"
         "NEXT: setp.lt.u32 %p, %n, 40; selp.u32 %x, 1, 2, %p; cvt.u16.u32 %h, %n;\n"
         "add.u32 %n, %n, %x; setp.le.u32 %q, %n, %lane; @%q bra NEXT;\n"
         "cvt.u32.u16 %r, %h;" TAIL;

static uint32_t lane_want(uint32_t l) {
    return l;
}
Test(regalloc, predicates_and_16_bits_are_not_one_layout) {
    check_kernel(pred_text, lane_want);
}

/* As pred_text, with live 64-bit values and a discarded result that gets 32 bits of each lane. */
static const char sink_text[] =
    HEAD ".reg .pred %p, %q; .reg .b32 %r, %n, %x, %me; .reg .b64 %a;\n"
         "mov.u32 %n, 0; mov.u32 %me, %lanemask_eq;\n"
         "NEXT: elect.sync _|%p, %me; selp.u32 %x, 1, 2, %p; mul.wide.u32 %a, %n, 0x10001;\n"
         "add.u32 %n, %n, %x; setp.le.u32 %q, %n, %lane; @%q bra NEXT;\n"
         "shr.u64 %a, %a, 16; cvt.u32.u64 %r, %a;" TAIL;

Test(regalloc, a_sink_shares_its_slot_with_nobody) {
    check_kernel(sink_text, lane_want);
}

/* Most iterations keep %a, which nothing reads between its last use in one iteration and its
 * guard in the next. */
static const char guarded_text[] =
    HEAD ".reg .pred %p, %q; .reg .b32 %r, %n, %a, %b, %c;\n"
         "mov.u32 %n, 0; mov.u32 %r, 0; add.u32 %a, %lane, 100;\n"
         "NEXT: setp.eq.u32 %p, %n, %lane; @%p add.u32 %a, %lane, 5000; add.u32 %r, %r, %a;\n"
         "add.u32 %b, %n, 3; mul.lo.u32 %c, %b, %b; add.u32 %r, %r, %c;\n"
         "add.u32 %n, %n, 1; setp.lt.u32 %q, %n, 4; @%q bra NEXT;" TAIL;

static uint32_t guarded_want(uint32_t l) {
    uint32_t sum = 0;
    for (uint32_t n = 0; n < 4; n++)
        sum += (l <= n ? l + 5000 : l + 100) + (n + 3) * (n + 3);
    return sum;
}
Test(regalloc, a_guarded_write_does_not_end_the_old_value) {
    check_kernel(guarded_text, guarded_want);
}

/* A result that no instruction reads is written all the same. */
static const char dead_text[] =
    HEAD ".reg .b16 %dead, %h; .reg .b32 %r;\n"
         "mad.lo.u32 %r, %lane, 0x70003, 0x11; mov.b32 {%h, %dead}, %r; cvt.u32.u16 %r, %h;" TAIL;

static uint32_t dead_want(uint32_t l) {
    return (l * 0x70003 + 0x11) & 0xffff;
}
Test(regalloc, results_that_nobody_reads_have_slots) {
    check_kernel(dead_text, dead_want);
}
