/* SPDX-License-Identifier: Apache-2.0
 *
 * Several threads inside one launch, for ThreadSanitizer: blocks distributed and returned, atomics
 * on shared words, a cooperative grid, a fault and a cancellation while others run.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/ptxrun.h"

#define THREADS 4

static int failures;

static void expect(int ok, const char *what, const struct ptxrun *r) {
    if (ok) return;
    fprintf(stderr, "soft_threads: %s: %s%s\n", what, r->why, r->result.text);
    failures++;
}

static void histogram(void) {
    struct ptxrun *r = ptxrun_file("build/data/ptx/bench.75.ptx");
    enum { N = 1 << 15 };
    unsigned char *in = ptxrun_alloc(r, N);
    uint32_t *bins = ptxrun_alloc(r, 1024), want[256] = {0};
    for (uint32_t i = 0; i < N; i++)
        want[in[i] = (unsigned char)(i * 2654435761u >> 23)]++;
    r->threads = THREADS;
    r->slice = 500;
    int err = ptxrun_launch(r, "histogram", 24, 128, 3, (uint64_t)in, (uint64_t)bins, (uint64_t)N);
    expect(!err && !memcmp(bins, want, sizeof(want)), "histogram", r);
    float *c = ptxrun_alloc(r, 4 * 1000);
    err = ptxrun_launch(r, "vecadd", 100, 64, 4, (uint64_t)c, (uint64_t)c, (uint64_t)c,
                        (uint64_t)6400);
    expect(err == ERR_ILLEGAL_ADDRESS, "fault", r);
    ptxrun_destroy(r);
}

static void engine(void) {
    struct ptxrun *r = ptxrun_file("build/data/ptx/engine.75.ptx");
    enum { N = 4000, BLOCKS = 12 };
    int32_t *in = ptxrun_alloc(r, N * 4), *part = ptxrun_alloc(r, BLOCKS * 4),
            *out = ptxrun_alloc(r, 4), sum = 0;
    for (int i = 0; i < N; i++)
        sum += in[i] = i % 91;
    r->threads = THREADS;
    r->slice = 500;
    int err = ptxrun_launch(r, "last_block", BLOCKS, 64, 4, (uint64_t)in, (uint64_t)part,
                            (uint64_t)out, (uint64_t)N);
    expect(!err && *out == sum, "last_block", r);
    r->cooperative = 1;
    int32_t *a = ptxrun_alloc(r, 8 * 32 * 4), *b = ptxrun_alloc(r, 8 * 32 * 4);
    err = ptxrun_launch(r, "grid_sync", 8, 32, 3, (uint64_t)a, (uint64_t)b, (uint64_t)3);
    expect(!err && a[5] == 3, "grid_sync", r);
    r->cooperative = 0;
    char *memory = ptxrun_alloc(r, 64 << 10);
    r->heap = heap_create((uint64_t)memory, (uint64_t)memory + (64 << 10));
    int32_t *sums = ptxrun_alloc(r, 32 * 4);
    err = ptxrun_launch(r, "heap_use", 1, 32, 2, (uint64_t)sums, (uint64_t)50);
    expect(!err && sums[3] == 1225 * 3, "heap_use", r);
    r->max_steps = 20;
    err = ptxrun_launch(r, "forever_alone", 6, 64, 1, (uint64_t)out);
    expect(err == ERR_CANCELLED, "cancellation", r);
    ptxrun_destroy(r);
}

/* Nested launches by many threads at once, into streams of blocks and without streams, with an
 * exit among them. */
static void nested(void) {
    struct ptxrun *r = ptxrun_file("build/data/ptx/nested.75.ptx");
    uint64_t *p = ptxrun_alloc(r, 100 * 8);
    ptxrun_runtime(r, 2048);
    r->threads = THREADS;
    r->slice = 500;
    int err = ptxrun_launch(r, "tree", 4, 4, 2, (uint64_t)p, (uint64_t)2);
    expect(!err && p[3] == 16 && p[2] == 16 * 6 && p[1] == 16 * 36, "tree", r);
    memset(p, 0, 100 * 8);
    err = ptxrun_launch(r, "spread", 6, 8, 2, (uint64_t)p, (uint64_t)10);
    expect(!err && p[0] == 6 * 8 * 10 * 32, "spread", r);
    memset(p, 0, 100 * 8);
    err = ptxrun_launch(r, "turns", 1, 1, 2, (uint64_t)p, (uint64_t)50);
    expect(!err && p[0] == 50 && p[50] == 49, "turns", r);
    r->max_steps = 20;
    memset(p, 0, 100 * 8);
    err = ptxrun_launch(r, "endless", 4, 4, 1, (uint64_t)p);
    expect(err == ERR_CANCELLED, "cancellation of a nest", r);
    ptxrun_destroy(r);
}

int main(void) {
    histogram();
    engine();
    nested();
    return failures != 0;
}
