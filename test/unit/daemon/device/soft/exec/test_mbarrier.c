/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers in shared memory, by the rules of "Parallel Thread Execution ISA" about their counts and
 * phases.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/ptxrun.h"

static char text[8192];

/* k(out): the barrier is at bar, shared words at sh; %r10 is stored for each thread. */
static struct ptxrun *kernel(const char *body) {
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 out) {\n"
             ".shared .align 8 .b64 bar; .shared .align 16 .b8 sh[2048];\n"
             ".reg .b64 %%p,%%at,%%s<6>;.reg .b32 %%t,%%r<20>;.reg .pred %%q<6>;\n"
             "ld.param.u64 %%p,[out];mov.u32 %%t,%%tid.x;mov.u32 %%r10,0;\n"
             "setp.eq.u32 %%q0,%%t,0;setp.lt.u32 %%q1,%%t,32;\n%s\n"
             "mad.wide.u32 %%at,%%t,4,%%p;st.global.u32 [%%at],%%r10;ret;\n}\n",
             body);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s\n%s", r->why, text);
    return r;
}

/* Returns the values that the threads store; freed with the run. */
static uint32_t *run(struct ptxrun *r, uint32_t threads) {
    uint32_t *out = ptxrun_alloc(r, threads * 4);
    int err = ptxrun_launch(r, "k", 1, threads, 1, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, 0, "%d %s%s\n%s", err, r->why, r->result.text, text);
    return out;
}

/* Bits that one thread collects: `ask` puts %q2 into bit n of %r10. */
#define NOTE(n) "selp.b32 %r11,1,0,%q2;shl.b32 %r11,%r11," #n ";or.b32 %r10,%r10,%r11;\n"

static void one_thread(const char *body, uint32_t want) {
    struct ptxrun *r = kernel(body);
    uint32_t got = run(r, 1)[0];
    cr_assert_eq(got, want, "%x, not %x of\n%s", got, want, body);
    ptxrun_destroy(r);
}

#define PARITY(n) "mbarrier.test_wait.parity.shared.b64 %q2,[bar]," #n ";\n"

Test(mbarrier, phases_follow_each_other) {
    one_thread("mbarrier.init.shared.b64 [bar],2;\n" PARITY(0) NOTE(0) PARITY(1)
                   NOTE(1) "mbarrier.arrive.shared.b64 %s0,[bar];\n" PARITY(0)
                       NOTE(2) "mbarrier.arrive.shared.b64 %s1,[bar];\n" PARITY(0) NOTE(3) PARITY(1)
                           NOTE(4) "mbarrier.arrive.shared.b64 _,[bar],2;\n" PARITY(1) NOTE(5)
                               PARITY(0) NOTE(6),
               1 << 1 | 1 << 3 | 1 << 5);
}

Test(mbarrier, tokens_tell_their_phase_and_count) {
    one_thread("mbarrier.init.shared.b64 [bar],3;\nmbarrier.arrive.shared.b64 %s0,[bar];\n"
               "mbarrier.test_wait.shared.b64 %q2,[bar],%s0;\n" NOTE(
                   0) "mbarrier.arrive.shared.b64 %s1,[bar],2;\n"
                      "mbarrier.test_wait.shared.b64 %q2,[bar],%s0;\n" NOTE(
                          1) "mbarrier.arrive.shared.b64 %s2,[bar];\n"
                             "mbarrier.try_wait.shared.b64 %q2,[bar],%s2;\n" NOTE(
                                 2) "mbarrier.pending_count.b64 %r1,%s0;mbarrier.pending_count.b64 "
                                    "%r2,%s1;\n"
                                    "shl.b32 %r1,%r1,8;shl.b32 %r2,%r2,16;or.b32 "
                                    "%r10,%r10,%r1;or.b32 %r10,%r10,%r2;",
               1 << 1 | 3 << 8 | 2 << 16);
}

Test(mbarrier, who_drops_out_is_not_waited_for) {
    one_thread("mbarrier.init.shared.b64 [bar],3;\nmbarrier.arrive_drop.shared.b64 %s0,[bar];\n"
               "mbarrier.arrive.shared.b64 %s0,[bar],2;\n" PARITY(0)
                   NOTE(0) "mbarrier.arrive.shared.b64 %s0,[bar];\n" PARITY(1)
                       NOTE(1) "mbarrier.arrive.shared.b64 %s0,[bar];\n" PARITY(1) NOTE(2),
               1 << 0 | 1 << 2);
}

Test(mbarrier, bytes_are_waited_for) {
    one_thread(
        "mbarrier.init.shared.b64 [bar],1;\n"
        "mbarrier.arrive.expect_tx.shared.b64 %s0,[bar],100;\n" PARITY(0) NOTE(
            0) "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar],60;\n" PARITY(0)
            NOTE(1) "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar],40;\n" PARITY(0) NOTE(
                2) "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar],8;\n"
                   "mbarrier.arrive.shared.b64 %s0,[bar];\n" PARITY(1) NOTE(
                       3) "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar],8;\n" PARITY(1)
                       NOTE(4),
        1 << 2 | 1 << 4);
}

Test(mbarrier, copies_arrive) {
    one_thread("mbarrier.init.shared.b64 [bar],1;\ncp.async.ca.shared.global [sh],[%p],4;\n"
               "cp.async.mbarrier.arrive.shared.b64 [bar];\n" PARITY(0)
                   NOTE(0) "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n" PARITY(0) NOTE(1),
               1 << 1);
}

/* One warp produces numbers, another one sums them, in a buffer of 32 at a time, 10 times. */
Test(mbarrier, a_warp_waits_for_another) {
    struct ptxrun *r = kernel(
        "@%q0 mbarrier.init.shared.b64 [bar],32;\n@%q0 mbarrier.init.shared.b64 [sh+1024],32;\n"
        "bar.sync 0;\nmov.u32 %r1,0;mov.u32 %r5,sh;and.b32 %r6,%t,31;shl.b32 %r7,%r6,2;\n"
        "add.u32 %r5,%r5,%r7;@%q1 bra make;\n"
        "take: and.b32 %r2,%r1,1;\n"
        "full: mbarrier.try_wait.parity.shared.b64 %q2,[bar],%r2;@!%q2 bra full;\n"
        "ld.shared.u32 %r3,[%r5];add.u32 %r10,%r10,%r3;\n"
        "mbarrier.arrive.shared.b64 %s0,[sh+1024];add.u32 %r1,%r1,1;setp.lt.u32 %q3,%r1,10;\n"
        "@%q3 bra take;bra done;\n"
        "make: setp.eq.u32 %q3,%r1,0;@%q3 bra put;add.u32 %r2,%r1,1;and.b32 %r2,%r2,1;\n"
        "empty: mbarrier.try_wait.parity.shared.b64 %q2,[sh+1024],%r2;@!%q2 bra empty;\n"
        "put: mad.lo.u32 %r3,%r1,100,%r6;st.shared.u32 [%r5],%r3;\n"
        "mbarrier.arrive.shared.b64 %s0,[bar];add.u32 %r1,%r1,1;setp.lt.u32 %q3,%r1,10;\n"
        "@%q3 bra make;\ndone:");
    r->max_steps = 1000;
    uint32_t *out = run(r, 64);
    for (uint32_t t = 32; t < 64; t++)
        cr_assert_eq(out[t], 4500 + 10 * (t - 32), "%u: %u", t, out[t]);
    ptxrun_destroy(r);
}

/* The first warp waits while the second one counts to 100,000, over many quanta: it polls once
 * in each of its turns, so that waiting costs next to nothing. */
Test(mbarrier, who_waits_in_vain_gives_its_turn_away) {
    struct ptxrun *r =
        kernel("@%q0 mbarrier.init.shared.b64 [bar],32;\nbar.sync 0;\n@!%q1 bra count;\n"
               "full: mbarrier.try_wait.parity.shared.b64 %q2,[bar],0;@!%q2 bra full;\nbra done;\n"
               "count: add.u32 %r10,%r10,1;setp.lt.u32 %q3,%r10,100000;@%q3 bra count;\n"
               "mbarrier.arrive.shared.b64 %s0,[bar];\ndone:");
    run(r, 64);
    cr_assert_lt(r->result.warp_insts, 300070, "%llu", (unsigned long long)r->result.warp_insts);
    ptxrun_destroy(r);
}

/* Copies 1 KiB to shared memory, doubles it there, copies half of it within shared memory, and
 * copies the result back. */
Test(mbarrier, bulk_copies_complete_on_it) {
    struct ptxrun *r = kernel(
        "@!%q0 bra wait;\nmbarrier.init.shared.b64 [bar],1;\n"
        "mbarrier.arrive.expect_tx.shared.b64 %s0,[bar],512;mov.u32 %r1,256;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sh],[%p],%r1,[bar];\n"
        "mbarrier.test_wait.parity.shared.b64 %q2,[bar],0;@%q2 trap;\n"
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
        "[sh+256],[sh],%r1,[bar];\n"
        "wait: bar.sync 0;\n"
        "full: mbarrier.try_wait.parity.shared.b64 %q2,[bar],0;@!%q2 bra full;\n"
        "mov.u32 %r2,sh;mad.lo.u32 %r2,%t,4,%r2;ld.shared.u32 %r3,[%r2+256];\n"
        "add.u32 %r3,%r3,1;st.shared.u32 [%r2],%r3;bar.sync 0;@!%q0 bra done;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%p+256],[sh],256;\n"
        "cp.async.bulk.commit_group;cp.async.bulk.wait_group 0;\ndone: bar.sync 0;");
    uint32_t *out = ptxrun_alloc(r, 512);
    r->max_steps = 1000; /* otherwise it waits for ever */
    for (uint32_t k = 0; k < 64; k++)
        out[k] = k * k;
    int err = ptxrun_launch(r, "k", 1, 64, 1, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, 0, "%d %s%s", err, r->why, r->result.text);
    for (uint32_t k = 0; k < 64; k++)
        cr_assert_eq(out[64 + k], k * k + 1, "%u: %u", k, out[64 + k]);
    ptxrun_destroy(r);
}

#define INNER "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
#define ONES(at) "st.shared.v4.u32 [sh+" #at "],{%r2,%r2,%r2,%r2};\n"

/* A copy of 64 bytes of which only 56 exist. The first word and the last two are unchanged. */
Test(mbarrier, what_a_bulk_copy_ignores_need_not_be_there) {
    struct ptxrun *r = kernel(
        "@!%q0 bra wait;\nmbarrier.init.shared.b64 [bar],1;mov.u32 %r2,-1;mov.u32 %r1,64;\n" ONES(0)
            ONES(48) "mbarrier.arrive.expect_tx.shared.b64 %s0,[bar],80;\n" INNER
                     ".ignore_oob [sh],[%p],%r1,4,8,[bar];\n"
                     "mbarrier.test_wait.parity.shared.b64 %q2,[bar],0;@%q2 trap;\n"
                     "mov.u32 %r1,9;mov.u64 %s0,0;\n" INNER
                     ".L2::cache_hint.ignore_oob [sh+64],[%p],16,%r1,7,[bar],%s0;\n"
                     "mbarrier.test_wait.parity.shared.b64 %q2,[bar],0;@!%q2 trap;\n"
                     "ld.shared.v2.u32 {%r1,%r2},[sh+56];and.b32 %r1,%r1,%r2;\n"
                     "setp.ne.u32 %q2,%r1,-1;@%q2 trap;\n"
                     "wait: bar.sync 0;\n"
                     "mov.u32 %r2,sh;mad.lo.u32 %r2,%t,4,%r2;ld.shared.u32 %r10,[%r2];\n");
    uint32_t *out = ptxrun_alloc(r, 56);
    for (uint32_t k = 0; k < 14; k++)
        out[k] = 100 + k;
    int err = ptxrun_launch(r, "k", 1, 14, 1, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, 0, "%d %s%s", err, r->why, r->result.text);
    for (uint32_t k = 0; k < 14; k++)
        cr_expect_eq(out[k], k ? 100 + k : UINT32_MAX, "%u: %x", k, out[k]);
    ptxrun_destroy(r);
}

/* Ones at all places where nothing was stored. */
#define FILLED(bytes, from)                                                               \
    "mov.u32 %r1,sh;mov.u32 %r2,-1;st.shared.v2.u32 [%r1],{%r2,%r2};\n"                   \
    "st.shared.v2.u32 [%r1+8],{%r2,%r2};st.shared.v2.u32 [%r1+16],{%r2,%r2};\n"           \
    "st.shared.v2.u32 [%r1+24],{%r2,%r2};mov.u64 %s0," #bytes ";\n" from                  \
    "ld.shared.u32 %r3,[%r1+4];ld.shared.u32 %r4,[%r1+8];ld.shared.u32 %r5,[%r1+20];\n"   \
    "ld.shared.u32 %r6,[%r1+24];and.b32 %r3,%r3,1;and.b32 %r4,%r4,2;and.b32 %r5,%r5,4;\n" \
    "and.b32 %r6,%r6,8;or.b32 %r10,%r3,%r4;or.b32 %r10,%r10,%r5;or.b32 %r10,%r10,%r6;\n"
#define GENERIC "cvt.u64.u32 %s1,%r1;cvta.shared.u64 %s1,%s1;"

Test(mbarrier, many_zeros_are_stored_at_once) {
    one_thread(FILLED(16, "st.bulk.weak.shared::cta [%r1+8],%s0,0;\n"), 1 | 8);
    one_thread(FILLED(8, "st.bulk.shared::cta [sh+24],%s0,0;\n"), 1 | 2 | 4);
    one_thread(FILLED(24, GENERIC "st.bulk [%s1],%s0,0;\n"), 8);
    one_thread(FILLED(0, GENERIC "st.bulk.weak [%s1],%s0,0;\n"), 1 | 2 | 4 | 8);
}

static void faults(const char *body, int want, const char *words) {
    struct ptxrun *r = kernel(body);
    uint32_t *out = ptxrun_alloc(r, 64);
    int err = ptxrun_launch(r, "k", 1, 1, 1, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, want, "%d %s of %s", err, r->result.text, body);
    cr_assert(strstr(r->result.text, words), "%s", r->result.text);
    ptxrun_destroy(r);
}

Test(mbarrier, what_is_undefined_is_a_fault) {
    static const char *const more = "more arrivals than the barrier waits for";
    faults("mbarrier.init.shared.b64 [bar],0;", ERR_ILLEGAL_INSTRUCTION, "1 to 1048575");
    faults("mbarrier.init.shared.b64 [bar],1048576;", ERR_ILLEGAL_INSTRUCTION, "1 to 1048575");
    faults("mbarrier.init.shared.b64 [bar],1;mbarrier.arrive.shared.b64 %s0,[bar],2;",
           ERR_ILLEGAL_INSTRUCTION, more);
    faults("mbarrier.arrive.shared.b64 %s0,[bar];", ERR_ILLEGAL_INSTRUCTION, more);
    faults("mbarrier.init.shared.b64 [bar],1;mbarrier.expect_tx.relaxed.cta.shared::cta.b64 "
           "[bar],-1;",
           ERR_ILLEGAL_INSTRUCTION, "bytes");
#define UP "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
#define DOWN "cp.async.bulk.global.shared::cta.bulk_group "
    faults(UP "[sh],[%p],8,[bar];", ERR_ILLEGAL_INSTRUCTION, "no multiple of 16");
    faults(UP "[sh],[%p],128,[bar];", ERR_ILLEGAL_ADDRESS, "");
    faults(UP "[sh+2048],[%p],16,[bar];", ERR_ILLEGAL_ADDRESS, "shared memory");
    faults(UP "[sh+8],[%p],16,[bar];", ERR_MISALIGNED, "");
    faults(UP "[sh],[%p+8],16,[bar];", ERR_MISALIGNED, "");
    faults(UP "[sh],[%p],16,[bar+4096];", ERR_ILLEGAL_ADDRESS, "shared memory");
    faults(UP "[sh],[%p],16,[bar+4];", ERR_MISALIGNED, "");
    faults(INNER ".ignore_oob [sh],[%p],16,16,0,[bar];", ERR_ILLEGAL_INSTRUCTION, "ignored");
    faults(INNER ".ignore_oob [sh],[%p],16,0,16,[bar];", ERR_ILLEGAL_INSTRUCTION, "ignored");
    faults(INNER ".ignore_oob [sh],[%p],16,8,9,[bar];", ERR_ILLEGAL_INSTRUCTION, "ignored");
    faults(INNER ".ignore_oob [sh],[%p+64],16,1,1,[bar];", ERR_ILLEGAL_ADDRESS, "");
    faults(INNER ".ignore_oob [sh],[%p+8],16,8,1,[bar];", ERR_MISALIGNED, "");
    faults(INNER ".ignore_oob [sh+2048],[%p],16,1,1,[bar];", ERR_ILLEGAL_ADDRESS, "shared memory");
    faults(INNER ".ignore_oob [sh],[%p],16,1,1,[bar+4];", ERR_MISALIGNED, "");
    faults(DOWN "[%p+64],[sh],16;", ERR_ILLEGAL_ADDRESS, "");
    faults(DOWN "[%p],[sh+2048],16;", ERR_ILLEGAL_ADDRESS, "shared memory");
    faults(DOWN "[64],[sh],16;", ERR_ILLEGAL_ADDRESS, "");
#define FILL "st.bulk.weak.shared::cta "
    faults("mov.u64 %s0,12;" FILL "[sh],%s0,0;", ERR_ILLEGAL_INSTRUCTION, "no multiple of 8");
    faults("mov.u64 %s0,16;" FILL "[sh+2048],%s0,0;", ERR_ILLEGAL_ADDRESS, "shared memory");
    faults("mov.u64 %s0,-8;" FILL "[sh+16],%s0,0;", ERR_ILLEGAL_ADDRESS, "shared memory");
    faults("mov.u64 %s0,8;" FILL "[sh+4],%s0,0;", ERR_MISALIGNED, "");
    faults("mov.u64 %s0,8;st.bulk [%p],%s0,0;", ERR_ILLEGAL_ADDRESS, "shared memory");
    faults("mbarrier.init.shared.b64 [bar+4],1;", ERR_MISALIGNED, "");
    faults("mbarrier.init.shared.b64 [bar+4096],1;", ERR_ILLEGAL_ADDRESS, "");
    faults("mbarrier.init.b64 [%p],1;", ERR_ILLEGAL_ADDRESS, "outside the block's shared memory");
    faults("mbarrier.test_wait.parity.b64 %q2,[%p],1;", ERR_ILLEGAL_ADDRESS, "");
}
