/* SPDX-License-Identifier: Apache-2.0
 *
 * A latency-bound inference server: weights are loaded once, then requests arrive as a Poisson
 * process, at times counted from the start, whether the one before is done or not. They are served
 * one at a time. A request copies its input in, runs eleven kernels (some stream memory, some only
 * compute, most with few blocks), copies its answer back and waits for it. Latency is from arrival
 * to answer. All arithmetic is of integers, so the answers depend only on the number of requests.
 *   service [requests [mean gap us [seed of the arrivals [hold]]]]
 * `hold`: afterwards the program stays, idle, until its input ends.
 */
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define THREADS 128
#define TILE 16
#define ROWS 128  /* rows of the activations */
#define WIDTH 128 /* columns of the activations */
#define CELLS (ROWS * WIDTH)
#define LAYERS 3
#define TABLE (256 << 10)    /* words */
#define STREAMED (192 << 10) /* words that a layer reads beside its activations */
#define ROUNDS 96
#define ANSWER 64 /* words */

/* ---- kernels --------------------------------------------------------------------------------- */

__device__ static uint32_t mixed(uint32_t h, int rounds) {
    for (int r = 0; r < rounds; r++)
        h = (h ^ h >> 15) * 2246822519u + (uint32_t)r;
    return h;
}

__global__ void weights(uint32_t *out, int n, uint32_t seed) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = mixed(seed + (uint32_t)i, 2);
}

/* Reads rows of a table that the input selects: bound by memory. */
__global__ void embed(uint32_t *out, const uint32_t *input, const uint32_t *table) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < CELLS) out[i] = table[(input[i / WIDTH] * WIDTH + i % WIDTH) % TABLE];
}

/* out = x w, one tile per block: multiplications from shared memory. */
__global__ void project(uint32_t *out, const uint32_t *x, const uint32_t *w) {
    __shared__ uint32_t left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    uint32_t sum = 0;
    for (int k = 0; k < WIDTH; k += TILE) {
        left[threadIdx.y][threadIdx.x] = x[row * WIDTH + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = w[(k + threadIdx.y) * WIDTH + col];
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    out[row * WIDTH + col] = sum;
}

/* Reads `streamed` once and adds each cell's part: bound by memory. */
__global__ void attend(uint32_t *x, const uint32_t *streamed) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < CELLS; i += gridDim.x * blockDim.x) {
        uint32_t sum = x[i];
        for (int k = i; k < STREAMED; k += CELLS)
            sum += streamed[k];
        x[i] = sum;
    }
}

/* Uses registers only. */
__global__ void activate(uint32_t *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < CELLS) x[i] = mixed(x[i], ROUNDS);
}

/* Each block sums the words that are ANSWER words apart. */
__global__ void pool(uint32_t *answer, const uint32_t *x) {
    __shared__ uint32_t part[THREADS];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x + t % (CELLS / ANSWER) * ANSWER];
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (t < half) part[t] = part[t] * 31 + part[t + half];
        __syncthreads();
    }
    if (t == 0) answer[blockIdx.x] = part[0];
}

/* ---- the model ------------------------------------------------------------------------------- */

struct model {
    cudaStream_t stream;
    uint32_t *table, *w[LAYERS], *streamed[LAYERS]; /* permanent */
    uint32_t *input, *x, *y, *answer;
    uint32_t *host_input, *host_answer; /* pinned */
};

static uint32_t *words(int n) {
    void *p;
    CHECK(cudaMalloc(&p, n * sizeof(uint32_t)));
    return (uint32_t *)p;
}

static uint32_t *loaded(struct model *m, int n, uint32_t seed) {
    uint32_t *p = words(n);
    weights<<<8, THREADS, 0, m->stream>>>(p, n, seed);
    return p;
}

static void load(struct model *m) {
    CHECK(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    m->table = loaded(m, TABLE, 1);
    for (int l = 0; l < LAYERS; l++) {
        m->w[l] = loaded(m, WIDTH * WIDTH, 100 + l);
        m->streamed[l] = loaded(m, STREAMED, 200 + l);
    }
    m->input = words(ROWS);
    m->x = words(CELLS);
    m->y = words(CELLS);
    m->answer = words(ANSWER);
    CHECK(cudaMallocHost((void **)&m->host_input, ROWS * sizeof(uint32_t)));
    CHECK(cudaMallocHost((void **)&m->host_answer, ANSWER * sizeof(uint32_t)));
    CHECK(cudaStreamSynchronize(m->stream));
}

/* Serves one request, waits for it, and adds its answer to the checksum. */
static uint64_t serve(struct model *m, uint32_t request, uint64_t sum) {
    const dim3 tiles(WIDTH / TILE, ROWS / TILE), tile(TILE, TILE);
    const int blocks = CELLS / THREADS;
    cudaStream_t s = m->stream;
    uint32_t state = 977 * request + 1;
    for (int i = 0; i < ROWS; i++)
        m->host_input[i] = random_next(&state);
    CHECK(cudaMemcpyAsync(m->input, m->host_input, ROWS * sizeof(uint32_t), cudaMemcpyHostToDevice,
                          s));
    embed<<<blocks, THREADS, 0, s>>>(m->x, m->input, m->table);
    for (int l = 0; l < LAYERS; l++) {
        project<<<tiles, tile, 0, s>>>(m->y, m->x, m->w[l]);
        attend<<<8, THREADS, 0, s>>>(m->y, m->streamed[l]);
        activate<<<blocks, THREADS, 0, s>>>(m->y);
        uint32_t *t = m->x;
        m->x = m->y;
        m->y = t;
    }
    pool<<<ANSWER, THREADS, 0, s>>>(m->answer, m->x);
    CHECK(cudaMemcpyAsync(m->host_answer, m->answer, ANSWER * sizeof(uint32_t),
                          cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    return checksum_add(sum, m->host_answer, ANSWER * sizeof(uint32_t));
}

/* ---- requests -------------------------------------------------------------------------------- */

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void sleep_until_us(double when) {
    struct timespec t = {(time_t)(when / 1e6), (long)(fmod(when, 1e6) * 1e3)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
        continue;
}

/* Returns the time between two arrivals of a Poisson process. */
static double gap_us(uint32_t *state, double mean) {
    return -mean * log((random_next(state) + 1.0) / 16777216.0);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints times in microseconds, with percentiles to the nearest rank. */
static void report(double *latency, int count, double served, double elapsed) {
    const int ranks[] = {50, 90, 99};
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += latency[i];
    qsort(latency, count, sizeof(*latency), ascending);
    for (int i = 0; i < 3; i++)
        printf("service p%d_us %.0f\n", ranks[i], latency[(count * ranks[i] + 99) / 100 - 1]);
    printf("service mean_us %.0f\n", sum / count);
    printf("service max_us %.0f\n", latency[count - 1]);
    printf("service utilisation %.3f\n", served / elapsed);
}

int main(int argc, char **argv) {
    int arg[] = {200, 60000, 1, 0};
    for (int i = 1; i < argc && i <= 4; i++)
        arg[i - 1] = atoi(argv[i]);
    const int count = arg[0] > 0 ? arg[0] : 1;
    uint32_t state = (uint32_t)arg[2];
    double *latency = (double *)calloc(count, sizeof(*latency)), served = 0;
    struct model m;
    char byte;
    load(&m);
    uint64_t sum = serve(&m, 0, CHECKSUM_START); /* loads the code: not measured */
    mark();
    printf("service ready\n");
    fflush(stdout);
    const double start = now_us();
    double arrival = start;
    for (int i = 0; i < count; i++) {
        arrival += gap_us(&state, arg[1]);
        sleep_until_us(arrival);
        double begin = now_us();
        sum = serve(&m, 1 + i, sum);
        mark(); /* the following work belongs to the next request, whenever that comes */
        latency[i] = now_us() - arrival;
        served += arrival + latency[i] - begin;
    }
    report(latency, count, served, now_us() - start);
    checksum_print("service", sum);
    fflush(stdout);
    while (arg[3] && read(0, &byte, 1) > 0)
        continue;
    free(latency);
    return 0;
}
