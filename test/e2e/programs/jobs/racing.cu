/* SPDX-License-Identifier: Apache-2.0
 *
 * Results that only a deterministic device reproduces: float sums by atomics of many blocks and of
 * several streams at once, orders of arrival, clocks, malloc() in kernels, locks, and a kernel that
 * waits for a later kernel of another stream. Arguments: parts, of "sums", "orders", "clocks",
 * "heap", "waits" (default: all), and "rounds=N". With "shown", a checksum of each part.
 */
#include "common.h"

#define STREAMS 5
#define BLOCKS 37
#define THREADS 96
#define CELLS 64
#define LOG 4096

struct state {
    float sums[CELLS];
    double total;
    unsigned int arrived, lock, serial, flag;
    unsigned int order[LOG];
    long long clocks[LOG];
    unsigned int offsets[LOG];
};

__device__ char *first_piece;

/* The terms differ greatly in size, so that every order of adding has its own sum. */
__global__ void add(state *s, unsigned int seed, int repeat) {
    unsigned int x = seed + blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < repeat; k++) {
        x = x * 1664525u + 1013904223u;
        float v = __uint_as_float(0x3f800000u | x >> 9) * (float)(1u << (x >> 3 & 15));
        atomicAdd(&s->sums[x >> 20 & (CELLS - 1)], v);
        if ((x & 7) == 0) atomicAdd(&s->total, (double)v / 3);
    }
}

__global__ void arrive(state *s, unsigned int who) {
    if (threadIdx.x % 32) return;
    unsigned int place = atomicAdd(&s->arrived, 1u);
    if (place < LOG) s->order[place] = who << 20 | blockIdx.x << 8 | threadIdx.x;
}

__global__ void lock(state *s, unsigned int who) {
    if (threadIdx.x) return;
    while (atomicCAS(&s->lock, 0u, 1u))
        __nanosleep(20);
    __threadfence();
    unsigned int place = *(volatile unsigned int *)&s->serial;
    s->serial = place + 1;
    if (place < LOG) s->order[place] ^= (who * 1000003u + blockIdx.x) * 2654435761u;
    __threadfence();
    atomicExch(&s->lock, 0u);
}

__global__ void tell_clocks(state *s, int base) {
    long long before = clock64();
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    float v = (float)threadIdx.x;
    for (int k = 0; k < 50; k++)
        v = v * 1.5f + (float)k;
    long long after = clock64();
    int at = (base + blockIdx.x * blockDim.x + threadIdx.x) % LOG;
    s->clocks[at] += before * 3 + after * 5 + (long long)ns + (v > 1e30f);
    if (threadIdx.x == 0) atomicAdd(&s->serial, (unsigned int)clock());
}

__global__ void take_pieces(state *s, int base) {
    char *p = (char *)malloc(16 + 16 * (threadIdx.x % 7));
    unsigned int at = (base + blockIdx.x * blockDim.x + threadIdx.x) % LOG;
    if (!p) return;
    if (!atomicCAS((unsigned long long *)&first_piece, 0ull, (unsigned long long)p)) s->flag ^= at;
    s->offsets[at] = (unsigned int)(p - first_piece);
    if (at & 1) free(p);
}

/* Spins until another kernel has run, then adds. */
__global__ void wait_then_add(state *s, unsigned int seed) {
    if (threadIdx.x == 0)
        while (*(volatile unsigned int *)&s->flag == 0)
            ;
    __syncthreads();
    unsigned int x = (seed + blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;
    atomicAdd(&s->sums[x & 3], (float)(x >> 8) / 7.0f);
}

__global__ void set_flag(state *s) {
    for (int k = 0; k < 200; k++)
        atomicAdd(&s->sums[k & 3], 1.0f / (float)(k + 3));
    s->flag = 1;
}

static state *s;
static cudaStream_t streams[STREAMS];

static void add_sums(int round) {
    for (int i = 0; i < STREAMS; i++)
        add<<<BLOCKS + i, THREADS, 0, streams[i]>>>(s, (unsigned int)(round * 77 + i * 100000), 12);
    add<<<BLOCKS, THREADS, 0, streams[round % STREAMS]>>>(s, 9u, 3);
}

static void add_orders(int round) {
    for (int i = 0; i < STREAMS; i++) {
        arrive<<<8, 64, 0, streams[i]>>>(s, (unsigned int)(round * STREAMS + i));
        lock<<<6, 32, 0, streams[(i * 2 + 1) % STREAMS]>>>(s, (unsigned int)i);
    }
}

static void add_clocks(int round) {
    for (int i = 0; i < STREAMS; i++)
        tell_clocks<<<5, 64, 0, streams[i]>>>(s, round + i * 320);
}

static void add_heap(int round) {
    for (int i = 0; i < STREAMS; i++)
        take_pieces<<<6, 48, 0, streams[i]>>>(s, round + i * 288);
}

static void add_waits(int round) {
    CHECK(cudaMemsetAsync(&s->flag, 0, sizeof(s->flag), streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    wait_then_add<<<BLOCKS, THREADS, 0, streams[0]>>>(s, (unsigned int)round);
    add<<<4, THREADS, 0, streams[1]>>>(s, (unsigned int)round, 2);
    set_flag<<<1, 1, 0, streams[2]>>>(s);
    add<<<4, THREADS, 0, streams[3]>>>(s, (unsigned int)round + 5, 2);
    CHECK(cudaDeviceSynchronize());
}

static const struct {
    const char *name;
    void (*run)(int round);
} parts[] = {{"sums", add_sums},
             {"orders", add_orders},
             {"clocks", add_clocks},
             {"heap", add_heap},
             {"waits", add_waits}};

static uint64_t result_of(int k, int rounds) {
    state *host = (state *)malloc(sizeof(*host));
    CHECK(cudaMemset(s, 0, sizeof(*s)));
    for (int round = 0; round < rounds; round++)
        parts[k].run(round);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, s, sizeof(*host), cudaMemcpyDeviceToHost));
    uint64_t sum = checksum_add(CHECKSUM_START, host, sizeof(*host));
    free(host);
    return sum;
}

int main(int argc, char **argv) {
    int rounds = 3, chosen = 0, shown = 0;
    uint64_t all = CHECKSUM_START;
    for (int a = 1; a < argc; a++) {
        if (!strncmp(argv[a], "rounds=", 7)) rounds = atoi(argv[a] + 7);
        shown |= !strcmp(argv[a], "shown");
        for (int k = 0; k < 5; k++)
            if (!strcmp(argv[a], parts[k].name)) chosen |= 1 << k;
    }
    CHECK(cudaMalloc(&s, sizeof(*s)));
    for (int i = 0; i < STREAMS; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    for (int k = 0; k < 5; k++) {
        if (chosen && !(chosen >> k & 1)) continue;
        uint64_t sum = result_of(k, rounds);
        if (shown) checksum_print(parts[k].name, sum);
        all = checksum_add(all, &sum, sizeof(sum));
    }
    checksum_print("racing", all);
    return 0;
}
