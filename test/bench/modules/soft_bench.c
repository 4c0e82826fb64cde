/* SPDX-License-Identifier: Apache-2.0
 *
 * The speed of the software GPU with one thread, compared with the same work as a plain C loop in
 * the same run. Each result is checked, and the ratio is the slowdown by interpreting PTX.
 * Processor time is measured, so that a busy machine disturbs it less. Prints a table and one JSON
 * line. An argument scales the sizes (1 by default; 2: twice).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/device/soft/isa/dispatch/select.h"
#include "test/lib/ptx/ptxrun.h"

#define SOFT_BENCH_ROUNDS 5

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static float noise(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 0x1p24f - 0.5f;
}

struct soft_bench {
    struct ptxrun *run;
    float *a, *b, *c, *d; /* d: the C loop's result */
    unsigned char *bytes;
    uint32_t *bins, host_bins[256];
    uint32_t n, edge;
    double sum;
};

struct soft_bench_case {
    const char *name, *unit;
    int (*kernel)(struct soft_bench *s);
    void (*loop)(struct soft_bench *s);
    int (*wrong)(struct soft_bench *s);
    double (*amount)(struct soft_bench *s); /* amount of work in one run, in `unit` x 1e9 */
};

static int vecadd_kernel(struct soft_bench *s) {
    return ptxrun_launch(s->run, "vecadd", (s->n + 255) / 256, 256, 4, (uint64_t)s->a,
                         (uint64_t)s->b, (uint64_t)s->c, (uint64_t)s->n);
}
static __attribute__((noinline)) void vecadd_loop(struct soft_bench *s) {
    for (uint32_t i = 0; i < s->n; i++)
        s->d[i] = s->a[i] + s->b[i];
}
static int vecadd_wrong(struct soft_bench *s) {
    return memcmp(s->c, s->d, s->n * 4ull) != 0;
}
static double vecadd_amount(struct soft_bench *s) {
    return 12e-9 * s->n;
}

/* The same with vectors of four numbers a thread. */
static int vecadd4_kernel(struct soft_bench *s) {
    return ptxrun_launch(s->run, "vecadd4", (s->n / 4 + 255) / 256, 256, 4, (uint64_t)s->a,
                         (uint64_t)s->b, (uint64_t)s->c, (uint64_t)s->n / 4);
}

static int matmul_kernel(struct soft_bench *s) {
    const uint32_t grid[3] = {s->edge / 16, s->edge / 16, 1}, block[3] = {16, 16, 1};
    const uint64_t params[] = {(uint64_t)s->a, (uint64_t)s->b, (uint64_t)s->c, s->edge};
    return ptxrun_launch3(s->run, "matmul", grid, block, params, 4);
}
static int async_kernel(struct soft_bench *s) {
    const uint32_t grid[3] = {s->edge / 16, s->edge / 16, 1}, block[3] = {16, 16, 1};
    const uint64_t params[] = {(uint64_t)s->a, (uint64_t)s->b, (uint64_t)s->c, s->edge};
    return ptxrun_launch3(s->run, "matmul_async", grid, block, params, 4);
}
static int tensor_kernel(struct soft_bench *s) {
    const uint32_t grid[3] = {s->edge / 8, s->edge / 16, 1}, block[3] = {32, 1, 1};
    const uint64_t params[] = {(uint64_t)s->a, (uint64_t)s->b, (uint64_t)s->c, s->edge};
    return ptxrun_launch3(s->run, "matmul_tensor", grid, block, params, 4);
}
static int naive_kernel(struct soft_bench *s) {
    const uint32_t grid[3] = {s->edge / 16, s->edge / 16, 1}, block[3] = {16, 16, 1};
    const uint64_t params[] = {(uint64_t)s->a, (uint64_t)s->b, (uint64_t)s->c, s->edge};
    return ptxrun_launch3(s->run, "matmul_naive", grid, block, params, 4);
}
static __attribute__((noinline)) void matmul_loop(struct soft_bench *s) {
    for (uint32_t r = 0; r < s->edge; r++)
        for (uint32_t c = 0; c < s->edge; c++) {
            float sum = 0;
            for (uint32_t k = 0; k < s->edge; k++)
                sum += s->a[r * s->edge + k] * s->b[k * s->edge + c];
            s->d[r * s->edge + c] = sum;
        }
}
static int matmul_wrong(struct soft_bench *s) {
    for (uint32_t i = 0; i < s->edge * s->edge; i++)
        if (!(fabsf(s->c[i] - s->d[i]) < 1e-3f)) return 1;
    return 0;
}
/* Factors have 10 bits after the binary point. */
static int tensor_wrong(struct soft_bench *s) {
    for (uint32_t i = 0; i < s->edge * s->edge; i++)
        if (!(fabsf(s->c[i] - s->d[i]) < 3e-4f * sqrtf((float)s->edge))) return 1;
    return 0;
}
static double matmul_amount(struct soft_bench *s) {
    return 2e-9 * s->edge * s->edge * s->edge;
}

static int reduction_kernel(struct soft_bench *s) {
    s->c[0] = 0;
    return ptxrun_launch(s->run, "reduction", 64, 256, 3, (uint64_t)s->a, (uint64_t)s->c,
                         (uint64_t)s->n);
}
static __attribute__((noinline)) void reduction_loop(struct soft_bench *s) {
    double sum = 0;
    for (uint32_t i = 0; i < s->n; i++)
        sum += s->a[i];
    s->sum = sum;
}
static int reduction_wrong(struct soft_bench *s) {
    return !(fabs(s->c[0] - s->sum) < 1e-3 * sqrt((double)s->n));
}
static double reduction_amount(struct soft_bench *s) {
    return 4e-9 * s->n;
}

static int histogram_kernel(struct soft_bench *s) {
    memset(s->bins, 0, 1024);
    return ptxrun_launch(s->run, "histogram", 64, 256, 3, (uint64_t)s->bytes, (uint64_t)s->bins,
                         (uint64_t)s->n);
}
static __attribute__((noinline)) void histogram_loop(struct soft_bench *s) {
    memset(s->host_bins, 0, sizeof(s->host_bins));
    for (uint32_t i = 0; i < s->n; i++)
        s->host_bins[s->bytes[i]]++;
}
static int histogram_wrong(struct soft_bench *s) {
    return memcmp(s->bins, s->host_bins, 1024);
}
static double histogram_amount(struct soft_bench *s) {
    return 1e-9 * s->n;
}

static const struct soft_bench_case soft_bench_cases[] = {
    {"vecadd", "GB/s", vecadd_kernel, vecadd_loop, vecadd_wrong, vecadd_amount},
    {"vecadd4", "GB/s", vecadd4_kernel, vecadd_loop, vecadd_wrong, vecadd_amount},
    {"matmul", "GFLOP/s", matmul_kernel, matmul_loop, matmul_wrong, matmul_amount},
    {"matmul_async", "GFLOP/s", async_kernel, matmul_loop, matmul_wrong, matmul_amount},
    {"matmul_tensor", "GFLOP/s", tensor_kernel, matmul_loop, tensor_wrong, matmul_amount},
    {"matmul_naive", "GFLOP/s", naive_kernel, matmul_loop, matmul_wrong, matmul_amount},
    {"reduction", "GB/s", reduction_kernel, reduction_loop, reduction_wrong, reduction_amount},
    {"histogram", "GB/s", histogram_kernel, histogram_loop, histogram_wrong, histogram_amount},
};

static void prepare(struct soft_bench *s, uint32_t scale) {
    uint32_t state = 1;
    s->run = ptxrun_file("build/data/ptx/bench.80.ptx");
    s->run->beside = 1; /* measures only the launch itself */
    s->run->slice = 1000000;
    s->n = scale << 22;
    s->edge = 256 * scale;
    s->a = ptxrun_alloc(s->run, s->n * 4ull);
    s->b = ptxrun_alloc(s->run, s->n * 4ull);
    s->c = ptxrun_alloc(s->run, s->n * 4ull);
    s->bytes = ptxrun_alloc(s->run, s->n);
    s->bins = ptxrun_alloc(s->run, 1024);
    s->d = malloc(s->n * 4ull);
    for (uint32_t i = 0; i < s->n; i++) {
        s->a[i] = noise(&state);
        s->b[i] = noise(&state);
        s->bytes[i] = (unsigned char)(state >> 16);
    }
}

/* Measures the best of several rounds of each; returns nonzero when a result is wrong. */
static int run_case(struct soft_bench *s, const struct soft_bench_case *c, int last) {
    double soft = 1e9, loop = 1e9, rate;
    for (int round = 0; round < SOFT_BENCH_ROUNDS; round++) {
        double t0 = now_s();
        int err = c->kernel(s);
        double t1 = now_s();
        c->loop(s);
        double t2 = now_s();
        if (err || c->wrong(s)) {
            fprintf(stderr, "%s: wrong result (%d %s)\n", c->name, err, s->run->result.text);
            return 1;
        }
        if (t1 - t0 < soft) soft = t1 - t0;
        if (t2 - t1 < loop) loop = t2 - t1;
    }
    rate = (double)s->run->result.thread_insts / soft / 1e9;
    fprintf(stderr, "%-13s %7.3f %-8s loop %7.3f  ratio %6.2f  %5.2f G thread-insts/s\n", c->name,
            c->amount(s) / soft, c->unit, c->amount(s) / loop, soft / loop, rate);
    printf("\"%s\":{\"soft\":%.4f,\"loop\":%.4f,\"unit\":\"%s\",\"ratio\":%.3f,\"ginsts\":%.3f}%s",
           c->name, c->amount(s) / soft, c->amount(s) / loop, c->unit, soft / loop, rate,
           last ? "" : ",");
    return 0;
}

int main(int argc, char **argv) {
    struct soft_bench s;
    memset(&s, 0, sizeof(s));
    int scale = argc > 1 ? atoi(argv[1]) : 1;
    prepare(&s, scale > 0 && scale <= 8 ? (uint32_t)scale : 1);
    size_t count = sizeof(soft_bench_cases) / sizeof(soft_bench_cases[0]);
    int bad = 0;
    printf("{\"bench\":\"soft\",\"isa\":\"%s\",", isa_name());
    for (size_t i = 0; i < count; i++)
        bad |= run_case(&s, &soft_bench_cases[i], i + 1 == count);
    printf("}\n");
    free(s.d);
    ptxrun_destroy(s.run);
    return bad;
}
