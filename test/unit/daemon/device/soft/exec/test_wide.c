/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of 128 bits: moved, packed and unpacked, in every state space, as arguments, under guards;
 * exchanged and compared in memory, by several threads and the host at the same time.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "test/lib/ptx/ptxrun.h"

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define LANES 32

struct wide {
    uint64_t lo, hi;
};

static struct wide in_value(uint32_t l) {
    return (struct wide){0x0123456789abcdefull * (l + 1), 0xfedcba9876543210ull ^ l << 7};
}

static void is(const struct wide *got, uint32_t l, uint64_t lo, uint64_t hi, const char *what) {
    cr_assert(got[l].lo == lo && got[l].hi == hi, "%s, lane %u, %s: %llx %llx, not %llx %llx", what,
              l, isa_name(), (unsigned long long)got[l].hi, (unsigned long long)got[l].lo,
              (unsigned long long)hi, (unsigned long long)lo);
}

static void each_build(void (*fn)(void)) {
    static const char *const builds[] = {"base", "v3", "v4"};
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        if (strcmp(isa_name(), builds[b]) == 0) fn();
    }
    unsetenv("SALUS_SOFT_ISA");
}

/* k(in, out): each lane has 16 bytes of both; `body` computes %w from %v, the lane's input; the
 * first input is also a parameter. Lanes whose guard is false keep 7. */
static void run_body(const char *body, struct wide *got, int want, const char *words) {
    char text[4096];
    snprintf(text, sizeof(text),
             HEAD
             ".const .align 16 .b8 c[16] = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16};\n"
             ".func (.param .b128 r) same(.param .b128 x) {\n"
             ".reg .b128 %%v; ld.param.b128 %%v, [x]; st.param.b128 [r], %%v; ret; }\n"
             ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 16 .b8 p[16]) {\n"
             ".shared .align 16 .b8 sh[512]; .local .align 16 .b8 lo[16];\n"
             ".reg .b128 %%v, %%w, %%x<4>; .reg .b64 %%in, %%out, %%a, %%b; .reg .pred %%p;\n"
             ".reg .b32 %%l, %%s, %%r<4>; .reg .b16 %%h<8>;\n"
             "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out]; mov.u32 %%l, %%laneid;\n"
             "mad.wide.u32 %%in, %%l, 16, %%in; mad.wide.u32 %%out, %%l, 16, %%out;\n"
             "shl.b32 %%s, %%l, 4; mov.u32 %%r0, sh; add.u32 %%s, %%s, %%r0;\n"
             "mov.b128 %%w, 7; ld.global.b128 %%v, [%%in]; setp.lt.u32 %%p, %%l, 9;\n"
             "%s\nst.global.b128 [%%out], %%w; ret; }\n",
             body);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s: %s", body, r->why);
    struct wide *in = ptxrun_alloc(r, LANES * sizeof(*in));
    struct wide *out = ptxrun_alloc(r, LANES * sizeof(*out));
    for (uint32_t l = 0; l < LANES; l++)
        in[l] = in_value(l);
    uint64_t params[] = {(uint64_t)(uintptr_t)in, (uint64_t)(uintptr_t)out, 11, 12};
    int err = ptxrun_launch3(r, "k", (uint32_t[]){1, 1, 1}, (uint32_t[]){LANES, 1, 1}, params, 4);
    cr_assert_eq(err, want, "%s: %d %s%s", body, err, r->why, r->result.text);
    cr_assert(strstr(r->result.text, words), "%s: %s", body, r->result.text);
    memcpy(got, out, LANES * sizeof(*got));
    ptxrun_destroy(r);
}

static void same_as_in(const char *body) {
    struct wide got[LANES];
    run_body(body, got, 0, "");
    for (uint32_t l = 0; l < LANES; l++)
        is(got, l, in_value(l).lo, in_value(l).hi, body);
}

static void copies(void) {
    same_as_in("mov.b128 %w, %v;");
    same_as_in("mov.b128 {%a, %b}, %v; mov.b128 %w, {%a, %b};");
    same_as_in("mov.b128 {%r0, %r1, %r2, %r3}, %v; mov.b128 %w, {%r0, %r1, %r2, %r3};");
    same_as_in("mov.b128 {%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7}, %v;\n"
               "mov.b128 %w, {%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7};");
    same_as_in("st.shared.b128 [%s], %v; ld.shared.b128 %w, [%s];");
    same_as_in("st.local.b128 [lo], %v; ld.volatile.local.b128 %w, [lo];");
    same_as_in("st.release.sys.b128 [%out], %v; ld.acquire.gpu.global.b128 %w, [%out];");
    same_as_in("ldu.global.b128 %w, [%in];");
    same_as_in("ld.global.nc.L1::no_allocate.b128 %w, [%in];");
    same_as_in("call (%w), same, (%v);");
    same_as_in("{ .param .b128 q; st.param.b128 [q], %v; ld.param.b128 %w, [q]; }");
}

Test(wide, copies_keep_all_bits) {
    each_build(copies);
}

static void parts(void) {
    struct wide got[LANES];
    run_body("mov.b128 {_, %a}, %v; mov.b128 {%b, _}, %v; mov.b128 %w, {%a, %b};", got, 0, "");
    for (uint32_t l = 0; l < LANES; l++)
        is(got, l, in_value(l).hi, in_value(l).lo, "halves change places");
    run_body("@%p mov.b128 %w, %v;", got, 0, "");
    for (uint32_t l = 0; l < LANES; l++)
        is(got, l, l < 9 ? in_value(l).lo : 7, l < 9 ? in_value(l).hi : 0, "under a guard");
    run_body("@!%p ld.global.b128 %w, [%in]; @%p mov.b128 %w, {%in, 5};\n"
             "@%p mov.b128 {%a, %b}, %w; @%p mov.b128 %w, {%b, 6};",
             got, 0, "");
    for (uint32_t l = 0; l < LANES; l++)
        is(got, l, l < 9 ? 5 : in_value(l).lo, l < 9 ? 6 : in_value(l).hi, "under both");
    run_body("mov.b128 %w, -5;", got, 0, "");
    is(got, 31, (uint64_t)-5, 0, "a literal has 64 bits"); /* ptxas gives the same message */
    run_body("ld.const.b128 %w, [c];", got, 0, "");
    is(got, 31, 0x0807060504030201, 0x100f0e0d0c0b0a09, "constants");
    run_body("ld.param.b128 %w, [p];", got, 0, "");
    is(got, 31, 11, 12, "parameters");
}

Test(wide, parts_and_guards) {
    each_build(parts);
}

Test(wide, addresses_are_checked) {
    struct wide got[LANES];
    run_body("ld.global.b128 %w, [%in+8];", got, ERR_MISALIGNED, "");
    run_body("st.global.b128 [%out+512], %v;", got, ERR_ILLEGAL_ADDRESS, "");
    run_body("ld.shared.b128 %w, [sh+512];", got, ERR_ILLEGAL_ADDRESS, "outside the block");
    run_body("atom.global.exch.b128 %w, [%in+8], %v;", got, ERR_MISALIGNED, "");
    run_body("atom.cas.b128 %w, [%out+512], %v, %v;", got, ERR_ILLEGAL_ADDRESS, "");
}

/* ---- in memory ---------------------------------------------------------------------------------
 */

static void atomics(void) {
    struct wide got[LANES];
    static const char *const spaces[] = {"global", "shared"};
    for (uint32_t s = 0; s < 2; s++) {
        const char *at = s ? "%s" : "%out";
        char body[512];
        snprintf(body, sizeof(body),
                 "st.%s.b128 [%s], %%v; atom.%s.exch.b128 %%w, [%s], 9; ld.%s.b128 %%x0, [%s];\n"
                 "mov.b128 {%%a, %%b}, %%x0; setp.ne.u64 %%p, %%a, 9; @%%p trap;",
                 spaces[s], at, spaces[s], at, spaces[s], at);
        same_as_in(body);
        snprintf(body, sizeof(body),
                 "mov.b128 {%%a, %%b}, %%v; add.u64 %%b, %%b, 1; mov.b128 %%x0, {%%a, %%b};\n"
                 "st.%s.b128 [%s], %%v; atom.acq_rel.gpu.%s.cas.b128 _, [%s], %%x0, 9;\n"
                 "ld.%s.b128 %%w, [%s];",
                 spaces[s], at, spaces[s], at, spaces[s], at);
        same_as_in(body);
        snprintf(body, sizeof(body),
                 "st.%s.b128 [%s], %%v; atom.%s.cas.b128 %%w, [%s], %%v, 9;\n"
                 "mov.b128 {%%a, %%b}, %%w; atom.%s.cas.b128 %%w, [%s], 9, %%v;\n"
                 "mov.b128 {%%in, _}, %%w; mov.b128 %%w, {%%in, %%b};",
                 spaces[s], at, spaces[s], at, spaces[s], at);
        run_body(body, got, 0, "");
        for (uint32_t l = 0; l < LANES; l++)
            is(got, l, 9, in_value(l).hi, body);
    }
    run_body("mov.b128 %x0, {%in, 0}; atom.cas.b128 %w, [%in], %x0, 9;", got, 0, "");
    for (uint32_t l = 0; l < LANES; l++)
        is(got, l, in_value(l).lo, in_value(l).hi, "what is not the same stays");
}

Test(wide, exchanged_and_compared) {
    each_build(atomics);
}

/* Each thread turns a cell {n, ~n} into {n + 1, ~(n + 1)}. In another cell it exchanges such
 * values, and sums the values that it stores and gets; the host does the same. Halves that do
 * not match were torn. */
static const char counting[] =
    HEAD ".visible .entry count(.param .u64 cells, .param .u64 sums) {\n"
         ".reg .b128 %old, %new; .reg .b64 %cells, %sums, %a, %b, %c, %put, %got; .reg .b32 %n;\n"
         ".reg .pred %p; ld.param.u64 %cells, [cells]; ld.param.u64 %sums, [sums];\n"
         "mov.u32 %n, 0; mov.u64 %put, 0; mov.u64 %got, 0;\n"
         "next: mov.u64 %a, %clock64; not.b64 %b, %a; add.u64 %put, %put, %a;\n"
         "mov.b128 %new, {%a, %b}; atom.relaxed.sys.global.exch.b128 %old, [%cells+16], %new;\n"
         "mov.b128 {%a, %b}, %old; add.u64 %got, %got, %a; not.b64 %b, %b;\n"
         "setp.ne.u64 %p, %a, %b; @%p trap; mov.u64 %a, 0; mov.u64 %b, -1;\n"
         "again: mov.b128 %old, {%a, %b}; add.u64 %c, %a, 1; not.b64 %b, %c;\n"
         "mov.b128 %new, {%c, %b}; atom.global.cas.b128 %old, [%cells], %old, %new;\n"
         "sub.u64 %c, %c, 1; mov.b128 {%a, %b}, %old; setp.ne.u64 %p, %a, %c; @%p bra again;\n"
         "add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 40; @%p bra next;\n"
         "red.global.add.u64 [%sums], %put; red.global.add.u64 [%sums+8], %got; ret; }\n";

static struct {
    struct atom_pair *cell;
    uint64_t put, got, torn;
    _Atomic uint32_t over;
} host;

static void *host_exchanges(void *arg) {
    (void)arg;
    for (uint64_t n = 1; !atom_load_acquire(&host.over); n += 3) {
        struct atom_pair old = {0};
        while (!atom_cas_pair(host.cell, &old, (struct atom_pair){n, ~n}))
            continue;
        host.put += n;
        host.got += old.lo;
        host.torn += old.hi != ~old.lo;
    }
    return NULL;
}

Test(wide, nothing_is_lost_or_torn_between_threads_and_host) {
    struct ptxrun *r = ptxrun_create(counting, strlen(counting), 0);
    struct atom_pair *cell = ptxrun_alloc(r, 2 * sizeof(*cell));
    uint64_t *sums = ptxrun_alloc(r, 16);
    pthread_t thread;
    cell[0] = cell[1] = (struct atom_pair){0, ~0ull};
    host.cell = &cell[1];
    r->threads = 4;
    r->slice = 500;
    pthread_create(&thread, NULL, host_exchanges, NULL);
    int err = ptxrun_launch(r, "count", 8, LANES, 2, (uint64_t)(uintptr_t)cell,
                            (uint64_t)(uintptr_t)sums);
    atom_store_release(&host.over, 1);
    pthread_join(thread, NULL);
    cr_assert_eq(err, 0, "%s%s", r->why, r->result.text);
    cr_assert_eq(host.torn, 0, "the host saw %llu torn", (unsigned long long)host.torn);
    cr_assert_eq(sums[0] + host.put, sums[1] + host.got + cell[1].lo);
    cr_assert_eq(cell->lo, 8 * LANES * 40ull, "%llu", (unsigned long long)cell->lo);
    cr_assert_eq(cell->hi, ~cell->lo);
    ptxrun_destroy(r);
}
