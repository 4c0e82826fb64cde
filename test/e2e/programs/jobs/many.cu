/* SPDX-License-Identifier: Apache-2.0
 * More live objects of every kind than tables with a few thousand places could hold: streams,
 * events, modules with their kernels, pages, reserved addresses without memory, contexts, pools,
 * links, arrays and textures.
 *   many [STREAMS [EVENTS [MODULES [RANGES [OTHERS [ARRAYS]]]]]] */
#include <cuda.h>

#include <vector>

#include "common.h"

static void works(CUresult r, const char *what, size_t i) {
    REQUIRE(r == CUDA_SUCCESS, "%s %zu: error %d", what, i, (int)r);
}

__global__ void add(uint32_t *p, uint32_t v) {
    *p = *p * 3 + v;
}

/* Runs ordered work in the first stream, the last, and some between. */
static uint64_t streams(size_t n) {
    std::vector<cudaStream_t> s(n);
    std::vector<uint32_t> got(n);
    uint32_t *p;
    for (size_t i = 0; i < n; i++)
        CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    CHECK(cudaMalloc(&p, n * 4));
    CHECK(cudaMemset(p, 0, n * 4));
    CHECK(cudaDeviceSynchronize());
    for (size_t i = 0; i < n; i += n - 1 - i < 97 && i < n - 1 ? n - 1 - i : 97)
        for (uint32_t v = 1; v <= 3; v++)
            add<<<1, 1, 0, s[i]>>>(p + i, v);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got.data(), p, n * 4, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++)
        REQUIRE(got[i] == (i % 97 && i != n - 1 ? 0 : 18), "stream %zu left %u", i, got[i]);
    for (size_t i = 0; i < n; i++)
        CHECK(cudaStreamDestroy(s[i]));
    CHECK(cudaFree(p));
    return n;
}

/* Records events in a few streams; the last two measure a time. */
static uint64_t events(size_t n) {
    std::vector<cudaEvent_t> e(n);
    cudaStream_t s[3];
    float ms = -1;
    for (cudaStream_t &stream : s)
        CHECK(cudaStreamCreate(&stream));
    for (size_t i = 0; i < n; i++)
        CHECK(cudaEventCreate(&e[i]));
    for (size_t i = 0; i < n; i += i + 200 < n ? 100 : 1)
        CHECK(cudaEventRecord(e[i], s[i % 3]));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventElapsedTime(&ms, e[n - 4], e[n - 1]));
    REQUIRE(ms >= 0, "time ran back");
    CHECK(cudaStreamWaitEvent(s[0], e[n - 2], 0));
    for (size_t i = 0; i < n; i++)
        CHECK(cudaEventDestroy(e[i]));
    for (cudaStream_t stream : s)
        CHECK(cudaStreamDestroy(stream));
    return n;
}

static const char text[] = ".version 6.4\n.target sm_60\n.address_size 64\n"
                           ".visible .entry store(.param .u64 p, .param .u32 v) {\n"
                           ".reg .u64 %rd<3>; .reg .u32 %r<2>;\n"
                           "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v];\n"
                           "cvta.to.global.u64 %rd2, %rd1; st.global.u32 [%rd2], %r1; ret; }\n";

static uint64_t modules(size_t n) {
    std::vector<CUmodule> m(n);
    uint32_t *p, got;
    CHECK(cudaMalloc(&p, 4));
    for (size_t i = 0; i < n; i++) {
        CUfunction f;
        works(cuModuleLoadData(&m[i], text), "module", i);
        works(cuModuleGetFunction(&f, m[i], "store"), "kernel", i);
        if (i % 1000 && i != n - 1) continue;
        uint32_t v = (uint32_t)i + 7;
        void *args[] = {&p, &v};
        works(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL), "launch", i);
        CHECK(cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost));
        REQUIRE(got == v, "module %zu stored %u", i, got);
    }
    for (size_t i = 0; i < n; i++)
        works(cuModuleUnload(m[i]), "unloading", i);
    CHECK(cudaFree(p));
    return n;
}

static uint64_t ranges(size_t n) {
    std::vector<CUdeviceptr> at(n);
    for (size_t i = 0; i < n; i++)
        works(cuMemAddressReserve(&at[i], 2 << 20, 0, 0, 0), "range", i);
    for (size_t i = 0; i < n; i++)
        works(cuMemAddressFree(at[i], 2 << 20), "giving back range", i);
    return n;
}

/* Each context becomes current on this thread when it is made; the first one's memory is
 * separate. */
static uint64_t contexts(size_t n) {
    std::vector<CUcontext> c(n);
    CUcontext before, now;
    CUdeviceptr p;
    works(cuCtxGetCurrent(&before), "current context", 0);
    for (size_t i = 0; i < n; i++)
        works(cuCtxCreate(&c[i], NULL, 0, 0), "context", i);
    works(cuMemAlloc(&p, 4096), "allocation", n);
    for (size_t i = n; i-- > 0;) {
        works(cuCtxGetCurrent(&now), "current context", i);
        REQUIRE(now == c[i], "context %zu is not current", i);
        works(cuCtxDestroy(c[i]), "end of context", i);
    }
    works(cuCtxGetCurrent(&now), "current context", n);
    REQUIRE(now == before, "another context is current in the end");
    return n;
}

static uint64_t pools(size_t n) {
    std::vector<cudaMemPool_t> pool(n);
    std::vector<void *> p(n);
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    for (size_t i = 0; i < n; i++) {
        CHECK(cudaMemPoolCreate(&pool[i], &props));
        CHECK(cudaMallocFromPoolAsync(&p[i], 256, pool[i], 0));
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t used;
        CHECK(cudaMemPoolGetAttribute(pool[i], cudaMemPoolAttrUsedMemCurrent, &used));
        REQUIRE(used >= 256 && used <= 4096, "pool %zu has %zu bytes in use", i, (size_t)used);
        CHECK(cudaFreeAsync(p[i], 0));
        CHECK(cudaMemPoolDestroy(pool[i]));
    }
    return n;
}

static uint64_t links(size_t n) {
    std::vector<CUlinkState> link(n);
    for (size_t i = 0; i < n; i++) {
        works(cuLinkCreate(0, NULL, NULL, &link[i]), "link", i);
        works(cuLinkAddData(link[i], CU_JIT_INPUT_PTX, (void *)text, sizeof(text), "text", 0, NULL,
                            NULL),
              "input", i);
    }
    for (size_t i = 0; i < n; i++)
        works(cuLinkDestroy(link[i]), "end of link", i);
    return n;
}

__global__ void read(cudaTextureObject_t t, float *sum) {
    *sum += tex2D<float>(t, 1, 1);
}

/* A texture of its own reads every array; kernels read some of the textures. */
static uint64_t arrays(size_t n) {
    std::vector<cudaArray_t> a(n);
    std::vector<cudaTextureObject_t> t(n);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    float *sum, want = 0, got;
    CHECK(cudaMalloc(&sum, 4));
    CHECK(cudaMemset(sum, 0, 4));
    for (size_t i = 0; i < n; i++) {
        cudaResourceDesc of = {};
        cudaTextureDesc how = {};
        CHECK(cudaMallocArray(&a[i], &format, 4, 4));
        of.resType = cudaResourceTypeArray;
        of.res.array.array = a[i];
        CHECK(cudaCreateTextureObject(&t[i], &of, &how, NULL));
    }
    for (size_t i = 0; i < n; i += n - 1 - i < 997 && i < n - 1 ? n - 1 - i : 997) {
        float h[16];
        for (float &v : h)
            v = (float)(i % 1000);
        CHECK(cudaMemcpy2DToArray(a[i], 0, 0, h, 16, 16, 4, cudaMemcpyHostToDevice));
        read<<<1, 1>>>(t[i], sum);
        want += h[0];
    }
    CHECK(cudaMemcpy(&got, sum, 4, cudaMemcpyDeviceToHost));
    REQUIRE(got == want, "the arrays have %f, not %f", got, want);
    for (size_t i = 0; i < n; i++) {
        CHECK(cudaDestroyTextureObject(t[i]));
        CHECK(cudaFreeArray(a[i]));
    }
    CHECK(cudaFree(sum));
    return n;
}

static size_t number(int argc, char **argv, int i, size_t otherwise) {
    return argc > i ? (size_t)atol(argv[i]) : otherwise;
}

int main(int argc, char **argv) {
    uint64_t sum[] = {streams(number(argc, argv, 1, 6000)), events(number(argc, argv, 2, 70000)),
                      modules(number(argc, argv, 3, 4500)), ranges(number(argc, argv, 4, 20000)),
                      contexts(number(argc, argv, 5, 300)), pools(number(argc, argv, 5, 300)),
                      links(number(argc, argv, 5, 300)),    arrays(number(argc, argv, 6, 70000))};
    checksum_print("many", checksum_add(CHECKSUM_START, sum, sizeof(sum)));
    return 0;
}
