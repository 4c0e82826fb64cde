/* SPDX-License-Identifier: Apache-2.0
 * Four streams, each copying in from pinned memory, computing, and copying out; events order the
 * streams around a ring and measure time. */
#include "common.h"

#define STREAMS 4

__global__ void step(const float *in, const float *previous, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = in[i];
    for (int k = 0; k < 20; k++)
        v = v * 0.999f + 0.001f * previous[i];
    out[i] = v;
}

int main(int argc, char **argv) {
    const int n = 1 << 15, rounds = rounds_arg(argc, argv, 8);
    size_t bytes = n * sizeof(float);
    cudaStream_t stream[STREAMS];
    cudaEvent_t done[STREAMS], begin, end;
    float *in[STREAMS], *out[STREAMS], *din[STREAMS], *dout[STREAMS];
    uint32_t seed = 6;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaStreamCreateWithFlags(&stream[s],
                                        s % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
        CHECK(cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming));
        CHECK(cudaMallocHost(&in[s], bytes));
        CHECK(cudaHostAlloc(&out[s], bytes, cudaHostAllocMapped));
        CHECK(cudaMalloc(&din[s], bytes));
        CHECK(cudaMalloc(&dout[s], bytes));
        CHECK(cudaMemset(dout[s], 0, bytes));
        for (int i = 0; i < n; i++)
            in[s][i] = random_unit(&seed);
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(begin, stream[0]));
    for (int r = 0; r < rounds; r++) {
        for (int s = 0; s < STREAMS; s++) {
            int before = (s + STREAMS - 1) % STREAMS;
            CHECK(cudaMemcpyAsync(din[s], in[s], bytes, cudaMemcpyHostToDevice, stream[s]));
            if (r || s) CHECK(cudaStreamWaitEvent(stream[s], done[before], 0));
            step<<<(n + 127) / 128, 128, 0, stream[s]>>>(din[s], dout[before], dout[s], n);
            CHECK(cudaEventRecord(done[s], stream[s]));
            CHECK(cudaMemcpyAsync(out[s], dout[s], bytes, cudaMemcpyDeviceToHost, stream[s]));
        }
    }
    CHECK(cudaStreamWaitEvent(stream[0], done[STREAMS - 1], 0));
    CHECK(cudaEventRecord(end, stream[0]));
    CHECK(cudaEventSynchronize(end));
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    REQUIRE(ms > 0, "elapsed time %g ms", ms);
    uint64_t sum = CHECKSUM_START;
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaStreamSynchronize(stream[s]));
        sum = checksum_add(sum, out[s], bytes);
        CHECK(cudaFreeHost(in[s]));
        CHECK(cudaFreeHost(out[s]));
        CHECK(cudaStreamDestroy(stream[s]));
    }
    checksum_print("pipeline", sum);
    return 0;
}
