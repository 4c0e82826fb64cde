/* SPDX-License-Identifier: Apache-2.0
 *
 * A small fully connected network with tanh, as frameworks run one: permanent weights, and all
 * other memory allocated and freed in stream order. Activations live from forward to backward,
 * gradients from the first backward to the step. Every sum has a fixed order.
 */
#ifndef E2E_NET_H
#define E2E_NET_H

#include "common.h"

#define NET_LAYERS_MAX 8

struct net {
    int layers, width[NET_LAYERS_MAX + 1]; /* inputs, hidden..., outputs */
    cudaStream_t stream;
    float *weight[NET_LAYERS_MAX]; /* [in][out], then the bias [out] */
    float *grad[NET_LAYERS_MAX];   /* NULL: none since the last step */
    float *act[NET_LAYERS_MAX + 1];
    int batch;
};

/* ---- kernels --------------------------------------------------------------------------------- */

__global__ void net_fill(float *p, int n, uint32_t seed, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t h = (seed + i) * 2654435761u;
    h = (h ^ h >> 15) * 2246822519u;
    h ^= h >> 13;
    if (i < n) p[i] = scale * ((float)(h >> 8) / 8388608.0f - 1.0f);
}

__global__ void net_linear(const float *x, const float *w, float *y, int in, int out, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const float *row = x + i / out * in;
    float v = w[in * out + i % out];
    for (int k = 0; k < in; k++)
        v += row[k] * w[k * out + i % out];
    y[i] = v;
}

__global__ void net_tanh(float *y, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) y[i] = tanhf(y[i]);
}

__global__ void net_error(const float *y, const float *want, float *delta, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) delta[i] = y[i] - want[i];
}

__global__ void net_tanh_back(const float *y, float *delta, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) delta[i] *= 1.0f - y[i] * y[i];
}

/* Adds to the gradients of weights and biases. */
__global__ void net_weight_back(const float *x, const float *delta, float *grad, int in, int out,
                                int batch) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (in + 1) * out) return;
    float g = grad[i];
    for (int s = 0; s < batch; s++)
        g += delta[s * out + i % out] * (i / out < in ? x[s * in + i / out] : 1.0f);
    grad[i] = g;
}

__global__ void net_input_back(const float *delta, const float *w, float *before, int in, int out,
                               int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    float v = 0;
    for (int k = 0; k < out; k++)
        v += delta[i / in * out + k] * w[i % in * out + k];
    before[i] = v;
}

__global__ void net_sgd(float *w, const float *grad, int n, float rate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] -= rate * grad[i];
}

/* ---- the network ----------------------------------------------------------------------------- */

#define NET_BLOCK 64
#define NET_GRID(n) (((n) + NET_BLOCK - 1) / NET_BLOCK)

static inline float *net_temporary(cudaStream_t stream, int floats) {
    void *p;
    CHECK(cudaMallocAsync(&p, floats * sizeof(float), stream));
    return (float *)p;
}

static inline int net_weights(const struct net *n, int layer) {
    return (n->width[layer] + 1) * n->width[layer + 1];
}

static inline void net_create(struct net *n, int layers, const int *width, uint32_t seed,
                              cudaStream_t stream) {
    memset(n, 0, sizeof(*n));
    n->layers = layers;
    n->stream = stream;
    for (int i = 0; i <= layers; i++)
        n->width[i] = width[i];
    for (int i = 0; i < layers; i++) {
        int count = net_weights(n, i);
        CHECK(cudaMalloc(&n->weight[i], count * sizeof(float)));
        net_fill<<<NET_GRID(count), NET_BLOCK, 0, stream>>>(n->weight[i], count, seed + 1000 * i,
                                                            0.4f);
    }
}

static inline void net_free(struct net *n, float **p) {
    CHECK(cudaFreeAsync(*p, n->stream));
    *p = NULL;
}

/* Takes ownership of `x`. Activations are kept for net_backward, or freed as soon as they are
 * used. */
static inline void net_forward(struct net *n, float *x, int batch, bool keep) {
    n->batch = batch;
    n->act[0] = x;
    for (int i = 0; i < n->layers; i++) {
        int in = n->width[i], out = n->width[i + 1], total = batch * out;
        n->act[i + 1] = net_temporary(n->stream, total);
        net_linear<<<NET_GRID(total), NET_BLOCK, 0, n->stream>>>(n->act[i], n->weight[i],
                                                                 n->act[i + 1], in, out, total);
        net_tanh<<<NET_GRID(total), NET_BLOCK, 0, n->stream>>>(n->act[i + 1], total);
        if (!keep) net_free(n, &n->act[i]);
    }
}

static inline void net_layer_back(struct net *n, int i, float **delta) {
    int in = n->width[i], out = n->width[i + 1], batch = n->batch, count = net_weights(n, i);
    float *before = NULL;
    net_tanh_back<<<NET_GRID(batch * out), NET_BLOCK, 0, n->stream>>>(n->act[i + 1], *delta,
                                                                      batch * out);
    if (!n->grad[i]) {
        n->grad[i] = net_temporary(n->stream, count);
        CHECK(cudaMemsetAsync(n->grad[i], 0, count * sizeof(float), n->stream));
    }
    net_weight_back<<<NET_GRID(count), NET_BLOCK, 0, n->stream>>>(n->act[i], *delta, n->grad[i], in,
                                                                  out, batch);
    net_free(n, &n->act[i + 1]);
    if (i) {
        before = net_temporary(n->stream, batch * in);
        net_input_back<<<NET_GRID(batch * in), NET_BLOCK, 0, n->stream>>>(
            *delta, n->weight[i], before, in, out, batch * in);
    }
    net_free(n, delta);
    *delta = before;
}

/* Takes ownership of `want`. Adds the gradients to those of earlier calls since the last step. */
static inline void net_backward(struct net *n, float *want) {
    int total = n->batch * n->width[n->layers];
    float *delta = net_temporary(n->stream, total);
    net_error<<<NET_GRID(total), NET_BLOCK, 0, n->stream>>>(n->act[n->layers], want, delta, total);
    net_free(n, &want);
    for (int i = n->layers; i-- > 0;)
        net_layer_back(n, i, &delta);
    net_free(n, &n->act[0]);
}

static inline void net_step(struct net *n, float rate) {
    for (int i = 0; i < n->layers; i++) {
        int count = net_weights(n, i);
        net_sgd<<<NET_GRID(count), NET_BLOCK, 0, n->stream>>>(n->weight[i], n->grad[i], count,
                                                              rate);
    }
    for (int i = 0; i < n->layers; i++)
        net_free(n, &n->grad[i]);
}

/* Runs one batch of generated data forward and backward. */
static inline void net_batch(struct net *n, int batch, uint32_t seed) {
    int in = batch * n->width[0], out = batch * n->width[n->layers];
    float *x = net_temporary(n->stream, in), *want = net_temporary(n->stream, out);
    net_fill<<<NET_GRID(in), NET_BLOCK, 0, n->stream>>>(x, in, seed, 1.0f);
    net_fill<<<NET_GRID(out), NET_BLOCK, 0, n->stream>>>(want, out, seed, 0.8f);
    net_forward(n, x, batch, true);
    net_backward(n, want);
}

/* Returns the output for generated data, added to a checksum. */
static inline uint64_t net_answer(struct net *n, int batch, uint32_t seed, uint64_t sum) {
    int in = batch * n->width[0], out = batch * n->width[n->layers];
    float *x = net_temporary(n->stream, in), y[1024];
    REQUIRE(out <= 1024, "%d outputs", out);
    net_fill<<<NET_GRID(in), NET_BLOCK, 0, n->stream>>>(x, in, seed, 1.0f);
    net_forward(n, x, batch, false);
    CHECK(cudaMemcpyAsync(y, n->act[n->layers], out * sizeof(float), cudaMemcpyDeviceToHost,
                          n->stream));
    net_free(n, &n->act[n->layers]);
    CHECK(cudaStreamSynchronize(n->stream));
    return checksum_add(sum, y, out * sizeof(float));
}

static inline uint64_t net_checksum(struct net *n, uint64_t sum) {
    static float weights[1 << 16];
    CHECK(cudaStreamSynchronize(n->stream));
    for (int i = 0; i < n->layers; i++) {
        size_t bytes = net_weights(n, i) * sizeof(float);
        REQUIRE(bytes <= sizeof(weights), "%zu bytes of weights", bytes);
        CHECK(cudaMemcpy(weights, n->weight[i], bytes, cudaMemcpyDeviceToHost));
        for (size_t k = 0; k < bytes / sizeof(float); k++)
            REQUIRE(weights[k] > -1e6f && weights[k] < 1e6f, "weight %zu is %g", k, weights[k]);
        sum = checksum_add(sum, weights, bytes);
    }
    return sum;
}

#endif
