/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous copies to shared memory, as CUDA's own headers make them from cp.async, mbarrier and
 * bulk copies: cuda::pipeline in stages, with separate producers and consumers, and of a single
 * thread; cuda::barrier; cooperative_groups::memcpy_async. All sums are of integers, so that the
 * CPU's are the same.
 */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "common.h"

namespace cg = cooperative_groups;

#pragma nv_diag_suppress static_var_with_dynamic_init /* as init() does */

#define THREADS 128
#define BLOCKS 6
#define BATCHES 9
#define STAGES 3
#define WORDS (BLOCKS * BATCHES * THREADS)

/* A thread's step over a batch: adds its own word and a neighbour's. */
__host__ __device__ static unsigned mix(unsigned sum, const unsigned *batch, unsigned t) {
    return sum * 31u + batch[t] + 7u * batch[(t * 5u + 1u) % THREADS];
}

#define BATCH(k) (in + (blockIdx.x * BATCHES + (k)) * THREADS)

/* All threads copy and all compute, STAGES batches ahead. */
__global__ void by_stages(const unsigned *in, unsigned *out) {
    __shared__ alignas(16) unsigned stage[STAGES][THREADS];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    unsigned sum = 0;
    for (int next = 0, k = 0; k < BATCHES; k++) {
        for (; next < BATCHES && next < k + STAGES; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[next % STAGES], BATCH(next), sizeof(stage[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum = mix(sum, stage[k % STAGES], threadIdx.x);
        pipe.consumer_release();
    }
    out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

/* The first warp copies for the others. */
__global__ void by_producers(const unsigned *in, unsigned *out) {
    __shared__ alignas(16) unsigned stage[2][THREADS];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    bool produces = threadIdx.x < 32;
    auto pipe = cuda::make_pipeline(
        block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    if (produces) {
        auto warp = cg::tiled_partition<32>(block);
        for (int k = 0; k < BATCHES; k++) {
            pipe.producer_acquire();
            cuda::memcpy_async(warp, stage[k % 2], BATCH(k),
                               cuda::aligned_size_t<16>(sizeof(stage[0])), pipe);
            pipe.producer_commit();
        }
        return;
    }
    unsigned t = threadIdx.x - 32, one = 0, other = 0;
    for (int k = 0; k < BATCHES; k++) {
        pipe.consumer_wait();
        one = mix(one, stage[k % 2], t);
        if (t < THREADS - 96) other = mix(other, stage[k % 2], t + 96);
        pipe.consumer_release();
    }
    out[blockIdx.x * THREADS + t] = one;
    if (t < THREADS - 96) out[blockIdx.x * THREADS + t + 96] = other;
}

/* Each thread has a pipeline of its own. */
__global__ void by_threads(const unsigned *in, unsigned *out) {
    __shared__ alignas(16) unsigned batch[2][THREADS];
    auto pipe = cuda::make_pipeline();
    unsigned sum = 0;
    for (int k = 0; k <= BATCHES; k++) {
        if (k < BATCHES && threadIdx.x % 4 == 0)
            cuda::memcpy_async(&batch[k % 2][threadIdx.x], BATCH(k) + threadIdx.x,
                               cuda::aligned_size_t<16>(16), pipe);
        pipe.producer_commit();
        if (k == 0) continue;
        cuda::pipeline_consumer_wait_prior<1>(pipe);
        __syncthreads();
        sum = mix(sum, batch[(k - 1) % 2], threadIdx.x);
        __syncthreads();
    }
    out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

/* Copies arrive at a barrier; the thread waits for its token later. */
__global__ void by_barrier(const unsigned *in, unsigned *out) {
    __shared__ alignas(16) unsigned batch[2][THREADS];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0) init(&bar, THREADS);
    block.sync();
    unsigned sum = 0;
    for (int k = 0; k < BATCHES; k++) {
        cuda::memcpy_async(block, batch[k % 2], BATCH(k),
                           cuda::aligned_size_t<16>(sizeof(batch[0])), bar);
        auto token = bar.arrive();
        unsigned before = sum * 31u; /* other work meanwhile */
        bar.wait(std::move(token));
        sum = before + mix(0, batch[k % 2], threadIdx.x);
    }
    if (threadIdx.x % 3 == 0) bar.arrive_and_drop();
    if (threadIdx.x % 3) bar.arrive_and_wait();
    if (threadIdx.x % 3) bar.arrive_and_wait();
    out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

/* The copies belong to a group of threads; waits for all but the latest one. */
__global__ void by_group(const unsigned *in, unsigned *out) {
    __shared__ alignas(16) unsigned batch[2][THREADS];
    auto block = cg::this_thread_block();
    unsigned sum = 0;
    cg::memcpy_async(block, batch[0], BATCH(0), sizeof(batch[0]));
    for (int k = 0; k < BATCHES; k++) {
        if (k + 1 < BATCHES) {
            cg::memcpy_async(block, batch[(k + 1) % 2], THREADS, BATCH(k + 1), THREADS);
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        sum = mix(sum, batch[k % 2], threadIdx.x);
        block.sync();
    }
    out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

typedef void (*kernel)(const unsigned *in, unsigned *out);

int main(void) {
    static unsigned in[WORDS], want[BLOCKS * THREADS], got[BLOCKS * THREADS], *d_in, *d_out;
    const kernel kernels[] = {by_stages, by_producers, by_threads, by_barrier, by_group};
    const char *const names[] = {"by_stages", "by_producers", "by_threads", "by_barrier",
                                 "by_group"};
    uint32_t seed = 11;
    for (int k = 0; k < WORDS; k++)
        in[k] = random_next(&seed);
    for (int b = 0; b < BLOCKS; b++)
        for (unsigned t = 0; t < THREADS; t++)
            for (int k = 0; k < BATCHES; k++)
                want[b * THREADS + t] =
                    mix(want[b * THREADS + t], in + (b * BATCHES + k) * THREADS, t);
    CHECK(cudaMalloc(&d_in, sizeof(in)));
    CHECK(cudaMalloc(&d_out, sizeof(got)));
    CHECK(cudaMemcpy(d_in, in, sizeof(in), cudaMemcpyHostToDevice));
    uint64_t sum = CHECKSUM_START;
    for (int k = 0; k < 5; k++) {
        CHECK(cudaMemset(d_out, 0xff, sizeof(got)));
        kernels[k]<<<BLOCKS, THREADS>>>(d_in, d_out);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(got, d_out, sizeof(got), cudaMemcpyDeviceToHost));
        for (int i = 0; i < BLOCKS * THREADS; i++)
            REQUIRE(got[i] == want[i], "%s: thread %d has %u, expected %u", names[k], i, got[i],
                    want[i]);
        sum = checksum_add(sum, got, sizeof(got));
    }
    checksum_print("staged", sum);
    return 0;
}
