/* SPDX-License-Identifier: Apache-2.0
 *
 * Best-effort training: an iteration is some twenty short kernels (a batch, a forward and a
 * backward pass through layers, their updates) on temporaries of its own, and ends with a digest of
 * a layer's weights for which the program waits. Sums are of integers, so the digests depend only
 * on the arguments. A checksum of all digests is printed every eighth iteration, so that a run that
 * ended early can be compared with a longer one.
 *   steps [iterations [layers [words of a layer [passes [blocks]]]]]
 * `passes`: how much is computed for each word read. SIGTERM ends the program after the iteration.
 */
#include <signal.h>

#include "common.h"

#define THREADS 256
#define LAYERS_MAX 32
#define EVERY 8

static volatile sig_atomic_t ending;

static void end(int number) {
    ending = 1;
}

/* ---- kernels --------------------------------------------------------------------------------- */

#define EACH_WORD(i, n) \
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += gridDim.x * blockDim.x)

__device__ static uint32_t mixed(uint32_t h, int passes) {
    for (int p = 0; p < passes; p++)
        h = (h ^ h >> 15) * 2246822519u + (uint32_t)p;
    return h;
}

__global__ void batch(uint32_t *x, int n, uint32_t step) {
    EACH_WORD(i, n) x[i] = (uint32_t)i * 2654435761u + step;
}

__global__ void forward(uint32_t *out, const uint32_t *x, const uint32_t *w, int n, int passes) {
    EACH_WORD(i, n) out[i] = mixed(x[i] * w[i] + x[n - 1 - i], passes);
}

__global__ void backward(uint32_t *delta, const uint32_t *x, const uint32_t *w, int n, int passes) {
    EACH_WORD(i, n) delta[i] = mixed((delta[i] ^ x[i]) + w[i], passes);
}

__global__ void update(uint32_t *w, const uint32_t *delta, int n) {
    EACH_WORD(i, n) w[i] += delta[i] >> 3 | 1;
}

/* The order of a sum of integers does not matter. */
__global__ void digest(uint32_t *sum, const uint32_t *w, int n) {
    uint32_t mine = 0;
    EACH_WORD(i, n) mine += w[i] * (uint32_t)(i | 1);
    atomicAdd(sum, mine);
}

/* ---- training -------------------------------------------------------------------------------- */

struct training {
    int layers, n, passes, blocks;
    cudaStream_t stream;
    uint32_t *w[LAYERS_MAX], *sum;
};

static void create(struct training *t) {
    CHECK(cudaStreamCreate(&t->stream));
    CHECK(cudaMalloc(&t->sum, sizeof(*t->sum)));
    for (int l = 0; l < t->layers; l++) {
        CHECK(cudaMalloc(&t->w[l], t->n * sizeof(uint32_t)));
        batch<<<t->blocks, THREADS, 0, t->stream>>>(t->w[l], t->n, 17 * l);
    }
}

static uint32_t iterate(struct training *t, uint32_t step) {
    const size_t bytes = t->n * sizeof(uint32_t);
    cudaStream_t s = t->stream;
    uint32_t *x[LAYERS_MAX + 1], result;
    for (int l = 0; l <= t->layers; l++)
        CHECK(cudaMallocAsync((void **)&x[l], bytes, s));
    CHECK(cudaMemsetAsync(t->sum, 0, sizeof(*t->sum), s));
    batch<<<t->blocks, THREADS, 0, s>>>(x[0], t->n, step);
    for (int l = 0; l < t->layers; l++)
        forward<<<t->blocks, THREADS, 0, s>>>(x[l + 1], x[l], t->w[l], t->n, t->passes);
    uint32_t *delta = x[t->layers];
    for (int l = t->layers; l-- > 0;) {
        backward<<<t->blocks, THREADS, 0, s>>>(delta, x[l], t->w[l], t->n, t->passes);
        update<<<t->blocks, THREADS, 0, s>>>(t->w[l], delta, t->n);
    }
    digest<<<t->blocks, THREADS, 0, s>>>(t->sum, t->w[step % t->layers], t->n);
    for (int l = 0; l <= t->layers; l++)
        CHECK(cudaFreeAsync(x[l], s));
    CHECK(cudaMemcpyAsync(&result, t->sum, sizeof(result), cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    return result;
}

int main(int argc, char **argv) {
    int arg[] = {40, 6, 64 << 10, 1, 32};
    for (int i = 1; i < argc && i <= 5; i++)
        arg[i - 1] = atoi(argv[i]);
    struct training t = {arg[1], arg[2], arg[3], arg[4]};
    REQUIRE(t.layers > 0 && t.layers <= LAYERS_MAX, "%d layers", t.layers);
    uint64_t sum = CHECKSUM_START;
    signal(SIGTERM, end);
    create(&t);
    for (int i = 0; i < arg[0] && !ending; i++) {
        mark();
        uint32_t result = iterate(&t, (uint32_t)i);
        sum = checksum_add(sum, &result, sizeof(result));
        if ((i + 1) % EVERY) continue;
        printf("step%d checksum %016llx\n", i + 1, (unsigned long long)sum);
        fflush(stdout);
    }
    checksum_print("steps", sum);
    return 0;
}
