/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters: a block's position, access to other blocks' shared memory in every way, barriers over
 * all blocks, and arrivals at another block's mbarrier.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/ptxrun.h"

static char text[8192];

/* k(out): %rank of %size blocks, thread %t, block number %b; words at sh, barriers at bar; %r10 is
 * stored for each thread of the grid. */
static struct ptxrun *kernel(const char *body) {
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_100\n.address_size 64\n"
             ".visible .entry k(.param .u64 out) {\n"
             ".shared .align 16 .b8 sh[1024]; .shared .align 8 .b64 bar[2];\n"
             ".reg .b64 %%p,%%at,%%s<8>;.reg .b32 %%t,%%b,%%rank,%%size,%%next,%%r<20>;\n"
             ".reg .b16 %%h<4>;.reg .pred %%q<6>;\n"
             "ld.param.u64 %%p,[out];mov.u32 %%t,%%tid.x;mov.u32 %%r10,0;\n"
             "mov.u32 %%b,%%ctaid.z;mov.u32 %%r1,%%nctaid.y;mov.u32 %%r2,%%ctaid.y;\n"
             "mad.lo.u32 %%b,%%b,%%r1,%%r2;mov.u32 %%r1,%%nctaid.x;mov.u32 %%r2,%%ctaid.x;\n"
             "mad.lo.u32 %%b,%%b,%%r1,%%r2;setp.eq.u32 %%q0,%%t,0;\n"
             "mov.u32 %%rank,%%cluster_ctarank;mov.u32 %%size,%%cluster_nctarank;\n"
             "add.u32 %%next,%%rank,1;rem.u32 %%next,%%next,%%size;\n%s\n"
             "mov.u32 %%r1,%%ntid.x;mad.lo.u32 %%r1,%%b,%%r1,%%t;\n"
             "mad.wide.u32 %%at,%%r1,4,%%p;st.global.u32 [%%at],%%r10;ret;\n}\n",
             body);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s\n%s", r->why, text);
    r->max_steps = 2000;
    return r;
}

static void of_clusters(struct ptxrun *r, uint32_t x, uint32_t y, uint32_t z) {
    r->cluster[0] = x;
    r->cluster[1] = y;
    r->cluster[2] = z;
}

/* Returns what the threads of a grid in one dimension store, with clusters of `size`. */
static uint32_t *run(struct ptxrun *r, uint32_t blocks, uint32_t threads, uint32_t size) {
    uint32_t *out = ptxrun_alloc(r, blocks * threads * 4);
    of_clusters(r, size, 1, 1);
    int err = ptxrun_launch(r, "k", blocks, threads, 1, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, 0, "%d %s%s\n%s", err, r->why, r->result.text, text);
    return out;
}

/* Expects that every thread stores `want`, computed from its rank, in clusters of 4 blocks of 2
 * threads. */
static void each_rank(const char *body, uint32_t (*want)(uint32_t rank, uint32_t thread)) {
    struct ptxrun *r = kernel(body);
    uint32_t *out = run(r, 8, 2, 4);
    for (uint32_t k = 0; k < 16; k++)
        cr_assert_eq(out[k], want(k / 2 % 4, k % 2), "block %u thread %u: %u of\n%s", k / 2, k % 2,
                     out[k], body);
    ptxrun_destroy(r);
}

#define SYNC "barrier.cluster.arrive.aligned;barrier.cluster.wait.aligned;\n"

/* ---- a block's position ---------------------------------------------------------------------- */

#define DIGIT(name) "mov.u32 %r3,%" name ";mad.lo.u32 %r10,%r10,10,%r3;\n"

Test(cluster, places_in_three_dimensions) {
    struct ptxrun *r =
        kernel(DIGIT("clusterid.x") DIGIT("clusterid.y") DIGIT("clusterid.z")
                   DIGIT("cluster_ctaid.x") DIGIT("cluster_ctaid.y") DIGIT("cluster_ctaid.z")
                       DIGIT("cluster_ctarank") "mov.pred %q2,%is_explicit_cluster;@%q2 add.u32 "
                                                "%r10,%r10,10000000;\n");
    const uint32_t grid[3] = {4, 6, 4}, one[3] = {1, 1, 1};
    uint32_t *out = ptxrun_alloc(r, 96 * 4);
    uint64_t param = (uint64_t)(uintptr_t)out;
    of_clusters(r, 2, 3, 1);
    cr_assert_eq(ptxrun_launch3(r, "k", grid, one, &param, 1), 0, "%s", r->result.text);
    for (uint32_t b = 0; b < 96; b++) {
        uint32_t x = b % 4, y = b / 4 % 6, z = b / 24, rank = x % 2 + y % 3 * 2;
        uint32_t want = x / 2 * 1000000 + y / 3 * 100000 + z * 10000 + x % 2 * 1000 + y % 3 * 100;
        cr_assert_eq(out[b], 10000000 + want + rank, "block %u: %u", b, out[b]);
    }
    ptxrun_destroy(r);
}

Test(cluster, sizes_in_three_dimensions) {
    struct ptxrun *r = kernel(DIGIT("nclusterid.x") DIGIT("nclusterid.y") DIGIT("nclusterid.z")
                                  DIGIT("cluster_nctaid.x") DIGIT("cluster_nctaid.y")
                                      DIGIT("cluster_nctaid.z") DIGIT("cluster_nctarank"));
    const uint32_t grid[3] = {4, 6, 4}, one[3] = {1, 1, 1};
    uint64_t param = (uint64_t)(uintptr_t)ptxrun_alloc(r, 96 * 4);
    of_clusters(r, 1, 2, 4);
    cr_assert_eq(ptxrun_launch3(r, "k", grid, one, &param, 1), 0, "%s", r->result.text);
    for (uint32_t b = 0; b < 96; b++)
        cr_assert_eq(((uint32_t *)(uintptr_t)param)[b], 4311248, "%u", b);
    ptxrun_destroy(r);
}

Test(cluster, without_clusters_each_block_is_its_own) {
    struct ptxrun *r = kernel(
        DIGIT("clusterid.x") DIGIT("nclusterid.x") DIGIT("cluster_ctaid.x")
            DIGIT("cluster_nctaid.x") DIGIT("cluster_ctarank") DIGIT(
                "cluster_nctarank") "mov.pred %q2,%is_explicit_cluster;@%q2 trap;\n" SYNC
                                    "mapa.shared::cluster.u32 %r4,sh,0;st.shared::cluster.u32 "
                                    "[%r4],%b;\n"
                                    "ld.shared.u32 %r5,[sh];setp.ne.u32 %q2,%r5,%b;@%q2 trap;\n");
    uint32_t *out = run(r, 3, 1, 0);
    for (uint32_t b = 0; b < 3; b++)
        cr_assert_eq(out[b], b * 100000 + 30101, "%u: %u", b, out[b]);
    ptxrun_destroy(r);
}

Test(cluster, that_cannot_be_are_not_launched) {
    struct ptxrun *r = kernel("");
    const uint32_t one[3] = {1, 1, 1}, grids[][6] = {{6, 1, 1, 4, 1, 1},
                                                     {1, 3, 1, 1, 2, 1},
                                                     {1, 1, 5, 1, 1, 4},
                                                     {32, 1, 1, 32, 1, 1},
                                                     {8, 8, 1, 8, 4, 1},
                                                     {1 << 16, 1, 1, 1 << 16, 1, 1},
                                                     {65536, 1, 1, 65536, 32768, 2}};
    uint64_t param = (uint64_t)(uintptr_t)ptxrun_alloc(r, 4);
    for (size_t k = 0; k < sizeof(grids) / sizeof(grids[0]); k++) {
        of_clusters(r, grids[k][3], grids[k][4], grids[k][5]);
        cr_assert_eq(ptxrun_launch3(r, "k", grids[k], one, &param, 1), -22, "%zu", k);
    }
    ptxrun_destroy(r);
}

/* ---- shared memory of other blocks ----------------------------------------------------------- */

static uint32_t of_the_one_before(uint32_t rank, uint32_t thread) {
    return (rank + 3) % 4 * 10 + thread;
}

/* Each thread writes 10 * rank + thread to the next block. */
#define GIVE "mad.lo.u32 %r3,%rank,10,%t;mov.u32 %r4,sh;mad.lo.u32 %r4,%t,4,%r4;\n"
#define TAKE SYNC "ld.shared.u32 %r10,[%r4];\n" SYNC

Test(cluster, stores_by_offset) {
    each_rank(GIVE "mapa.shared::cluster.u32 %r5,%r4,%next;\n"
                   "st.shared::cluster.u32 [%r5],%r3;\n" TAKE,
              of_the_one_before);
    each_rank(GIVE "cvt.u64.u32 %s0,%r4;mapa.shared::cluster.u64 %s1,%s0,%next;\n"
                   "st.shared::cluster.u32 [%s1],%r3;\n" TAKE,
              of_the_one_before);
}

Test(cluster, stores_by_address) {
    each_rank(GIVE "cvt.u64.u32 %s0,%r4;cvta.shared.u64 %s0,%s0;mapa.u64 %s1,%s0,%next;\n"
                   "st.u32 [%s1],%r3;\n" TAKE,
              of_the_one_before);
    each_rank(GIVE "cvt.u64.u32 %s0,%r4;mapa.shared::cluster.u64 %s1,%s0,%next;\n"
                   "cvta.shared::cluster.u64 %s2,%s1;st.u32 [%s2],%r3;\n" TAKE,
              of_the_one_before);
    each_rank(GIVE "cvt.u64.u32 %s0,%r4;cvta.shared.u64 %s0,%s0;mapa.u64 %s1,%s0,%next;\n"
                   "cvta.to.shared::cluster.u64 %s2,%s1;st.shared::cluster.u32 [%s2],%r3;\n" TAKE,
              of_the_one_before);
}

static uint32_t of_the_next(uint32_t rank, uint32_t thread) {
    return (rank + 1) % 4 * 10 + thread;
}

Test(cluster, loads) {
    each_rank(GIVE "st.shared.u32 [%r4],%r3;\n" SYNC "mapa.shared::cluster.u32 %r5,%r4,%next;\n"
                   "ld.shared::cluster.u32 %r10,[%r5];\n" SYNC,
              of_the_next);
    each_rank(GIVE "st.shared.u32 [%r4],%r3;\n" SYNC
                   "cvt.u64.u32 %s0,%r4;cvta.shared.u64 %s0,%s0;mapa.u64 %s1,%s0,%next;\n"
                   "ld.relaxed.cluster.u32 %r10,[%s1];ld.u32 %r11,[%s1];\n"
                   "setp.ne.u32 %q2,%r10,%r11;@%q2 trap;\n" SYNC,
              of_the_next);
    each_rank(GIVE "st.shared::cluster.u32 [%r4],%r3;ld.shared::cluster.u32 %r10,[%r4];\n"
                   "sub.u32 %r10,%r10,%r3;add.u32 %r10,%r10,%t;mad.lo.u32 %r10,%next,10,%r10;\n",
              of_the_next);
}

/* 32 bytes, which each block stores at the end. */
Test(cluster, others_shared_memory_is_no_traffic) {
    struct ptxrun *r = kernel("mov.u32 %r5,sh;cvt.u64.u32 %s0,%r5;cvta.shared.u64 %s0,%s0;\n"
                              "mapa.u64 %s1,%s0,%next;st.u32 [%s1],%t;atom.add.u32 %r6,[%s1],1;\n"
                              "ld.u32 %r7,[%s1];ld.u32 %r7,[%s1];\n" SYNC);
    run(r, 8, 2, 4);
    cr_assert_eq(r->result.memory_bytes, 8 * 32, "%llu",
                 (unsigned long long)r->result.memory_bytes);
    ptxrun_destroy(r);
}

static uint32_t eight_of_all(uint32_t rank, uint32_t thread) {
    return 8 * (rank + 100 * thread);
}

/* All eight threads add to the word of each rank, which every block reads in its own shared
 * memory. */
Test(cluster, atomics) {
    each_rank("mov.u32 %r6,0;\nagain: mapa.shared::cluster.u32 %r5,sh,%r6;\n"
              "red.shared::cluster.add.u32 [%r5],%r6;\n"
              "atom.relaxed.cluster.shared::cluster.add.u32 %r7,[%r5+4],%r6;\n"
              "cvt.u64.u32 %s0,%r5;cvta.shared::cluster.u64 %s1,%s0;atom.add.u32 %r7,[%s1+4],100;\n"
              "add.u32 %r6,%r6,1;setp.lt.u32 %q2,%r6,4;@%q2 bra again;\n" SYNC
              "mov.u32 %r4,sh;mad.lo.u32 %r4,%t,4,%r4;ld.shared.u32 %r10,[%r4];\n" SYNC,
              eight_of_all);
}

static uint32_t ranks_of_all(uint32_t rank, uint32_t thread) {
    (void)rank, (void)thread;
    return 0x3210 | 0x32100000;
}

Test(cluster, addresses_tell_their_rank) {
    each_rank("mov.u32 %r6,0;\nagain: mapa.shared::cluster.u32 %r5,sh,%r6;\n"
              "getctarank.shared::cluster.u32 %r7,%r5;cvt.u64.u32 %s0,%r5;\n"
              "cvta.shared::cluster.u64 %s1,%s0;getctarank.u64 %r8,%s1;\n"
              "isspacep.shared::cluster %q2,%s1;@!%q2 trap;isspacep.global %q2,%s1;@%q2 trap;\n"
              "isspacep.shared::cta %q2,%s1;setp.eq.xor.u32 %q2,%r6,%rank,%q2;@%q2 trap;\n"
              "shl.b32 %r7,%r7,16;or.b32 %r7,%r7,%r8;shl.b32 %r8,%r6,2;shl.b32 %r7,%r7,%r8;\n"
              "or.b32 %r10,%r10,%r7;\n"
              "add.u32 %r6,%r6,1;setp.lt.u32 %q2,%r6,4;@%q2 bra again;\n"
              "getctarank.shared::cluster.u32 %r7,sh;setp.ne.u32 %q2,%r7,%rank;@%q2 trap;\n",
              ranks_of_all);
}

static void faults(const char *body, int want, const char *words) {
    struct ptxrun *r = kernel(body);
    uint32_t *out = ptxrun_alloc(r, 64);
    of_clusters(r, 2, 1, 1);
    int err = ptxrun_launch(r, "k", 2, 1, 1, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, want, "%d %s of %s", err, r->result.text, body);
    cr_assert(strstr(r->result.text, words), "%s", r->result.text);
    ptxrun_destroy(r);
}

Test(cluster, memory_ends_where_it_ends) {
    static const char *const outside = "outside the cluster's shared memory";
    faults("mapa.shared::cluster.u32 %r5,sh,2;st.shared::cluster.u32 [%r5],%t;",
           ERR_ILLEGAL_ADDRESS, outside);
    faults("mapa.shared::cluster.u32 %r5,sh,-1;ld.shared::cluster.u32 %r6,[%r5];",
           ERR_ILLEGAL_ADDRESS, outside);
    faults("mapa.shared::cluster.u32 %r5,sh,%next;ld.shared::cluster.u32 %r6,[%r5+1040];",
           ERR_ILLEGAL_ADDRESS, outside);
    faults("mapa.shared::cluster.u32 %r5,sh,%next;ld.shared::cluster.u32 %r6,[%r5+2];",
           ERR_MISALIGNED, "");
    faults("mapa.shared::cluster.u32 %r5,sh,%next;ld.shared.u32 %r6,[%r5];", ERR_ILLEGAL_ADDRESS,
           "outside the block's shared memory");
    faults("mov.u32 %r5,sh;cvt.u64.u32 %s0,%r5;cvta.shared.u64 %s0,%s0;mapa.u64 %s1,%s0,2;"
           "ld.u32 %r6,[%s1];",
           ERR_ILLEGAL_ADDRESS, "");
    faults("mov.u32 %r5,sh;cvt.u64.u32 %s0,%r5;cvta.shared.u64 %s0,%s0;mapa.u64 %s1,%s0,%next;"
           "ld.u32 %r6,[%s1+1040];",
           ERR_ILLEGAL_ADDRESS, "");
    faults("mapa.shared::cluster.u32 %r5,sh,%next;ld.shared::cluster.u32 %r6,[%r5+1200];",
           ERR_ILLEGAL_ADDRESS, outside);
    faults("mapa.u64 %s1,%p,%next;ld.u32 %r6,[%s1];", ERR_ILLEGAL_ADDRESS, "");
}

/* ---- barriers -------------------------------------------------------------------------------- */

static uint32_t steps_of_all(uint32_t rank, uint32_t thread) {
    (void)rank, (void)thread;
    return 4 * 10;
}

/* Ten rounds: every block increments a counter in block 0, waits, and sees that all have; arrive
 * and wait are separate instructions. */
Test(cluster, barriers_wait_for_all_blocks) {
    each_rank("mapa.shared::cluster.u32 %r5,sh,0;mov.u32 %r6,0;\nagain:\n"
              "@%q0 red.shared::cluster.add.u32 [%r5],1;barrier.cluster.arrive.release;\n"
              "add.u32 %r6,%r6,1;barrier.cluster.wait.acquire;\n"
              "ld.shared::cluster.u32 %r10,[%r5];mul.lo.u32 %r7,%r6,4;\n"
              "setp.ne.u32 %q2,%r10,%r7;@%q2 trap;\n"
              "barrier.cluster.arrive.relaxed;barrier.cluster.wait;\n"
              "setp.lt.u32 %q2,%r6,10;@%q2 bra again;\n",
              steps_of_all);
}

static uint32_t the_rank(uint32_t rank, uint32_t thread) {
    (void)thread;
    return rank;
}

/* Block 3 exits without arriving; thread 1 of the other blocks arrives and exits. */
Test(cluster, barriers_do_not_wait_for_the_dead) {
    each_rank("mov.u32 %r10,%rank;setp.eq.u32 %q2,%rank,3;@%q2 bra done;\n"
              "mapa.shared::cluster.u32 %r5,sh,0;\n"
              "barrier.cluster.arrive;@!%q0 bra done;barrier.cluster.wait;\n"
              "red.shared::cluster.add.u32 [%r5],1;\n"
              "barrier.cluster.arrive;barrier.cluster.wait;\n"
              "ld.shared::cluster.u32 %r6,[%r5];setp.ne.u32 %q2,%r6,3;@%q2 trap;\n"
              "barrier.cluster.arrive;barrier.cluster.wait;\n"
              "done:",
              the_rank);
}

/* Arrivals of exited threads do not replace missing ones. */
Test(cluster, who_arrives_and_exits_counts_once) {
    struct ptxrun *r =
        kernel("setp.ge.u32 %q1,%t,32;@%q1 bra stay;\n"
               "barrier.cluster.arrive;bra done;\n"
               "stay: mov.u32 %r6,0;setp.lt.u32 %q2,%t,64;@%q2 bra meet;\n"
               "spin: add.u32 %r6,%r6,1;setp.lt.u32 %q2,%r6,20000;@%q2 bra spin;\n"
               "st.shared.u32 [sh],%r6;\n"
               "meet: barrier.cluster.arrive;barrier.cluster.wait;\n"
               "mapa.shared::cluster.u32 %r5,sh,%next;ld.shared::cluster.u32 %r10,[%r5];\n"
               "done:");
    uint32_t *out = run(r, 2, 96, 2);
    for (uint32_t k = 0; k < 192; k++)
        cr_assert_eq(out[k], k % 96 < 32 ? 0 : 20000, "%u: %u", k, out[k]);
    ptxrun_destroy(r);
}

Test(cluster, who_waits_for_good_is_told) {
    faults("setp.eq.u32 %q2,%rank,0;@%q2 bar.sync 1,64;" SYNC, ERR_LAUNCH_FAILED, "deadlock");
}

/* ---- threads, and launches of all kinds ------------------------------------------------------ */

/* Cluster 0 waits for a value that the last cluster stores. */
Test(cluster, clusters_run_side_by_side) {
    struct ptxrun *r = kernel(
        "mov.u32 %r3,%clusterid.x;mov.u32 %r4,%nclusterid.x;sub.u32 %r4,%r4,1;\n"
        "setp.eq.u32 %q2,%r3,%r4;add.u64 %s0,%p,4096;\n" SYNC
        "@%q2 st.volatile.global.u32 [%s0],7;\n"
        "spin: ld.volatile.global.u32 %r10,[%s0];setp.ne.u32 %q2,%r10,7;@%q2 bra spin;\n" SYNC);
    uint32_t *out = ptxrun_alloc(r, 4096 + 4);
    r->slice = 2000;
    r->max_steps = 0;
    for (r->threads = 1; r->threads <= 3; r->threads++)
        for (r->cooperative = 0; r->cooperative < 2; r->cooperative++) {
            memset(out, 0, 4100);
            of_clusters(r, 4, 1, 1);
            int err = ptxrun_launch(r, "k", 64, 16, 1, (uint64_t)(uintptr_t)out);
            cr_assert_eq(err, 0, "%d %s", err, r->result.text);
            for (uint32_t k = 0; k < 1024; k++)
                cr_assert_eq(out[k], 7, "%u: %u", k, out[k]);
        }
    ptxrun_destroy(r);
}

/* One block waits for another block of its cluster without a barrier. */
static uint32_t always_9(uint32_t rank, uint32_t thread) {
    (void)rank, (void)thread;
    return 9;
}
Test(cluster, blocks_of_a_cluster_run_side_by_side) {
    each_rank("mapa.shared::cluster.u32 %r5,sh,%next;setp.eq.u32 %q2,%rank,2;\n"
              "@%q2 st.shared::cluster.u32 [%r5],9;@%q2 bra last;\n"
              "spin: ld.volatile.shared.u32 %r10,[sh];setp.ne.u32 %q3,%r10,9;@%q3 bra spin;\n"
              "st.shared::cluster.u32 [%r5],9;\nlast: ld.volatile.shared.u32 %r10,[sh];\n"
              "setp.ne.u32 %q3,%r10,9;@%q3 bra last;\n" SYNC,
              always_9);
}

/* ---- arrivals at another block's barrier ----------------------------------------------------- */

#define INIT(count) "@%q0 mbarrier.init.shared.b64 [bar]," #count ";\n" SYNC
#define WAIT                                                                   \
    "wait: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %q2,[bar],0;\n" \
    "@!%q2 bra wait;\n"

Test(cluster, threads_arrive_at_other_barriers) {
    each_rank(INIT(2) "mapa.shared::cluster.u32 %r5,bar,%next;\n"
                      "mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r5];\n" WAIT
                      "mov.u32 %r10,9;\n" SYNC,
              always_9);
    each_rank(INIT(2) "mapa.shared::cluster.u32 %r5,bar,%next;\n"
                      "cvt.u64.u32 %s0,%r5;cvta.shared::cluster.u64 %s0,%s0;\n"
                      "mbarrier.arrive.release.cluster.b64 _,[%s0];\n" WAIT
                      "mov.u32 %r10,9;\n" SYNC,
              always_9);
}

#define DONE "mbarrier::complete_tx::bytes"
#define EXPECT(bytes) "@%q0 mbarrier.arrive.expect_tx.shared.b64 _,[bar]," #bytes ";\n"

static uint32_t sum_of_words(uint32_t rank, uint32_t thread) {
    (void)thread;
    return 3 + 2 * ((rank + 3) % 4) * 100;
}

/* Thread t of each block stores 100 * rank, 1, and 2 at words 2 * t and so on of the next block. */
Test(cluster, values_arrive) {
    each_rank(
        INIT(1) EXPECT(
            40) "mapa.shared::cluster.u32 %r5,sh,%next;\n"
                "mapa.shared::cluster.u32 %r6,bar,%next;mul.lo.u32 %r3,%rank,100;\n"
                "mad.lo.u32 %r5,%t,4,%r5;\n"
                "st.async.shared::cluster." DONE ".u32 [%r5],%r3,[%r6];\n"
                "@%q0 st.async.weak.shared::cluster." DONE ".v4.b32 [%r5+16],{0,1,0,0},[%r6];\n"
                "mov.u64 %s0,2;\n"
                "@%q0 st.async.shared::cluster." DONE ".v2.b64 [%r5+32],{%s0,%s0},[%r6];\n" WAIT
                "ld.shared.v2.u32 {%r3,%r4},[sh];add.u32 %r10,%r3,%r4;\n"
                "ld.shared.u32 %r3,[sh+20];add.u32 %r10,%r10,%r3;\n"
                "ld.shared.u64 %s1,[sh+40];cvt.u32.u64 %r3,%s1;add.u32 %r10,%r10,%r3;\n" SYNC,
        sum_of_words);
}

static uint32_t reduced(uint32_t rank, uint32_t thread) {
    (void)rank, (void)thread;
    return 6 + 100 * 3 + 10000 * 2;
}

Test(cluster, reductions_arrive) {
    each_rank(
        "setp.ne.u32 %q3,%rank,1;@%q3 bra init;\ninit:\n" INIT(1) EXPECT(
            96) "mov.u32 %r7,0;\n"
                "@!%q0 bra wait;\n"
                "again: mapa.shared::cluster.u32 %r5,sh,%r7;mapa.shared::cluster.u32 %r6,bar,%r7;\n"
                "cvt.u64.u32 %s0,%r5;cvta.shared::cluster.u64 %s0,%s0;\n"
                "cvt.u64.u32 %s1,%r6;cvta.shared::cluster.u64 %s1,%s1;cvt.u64.u32 %s2,%rank;\n"
                "red.async.relaxed.cluster." DONE ".add.u64 [%s0],%s2,[%s1];\n"
                "red.async.relaxed.cluster.shared::cluster." DONE ".max.s32 [%r5+8],%rank,[%r6];\n"
                "red.async.relaxed.cluster.shared::cluster." DONE ".inc.u32 [%r5+12],2,[%r6];\n"
                "red.async.relaxed.cluster.shared::cluster." DONE ".or.b32 [%r5+16],2,[%r6];\n"
                "@%q3 red.async.relaxed.cluster.shared::cluster." DONE
                ".xor.b32 [%r5+20],0,[%r6];\n"
                "@!%q3 red.async.relaxed.cluster.shared::cluster." DONE
                ".add.s32 [%r5+20],-1,[%r6];\n"
                "add.u32 %r7,%r7,1;setp.lt.u32 %q2,%r7,4;@%q2 bra again;\n" WAIT
                "ld.shared.v4.u32 {%r3,%r4,%r5,%r6},[sh];mad.lo.u32 %r10,%r5,100,%r3;\n"
                "ld.shared.v2.s32 {%r7,%r8},[sh+16];setp.ne.s32 %q2,%r8,-1;@%q2 trap;\n"
                "setp.ne.u32 %q2,%r6,1;@%q2 trap;mad.lo.u32 %r10,%r7,10000,%r10;\n" SYNC,
        reduced);
}

static uint32_t words_of_one(uint32_t rank, uint32_t thread) {
    return rank == 2 ? 0 : 1000 + thread;
}

/* Blocks 0, 1 and 3 get the data that block 1 reads; block 2 is not in the mask. */
Test(cluster, copies_go_to_many) {
    struct ptxrun *r = kernel(INIT(1) "setp.ne.u32 %q3,%rank,2;@!%q3 bra over;\n" EXPECT(
        32) "setp.eq.u32 %q2,%rank,1;@!%q2 bra wait;@!%q0 bra wait;mov.b16 %h0,11;\n"
            "add.u64 %s0,%p,64;\n"
            "cp.async.bulk.shared::cluster.global." DONE
            ".multicast::cluster [sh],[%s0],32,[bar],%h0;\n" WAIT
            "over: mov.u32 %r4,sh;mad.lo.u32 %r4,%t,4,%r4;ld.shared.u32 %r10,[%r4];\n" SYNC);
    uint32_t *out = ptxrun_alloc(r, 96);
    for (uint32_t k = 0; k < 8; k++)
        out[16 + k] = 1000 + k;
    of_clusters(r, 4, 1, 1);
    int err = ptxrun_launch(r, "k", 8, 2, 1, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, 0, "%d %s%s", err, r->why, r->result.text);
    for (uint32_t k = 0; k < 16; k++)
        cr_assert_eq(out[k], words_of_one(k / 2 % 4, k % 2), "%u: %u", k, out[k]);
    ptxrun_destroy(r);
}

static uint32_t three_times(uint32_t rank, uint32_t thread) {
    return 3 * ((rank + 3) % 4 * 10 + thread);
}

/* Copied to the next block, and added there twice. */
Test(cluster, copies_reduce) {
    each_rank(INIT(1) EXPECT(48) GIVE
              "st.shared.u32 [%r4+64],%r3;bar.sync 0;\n"
              "mapa.shared::cluster.u32 %r5,sh,%next;mapa.shared::cluster.u32 %r6,bar,%next;\n"
              "mov.u32 %r7,sh;add.u32 %r7,%r7,64;@!%q0 bra wait;\n"
              "cp.async.bulk.shared::cluster.shared::cta." DONE " [%r5],[%r7],16,[%r6];\n"
              "cp.reduce.async.bulk.shared::cluster.shared::cta." DONE
              ".add.u32 [%r5],[%r7],16,[%r6];\n"
              "cp.reduce.async.bulk.shared::cluster.shared::cta." DONE
              ".add.s32 [%r5],[%r7],16,[%r6];\n" WAIT "ld.shared.u32 %r10,[%r4];\n" SYNC,
              three_times);
}

/* Reductions down to global memory: the largest of each word, sums of floats, bytes 0 and 5 of
 * 16, and sums of subnormal floats, which are flushed to zero. */
Test(cluster, copies_down_reduce) {
    struct ptxrun *r = kernel(
        "mov.u32 %r4,sh;mad.lo.u32 %r5,%t,4,%r4;mad.lo.u32 %r3,%b,100,%t;st.shared.u32 [%r5],%r3;\n"
        "st.shared.f32 [%r5+64],0f3FC00000;st.shared.u32 [%r5+128],0x55555555;\n"
        "st.shared.u32 [%r5+192],0x80000001;bar.sync 0;\n"
        "@!%q0 bra done;add.u64 %s0,%p,256;mov.b16 %h0,33;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%s0],[sh],16;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%s0+16],[sh+64],16;\n"
        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%s0+32],[sh+128],16,%h0;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%s0+48],[sh+192],16;\n"
        "cp.async.bulk.commit_group;cp.async.bulk.wait_group 0;\ndone:");
    uint32_t *out = ptxrun_alloc(r, 320);
    out[76] = 0x80000000;
    of_clusters(r, 4, 1, 1);
    int err = ptxrun_launch(r, "k", 4, 4, 1, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, 0, "%d %s%s", err, r->why, r->result.text);
    const uint32_t masked[] = {0x55, 0x5500, 0, 0};
    for (uint32_t k = 0; k < 4; k++) {
        cr_assert_eq(out[64 + k], 300 + k, "%u", out[64 + k]);
        cr_assert_eq(out[68 + k], 0x40c00000, "%x", out[68 + k]);
        cr_assert_eq(out[72 + k], masked[k], "%x", out[72 + k]);
        cr_assert_eq(out[76 + k], k ? 0 : 0x80000000, "%x", out[76 + k]);
    }
    ptxrun_destroy(r);
}

Test(cluster, what_arrives_nowhere_is_a_fault) {
    static const char *const outside = "outside the cluster's shared memory";
#define TO(rank) \
    "mapa.shared::cluster.u32 %r5,sh," #rank ";mapa.shared::cluster.u32 %r6,bar," #rank ";\n"
    faults(TO(2) "st.async.shared::cluster." DONE ".u32 [%r5],1,[bar];", ERR_ILLEGAL_ADDRESS,
           outside);
    faults(TO(2) "st.async.shared::cluster." DONE ".u32 [sh],1,[%r6];", ERR_ILLEGAL_ADDRESS,
           outside);
    faults(TO(1) "st.async.shared::cluster." DONE ".v4.u32 [%r5+8],{1,1,1,1},[%r6];",
           ERR_MISALIGNED, "");
    faults(TO(1) "st.async.shared::cluster." DONE ".v4.u32 [%r5+1040],{1,1,1,1},[%r6];",
           ERR_ILLEGAL_ADDRESS, outside);
    faults(TO(1) "red.async.relaxed.cluster." DONE ".add.u32 [%p],1,[%p];", ERR_ILLEGAL_ADDRESS,
           outside);
    faults("mov.b16 %h0,4;cp.async.bulk.shared::cluster.global." DONE
           ".multicast::cluster [sh],[%p],16,[bar],%h0;",
           ERR_ILLEGAL_ADDRESS, "outside the cluster");
    faults(TO(1) "mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r5+1040];",
           ERR_ILLEGAL_ADDRESS, outside);
    faults(TO(1) "setp.eq.u32 %q2,%rank,0;cvt.u64.u32 %s0,%r6;cvta.shared::cluster.u64 %s0,%s0;"
                 "@%q2 mbarrier.init.b64 [%s0],1;" SYNC,
           ERR_ILLEGAL_ADDRESS, "outside the block's shared memory");
}

/* ---- taking over other clusters' work
 * --------------------------------------------------------- */

#define ASK                                                                      \
    "@%q0 mbarrier.init.shared.b64 [bar],1;@%q0 st.shared.b64 [sh+8],%p;\n" SYNC \
    "@%q0 mbarrier.arrive.expect_tx.shared.b64 _,[bar],16;\n" SYNC

/* No request is granted: each block asks, gets the refusal at its barrier, and does its own
 * work. 1000 where the barrier's phase is complete, 1 where the answer is a refusal, and the
 * words of the answer. */
#define TOLD                                                                                   \
    SYNC "mbarrier.test_wait.parity.shared.b64 %q1,[bar],0;@%q1 add.u32 %r10,%r10,1000;\n"     \
         "{.reg .b128 %c;.reg .b32 %i<5>;ld.shared.b128 %c,[sh];\n"                            \
         "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %q2,%c;\n"                   \
         "@!%q2 add.u32 %r10,%r10,1;mov.u32 %i3,5;\n"                                          \
         "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%i0,%i1,%i2,_},%c;\n" \
         "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %i3,%c;\n"             \
         "add.u32 %r10,%r10,%i0;add.u32 %r10,%r10,%i1;add.u32 %r10,%r10,%i2;\n"                \
         "add.u32 %r10,%r10,%i3;}\n"

static uint32_t refused(uint32_t rank, uint32_t thread) {
    (void)rank;
    (void)thread;
    return 1001;
}

Test(cluster, requests_for_the_work_of_others_fail) {
    each_rank(ASK "@%q0 clusterlaunchcontrol.try_cancel.async.shared::cta"
                  ".mbarrier::complete_tx::bytes.b128 [sh],[bar];\n" TOLD,
              refused);
    each_rank(ASK "mov.u64 %s0,sh;cvta.shared.u64 %s0,%s0;\n"
                  "mov.u64 %s1,bar;cvta.shared.u64 %s1,%s1;\n"
                  "@%q0 clusterlaunchcontrol.try_cancel.async"
                  ".mbarrier::complete_tx::bytes.b128 [%s0],[%s1];\n" TOLD,
              refused);
    each_rank(ASK "setp.eq.u32 %q3,%rank,2;and.pred %q3,%q3,%q0;\n"
                  "@%q3 clusterlaunchcontrol.try_cancel.async.shared::cta"
                  ".mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [sh],[bar];\n" TOLD,
              refused);
}

/* Every answer but a refusal counts as a grant, because the answer is in the program's memory. */
static uint32_t granted(uint32_t rank, uint32_t thread) {
    (void)rank;
    (void)thread;
    return 2 + 3 + 4 + 3;
}

Test(cluster, answers_are_taken_apart) {
    each_rank("@%q0 mbarrier.init.shared.b64 [bar],1;mov.u32 %r1,2;mov.u32 %r2,3;mov.u32 %r3,4;\n"
              "st.shared.v4.b32 [sh],{%r1,%r2,%r3,%r1};\n" TOLD,
              granted);
}
