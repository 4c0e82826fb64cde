/* SPDX-License-Identifier: Apache-2.0
 * Clusters of blocks: a histogram and a reduction in each other's shared memory by cooperative
 * groups, values and copies that arrive at another block's barrier, launches in three dimensions
 * and invalid ones, and kernels that may begin before their predecessors end.
 */
#include <cooperative_groups.h>
#include <cuda/ptx>

#include "common.h"

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

#define BINS 512
#define SIZE 4 /* blocks of a cluster */

/* The bins are spread over the blocks of the cluster. */
__global__ void __cluster_dims__(SIZE, 1, 1) histogram(const unsigned *in, int n, unsigned *out) {
    __shared__ unsigned bins[BINS / SIZE];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < BINS / SIZE; i += blockDim.x)
        bins[i] = 0;
    cluster.sync();
    for (int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) {
        unsigned bin = in[i] % BINS;
        atomicAdd(cluster.map_shared_rank(bins, bin / (BINS / SIZE)) + bin % (BINS / SIZE), 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < BINS / SIZE; i += blockDim.x)
        atomicAdd(&out[cluster.block_rank() * (BINS / SIZE) + i], bins[i]);
}

/* Each block hands its sum to the next rank, size - 1 times; the barrier is split into arrive and
 * wait. */
__global__ void ring(const float *in, float *out) {
    __shared__ float mine, given[2];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned size = cluster.num_blocks(), next = (cluster.block_rank() + 1) % size;
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    if (!threadIdx.x) mine = 0;
    __syncthreads();
    atomicAdd(&mine, in[block * blockDim.x + threadIdx.x]);
    __syncthreads();
    float sum = mine, pass = mine;
    for (unsigned k = 1; k < size; k++) {
        if (!threadIdx.x) *cluster.map_shared_rank(&given[k % 2], next) = pass;
        cluster.barrier_arrive();
        cluster.barrier_wait();
        pass = given[k % 2];
        sum += pass;
    }
    cluster.sync();
    if (threadIdx.x) return;
    dim3 at = cluster.block_index(), of = cluster.dim_blocks();
    bool fits = at.x + of.x * (at.y + of.y * at.z) == cluster.block_rank() &&
                blockIdx.x % of.x == at.x && blockIdx.y % of.y == at.y &&
                blockIdx.z % of.z == at.z &&
                cluster.query_shared_rank(cluster.map_shared_rank(&mine, next)) == next &&
                __isClusterShared(cluster.map_shared_rank(&mine, next)) &&
                __clusterDimIsSpecified() && cluster.num_threads() == size * blockDim.x;
    out[block] = fits ? sum : -1;
}

/* Thread t of rank r sends a word to thread t of the next rank; block 0 copies a line to all. */
__global__ void __cluster_dims__(SIZE, 1, 1) mail(const uint32_t *line, uint32_t *out) {
    __shared__ __align__(16) uint32_t words[64];
    __shared__ __align__(16) uint32_t lines[64];
    __shared__ __align__(8) uint64_t sent, copied;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), next = (rank + 1) % SIZE, t = threadIdx.x;
    if (t == 0) {
        ptx::mbarrier_init(&sent, 1);
        ptx::mbarrier_init(&copied, 1);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared,
                                       &sent, sizeof words);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared,
                                       &copied, sizeof lines);
    }
    cluster.sync();
    ptx::st_async(cluster.map_shared_rank(&words[t], next), rank * 100 + t,
                  cluster.map_shared_rank(&sent, next));
    if (rank == 0 && t == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
                         (unsigned)__cvta_generic_to_shared(lines)),
                     "l"(__cvta_generic_to_global(line)), "r"((unsigned)sizeof lines),
                     "r"((unsigned)__cvta_generic_to_shared(&copied)), "h"((short)15)
                     : "memory"); /* the headers declare it only for sm_90a */
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &sent, 0))
        continue;
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &copied, 0))
        continue;
    out[blockIdx.x * 64 + t] = words[t] * 1000 + lines[t];
    cluster.sync();
}

__global__ void produce(int *data, int n) {
    cudaTriggerProgrammaticLaunchCompletion();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = 3 * i;
}

__global__ void consume(const int *data, int *out, int n) {
    cudaGridDependencySynchronize();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = data[n - 1 - i] + 1;
}

static cudaLaunchConfig_t config_of(dim3 grid, dim3 block, cudaLaunchAttribute *attribute) {
    cudaLaunchConfig_t c = {};
    c.gridDim = grid;
    c.blockDim = block;
    c.attrs = attribute;
    c.numAttrs = 1;
    return c;
}

static cudaLaunchAttribute cluster_of(unsigned x, unsigned y, unsigned z) {
    cudaLaunchAttribute a;
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = x;
    a.val.clusterDim.y = y;
    a.val.clusterDim.z = z;
    return a;
}

template <typename T> static T *device(size_t count, const T *from) {
    T *to;
    CHECK(cudaMalloc(&to, count * sizeof(T)));
    if (from)
        CHECK(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice));
    else
        CHECK(cudaMemset(to, 0, count * sizeof(T)));
    return to;
}

static uint64_t try_histogram(uint64_t sum) {
    enum { N = 20000 };
    static unsigned in[N], want[BINS], got[BINS];
    uint32_t seed = 12;
    for (int i = 0; i < N; i++)
        want[(in[i] = random_next(&seed)) % BINS]++;
    unsigned *di = device(N, in), *out = device<unsigned>(BINS, NULL);
    histogram<<<4 * SIZE, 96>>>(di, N, out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BINS; i++)
        REQUIRE(got[i] == want[i], "bin %d has %u, expected %u", i, got[i], want[i]);
    histogram<<<SIZE + 1, 32>>>(di, N, out);
    REQUIRE(cudaGetLastError() == cudaErrorInvalidClusterSize, "a grid of broken clusters");
    return checksum_add(sum, got, sizeof got);
}

static uint64_t try_ring(uint64_t sum) {
    enum { THREADS = 40, BLOCKS = 96 };
    static float in[BLOCKS * THREADS], got[BLOCKS];
    const unsigned shapes[][6] = {{96, 1, 1, 8, 1, 1},
                                  {4, 6, 4, 2, 3, 1},
                                  {4, 6, 4, 1, 2, 4},
                                  {12, 4, 2, 1, 1, 1},
                                  {32, 3, 1, 16, 1, 1}};
    for (int i = 0; i < BLOCKS * THREADS; i++)
        in[i] = (float)(i % 17);
    float *di = device(BLOCKS * THREADS, in), *out = device<float>(BLOCKS, NULL);
    for (int s = 0; s < 5; s++) {
        const unsigned *v = shapes[s];
        cudaLaunchAttribute a = cluster_of(v[3], v[4], v[5]);
        cudaLaunchConfig_t c = config_of(dim3(v[0], v[1], v[2]), THREADS, &a);
        if (s == 4) {
            REQUIRE(cudaLaunchKernelEx(&c, ring, (const float *)di, out) ==
                        cudaErrorInvalidClusterSize,
                    "16 blocks without asking");
            CHECK(cudaFuncSetAttribute(ring, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
        }
        CHECK(cudaLaunchKernelEx(&c, ring, (const float *)di, out));
        CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
        for (unsigned b = 0; b < BLOCKS; b++) {
            unsigned x = b % v[0] / v[3] * v[3], y = b / v[0] % v[1] / v[4] * v[4];
            unsigned z = b / v[0] / v[1] / v[5] * v[5];
            float want = 0;
            for (unsigned k = 0; k < v[3] * v[4] * v[5]; k++) {
                unsigned other =
                    x + k % v[3] + v[0] * (y + k / v[3] % v[4] + v[1] * (z + k / v[3] / v[4]));
                for (unsigned t = 0; t < THREADS; t++)
                    want += in[other * THREADS + t];
            }
            REQUIRE(got[b] == want, "shape %d block %u has %g, expected %g", s, b, got[b], want);
        }
        sum = checksum_add(sum, got, sizeof got);
    }
    return sum;
}

static void try_limits(void) {
    int most = 0, clusters = 0, plain = 0;
    cudaLaunchAttribute a = cluster_of(4, 1, 1);
    cudaLaunchConfig_t c = config_of(dim3(64), 128, &a);
    CHECK(cudaOccupancyMaxPotentialClusterSize(&most, produce, &c));
    REQUIRE(most == 8, "clusters of %d blocks at most", most);
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, produce, &c));
    c.numAttrs = 0;
    CHECK(cudaOccupancyMaxActiveClusters(&plain, produce, &c));
    REQUIRE(clusters > 0 && plain == 0, "%d clusters, %d without", clusters, plain);
    cudaFuncAttributes f;
    CHECK(cudaFuncGetAttributes(&f, mail));
    REQUIRE(f.requiredClusterWidth == SIZE && f.requiredClusterHeight == 1, "required %d x %d",
            f.requiredClusterWidth, f.requiredClusterHeight);
}

static uint64_t try_mail(uint64_t sum) {
    static uint32_t line[64], got[2 * SIZE * 64];
    for (int i = 0; i < 64; i++)
        line[i] = i * i % 1000;
    uint32_t *dl = device(64, line), *out = device<uint32_t>(2 * SIZE * 64, NULL);
    mail<<<2 * SIZE, 64>>>(dl, out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 2 * SIZE * 64; i++) {
        unsigned from = (i / 64 + SIZE - 1) % SIZE, t = i % 64;
        REQUIRE(got[i] == (from * 100 + t) * 1000 + line[t], "word %u is %u", i, got[i]);
    }
    return checksum_add(sum, got, sizeof got);
}

static uint64_t try_dependent(uint64_t sum) {
    enum { N = 5000 };
    static int got[N];
    int *data = device<int>(N, NULL), *out = device<int>(N, NULL);
    cudaStream_t stream;
    cudaEvent_t begun;
    cudaLaunchAttribute a[2];
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
    a[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a[0].val.programmaticStreamSerializationAllowed = 1;
    a[1].id = cudaLaunchAttributeProgrammaticEvent;
    a[1].val.programmaticEvent.event = begun;
    a[1].val.programmaticEvent.flags = 0;
    a[1].val.programmaticEvent.triggerAtBlockStart = 0;
    cudaLaunchConfig_t c = config_of(4, 128, a);
    c.stream = stream;
    c.numAttrs = 2;
    CHECK(cudaLaunchKernelEx(&c, produce, data, (int)N));
    c.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&c, consume, (const int *)data, out, (int)N));
    CHECK(cudaEventSynchronize(begun));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        REQUIRE(got[i] == 3 * (N - 1 - i) + 1, "word %d is %d", i, got[i]);
    return checksum_add(sum, got, sizeof got);
}

int main(void) {
    uint64_t sum = try_histogram(CHECKSUM_START);
    sum = try_ring(sum);
    sum = try_mail(sum);
    sum = try_dependent(sum);
    try_limits();
    checksum_print("cluster", sum);
    CHECK(cudaDeviceReset());
    return 0;
}
