/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that launch kernels: the order of execution, the limits, and that a launch tree counts as
 * one launch. Each test runs with one thread and with several, in small slices and in large ones.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/ptxrun.h"

#define PENDING 2048

static void each_way(struct ptxrun *r, void (*check)(struct ptxrun *r)) {
    static const struct { uint32_t threads, slice; } ways[] = {{1, 100000}, {1, 300}, {4, 1000}};
    ptxrun_runtime(r, PENDING);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        r->threads = ways[i].threads;
        r->slice = ways[i].slice;
        check(r);
        cr_assert_eq(r->runtime->pending, 0, "%s: launches that never began are left", ptxrun_what);
    }
}

static int launch(struct ptxrun *r, const char *kernel, uint32_t grid, uint32_t block, uint64_t *p,
                  uint64_t v) {
    return ptxrun_launch(r, kernel, grid, block, 2, (uint64_t)p, v);
}

#define RUNS(r, kernel, grid, block, p, v)                                                       \
    cr_assert_eq(launch(r, kernel, grid, block, p, v), 0, "%s on %s: %s%s", kernel, ptxrun_what, \
                 (r)->why, (r)->result.text)

static uint64_t *fresh(struct ptxrun *r, size_t count) {
    return ptxrun_alloc(r, count * sizeof(uint64_t));
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void tree(struct ptxrun *r) {
    uint64_t *p = fresh(r, 8), grids = 0, threads = 1;
    RUNS(r, "tree", 1, 1, p, 3);
    for (int depth = 3; depth >= 0; depth--) {
        cr_assert_eq(p[1 + depth], threads, "%s: %d", ptxrun_what, depth);
        grids += depth == 3 ? 1 : threads / 6;
        threads *= 6;
    }
    cr_assert_eq(p[0], grids);
}
static void check_tree(struct ptxrun *r) {
    each_way(r, tree);
}
Test(nest, every_grid_runs_once, .timeout = 600) {
    ptxrun_each("nested", check_tree);
}

static void expect_notes(const uint64_t *p, uint64_t count) {
    cr_assert_eq(p[0], count, "%s: %llu notes", ptxrun_what, (unsigned long long)p[0]);
    for (uint64_t i = 0; i < count; i++)
        cr_assert_eq(p[1 + i], i, "%s: %llu at %llu", ptxrun_what, (unsigned long long)p[1 + i],
                     (unsigned long long)i);
}

static void orders(struct ptxrun *r) {
    uint64_t *p = fresh(r, 100);
    RUNS(r, "in_order", 1, 1, p, 20);
    cr_assert_eq(p[0], 40, "both blocks of each");
    for (uint64_t i = 0; i < 40; i++)
        cr_assert_eq(p[1 + i], i / 2, "a block's stream keeps its order");
    p = fresh(r, 100);
    RUNS(r, "turns", 1, 1, p, 21);
    expect_notes(p, 21);
    p = fresh(r, 100);
    RUNS(r, "tails", 1, 1, p, 5);
    cr_assert_eq(p[0], 2 + 5 * 4);
    cr_assert(p[1] + p[2] == 201, "tails begin behind all else: %llu %llu",
              (unsigned long long)p[1], (unsigned long long)p[2]);
    for (uint64_t i = 0; i < 20; i++)
        cr_assert_eq(p[3 + i], i / 2 % 2, "a tail is over when all that it launched is");
    p = fresh(r, 1);
    RUNS(r, "countdown", 1, 1, p, 300);
    cr_assert_eq(p[0], 301);
}
static void check_orders(struct ptxrun *r) {
    each_way(r, orders);
}
Test(nest, streams_events_and_tails_keep_their_order, .timeout = 600) {
    ptxrun_each("nested", check_orders);
}

static void copies(struct ptxrun *r) {
    uint64_t *p = fresh(r, 300);
    RUNS(r, "copies", 1, 1, p, 100);
    for (int i = 0; i < 300; i++)
        cr_assert_eq(p[i], i % 100 == 99 && i / 100 != 1 ? 0x1111111111111131 : 0x1111111111111111,
                     "%s: %d is %llx", ptxrun_what, i, (unsigned long long)p[i]);
}
static void check_copies(struct ptxrun *r) {
    each_way(r, copies);
}
Test(nest, copies_and_fills_take_their_place_in_a_stream) {
    ptxrun_each("nested", check_copies);
}

static void counted(struct ptxrun *r) {
    uint64_t *p = fresh(r, 1);
    RUNS(r, "spread", 6, 5, p, 10);
    cr_assert_eq(p[0], 6 * 5 * 10 * 32);
    static uint64_t insts, bytes;
    static char of[sizeof(ptxrun_what)];
    if (strcmp(of, ptxrun_what) == 0)
        cr_assert(insts == r->result.thread_insts && bytes == r->result.memory_bytes,
                  "%s: however it is run, it is the same work", ptxrun_what);
    strcpy(of, ptxrun_what);
    insts = r->result.thread_insts;
    bytes = r->result.memory_bytes;
    cr_assert_geq(insts, 300 * 32 * 4, "that of all its grids");
}
static void check_counted(struct ptxrun *r) {
    each_way(r, counted);
}
Test(nest, what_its_grids_do_is_counted_together) {
    ptxrun_each("nested", check_counted);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void bounds(struct ptxrun *r) {
    uint64_t *p = fresh(r, 16);
    r->max_steps = 500;
    RUNS(r, "deep", 1, 1, p, 0);
    r->max_steps = 0;
    cr_assert_eq(p[0], 1 + 24);
    cr_assert_eq(p[1], 65, "cudaErrorLaunchMaxDepthExceeded");
    p = fresh(r, 4);
    RUNS(r, "pending", 1, 1, p, PENDING + 100);
    cr_assert(p[1] == PENDING || p[1] == PENDING - 1,
              "%llu, the one that cannot end may have begun", (unsigned long long)p[1]);
    cr_assert_eq(p[2], 69, "cudaErrorLaunchPendingCountExceeded");
    cr_assert_eq(p[3], p[1], "those that were taken ran");
    p = fresh(r, 16);
    RUNS(r, "lend_stream", 1, 1, p, 0);
    cr_assert(p[0] == 0 && p[10] == 1, "a stream is its grid's own");
}
static void check_bounds(struct ptxrun *r) {
    each_way(r, bounds);
}
Test(nest, depth_and_launches_are_bounded, .timeout = 600) {
    ptxrun_each("nested", check_bounds);
}

Test(nest, streams_and_events_are_bounded) {
    static const uint64_t want[] = {65536, 2, 0, 1, 0, 1, 1, 1};
    struct ptxrun *r = ptxrun_file("build/data/ptx/nested.75.ptx");
    ptxrun_runtime(r, PENDING);
    uint64_t *p = fresh(r, 9);
    RUNS(r, "names", 1, 1, p, 0);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(p[i], want[i], "%d is %llu", i, (unsigned long long)p[i]);
    ptxrun_destroy(r);
}

static void errors(struct ptxrun *r) {
    uint64_t *p = fresh(r, 64);
    RUNS(r, "errors", 1, 64, p, 0);
    for (uint64_t t = 0; t < 64; t++)
        cr_assert_eq(p[t],
                     t & 1    ? 9009
                     : t == 2 ? 1001
                              : 0,
                     "%s: thread %llu: %llu", ptxrun_what, (unsigned long long)t,
                     (unsigned long long)p[t]);
}
static void check_errors(struct ptxrun *r) {
    each_way(r, errors);
}
Test(nest, each_thread_has_its_own_last_error) {
    ptxrun_each("nested", check_errors);
}

/* ---- completion and errors ------------------------------------------------------------------- */

static void ends(struct ptxrun *r) {
    uint64_t *p = fresh(r, 16);
    p[0] = 8; /* the address that a launched grid writes */
    cr_assert_eq(launch(r, "strays", 1, 1, p, 0), ERR_ILLEGAL_ADDRESS, "%s", ptxrun_what);
    cr_assert_eq(r->result.fault_addr, 8);
    cr_assert(strstr(r->result.text, ": address 0x8 is outside"), "%s", r->result.text);
    static const char *const kernels[] = {"endless", "for_ever"};
    r->max_steps = 100;
    for (int i = 0; i < 2; i++) {
        p = fresh(r, 16);
        cr_assert_eq(launch(r, kernels[i], 2, 1, p, 0), ERR_CANCELLED, "%s", ptxrun_what);
        cr_assert(p[0] >= (r->threads == 1 ? 2 : 1) && p[2] == 0,
                  "%s: a block whose thread has no CPU may end before it began", ptxrun_what);
        cr_assert_gt(r->result.warp_insts, 500, "all of it did run");
    }
    r->max_steps = 0;
}
static void check_ends(struct ptxrun *r) {
    each_way(r, ends);
}
Test(nest, a_fault_or_an_end_is_all_of_its_grids, .timeout = 600) {
    ptxrun_each("nested", check_ends);
}
