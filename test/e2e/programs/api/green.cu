/* SPDX-License-Identifier: Apache-2.0
 * Green contexts: the device's multiprocessors split in two, a context for each half, and their
 * streams side by side. Needs a device with 16 multiprocessors. */
#include <cuda.h>

#include "common.h"

static void expect(CUresult got, CUresult want, const char *what, int line) {
    REQUIRE(got == want, "line %d: %s gave %d, expected %d", line, what, (int)got, (int)want);
}

#define GIVES(want, call) expect(call, want, #call, __LINE__)
#define WORKS(call) GIVES(CUDA_SUCCESS, call)

__global__ void add(unsigned *p, int n, unsigned v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = p[i] * 3 + v;
}

static CUdevResource whole, halves[4], rest;

static void split(void) {
    unsigned groups = 4;
    WORKS(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    WORKS(cuDevSmResourceSplitByCount(NULL, &groups, &whole, NULL, 0, 8));
    REQUIRE(groups == 2, "%u groups", groups);
    groups = 4;
    WORKS(cuDevSmResourceSplitByCount(NULL, &groups, &whole, NULL,
                                      CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 3));
    REQUIRE(groups == 4, "%u groups", groups);
    groups = 1;
    WORKS(cuDevSmResourceSplitByCount(halves, &groups, &whole, &rest, 0, 5));
    REQUIRE(groups == 1 && halves[0].sm.smCount == 8 && rest.sm.smCount == 8, "%u and %u",
            halves[0].sm.smCount, rest.sm.smCount);
    groups = 1;
    GIVES(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
          cuDevSmResourceSplitByCount(halves + 2, &groups, halves, NULL, 0, 2));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuDevSmResourceSplitByCount(halves, &groups, &whole, &rest, 0, 17));
}

static CUgreenCtx make(CUdevResource *from, unsigned count) {
    CUdevResourceDesc desc;
    CUgreenCtx green;
    WORKS(cuDevResourceGenerateDesc(&desc, from, count));
    WORKS(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate(&green, desc, 0, 2));
    return green;
}

static CUstream stream_of(CUgreenCtx green) {
    CUstream s;
    CUgreenCtx got;
    WORKS(cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0));
    WORKS(cuStreamGetGreenCtx(s, &got));
    REQUIRE(got == green, "the stream is another's");
    return s;
}

int main(void) {
    const int n = 100000, rounds = 20;
    unsigned *p[2], host[1000], want = 0;
    unsigned long long ids[2];
    CUdevResource got;
    CUcontext context;
    CUevent done;
    CHECK(cudaFree(0));
    split();
    CUgreenCtx green[2] = {make(halves, 1), make(&rest, 1)};
    GIVES(CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate((CUstream *)&done, green[0], 0, 0));
    WORKS(cuGreenCtxGetId(green[0], ids));
    WORKS(cuGreenCtxGetId(green[1], ids + 1));
    REQUIRE(ids[0] != ids[1], "they have one number");
    WORKS(cuGreenCtxGetDevResource(green[0], &got, CU_DEV_RESOURCE_TYPE_SM));
    REQUIRE(got.sm.smCount == 8, "%u multiprocessors", got.sm.smCount);
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMalloc(&p[i], n * sizeof(unsigned)));
        CHECK(cudaMemset(p[i], 0, n * sizeof(unsigned)));
    }
    CHECK(cudaDeviceSynchronize());
    CUstream a = stream_of(green[0]), b = stream_of(green[1]), c;
    WORKS(cuCtxFromGreenCtx(&context, green[1]));
    WORKS(cuCtxPushCurrent(context));
    WORKS(cuCtxGetDevResource(NULL, &got, CU_DEV_RESOURCE_TYPE_SM));
    REQUIRE(got.sm.smCount == 8, "the current context has %u", got.sm.smCount);
    WORKS(cuStreamCreate(&c, CU_STREAM_NON_BLOCKING));
    CUgreenCtx of;
    WORKS(cuStreamGetGreenCtx(c, &of));
    REQUIRE(of == green[1], "a stream is the current green context's");
    WORKS(cuStreamGetGreenCtx(NULL, &of));
    REQUIRE(of == green[1], "so is the default stream");
    WORKS(cuCtxPopCurrent(NULL));
    WORKS(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    for (int i = 1; i <= rounds; i++) {
        add<<<(n + 255) / 256, 256, 0, a>>>(p[0], n, i);
        add<<<(n + 255) / 256, 256, 0, i % 2 ? b : c>>>(p[1], n, i);
        WORKS(cuGreenCtxRecordEvent(green[1], done));
        WORKS(cuGreenCtxWaitEvent(green[1], done));
        want = want * 3 + i;
    }
    WORKS(cuGreenCtxRecordEvent(green[0], done));
    WORKS(cuEventSynchronize(done));
    WORKS(cuStreamQuery(a));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMemcpy(host, p[i] + n - 1000, sizeof(host), cudaMemcpyDeviceToHost));
        for (int k = 0; k < 1000; k++)
            REQUIRE(host[k] == want, "%u in half %d, not %u", host[k], i, want);
    }
    WORKS(cuStreamDestroy(a));
    WORKS(cuStreamDestroy(b));
    WORKS(cuStreamDestroy(c));
    WORKS(cuGreenCtxDestroy(green[0]));
    WORKS(cuGreenCtxDestroy(green[1]));
    GIVES(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxDestroy(green[0]));
    CHECK(cudaMemset(p[0], 1, n)); /* the memory belongs to the primary context */
    CHECK(cudaDeviceSynchronize());
    printf("green\n");
    return 0;
}
