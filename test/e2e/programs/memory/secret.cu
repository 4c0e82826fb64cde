/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills all memory that a job can reach with the job's own secret, and searches all memory that it
 * gets and has not written for another job's secret.
 *   secret MINE THEIRS ROUNDS [MiB]
 * Both secrets are numbers of 64 bits, in hexadecimal. Each round is an iteration that first
 * searches, then fills. After the rounds the program prints a line and keeps its memory until its
 * input ends. MiB: memory of each kind that it takes at once. Secrets found are reported, and the
 * exit status is 3.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

#define MIB ((size_t)1 << 20)
#define THREADS 128
#define BLOCKS 32
#define LOCAL_WORDS 256
#define SHARED_WORDS 2048
#define DYNAMIC_WORDS 10240 /* 40 KiB */
#define HEAP_BYTES 3000

typedef unsigned long long word64;

static word64 mine, theirs;
static unsigned long long *found_d; /* in managed memory: words found, words searched */
static unsigned long long found, seen;

__device__ uint32_t global_words[64 * 1024];
__device__ void *kept[BLOCKS * THREADS];
__constant__ uint32_t constant_words[4096];

/* ---- on the device --------------------------------------------------------------------------- */

__device__ uint32_t half(word64 secret, size_t i) {
    return (uint32_t)(i & 1 ? secret >> 32 : secret);
}

/* The wanted secret is only passed inverted, since parameters are in memory that is searched as
 * well. */
__device__ bool is(uint32_t word, word64 inverted) {
    return ~word == (uint32_t)inverted || ~word == (uint32_t)(inverted >> 32);
}

__device__ void count(unsigned long long *f, unsigned n, unsigned total) {
    if (n) atomicAdd(&f[0], (unsigned long long)n);
    atomicAdd(&f[1], (unsigned long long)total);
}

__global__ void fill(uint32_t *p, size_t n, word64 secret) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = half(secret, i);
}

__global__ void look(const uint32_t *p, size_t n, word64 inverted, unsigned long long *f) {
    unsigned hits = 0, total = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        hits += is(p[i], inverted);
        total++;
    }
    count(f, hits, total);
}

/* The compiler cannot tell whether a call searches or fills, so it does not treat the reads as
 * undefined. */
__global__ void shared_memory(word64 mine, word64 inverted, int fills, unsigned long long *f) {
    __shared__ volatile uint32_t fixed[SHARED_WORDS];
    extern __shared__ uint32_t dynamic[];
    volatile uint32_t *d = dynamic;
    unsigned hits = 0;
    for (int i = threadIdx.x; i < SHARED_WORDS; i += blockDim.x)
        hits += is(fixed[i], inverted);
    for (int i = threadIdx.x; i < DYNAMIC_WORDS; i += blockDim.x)
        hits += is(d[i], inverted);
    count(f, hits, (SHARED_WORDS + DYNAMIC_WORDS) / THREADS);
    if (!fills) return;
    for (int i = threadIdx.x; i < SHARED_WORDS; i += blockDim.x)
        fixed[i] = half(mine, i);
    for (int i = threadIdx.x; i < DYNAMIC_WORDS; i += blockDim.x)
        d[i] = half(mine, i);
}

/* Searches a stack with frames in it, and registers that were never written. */
__device__ __noinline__ unsigned local_memory(word64 mine, word64 inverted, int depth, int step) {
    volatile uint32_t words[LOCAL_WORDS];
    uint32_t r0, r1;
    unsigned hits = 0;
    asm volatile("{ .reg .b32 %%never; mov.b32 %0, %%never; }" : "=r"(r0));
    asm volatile("{ .reg .b32 %%never; mov.b32 %0, %%never; }" : "=r"(r1));
    hits += is(r0, inverted) + is(r1, inverted);
    for (int i = 0; i < LOCAL_WORDS; i++)
        hits += is(words[(i * step) % LOCAL_WORDS], inverted);
    for (int i = 0; i < LOCAL_WORDS; i++)
        words[(i * step) % LOCAL_WORDS] = half(mine, i);
    if (depth > 0) hits += local_memory(mine, inverted, depth - 1, step);
    return hits + (words[step % LOCAL_WORDS] == 12345u);
}

__global__ void stacks(word64 mine, word64 inverted, int depth, int step, unsigned long long *f) {
    count(f, local_memory(mine, inverted, depth, step), LOCAL_WORDS * (depth + 1));
}

__global__ void heap(word64 mine, word64 inverted, unsigned long long *f) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x, hits = 0;
    uint32_t *p = (uint32_t *)malloc(HEAP_BYTES);
    if (!p) return;
    for (int i = 0; i < HEAP_BYTES / 4; i++)
        hits += is(((volatile uint32_t *)p)[i], inverted);
    for (int i = 0; i < HEAP_BYTES / 4; i++)
        p[i] = half(mine, i);
    count(f, hits, HEAP_BYTES / 4);
    if (kept[at]) free(kept[at]);
    kept[at] = p;
}

__global__ void variables(word64 mine, word64 inverted, unsigned long long *f) {
    unsigned hits = 0, at = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    for (unsigned i = at; i < 64 * 1024; i += all) {
        hits += is(((volatile uint32_t *)global_words)[i], inverted);
        global_words[i] = half(mine, i);
    }
    for (unsigned i = at; i < 4096; i += all)
        hits += is(constant_words[i], inverted);
    count(f, hits, (64 * 1024 + 4096) / all);
}

__global__ void print(word64 mine) {
    printf("printed %llx\n", mine);
}

/* ---- on the host ----------------------------------------------------------------------------- */

static void report(const char *what) {
    CHECK(cudaDeviceSynchronize());
    if (found_d[0]) fprintf(stderr, "found: %llu words in %s\n", found_d[0], what);
    found += found_d[0];
    seen += found_d[1];
    found_d[0] = found_d[1] = 0;
}

static void look_host(const char *what, const void *p, size_t bytes) {
    const volatile uint32_t *w = (const volatile uint32_t *)p;
    const uint32_t lo = (uint32_t)theirs, hi = (uint32_t)(theirs >> 32);
    unsigned long long hits = 0;
    for (size_t i = 0; i < bytes / 4; i++) {
        const uint32_t word = w[i];
        hits += word == lo || word == hi;
    }
    if (hits) fprintf(stderr, "found: %llu words in %s\n", hits, what);
    found += hits;
    seen += bytes / 4;
}

static void fill_host(void *p, size_t bytes) {
    for (size_t i = 0; i < bytes / 8; i++)
        ((word64 *)p)[i] = mine;
}

static void look_and_fill(const char *what, void *p, size_t bytes, cudaStream_t s) {
    look<<<BLOCKS, THREADS, 0, s>>>((uint32_t *)p, bytes / 4, ~theirs, found_d);
    fill<<<BLOCKS, THREADS, 0, s>>>((uint32_t *)p, bytes / 4, mine);
    CHECK(cudaStreamSynchronize(s));
    report(what);
}

/* Returns sizes from a few words to `most`, so that every kind of block occurs. */
static size_t size_of(int i, size_t most) {
    static const size_t parts[] = {1, 3, 7, 20, 100, 1000, 9000, 100000};
    return (most / parts[i % 8] + 255) / 256 * 256;
}

static void device_memory(size_t most) {
    static void *held[8];
    for (int i = 0; i < 8; i++) {
        void *p;
        CHECK(cudaMalloc(&p, size_of(i, most)));
        look_and_fill("cudaMalloc", p, size_of(i, most), 0);
        if (held[i]) CHECK(cudaFree(held[i])); /* the block lives while the next one is made */
        held[i] = p;
    }
}

static void stream_memory(size_t most, cudaStream_t s, cudaMemPool_t pool) {
    void *p[16];
    for (int i = 0; i < 16; i++) {
        size_t bytes = size_of(i, most);
        if (i < 8)
            CHECK(cudaMallocAsync(&p[i], bytes, s));
        else
            CHECK(cudaMallocFromPoolAsync(&p[i], bytes / 4 + 256, pool, s));
        look_and_fill(i < 8 ? "cudaMallocAsync" : "a memory pool", p[i],
                      i < 8 ? bytes : bytes / 4 + 256, s);
    }
    for (int i = 0; i < 16; i++)
        CHECK(cudaFreeAsync(p[i], s));
}

static void host_memory(size_t most) {
    void *managed, *pinned;
    CHECK(cudaMallocManaged(&managed, most / 4));
    look_host("cudaMallocManaged, from the host", managed, most / 4);
    look_and_fill("cudaMallocManaged", managed, most / 4, 0);
    CHECK(cudaHostAlloc(&pinned, most / 4, cudaHostAllocMapped));
    look_host("cudaHostAlloc", pinned, most / 4);
    fill_host(pinned, most / 4);
    CHECK(cudaFree(managed));
    CHECK(cudaFreeHost(pinned));
}

/* Copies pageable memory, which goes through memory that the library and the daemon share. */
static void staging(size_t most) {
    void *p, *host = malloc(most);
    fill_host(host, most);
    CHECK(cudaMalloc(&p, most));
    CHECK(cudaMemcpy(p, host, most, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(host, p, most, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyToSymbol(constant_words, host, sizeof constant_words));
    CHECK(cudaFree(p));
    free(host);
}

/* Searches all memory files that are mapped here, as far as they have pages: the memory that the
 * daemon and its library share with the program. */
static void shared_files(void) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    REQUIRE(maps, "no /proc/self/maps");
    while (fgets(line, sizeof line, maps)) {
        unsigned long long lo, hi;
        char rights[5];
        if (!strstr(line, "memfd:")) continue;
        if (sscanf(line, "%llx-%llx %4s", &lo, &hi, rights) != 3 || rights[0] != 'r') continue;
        const size_t step = 256 * MIB;
        unsigned char *core = (unsigned char *)malloc(step / 4096);
        for (unsigned long long at = lo; at < hi; at += step) {
            size_t bytes = hi - at < step ? hi - at : step;
            if (mincore((void *)at, bytes, core)) memset(core, 1, step / 4096);
            for (size_t page = 0; page < bytes / 4096; page++)
                if (core[page] & 1) look_host("a shared file", (void *)(at + page * 4096), 4096);
        }
        free(core);
    }
    fclose(maps);
}

static void iteration(size_t most, cudaStream_t s, cudaMemPool_t pool, int round) {
    mark();
    stream_memory(most, s, pool);
    device_memory(most);
    host_memory(most);
    for (int fills = 1; fills >= 0; fills--) {
        shared_memory<<<BLOCKS, THREADS, DYNAMIC_WORDS * 4>>>(mine, ~theirs, fills, found_d);
        report("shared memory");
    }
    stacks<<<BLOCKS / 8, THREADS>>>(mine, ~theirs, 2, 7, found_d);
    report("local memory");
    heap<<<BLOCKS, THREADS>>>(mine, ~theirs, found_d);
    report("the device's heap");
    variables<<<BLOCKS, THREADS>>>(mine, ~theirs, found_d);
    report("variables");
    if (round == 0) print<<<1, 1>>>(mine);
    staging(most);
}

int main(int argc, char **argv) {
    char end;
    REQUIRE(argc >= 4, "usage: secret MINE THEIRS ROUNDS [MiB]");
    mine = strtoull(argv[1], NULL, 16);
    theirs = strtoull(argv[2], NULL, 16);
    const int rounds = atoi(argv[3]);
    const size_t most = (argc > 4 ? atoi(argv[4]) : 4) * MIB;
    cudaStream_t s;
    cudaMemPool_t pool;
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMallocManaged(&found_d, 16));
    CHECK(cudaFuncSetAttribute(shared_memory, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               DYNAMIC_WORDS * 4));
    found_d[0] = found_d[1] = 0;
    shared_files();
    for (int round = 0; round < rounds; round++)
        iteration(most, s, pool, round);
    shared_files();
    printf("secret: %llu words seen, %llu found\n", seen, found);
    fflush(stdout);
    while (read(0, &end, 1) > 0)
        continue;
    return found ? 3 : 0;
}
