/* SPDX-License-Identifier: Apache-2.0
 * A small network learns to tell two interleaved spirals apart: one hidden layer, tanh, cross
 * entropy, plain gradient descent; each iteration is forward, backward and update. The loss must
 * fall. Every sum has a fixed order, so the weights come out the same to the last bit. */
#include <math.h>

#include "common.h"

#define SAMPLES 256
#define INPUTS 8
#define HIDDEN 64

__global__ void forward_hidden(const float *x, const float *w, const float *b, float *h) {
    int s = blockIdx.x, j = threadIdx.x;
    float v = b[j];
    for (int i = 0; i < INPUTS; i++)
        v += x[s * INPUTS + i] * w[i * HIDDEN + j];
    h[s * HIDDEN + j] = tanhf(v);
}

/* Computes output, loss and the gradient of the output, one sample per block. */
__global__ void forward_output(const float *h, const float *w, const float *b, const float *y,
                               float *delta, float *loss) {
    __shared__ float part[HIDDEN];
    int s = blockIdx.x, j = threadIdx.x;
    part[j] = h[s * HIDDEN + j] * w[j];
    __syncthreads();
    for (int half = HIDDEN / 2; half; half /= 2) {
        if (j < half) part[j] += part[j + half];
        __syncthreads();
    }
    if (j == 0) {
        float p = 1.0f / (1.0f + expf(-(part[0] + b[0])));
        p = fminf(fmaxf(p, 1e-6f), 1.0f - 1e-6f);
        loss[s] = y[s] > 0.5f ? -logf(p) : -logf(1.0f - p);
        delta[s] = p - y[s];
    }
}

__global__ void backward(const float *x, const float *h, const float *w2, const float *delta,
                         float *gw1, float *gb1, float *gw2, float *gb2) {
    int j = threadIdx.x, i = blockIdx.x; /* block INPUTS: the biases and the output layer */
    float g = 0, g2 = 0, gb = 0;
    for (int s = 0; s < SAMPLES; s++) {
        float a = h[s * HIDDEN + j], d = delta[s] * w2[j] * (1.0f - a * a);
        if (i < INPUTS) {
            g += d * x[s * INPUTS + i];
        } else {
            g += d;
            g2 += delta[s] * a;
            gb += delta[s];
        }
    }
    if (i < INPUTS) {
        gw1[i * HIDDEN + j] = g / SAMPLES;
    } else {
        gb1[j] = g / SAMPLES;
        gw2[j] = g2 / SAMPLES;
        if (j == 0) gb2[0] = gb / SAMPLES;
    }
}

__global__ void sgd(float *param, const float *grad, int n, float rate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) param[i] -= rate * grad[i];
}

static void make_spirals(float *x, float *y) {
    for (int s = 0; s < SAMPLES; s++) {
        float t = 0.25f + 1.5f * (s / 2) / (SAMPLES / 2), side = s % 2 ? 1.0f : -1.0f;
        float u = side * t * cosf(3 * t), v = side * t * sinf(3 * t);
        float f[INPUTS] = {u, v, u * v, u * u, v * v, sinf(2 * u), sinf(2 * v), 1};
        for (int i = 0; i < INPUTS; i++)
            x[s * INPUTS + i] = f[i];
        y[s] = s % 2 ? 1.0f : 0.0f;
    }
}

int main(int argc, char **argv) {
    const int iterations = rounds_arg(argc, argv, 200);
    const int n = INPUTS * HIDDEN + HIDDEN + HIDDEN + 1; /* w1, b1, w2, b2 in one vector */
    float x[SAMPLES * INPUTS], y[SAMPLES], params[n], losses[SAMPLES];
    uint32_t seed = 7;
    make_spirals(x, y);
    for (int i = 0; i < n; i++)
        params[i] = random_unit(&seed) * 0.5f;
    float *dx, *dy, *dp, *dg, *dh, *dd, *dl;
    CHECK(cudaMalloc(&dx, sizeof x));
    CHECK(cudaMalloc(&dy, sizeof y));
    CHECK(cudaMalloc(&dp, sizeof params));
    CHECK(cudaMalloc(&dg, sizeof params));
    CHECK(cudaMalloc(&dh, SAMPLES * HIDDEN * sizeof(float)));
    CHECK(cudaMalloc(&dd, SAMPLES * sizeof(float)));
    CHECK(cudaMalloc(&dl, SAMPLES * sizeof(float)));
    CHECK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dy, y, sizeof y, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dp, params, sizeof params, cudaMemcpyHostToDevice));
    const int b1 = INPUTS * HIDDEN, w2 = b1 + HIDDEN, b2 = w2 + HIDDEN;
    double first = 0, last = 0;
    for (int it = 0; it < iterations; it++) {
        mark();
        forward_hidden<<<SAMPLES, HIDDEN>>>(dx, dp, dp + b1, dh);
        forward_output<<<SAMPLES, HIDDEN>>>(dh, dp + w2, dp + b2, dy, dd, dl);
        backward<<<INPUTS + 1, HIDDEN>>>(dx, dh, dp + w2, dd, dg, dg + b1, dg + w2, dg + b2);
        sgd<<<(n + 127) / 128, 128>>>(dp, dg, n, 0.5f);
        if (it == 0 || it == iterations - 1) {
            CHECK(cudaMemcpy(losses, dl, sizeof losses, cudaMemcpyDeviceToHost));
            double sum = 0;
            for (int s = 0; s < SAMPLES; s++)
                sum += losses[s] / SAMPLES;
            if (it == 0) first = sum;
            last = sum;
        }
    }
    CHECK(cudaMemcpy(params, dp, sizeof params, cudaMemcpyDeviceToHost));
    printf("train loss %.6f -> %.6f in %d iterations\n", first, last, iterations);
    REQUIRE(iterations < 100 || last < 0.8 * first, "the loss went from %g to %g", first, last);
    checksum_print("train", checksum_add(CHECKSUM_START, params, sizeof params));
    return 0;
}
