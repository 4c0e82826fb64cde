/* SPDX-License-Identifier: Apache-2.0
 * Memory that kernels allocate, and other system calls that they make: malloc and new by all
 * threads at once, kept across launches, until none is left; alloca; every conversion of printf,
 * which the host prints as well; and, by name on the command line, errors that end a context. */
#include <alloca.h>
#include <cassert>

#include "common.h"

#define BLOCKS 24
#define THREADS 128
#define COUNT (BLOCKS * THREADS)

struct item {
    int number, *values;
    __device__ item(int n) : number(n), values(new int[n % 50 + 1]) {
        for (int i = 0; i <= n % 50; i++)
            values[i] = n + i;
    }
    __device__ ~item() { delete[] values; }
};

__global__ void make(item **items) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    items[i] = new item(i);
}

__global__ void look(item **items, int *sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int k = 0; k <= i % 50; k++)
        sum += items[i]->values[k];
    sums[i] = items[i]->number == i ? sum : -1;
}

__global__ void drop(item **items) {
    delete items[blockIdx.x * blockDim.x + threadIdx.x];
}

static uint64_t check_objects(int rounds) {
    static int sums[COUNT];
    item **items;
    int *s;
    CHECK(cudaMalloc(&items, COUNT * sizeof(item *)));
    CHECK(cudaMalloc(&s, sizeof(sums)));
    for (int round = 0; round < rounds; round++) {
        make<<<BLOCKS, THREADS>>>(items);
        look<<<BLOCKS, THREADS>>>(items, s);
        drop<<<BLOCKS, THREADS>>>(items);
    }
    CHECK(cudaMemcpy(sums, s, sizeof(sums), cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++) {
        int n = i % 50 + 1;
        REQUIRE(sums[i] == n * i + n * (n - 1) / 2, "item %d: %d", i, sums[i]);
    }
    CHECK(cudaFree(items));
    CHECK(cudaFree(s));
    return checksum_add(CHECKSUM_START, sums, sizeof(sums));
}

/* Allocates pieces of 1 MiB until none is left, linked as a list through the pieces themselves. */
__device__ void *first;

__global__ void exhaust(int *count) {
    void *piece;
    first = NULL;
    for (*count = 0; (piece = malloc(1 << 20)) != NULL; ++*count) {
        *(void **)piece = first;
        first = piece;
    }
    int *more = new int;
    count[1] = more != NULL;
    delete more;
}

__global__ void give_back(int *count) {
    for (*count = 0; first; ++*count) {
        void *next = *(void **)first;
        free(first);
        first = next;
    }
    count[1] = malloc(0) == NULL;
    free(NULL);
}

static void check_limit(size_t mib) {
    int *count;
    size_t limit;
    CHECK(cudaMallocManaged(&count, 2 * sizeof(int)));
    for (int round = 0; round < 3; round++) {
        exhaust<<<1, 1>>>(count);
        CHECK(cudaDeviceSynchronize());
        int got = count[0];
        REQUIRE(got > (int)mib * 3 / 4 && got <= (int)mib, "%d of %zu MiB", got, mib);
        give_back<<<1, 1>>>(count);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(count[0] == got && count[1], "%d of %d given back", count[0], got);
    }
    CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    REQUIRE(limit == mib << 20, "a limit of %zu", limit);
    cudaError_t late = cudaDeviceSetLimit(cudaLimitMallocHeapSize, (mib + 1) << 20);
    REQUIRE(late == cudaErrorInvalidValue, "set after it was used: %d", late);
    CHECK(cudaFree(count));
}

__global__ void scratch(int *sums) {
    int n = threadIdx.x % 17 + 1;
    int *v = (int *)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++)
        v[i] = i * threadIdx.x;
    sums[threadIdx.x] = 0;
    for (int i = n; i--;)
        sums[threadIdx.x] += v[i];
}

__global__ void nap(long long *ns) {
    long long begin, end;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    for (int i = 0; i < 3; i++)
        __nanosleep(1000);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
    *ns = end - begin;
}

static void check_scratch(void) {
    int *sums;
    long long *ns;
    CHECK(cudaMallocManaged(&sums, 64 * sizeof(int)));
    CHECK(cudaMallocManaged(&ns, sizeof(*ns)));
    scratch<<<1, 64>>>(sums);
    nap<<<1, 32>>>(ns);
    CHECK(cudaDeviceSynchronize());
    for (int t = 0; t < 64; t++) {
        int n = t % 17 + 1;
        REQUIRE(sums[t] == t * n * (n - 1) / 2, "thread %d: %d", t, sums[t]);
    }
    REQUIRE(*ns >= 0, "%lld ns", *ns);
    CHECK(cudaFree(sums));
    CHECK(cudaFree(ns));
}

#define LINES(text)                                                                             \
    printf("%d %5d %-5d| %05d %+d % d %i\n", 42, -42, 42, -42, 42, 42, 7);                      \
    printf("%u %x %X %#x %o %#o %08X\n", 3000000000u, 48879, 48879, 48879, 8, 8, 48879);        \
    printf("%hd %hu %hhd %hhu %ld %lu %lld %llu %llx\n", (short)-3, (unsigned short)65533,      \
           (signed char)-3, (unsigned char)253, -4l, 4ul, -1ll << 40, 1ull << 63, 1ull << 40);  \
    printf("%zu %jd %td\n", (size_t)77, (intmax_t)-77, (ptrdiff_t)-8);                          \
    printf("%f %.3f %10.2f %-10.1f| %+.0f %e %.2E %g %G %a\n", 3.5, 2.0 / 3, -1.005, 2.25, 9.5, \
           12345.678, 0.00012, 1e-5, 1e20, 1.0);                                                \
    printf("%f %F %e %g %5.1f\n", 1.0 / zero, -1.0 / zero, zero / zero * 0 + 1.0 / zero, 1e300, \
           (double)1.5f);                                                                       \
    printf("%c%c%c|%3c|%-3c|\n", 'a', 'b', 'c', 'd', 'e');                                      \
    printf("%s|%10s|%-10s|%.3s|%*.*s|\n", text, text, text, text, 8, 2, text);                  \
    printf("%*d|%-*d|%.*f|%%|%5.3d|%.0d|\n", 6, 42, 6, 42, 2, 3.14159, 7, 5);                   \
    printf("no arguments\n")

__global__ void print(double zero) {
    LINES("device and host");
}

static void host_print(double zero) {
    LINES("device and host");
}

__global__ void twice(void) {
    void *p = malloc(16);
    free(p);
    free(p);
}

__global__ void strange(int *p) {
    free(p);
}

__global__ void trap(void) {
    asm volatile("trap;");
}

__global__ void claim(int v) {
    assert(v == 12 && "twelve");
}

static int end_by(const char *how) {
    int *p;
    CHECK(cudaMalloc(&p, 4));
    if (!strcmp(how, "twice")) twice<<<1, 1>>>();
    if (!strcmp(how, "strange")) strange<<<1, 1>>>(p);
    if (!strcmp(how, "trap")) trap<<<1, 1>>>();
    if (!strcmp(how, "assert")) claim<<<2, 1>>>(11);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "print")) {
        print<<<1, 1>>>(0);
        CHECK(cudaDeviceSynchronize());
        host_print(0);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "500")) return end_by(argv[1]);
    check_scratch(); /* the module is loaded before the limit is set */
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
    uint64_t sum = check_objects(rounds_arg(argc, argv, 20));
    check_limit(32);
    CHECK(cudaDeviceReset());
    REQUIRE(check_objects(1) == sum, "after a reset");
    check_limit(8);
    checksum_print("device_heap", sum);
    return 0;
}
