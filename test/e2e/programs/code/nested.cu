/* SPDX-License-Identifier: Apache-2.0
 * Kernels that launch kernels: trees of them, recursive sorting, memory that one grid allocates
 * for another, the orders that streams, events and tail launches promise, and the device
 * runtime's queries and errors. */
#include "common.h"

/* ---- a tree: each thread of each block launches one grid, down to a depth ----------------------
 */

__device__ int tree_blocks, tree_by_depth[8];

__global__ void tree(int depth, int parent_thread) {
    __shared__ int number;
    if (threadIdx.x == 0) {
        number = atomicAdd(&tree_blocks, 1);
        atomicAdd(&tree_by_depth[depth], 1 + parent_thread);
    }
    __syncthreads();
    if (number >= 0 && depth > 0) tree<<<gridDim.x, blockDim.x>>>(depth - 1, threadIdx.x);
}

static uint64_t check_tree(void) {
    int blocks = 0, sums[8], want = 2, got;
    tree<<<2, 3>>>(3, 0);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyFromSymbol(&got, tree_blocks, sizeof(got)));
    CHECK(cudaMemcpyFromSymbol(sums, tree_by_depth, sizeof(sums)));
    for (int depth = 3; depth >= 0; depth--) {
        REQUIRE(sums[depth] == (depth == 3 ? want : 2 * want), "depth %d: %d", depth, sums[depth]);
        blocks += want;
        want *= 6;
    }
    REQUIRE(got == blocks, "%d blocks, not %d", got, blocks);
    return checksum_add(CHECKSUM_START, sums, sizeof(sums));
}

/* ---- sorting: each part in a stream of its own -------------------------------------------------
 */

__device__ void sort_few(unsigned *v, int left, int right) {
    for (int i = left; i < right; i++) {
        int least = i;
        for (int k = i + 1; k <= right; k++)
            if (v[k] < v[least]) least = k;
        unsigned keep = v[i];
        v[i] = v[least];
        v[least] = keep;
    }
}

__global__ void sort(unsigned *v, int left, int right, int depth) {
    if (depth >= 20 || right - left < 24) return sort_few(v, left, right);
    unsigned pivot = v[(left + right) / 2];
    int l = left, r = right;
    while (l <= r) {
        while (v[l] < pivot)
            l++;
        while (v[r] > pivot)
            r--;
        if (l > r) break;
        unsigned keep = v[l];
        v[l++] = v[r];
        v[r--] = keep;
    }
    cudaStream_t s;
    if (left < r) {
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        sort<<<1, 1, 0, s>>>(v, left, r, depth + 1);
        cudaStreamDestroy(s);
    }
    if (l < right) {
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        sort<<<1, 1, 0, s>>>(v, l, right, depth + 1);
        cudaStreamDestroy(s);
    }
}

static uint64_t check_sort(void) {
    enum { COUNT = 3000 };
    static unsigned values[COUNT];
    unsigned *v;
    uint32_t state = 7;
    for (int i = 0; i < COUNT; i++)
        values[i] = random_next(&state) % 1000;
    CHECK(cudaMalloc(&v, sizeof(values)));
    CHECK(cudaMemcpy(v, values, sizeof(values), cudaMemcpyHostToDevice));
    sort<<<1, 1>>>(v, 0, COUNT - 1, 0);
    CHECK(cudaMemcpy(values, v, sizeof(values), cudaMemcpyDeviceToHost));
    for (int i = 1; i < COUNT; i++)
        REQUIRE(values[i - 1] <= values[i], "not sorted at %d", i);
    CHECK(cudaFree(v));
    return checksum_add(CHECKSUM_START, values, sizeof(values));
}

/* ---- curves: a parent allocates memory, its child fills it, a later launch frees it
 * ------------ */

struct curve {
    float from, to;
    int count;
    float *points;
};

__global__ void fill_curve(curve *c, int which) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= c[which].count) return;
    float t = (float)i / (c[which].count - 1);
    c[which].points[i] = c[which].from * (1 - t) + c[which].to * t;
}

__global__ void plan_curves(curve *c, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    c[i].count = 33 + i % 64;
    if (cudaMalloc((void **)&c[i].points, c[i].count * sizeof(float)) != cudaSuccess) return;
    fill_curve<<<(c[i].count + 31) / 32, 32>>>(c, i);
}

__global__ void sum_curves(curve *c, int count, double *sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    sums[i] = 0;
    for (int k = 0; c[i].points && k < c[i].count; k++)
        sums[i] += c[i].points[k];
    cudaFree(c[i].points);
}

static uint64_t check_curves(void) {
    enum { COUNT = 200 };
    static curve curves[COUNT];
    static double sums[COUNT];
    curve *c;
    double *s;
    for (int i = 0; i < COUNT; i++)
        curves[i] = {(float)i, (float)(3 * i), 0, NULL};
    CHECK(cudaMalloc(&c, sizeof(curves)));
    CHECK(cudaMalloc(&s, sizeof(sums)));
    CHECK(cudaMemcpy(c, curves, sizeof(curves), cudaMemcpyHostToDevice));
    plan_curves<<<7, 32>>>(c, COUNT);
    sum_curves<<<7, 32>>>(c, COUNT, s);
    CHECK(cudaMemcpy(sums, s, sizeof(sums), cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++) {
        double want = 2.0 * i * (33 + i % 64);
        REQUIRE(sums[i] > want - 0.01 - want / 1e5 && sums[i] < want + 0.01 + want / 1e5,
                "curve %d: %f, not %f", i, sums[i], want);
    }
    CHECK(cudaFree(c));
    CHECK(cudaFree(s));
    return checksum_add(CHECKSUM_START, sums, sizeof(sums));
}

/* ---- orders ------------------------------------------------------------------------------------
 */

struct trail {
    int at;
    char text[200];
};

__device__ void leave(trail *t, char c) {
    t->text[atomicAdd(&t->at, 1)] = c;
}

__global__ void step(trail *t, char c) {
    for (volatile int i = 0; i < 300; i++)
        continue;
    leave(t, c);
}

__global__ void tail(trail *t, char c, char then) {
    leave(t, c);
    if (then) step<<<1, 1, 0, cudaStreamTailLaunch>>>(t, then);
    if (then) step<<<1, 1>>>(t, then + 32);
}

__global__ void tails(trail *t) {
    tail<<<1, 1, 0, cudaStreamTailLaunch>>>(t, 'T', 'X');
    tail<<<1, 1, 0, cudaStreamTailLaunch>>>(t, 'U', 0);
    step<<<1, 1>>>(t, 'c');
    step<<<1, 1, 0, cudaStreamFireAndForget>>>(t, 'c');
    leave(t, 'P');
}

/* Launches itself as tail launch, more often than launches may be nested. */
__global__ void countdown(trail *t, int left) {
    if (left)
        countdown<<<1, 1, 0, cudaStreamTailLaunch>>>(t, left - 1);
    else
        leave(t, 'D');
}

/* a b c in a stream; d in another after the event that is recorded after b. */
__global__ void events(trail *t, char *log) {
    cudaStream_t one, two;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    step<<<1, 1, 0, one>>>(t, 'a');
    step<<<1, 1, 0, one>>>(t, 'b');
    cudaEventRecord(event, one);
    cudaStreamWaitEvent(two, event, 0);
    step<<<1, 1, 0, two>>>(t, 'd');
    cudaMemcpyAsync(log, t->text, 3, cudaMemcpyDeviceToDevice, two);
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
    cudaEventDestroy(event);
}

/* All threads of a block share its stream. */
__global__ void shared_stream(trail *t) {
    for (unsigned i = 0; i < blockDim.x; i++) {
        if (threadIdx.x == i) step<<<1, 1>>>(t, 'a' + i);
        __syncthreads();
    }
}

static trail *new_trail(void) {
    trail *t;
    CHECK(cudaMallocManaged(&t, sizeof(*t)));
    memset(t, 0, sizeof(*t));
    return t;
}

static uint64_t check_orders(void) {
    trail *t = new_trail();
    char *log, copied[4] = "";
    tails<<<1, 1>>>(t);
    step<<<1, 1>>>(t, 'E'); /* a stream of the host, after all of it */
    CHECK(cudaDeviceSynchronize());
    REQUIRE(strspn(t->text, "cP") == 3 && strcmp(t->text + 3, "TxXUE") == 0, "tails: %s", t->text);
    *t = {0, ""};
    countdown<<<1, 1>>>(t, 2000);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(strcmp(t->text, "D") == 0, "countdown: %s", t->text);
    *t = {0, ""};
    CHECK(cudaMalloc(&log, 4));
    events<<<1, 1>>>(t, log);
    CHECK(cudaMemcpy(copied, log, 3, cudaMemcpyDeviceToHost));
    REQUIRE(strcmp(copied, "abd") == 0, "events: %s, %s", copied, t->text);
    *t = {0, ""};
    shared_stream<<<1, 9>>>(t);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(strcmp(t->text, "abcdefghi") == 0, "shared stream: %s", t->text);
    CHECK(cudaFree(t));
    CHECK(cudaFree(log));
    return 1;
}

/* ---- copies and fills --------------------------------------------------------------------------
 */

__global__ void moves(unsigned char *a, unsigned char *b, cudaError_t *errors) {
    cudaMemcpy3DParms p = {};
    errors[0] = cudaMemsetAsync(a, 0x5a, 4096, 0);
    errors[1] = cudaMemset2DAsync(a + 64, 128, 1, 16, 4, 0);
    errors[2] = cudaMemset3DAsync(cudaPitchedPtr{a + 1024, 32, 8, 8}, 2, cudaExtent{8, 4, 3}, 0);
    errors[3] = cudaMemcpyAsync(b, a, 2048, cudaMemcpyDeviceToDevice, 0);
    errors[4] = cudaMemcpy2DAsync(b + 2048, 64, a + 64, 128, 16, 4, cudaMemcpyDefault, 0);
    p.srcPtr = cudaPitchedPtr{a + 1024, 32, 8, 8};
    p.dstPtr = cudaPitchedPtr{b + 3072, 16, 8, 4};
    p.srcPos = cudaPos{1, 1, 1};
    p.extent = cudaExtent{7, 3, 2};
    p.kind = cudaMemcpyDeviceToDevice;
    errors[5] = cudaMemcpy3DAsync(&p, 0);
    int own = 0;
    errors[6] = cudaMemcpyAsync(a, b, 1, cudaMemcpyHostToDevice, 0);
    errors[7] = cudaMemcpyAsync(a, &own, 1, cudaMemcpyDeviceToDevice, 0);
    errors[8] = cudaMemsetAsync(NULL, 0, 1, 0);
    errors[9] = cudaMemsetAsync(NULL, 0, 0, 0);
    errors[10] = cudaGetLastError();
    errors[11] = cudaGetLastError();
}

static uint64_t check_moves(void) {
    static const cudaError_t want[12] = {cudaSuccess,
                                         cudaSuccess,
                                         cudaSuccess,
                                         cudaSuccess,
                                         cudaSuccess,
                                         cudaSuccess,
                                         cudaErrorInvalidMemcpyDirection,
                                         cudaErrorInvalidValue,
                                         cudaErrorInvalidValue,
                                         cudaSuccess,
                                         cudaErrorInvalidValue,
                                         cudaSuccess};
    static unsigned char a[4096], b[4096], got[4096];
    cudaError_t *errors;
    unsigned char *da, *db;
    memset(a, 0x5a, sizeof(a));
    for (int y = 0; y < 4; y++)
        memset(a + 64 + 128 * y, 1, 16);
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 4; y++)
            memset(a + 1024 + 32 * (8 * z + y), 2, 8);
    memcpy(b, a, 2048);
    for (int y = 0; y < 4; y++)
        memcpy(b + 2048 + 64 * y, a + 64 + 128 * y, 16);
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            memcpy(b + 3072 + 16 * (4 * z + y), a + 1024 + 1 + 32 * (8 * (z + 1) + y + 1), 7);
    CHECK(cudaMalloc(&da, sizeof(a)));
    CHECK(cudaMalloc(&db, sizeof(b)));
    CHECK(cudaMemset(db, 0, sizeof(b)));
    CHECK(cudaMallocManaged(&errors, 12 * sizeof(*errors)));
    moves<<<1, 1>>>(da, db, errors);
    CHECK(cudaMemcpy(got, da, sizeof(a), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 12; i++)
        REQUIRE(errors[i] == want[i], "move %d gave %d, not %d", i, errors[i], want[i]);
    REQUIRE(memcmp(got, a, sizeof(a)) == 0, "fills");
    CHECK(cudaMemcpy(got, db, sizeof(b), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < sizeof(b); i++)
        REQUIRE(got[i] == b[i], "copies: byte %zu is %d, not %d", i, got[i], b[i]);
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    CHECK(cudaFree(errors));
    return checksum_add(CHECKSUM_START, got, sizeof(got));
}

/* ---- queries
 * ----------------------------------------------------------------------------------- */

__global__ void __launch_bounds__(64) bounded(int *p) {
    __shared__ int row[64];
    row[threadIdx.x] = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = row[63 - threadIdx.x];
}

struct told {
    int device, count, version, sms, warp, threads, blocks, bad_attribute;
    size_t heap;
    cudaFuncAttributes attributes;
    cudaError_t limit, unknown;
    char name[40], text[40];
};

__global__ void ask(told *t) {
    cudaGetDevice(&t->device);
    cudaGetDeviceCount(&t->count);
    cudaRuntimeGetVersion(&t->version);
    cudaDeviceGetAttribute(&t->sms, cudaDevAttrMultiProcessorCount, 0);
    cudaDeviceGetAttribute(&t->warp, cudaDevAttrWarpSize, 0);
    cudaDeviceGetAttribute(&t->threads, cudaDevAttrMaxThreadsPerBlock, 0);
    t->bad_attribute = cudaDeviceGetAttribute(&t->threads, cudaDevAttrMaxThreadsPerBlock, 1);
    cudaDeviceGetLimit(&t->heap, cudaLimitMallocHeapSize);
    t->limit = cudaDeviceGetLimit(&t->heap, cudaLimitDevRuntimeSyncDepth);
    cudaFuncGetAttributes(&t->attributes, bounded);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&t->blocks, bounded, 64, 0);
    const char *name = cudaGetErrorName(cudaErrorInvalidConfiguration);
    const char *text = cudaGetErrorString(cudaErrorInvalidConfiguration);
    for (int i = 0; i < 39; i++) {
        t->name[i] = i && !t->name[i - 1] ? 0 : name[i];
        t->text[i] = i && !t->text[i - 1] ? 0 : text[i];
    }
    t->unknown = cudaPeekAtLastError();
}

static uint64_t check_told(void) {
    told *t;
    int sms, blocks;
    CHECK(cudaMallocManaged(&t, sizeof(*t)));
    memset(t, 0, sizeof(*t));
    ask<<<1, 1>>>(t);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 64, 0));
    REQUIRE(t->device == 0 && t->count == 1 && t->version >= 11000, "device");
    REQUIRE(t->sms == sms && t->warp == 32 && t->threads == 1024, "attributes");
    REQUIRE(t->bad_attribute == cudaErrorInvalidDevice, "device 1: %d", t->bad_attribute);
    REQUIRE(t->heap == 8 << 20 && t->limit == cudaErrorUnsupportedLimit, "limits");
    REQUIRE(t->attributes.maxThreadsPerBlock == 64 && t->attributes.sharedSizeBytes == 256 &&
                t->attributes.numRegs > 0,
            "function: %d threads", t->attributes.maxThreadsPerBlock);
    REQUIRE(t->blocks == blocks, "%d blocks, for the host %d", t->blocks, blocks);
    REQUIRE(strcmp(t->name, "cudaErrorInvalidConfiguration") == 0, "name %s", t->name);
    REQUIRE(strcmp(t->text, "invalid configuration argument") == 0, "text %s", t->text);
    REQUIRE(t->unknown == cudaErrorUnsupportedLimit, "the last error: %d", t->unknown);
    CHECK(cudaFree(t));
    return 2;
}

/* ---- errors ------------------------------------------------------------------------------------
 */

__global__ void nothing(void) {}

__global__ void wrong(cudaError_t *errors, int *p) {
    cudaStream_t s = 0;
    cudaEvent_t e = 0;
    nothing<<<0, 1>>>();
    errors[0] = cudaGetLastError();
    nothing<<<1, 2000>>>();
    errors[1] = cudaGetLastError();
    nothing<<<dim3(1, 70000), 1>>>();
    errors[2] = cudaGetLastError();
    nothing<<<1, 1, 1 << 20>>>();
    errors[3] = cudaGetLastError();
    bounded<<<1, 65>>>(p);
    errors[4] = cudaGetLastError();
    nothing<<<1, 1, 0, (cudaStream_t)0x1234567>>>();
    errors[5] = cudaGetLastError();
    errors[6] = cudaStreamCreateWithFlags(&s, cudaStreamDefault);
    errors[7] = cudaEventCreateWithFlags(&e, cudaEventDefault);
    errors[8] = cudaStreamDestroy((cudaStream_t)99);
    bounded<<<1, 64>>>(p);
    errors[9] = cudaGetLastError() == cudaErrorInvalidValue ? cudaGetLastError() : cudaErrorUnknown;
}

__global__ void deeper(int *depth, cudaError_t *last) {
    ++*depth;
    deeper<<<1, 1>>>(depth, last);
    cudaError_t r = cudaGetLastError();
    if (r) *last = r;
}

static uint64_t check_errors(void) {
    static const cudaError_t want[10] = {
        cudaErrorInvalidConfiguration, cudaErrorInvalidConfiguration,
        cudaErrorInvalidConfiguration, cudaErrorInvalidConfiguration,
        cudaErrorLaunchOutOfResources, cudaErrorInvalidValue,
        cudaErrorInvalidValue,         cudaErrorInvalidValue,
        cudaErrorInvalidValue,         cudaSuccess};
    cudaError_t *errors;
    int *p;
    CHECK(cudaMallocManaged(&errors, 10 * sizeof(*errors)));
    CHECK(cudaMallocManaged(&p, 64 * sizeof(*p)));
    wrong<<<1, 1>>>(errors, p);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 10; i++)
        REQUIRE(errors[i] == want[i], "error %d is %d, not %d", i, errors[i], want[i]);
    for (int i = 0; i < 64; i++)
        REQUIRE(p[i] == 63 - i, "p[%d] = %d", i, p[i]);
    p[0] = 0;
    errors[0] = cudaSuccess;
    deeper<<<1, 1>>>(p, errors);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(p[0] == 25 && errors[0] == cudaErrorLaunchMaxDepthExceeded, "%d deep, %d", p[0],
            errors[0]);
    CHECK(cudaFree(errors));
    CHECK(cudaFree(p));
    return 3;
}

/* An error in a grid that another grid launched is an error of the whole launch. */
__global__ void stray(int *p) {
    *p = 1;
}

__global__ void launch_stray(void) {
    stray<<<1, 1>>>((int *)8);
}

int main(int argc, char **argv) {
    uint64_t sums[6] = {0};
    if (argc > 1 && !strcmp(argv[1], "stray")) {
        launch_stray<<<1, 1>>>();
        printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
        return 0;
    }
    sums[0] = check_tree();
    sums[1] = check_sort();
    sums[2] = check_curves();
    sums[3] = check_orders() + check_told();
    sums[4] = check_moves();
    sums[5] = check_errors();
    checksum_print("nested", checksum_add(CHECKSUM_START, sums, sizeof(sums)));
    return 0;
}
