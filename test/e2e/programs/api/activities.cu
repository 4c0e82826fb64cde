/* SPDX-License-Identifier: Apache-2.0
 * Reads its own activities through CUPTI's interface, as profilers do. It calls the functions
 * that a linker would find, and reads records at the offsets of CUPTI's headers. */
#include "common.h"

typedef void (*requested_fn)(uint8_t **, size_t *, size_t *);
typedef void (*completed_fn)(void *, uint32_t, uint8_t *, size_t, size_t);

#define FIND(name, ...) int (*name)(__VA_ARGS__) = (int (*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, #name)

static int (*next_record)(uint8_t *, size_t, uint8_t **);

enum { MEMCPY = 1, MEMSET = 2, DRIVER = 4, KERNEL = 10, EXTERNAL = 39, CUSTOM0 = 3 };

static uint64_t wide(const uint8_t *record, size_t at) {
    uint64_t value;
    memcpy(&value, record + at, sizeof(value));
    return value;
}

static uint32_t word(const uint8_t *record, size_t at) {
    uint32_t value;
    memcpy(&value, record + at, sizeof(value));
    return value;
}

static uint64_t first_end, second_start;
static uint32_t named;
static int kernels;

static void show_kernel(const uint8_t *r) {
    uint64_t start = wide(r, 16), end = wide(r, 24);
    REQUIRE(start < end, "from %llu to %llu", (unsigned long long)start, (unsigned long long)end);
    if (kernels++ == 0)
        first_end = end;
    else
        second_start = start;
    printf("kernel %s grid %u block %u%s\n", (const char *)(uintptr_t)wide(r, 104), word(r, 52),
           word(r, 64), word(r, 92) == named ? " in 42" : "");
}

static void show(const uint8_t *r) {
    switch (word(r, 0)) {
    case KERNEL: show_kernel(r); break;
    case MEMCPY: printf("copy %u of %llu bytes\n", r[4], (unsigned long long)wide(r, 8)); break;
    case MEMSET: printf("fill of %llu bytes\n", (unsigned long long)wide(r, 8)); break;
    case EXTERNAL:
        if (wide(r, 8) == 42) named = word(r, 16);
        break;
    }
}

static void requested(uint8_t **buffer, size_t *bytes, size_t *records) {
    *bytes = 65536;
    *buffer = (uint8_t *)aligned_alloc(8, *bytes);
    *records = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid) {
    uint8_t *record = NULL;
    while (next_record(buffer, valid, &record) == 0)
        show(record);
    free(buffer);
}

__global__ void slowly(int rounds, int *out) {
    int sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += i ^ sum;
    *out = sum;
}

int main(void) {
    FIND(cuptiActivityRegisterCallbacks, requested_fn, completed_fn);
    FIND(cuptiActivityEnable, uint32_t);
    FIND(cuptiActivityDisable, uint32_t);
    FIND(cuptiActivityFlushAll, uint32_t);
    FIND(cuptiActivityPushExternalCorrelationId, uint32_t, uint64_t);
    FIND(cuptiActivityPopExternalCorrelationId, uint32_t, uint64_t *);
    next_record =
        (int (*)(uint8_t *, size_t, uint8_t **))dlsym(RTLD_DEFAULT, "cuptiActivityGetNextRecord");
    const uint32_t kinds[] = {MEMCPY, MEMSET, KERNEL, EXTERNAL};
    int *out, got = 1;
    uint64_t last = 0;

    if (!cuptiActivityEnable || !next_record) {
        printf("no activities\n");
        return 0;
    }
    CHECK(cudaMalloc(&out, sizeof(*out)));
    slowly<<<1, 1>>>(1, out); /* before tracing begins */
    REQUIRE(cuptiActivityRegisterCallbacks(requested, completed) == 0, "no callbacks");
    for (uint32_t kind : kinds)
        REQUIRE(cuptiActivityEnable(kind) == 0, "kind %u", kind);
    CHECK(cudaMemset(out, 0, sizeof(*out)));
    cuptiActivityPushExternalCorrelationId(CUSTOM0, 42);
    slowly<<<2, 32>>>(10000, out);
    cuptiActivityPopExternalCorrelationId(CUSTOM0, &last);
    slowly<<<3, 64>>>(10000, out);
    CHECK(cudaMemcpy(&got, out, sizeof(got), cudaMemcpyDeviceToHost));
    CHECK(cudaDeviceSynchronize());
    for (uint32_t kind : kinds)
        cuptiActivityDisable(kind);
    slowly<<<1, 1>>>(1, out); /* and after it has ended */
    CHECK(cudaDeviceSynchronize());
    REQUIRE(cuptiActivityFlushAll(0) == 0, "no flush");
    REQUIRE(last == 42 && kernels == 2, "%d kernels", kernels);
    REQUIRE(first_end <= second_start, "one stream, one kernel after the other");
    return 0;
}
