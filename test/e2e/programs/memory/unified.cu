/* SPDX-License-Identifier: Apache-2.0
 * Managed memory used at random moments: kernels, copies, fills, advice and prefetches in
 * several streams, host writes when a stream is done, blocks that come and go; all compared with
 * a model. Then a kernel waits for a host write while it runs, and a block is larger than the
 * device's memory. */
#include <vector>

#include "common.h"

#define BLOCKS 8
#define ROUNDS 500
#define LONGEST 200000

struct block {
    uint32_t *cells;
    size_t count;
    cudaStream_t stream;
    std::vector<uint32_t> model;
};

static struct block blocks[BLOCKS];

__global__ void stir(uint32_t *p, size_t n, uint32_t by) {
    size_t step = gridDim.x * (size_t)blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)
        p[i] = p[i] * 1664525u + by;
}

__global__ void answer(volatile int *question, int *answer) {
    while (*question == 0)
        continue;
    *answer = *question * 2;
}

static void begin(struct block *b) {
    b->count = 1 + rand() % LONGEST;
    unsigned flags = rand() % 2 ? cudaMemAttachGlobal : cudaMemAttachHost;
    CHECK(cudaMallocManaged(&b->cells, b->count * sizeof(uint32_t), flags));
    b->model.assign(b->count, 7);
    for (size_t i = 0; i < b->count; i++)
        b->cells[i] = 7;
}

static void stir_both(struct block *b, uint32_t by) {
    stir<<<1 + rand() % 20, 128, 0, b->stream>>>(b->cells, b->count, by);
    CHECK(cudaGetLastError());
    for (uint32_t &cell : b->model)
        cell = cell * 1664525u + by;
}

static void write_both(struct block *b, uint32_t by) {
    CHECK(cudaStreamSynchronize(b->stream));
    for (size_t i = 0; i < b->count; i += 97) {
        b->cells[i] += by;
        b->model[i] += by;
    }
}

static void copy_both(struct block *b, struct block *from) {
    size_t bytes = (b->count < from->count ? b->count : from->count) * sizeof(uint32_t);
    if (b == from) return;
    CHECK(cudaStreamSynchronize(from->stream));
    CHECK(cudaMemcpyAsync(b->cells, from->cells, bytes, cudaMemcpyDefault, b->stream));
    CHECK(cudaStreamSynchronize(b->stream));
    memcpy(b->model.data(), from->model.data(), bytes);
}

static void fill_both(struct block *b, int value) {
    CHECK(cudaMemsetAsync(b->cells, value, b->count * sizeof(uint32_t), b->stream));
    memset(b->model.data(), value, b->count * sizeof(uint32_t));
}

/* None of these calls changes the contents. */
static void say(struct block *b) {
    cudaMemLocation place = {};
    size_t bytes = b->count * sizeof(uint32_t);
    place.type = rand() % 2 ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
    switch (rand() % 3) {
    case 0: CHECK(cudaStreamAttachMemAsync(b->stream, b->cells, 0, 1u << rand() % 3)); break;
    case 1: CHECK(cudaMemPrefetchAsync(b->cells, bytes, place, 0, b->stream)); break;
    case 2: CHECK(cudaMemAdvise(b->cells, bytes, (cudaMemoryAdvise)(1 + rand() % 6), place)); break;
    }
}

static void again(struct block *b) {
    CHECK(cudaStreamSynchronize(b->stream));
    CHECK(cudaFree(b->cells));
    begin(b);
}

static void expect_model(struct block *b, int round) {
    CHECK(cudaStreamSynchronize(b->stream));
    for (size_t i = 0; i < b->count; i++)
        REQUIRE(b->cells[i] == b->model[i], "round %d, block %d: cell %zu of %zu is %u, not %u",
                round, (int)(b - blocks), i, b->count, b->cells[i], b->model[i]);
}

static void one_round(int round) {
    struct block *b = &blocks[rand() % BLOCKS];
    switch (rand() % 8) {
    case 0:
    case 1: stir_both(b, (uint32_t)rand()); break;
    case 2: write_both(b, (uint32_t)rand()); break;
    case 3: copy_both(b, &blocks[rand() % BLOCKS]); break;
    case 4: fill_both(b, rand() & 255); break;
    case 5: again(b); break;
    default: say(b); break;
    }
    if (rand() % 4 == 0) expect_model(&blocks[rand() % BLOCKS], round);
}

static void while_it_runs(void) {
    int *words, value;
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrConcurrentManagedAccess, 0));
    if (!value) return;
    CHECK(cudaMallocManaged(&words, 2 * sizeof(int)));
    words[0] = words[1] = 0;
    answer<<<1, 1>>>(words, words + 1);
    CHECK(cudaGetLastError());
    *(volatile int *)words = 21;
    CHECK(cudaDeviceSynchronize());
    REQUIRE(words[1] == 42, "the kernel's answer is %d", words[1]);
    CHECK(cudaFree(words));
}

/* Only touched pages take memory. */
static void more_than_there_is(void) {
    size_t left, all;
    char *p;
    CHECK(cudaMemGetInfo(&left, &all));
    size_t bytes = all + all / 8, last = bytes / 4096 * 4096 - 4096;
    CHECK(cudaMallocManaged(&p, bytes));
    p[0] = p[bytes / 2] = p[last] = 1;
    stir<<<1, 32>>>((uint32_t *)(p + last), 100, 3);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(*(uint32_t *)(p + last) == 1664525u + 3 && p[0] == 1 && p[bytes / 2] == 1,
            "the end of it");
    CHECK(cudaFree(p));
}

int main(int argc, char **argv) {
    uint64_t sum = CHECKSUM_START;
    srand(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(cudaStreamCreateWithFlags(&blocks[i].stream, rand() % 2));
        begin(&blocks[i]);
    }
    for (int round = 0; round < ROUNDS; round++)
        one_round(round);
    for (int i = 0; i < BLOCKS; i++) {
        expect_model(&blocks[i], ROUNDS);
        sum = checksum_add(sum, blocks[i].cells, blocks[i].count * sizeof(uint32_t));
    }
    while_it_runs();
    more_than_there_is();
    checksum_print("unified", sum);
    return 0;
}
