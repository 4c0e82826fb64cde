/* SPDX-License-Identifier: Apache-2.0
 * Realistic training: it begins with an evaluation, and has one every 20 iterations (separate work
 * between two iterations). In the first five iterations one more kernel warms the rate up, and
 * every 30 iterations one lowers it.
 *   evaluate [iterations] */
#include "net.h"

#define EVERY 20
#define BATCHES 6

__global__ void lower(float *rate, float factor) {
    *rate *= factor;
}

__global__ void sgd_from(float *w, const float *grad, int n, const float *rate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] -= *rate * grad[i];
}

static void step(struct net *n, const float *rate) {
    for (int i = 0; i < n->layers; i++) {
        int count = net_weights(n, i);
        sgd_from<<<NET_GRID(count), NET_BLOCK, 0, n->stream>>>(n->weight[i], n->grad[i], count,
                                                               rate);
        net_free(n, &n->grad[i]);
    }
}

static uint64_t evaluate(struct net *n, uint64_t sum) {
    mark();
    for (int i = 0; i < BATCHES; i++)
        sum = net_answer(n, 16, 900000 + i, sum);
    return sum;
}

int main(int argc, char **argv) {
    const int iterations = rounds_arg(argc, argv, 120), width[] = {16, 32, 32, 8};
    struct net net;
    cudaStream_t stream;
    float *rate, first = 0.02f;
    uint64_t sum = CHECKSUM_START;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&rate, sizeof(float)));
    CHECK(cudaMemcpy(rate, &first, sizeof(float), cudaMemcpyHostToDevice));
    net_create(&net, 3, width, 2, stream);
    sum = evaluate(&net, sum);
    for (int i = 0; i < iterations; i++) {
        mark();
        if (i < 5) lower<<<1, 1, 0, stream>>>(rate, 1.1f);
        net_batch(&net, 16, i);
        step(&net, rate);
        if (i % 30 == 29) lower<<<1, 1, 0, stream>>>(rate, 0.5f);
        if (i % EVERY == EVERY - 1) sum = evaluate(&net, sum);
    }
    checksum_print("evaluate", net_checksum(&net, sum));
    return 0;
}
