/* SPDX-License-Identifier: Apache-2.0
 * The driver API's features, one function per topic: `features TOPIC...` runs those, `features`
 * runs all. Each checks what CUDA documents and prints `ok TOPIC`. */
#include <cooperative_groups.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

namespace cg = cooperative_groups;

__constant__ int table[64];
__device__ int counter;
__device__ float grid_data[256];

__global__ void add_one(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += 1;
}

__global__ void set_value(int *p, int v) {
    *p = v;
}

__global__ void slow_set(volatile int *p, int v, int spins) {
    unsigned x = v;
    for (int i = 0; i < spins; i++)
        x = x * 1664525u + 1013904223u;
    *p = x == 12345u ? v + 1 : v;
}

__global__ void print_kernel(int n) {
    if (threadIdx.x < n)
        printf("thread %d of %d: %s %5.2f %c %llx\n", threadIdx.x, n, "text", 1.5 * threadIdx.x,
               'x', (unsigned long long)threadIdx.x << 40);
}

static void topic_printf(void) {
    print_kernel<<<1, 32>>>(3);
    CHECK(cudaDeviceSynchronize());
}

__global__ void from_table(int *out) {
    out[threadIdx.x] = table[threadIdx.x] * 2;
    atomicAdd(&counter, 1);
}

static void topic_symbols(void) {
    int in[64], out[64], *d, count = 7;
    for (int i = 0; i < 64; i++)
        in[i] = i * i;
    CHECK(cudaMalloc(&d, sizeof out));
    CHECK(cudaMemcpyToSymbol(table, in, sizeof in));
    CHECK(cudaMemcpyToSymbol(counter, &count, sizeof count));
    from_table<<<1, 64>>>(d);
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        REQUIRE(out[i] == 2 * i * i, "out[%d] = %d", i, out[i]);
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    REQUIRE(count == 71, "counter = %d", count);
    void *addr;
    size_t size;
    CHECK(cudaGetSymbolAddress(&addr, counter));
    CHECK(cudaGetSymbolSize(&size, table));
    REQUIRE(size == sizeof in, "size %zu", size);
    CHECK(cudaMemcpy(&count, addr, sizeof count, cudaMemcpyDeviceToHost));
    REQUIRE(count == 71, "counter at its address = %d", count);
    CHECK(cudaFree(d));
}

static void topic_memory(void) {
    const size_t width = 100, height = 30;
    unsigned char host[height][128], back[height][width], *d, *d2;
    size_t pitch;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < 128; x++)
            host[y][x] = (unsigned char)(y * 7 + x);
    CHECK(cudaMallocPitch(&d, &pitch, width, height));
    REQUIRE(pitch >= width && pitch % 256 == 0, "pitch %zu", pitch);
    CHECK(cudaMemset2D(d, pitch, 0xab, width, height));
    CHECK(cudaMemcpy2D(d + 10, pitch, host, 128, 50, 20, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2D(back, width, d, pitch, width, height, cudaMemcpyDeviceToHost));
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            int want = y < 20 && x >= 10 && x < 60 ? host[y][x - 10] : 0xab;
            REQUIRE(back[y][x] == want, "[%zu][%zu] = %d, expected %d", y, x, back[y][x], want);
        }
    CHECK(cudaMalloc(&d2, pitch * height));
    CHECK(cudaMemcpy2D(d2, pitch, d, pitch, width, height, cudaMemcpyDefault));
    memset(back, 0, sizeof back);
    CHECK(cudaMemcpy2D(back, width, d2, pitch, width, height, cudaMemcpyDefault));
    REQUIRE(back[0][10] == host[0][0] && back[29][99] == 0xab, "device to device");
    CHECK(cudaMemcpyPeer(d, 0, d2, 0, pitch));
    cudaPointerAttributes attr;
    CHECK(cudaPointerGetAttributes(&attr, d + 5));
    REQUIRE(attr.type == cudaMemoryTypeDevice && attr.devicePointer == d + 5, "type %d", attr.type);
    CHECK(cudaPointerGetAttributes(&attr, host));
    REQUIRE(attr.type == cudaMemoryTypeUnregistered, "host type %d", attr.type);
    size_t free_bytes, total;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    REQUIRE(free_bytes > 0 && free_bytes <= total, "free %zu of %zu", free_bytes, total);
    /* Blocks of many sizes, freed in another order, never overlap. */
    void *p[200];
    for (int i = 0; i < 200; i++) {
        CHECK(cudaMalloc(&p[i], 1 + i * 997));
        CHECK(cudaMemset(p[i], i, 1 + i * 997));
    }
    for (int i = 199; i >= 0; i -= 3) {
        unsigned char c;
        CHECK(cudaMemcpy(&c, (char *)p[i] + i * 997, 1, cudaMemcpyDeviceToHost));
        REQUIRE(c == (unsigned char)i, "block %d holds %d", i, c);
    }
    for (int i = 0; i < 200; i++)
        CHECK(cudaFree(p[i]));
    void *huge;
    REQUIRE(cudaMalloc(&huge, (size_t)1 << 50) == cudaErrorMemoryAllocation,
            "a petabyte was granted");
    cudaGetLastError();
    CHECK(cudaFree(d));
    CHECK(cudaFree(d2));
    CHECK(cudaFree(0));
}

static void topic_bigcopy(void) {
    const size_t n = 5000001; /* many staging windows, odd length */
    int *a = (int *)malloc(n * 4), *b = (int *)malloc(n * 4), *d;
    for (size_t i = 0; i < n; i++)
        a[i] = (int)(i * 2654435761u);
    CHECK(cudaMalloc(&d, n * 4));
    CHECK(cudaMemcpy(d, a, n * 4, cudaMemcpyHostToDevice));
    add_one<<<(unsigned)((n + 255) / 256), 256>>>(d, (int)n);
    CHECK(cudaMemcpy(b, d, n * 4, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++)
        REQUIRE(b[i] == (int)((unsigned)a[i] + 1), "element %zu", i);
    CHECK(cudaFree(d));
    free(a);
    free(b);
}

/* Copies where a driver may have the memory in pieces: rows, and all of it from an odd address. */
static void pinned_widely(void) {
    const size_t bytes = 40u << 20, pitch = 1u << 20, width = pitch - 3, rows = bytes / pitch - 1;
    unsigned char *h, *d;
    CHECK(cudaMallocHost(&h, bytes));
    CHECK(cudaMalloc(&d, bytes));
    for (size_t i = 0; i < bytes; i++)
        h[i] = (unsigned char)(i * 31 + i / 4099);
    CHECK(cudaMemcpy(d, h + 7, bytes - 7, cudaMemcpyDefault));
    CHECK(cudaMemset(h, 0, bytes));
    CHECK(cudaMemcpy2D(h + 13, pitch, d + 6, pitch, width, rows, cudaMemcpyDefault));
    for (size_t i = 13; i < 13 + (rows - 1) * pitch + width; i++) {
        unsigned char want = (i - 13) % pitch < width ? (unsigned char)(i * 31 + i / 4099) : 0;
        REQUIRE(h[i] == want, "byte %zu of pinned memory is %d, not %d", i, h[i], want);
    }
    CHECK(cudaFree(d));
    CHECK(cudaFreeHost(h));
}

static void topic_pinned(void) {
    const int n = 1000;
    int *h, *mapped, *reg = (int *)aligned_alloc(4096, 8192), *d;
    CHECK(cudaHostAlloc(&h, n * sizeof *h, cudaHostAllocMapped));
    memset(h, 0, n * sizeof *h);
    CHECK(cudaHostGetDevicePointer(&mapped, h, 0));
    add_one<<<4, 256>>>(mapped, n);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++)
        REQUIRE(h[i] == 1, "a kernel's store to pinned memory: h[%d] = %d", i, h[i]);
    cudaPointerAttributes attr;
    CHECK(cudaPointerGetAttributes(&attr, h));
    REQUIRE(attr.type == cudaMemoryTypeHost, "type %d", attr.type);
    for (int i = 0; i < 2048; i++)
        reg[i] = i;
    CHECK(cudaHostRegister(reg, 8192, cudaHostRegisterDefault));
    CHECK(cudaMalloc(&d, 8192));
    CHECK(cudaMemcpyAsync(d, reg, 8192, cudaMemcpyHostToDevice, 0));
    add_one<<<8, 256>>>(d, 2048);
    CHECK(cudaMemcpyAsync(reg, d, 8192, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaStreamSynchronize(0));
    for (int i = 0; i < 2048; i++)
        REQUIRE(reg[i] == i + 1, "registered memory: reg[%d] = %d", i, reg[i]);
    pinned_widely();
    CHECK(cudaHostUnregister(reg));
    REQUIRE(reg[5] == 6, "contents lost by unregistering");
    CHECK(cudaFree(d));
    CHECK(cudaFreeHost(h));
    free(reg);
}

static void topic_managed(void) {
    int *m;
    CHECK(cudaMallocManaged(&m, 4000));
    for (int i = 0; i < 1000; i++)
        m[i] = i;
    add_one<<<4, 256>>>(m, 1000);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 1000; i++)
        REQUIRE(m[i] == i + 1, "managed memory: m[%d] = %d", i, m[i]);
    CHECK(cudaFree(m));
}

/* Host and kernels use such a pool's memory in place, in stream order. */
static void pool_in_place(int type, int place, cudaStream_t s) {
    cudaMemPool_t pool;
    cudaMemPoolProps props = {};
    props.allocType = (cudaMemAllocationType)type;
    props.location.type = (cudaMemLocationType)place;
    CHECK(cudaMemPoolCreate(&pool, &props));
    cudaMemAccessDesc device = {};
    device.location.type = cudaMemLocationTypeDevice;
    device.flags = cudaMemAccessFlagsProtReadWrite;
    CHECK(cudaMemPoolSetAccess(pool, &device, 1)); /* kernels cannot access a pool of the host */
    for (int r = 0; r < 30; r++) {
        const int n = 1000 + r * 5000;
        int *p, sum = 0;
        CHECK(cudaMallocFromPoolAsync(&p, n * sizeof(int), pool, s));
        CHECK(cudaMemsetAsync(p, 0, n * sizeof(int), s));
        add_one<<<(n + 255) / 256, 256, 0, s>>>(p, n);
        CHECK(cudaStreamSynchronize(s));
        for (int i = 0; i < n; i++)
            p[i] += i;
        add_one<<<(n + 255) / 256, 256, 0, s>>>(p, n);
        CHECK(cudaStreamSynchronize(s));
        for (int i = 0; i < n; i++)
            sum += p[i] != i + 2;
        REQUIRE(sum == 0, "pool of kind %d, place %d: %d of %d are wrong", type, place, sum, n);
        CHECK(cudaFreeAsync(p, s));
    }
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaMemPoolDestroy(pool));
}

static void topic_pools(void) {
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    for (int r = 0; r < 50; r++) {
        int *p, *q, x, y;
        CHECK(cudaMallocAsync(&p, 4 << 10, a));
        CHECK(cudaMallocAsync(&q, 64 << 10, b));
        set_value<<<1, 1, 0, a>>>(p, r);
        set_value<<<1, 1, 0, b>>>(q, -r);
        CHECK(cudaMemcpyAsync(&x, p, 4, cudaMemcpyDeviceToHost, a));
        CHECK(cudaMemcpyAsync(&y, q, 4, cudaMemcpyDeviceToHost, b));
        CHECK(cudaFreeAsync(p, a));
        CHECK(cudaFreeAsync(q, b));
        CHECK(cudaStreamSynchronize(a));
        CHECK(cudaStreamSynchronize(b));
        REQUIRE(x == r && y == -r, "round %d: %d %d", r, x, y);
    }
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t keep = UINT64_MAX;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &props));
    int *p, v;
    CHECK(cudaMallocFromPoolAsync(&p, 1 << 20, pool, a));
    CHECK(cudaMemsetAsync(p, 1, 4, a));
    CHECK(cudaMemcpyAsync(&v, p, 4, cudaMemcpyDeviceToHost, a));
    CHECK(cudaFreeAsync(p, a));
    CHECK(cudaStreamSynchronize(a));
    REQUIRE(v == 0x01010101, "value %x", v);
    CHECK(cudaMemPoolDestroy(pool));
    pool_in_place(1, 2, a); /* pinned, on the host; on its NUMA node; managed, anywhere */
    pool_in_place(1, 3, a);
    pool_in_place(2, 0, a);
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
}

struct seen {
    volatile int at, value;
    const volatile int *watch;
};

static void CUDART_CB host_func(void *arg) {
    struct seen *s = (struct seen *)arg;
    s->value = *s->watch;
    s->at++;
}

static void CUDART_CB stream_callback(cudaStream_t stream, cudaError_t status, void *arg) {
    struct seen *s = (struct seen *)arg;
    if (status == cudaSuccess) s->at++;
}

static void topic_callbacks(void) {
    int *h;
    CHECK(cudaMallocHost(&h, 8));
    h[0] = h[1] = 0;
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    struct seen seen = {0, 0, h};
    for (int r = 1; r <= 20; r++) {
        slow_set<<<1, 1, 0, s>>>(h, r, 2000);
        CHECK(cudaLaunchHostFunc(s, host_func, &seen));
        slow_set<<<1, 1, 0, s>>>(h, -r, 10);
        CHECK(cudaStreamAddCallback(s, stream_callback, &seen, 0));
        CHECK(cudaStreamSynchronize(s));
        REQUIRE(seen.at == 2 * r && seen.value == r, "round %d: at %d value %d", r, seen.at,
                seen.value);
    }
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaFreeHost(h));
}

static void topic_streams(void) {
    int low, high, prio;
    unsigned flags;
    cudaStream_t blocking, free_running;
    CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
    REQUIRE(low >= high, "priorities %d..%d", low, high);
    CHECK(cudaStreamCreateWithPriority(&free_running, cudaStreamNonBlocking, high));
    CHECK(cudaStreamGetPriority(free_running, &prio));
    CHECK(cudaStreamGetFlags(free_running, &flags));
    REQUIRE(prio == high && flags == cudaStreamNonBlocking, "priority %d flags %u", prio, flags);
    CHECK(cudaStreamCreate(&blocking));
    int *d, got;
    CHECK(cudaMalloc(&d, 4));
    for (int r = 0; r < 20;
         r++) { /* legacy default stream: ordered after and before blocking ones */
        slow_set<<<1, 1, 0, blocking>>>(d, r, 3000);
        add_one<<<1, 1>>>(d, 1);
        add_one<<<1, 1, 0, blocking>>>(d, 1);
        CHECK(cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost));
        REQUIRE(got == r + 2, "round %d: %d", r, got);
    }
    cudaEvent_t e1, e2;
    CHECK(cudaEventCreate(&e1));
    CHECK(cudaEventCreate(&e2));
    CHECK(cudaEventRecord(e1, free_running));
    slow_set<<<1, 1, 0, free_running>>>(d, 1, 200000);
    CHECK(cudaEventRecord(e2, free_running));
    cudaError_t q = cudaEventQuery(e2);
    REQUIRE(q == cudaSuccess || q == cudaErrorNotReady, "query %d", q);
    cudaGetLastError();
    CHECK(cudaEventSynchronize(e2));
    CHECK(cudaStreamQuery(free_running));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, e1, e2));
    REQUIRE(ms > 0 && ms < 60000, "%g ms", ms);
    CHECK(cudaEventDestroy(e1));
    CHECK(cudaEventDestroy(e2));
    CHECK(cudaStreamDestroy(blocking));
    CHECK(cudaStreamDestroy(free_running));
    for (int i = 0; i < 300; i++) { /* more than could live at the same time */
        CHECK(cudaStreamCreate(&blocking));
        add_one<<<1, 1, 0, blocking>>>(d, 1);
        CHECK(cudaStreamDestroy(blocking));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d));
}

__global__ void grid_kernel(int *out, int n) {
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    grid_data[i % 256] = 0;
    grid.sync();
    for (int r = 0; r < 3; r++) {
        if (i < 256) grid_data[i] += grid_data[(i + 1) % 256] * 0 + 1;
        grid.sync();
    }
    if (i < n) out[i] = (int)grid_data[(i * 7) % 256];
}

static void topic_cooperative(void) {
    int *d, out[256], n = 256;
    CHECK(cudaMalloc(&d, sizeof out));
    void *args[] = {&d, &n};
    CHECK(cudaLaunchCooperativeKernel((void *)grid_kernel, 8, 32, args, 0, 0));
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++)
        REQUIRE(out[i] == 3, "out[%d] = %d", i, out[i]);
    REQUIRE(cudaLaunchCooperativeKernel((void *)grid_kernel, 1 << 20, 1024, args, 0, 0) ==
                cudaErrorCooperativeLaunchTooLarge,
            "a cooperative grid that cannot be resident was accepted");
    cudaGetLastError();
    CHECK(cudaFree(d));
}

struct big {
    int v[2000]; /* 8000 bytes of parameters */
};

__global__ void big_kernel(struct big b, int *out) {
    out[threadIdx.x] = b.v[threadIdx.x * 7] + b.v[1999];
}

static void topic_params(void) {
    struct big b;
    int *d, out[256];
    for (int i = 0; i < 2000; i++)
        b.v[i] = i;
    CHECK(cudaMalloc(&d, sizeof out));
    big_kernel<<<1, 256>>>(b, d);
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++)
        REQUIRE(out[i] == i * 7 + 1999, "out[%d] = %d", i, out[i]);
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 256;
    CHECK(cudaLaunchKernelEx(&config, big_kernel, b, d));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(d));
}

__global__ void shared_kernel(int *out, int n) {
    extern __shared__ int s[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s[i] = i;
    __syncthreads();
    out[threadIdx.x] = s[n - 1 - threadIdx.x];
}

static void topic_attributes(void) {
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    REQUIRE(prop.major == 9 && prop.minor == 0 && prop.warpSize == 32, "cc %d.%d", prop.major,
            prop.minor);
    REQUIRE(prop.multiProcessorCount > 0 && prop.totalGlobalMem > (1 << 20), "properties");
    cudaFuncAttributes attr;
    CHECK(cudaFuncGetAttributes(&attr, shared_kernel));
    REQUIRE(attr.numRegs > 0 && attr.maxThreadsPerBlock == 1024, "regs %d", attr.numRegs);
    int blocks = 0, *d, out[64];
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared_kernel, 256, 0));
    REQUIRE(blocks >= 1 && blocks <= 32, "blocks %d", blocks);
    const int bytes = 96 << 10;
    CHECK(cudaMalloc(&d, sizeof out));
    shared_kernel<<<1, 64, bytes>>>(d, bytes / 4);
    REQUIRE(cudaGetLastError() == cudaErrorInvalidValue, "96 KiB of shared memory without asking");
    CHECK(cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    shared_kernel<<<1, 64, bytes>>>(d, bytes / 4);
    CHECK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    REQUIRE(out[3] == bytes / 4 - 4, "out[3] = %d", out[3]);
    CHECK(cudaFree(d));
}

static void topic_errors(void) {
    int *d;
    CHECK(cudaMalloc(&d, 4));
    add_one<<<0, 32>>>(d, 1);
    REQUIRE(cudaGetLastError() == cudaErrorInvalidConfiguration, "an empty grid");
    add_one<<<1, 2048>>>(d, 1);
    REQUIRE(cudaGetLastError() == cudaErrorInvalidConfiguration, "a block of 2048");
    add_one<<<1, 65536 + 32>>>(d, 1); /* must not wrap around to 32 */
    REQUIRE(cudaGetLastError() == cudaErrorInvalidConfiguration, "a block of 65568");
    add_one<<<1, 32, 300 << 10>>>(d, 1);
    REQUIRE(cudaGetLastError() == cudaErrorInvalidValue, "300 KiB of shared memory");
    REQUIRE(cudaSetDevice(5) == cudaErrorInvalidDevice, "device 5");
    cudaGetLastError();
    REQUIRE(cudaFree((void *)0x1234) == cudaErrorInvalidValue, "freeing what was not allocated");
    cudaGetLastError();
    add_one<<<1, 1>>>(d, 1);
    CHECK(cudaDeviceSynchronize()); /* none of the errors above was sticky */
    CHECK(cudaFree(d));
}

static void *thread_main(void *arg) {
    int id = (int)(intptr_t)arg, *d, out[64];
    cudaStream_t s;
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc(&d, sizeof out));
    for (int r = 0; r < 30; r++) {
        CHECK(cudaMemsetAsync(d, 0, sizeof out, s));
        for (int k = 0; k < id + 1; k++)
            add_one<<<2, 32, 0, s>>>(d, 64);
        CHECK(cudaMemcpyAsync(out, d, sizeof out, cudaMemcpyDeviceToHost, s));
        CHECK(cudaStreamSynchronize(s));
        for (int i = 0; i < 64; i++)
            REQUIRE(out[i] == id + 1, "thread %d: out[%d] = %d", id, i, out[i]);
    }
    CHECK(cudaFree(d));
    CHECK(cudaStreamDestroy(s));
    return NULL;
}

static void topic_threads(void) {
    pthread_t t[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, thread_main, (void *)(intptr_t)i);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
}

static void topic_fork(void) {
    int *d, v = 0;
    CHECK(cudaMalloc(&d, 4));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) { /* CUDA in a forked child is refused; the parent continues undisturbed */
        int *p;
        _exit(cudaMalloc(&p, 4) == cudaErrorInitializationError ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x", status);
    set_value<<<1, 1>>>(d, 9);
    CHECK(cudaMemcpy(&v, d, 4, cudaMemcpyDeviceToHost));
    REQUIRE(v == 9, "after fork: %d", v);
    CHECK(cudaFree(d));
}

/* Copies into an array, and a part of it back, by one call each. */
static void topic_boxes(void) {
#if CUDART_VERSION >= 13000
    const int w = 12, h = 5, d = 3;
    float in[d][h][w], out[2][3][4];
    cudaArray_t array;
    cudaStream_t s;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    for (int i = 0; i < d * h * w; i++)
        (&in[0][0][0])[i] = (float)i;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(w, h, d)));
    struct cudaMemcpy3DBatchOp ops[2] = {};
    ops[0].src.type = cudaMemcpyOperandTypePointer;
    ops[0].src.op.ptr.ptr = in;
    ops[0].dst.type = cudaMemcpyOperandTypeArray;
    ops[0].dst.op.array.array = array;
    ops[0].extent = make_cudaExtent(w, h, d);
    ops[0].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    CHECK(cudaMemcpy3DBatchAsync(1, ops, 0, s));
    memset(in, 0, sizeof(in));
    ops[1].src = ops[0].dst;
    ops[1].src.op.array.offset = {3, 1, 1};
    ops[1].dst.type = cudaMemcpyOperandTypePointer;
    ops[1].dst.op.ptr.ptr = out;
    ops[1].extent = make_cudaExtent(4, 3, 2);
    ops[1].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    CHECK(cudaMemcpy3DBatchAsync(1, ops + 1, 0, s));
    CHECK(cudaStreamSynchronize(s));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 4; x++) {
                float want = (float)(((z + 1) * h + y + 1) * w + x + 3);
                REQUIRE(out[z][y][x] == want, "%g at %d %d %d", out[z][y][x], x, y, z);
            }
    CHECK(cudaFreeArray(array));
    CHECK(cudaStreamDestroy(s));
#endif
}

static void topic_reset(void) {
    int seven = 7, got = -1, *d;
    CHECK(cudaMemcpyToSymbol(counter, &seven, sizeof seven));
    CHECK(cudaDeviceReset());
    CHECK(cudaMemcpyFromSymbol(&got, counter, sizeof got));
    REQUIRE(got == 0, "a module's variable kept %d over the reset", got);
    CHECK(cudaMalloc(&d, 4));
    set_value<<<1, 1>>>(d, 3);
    CHECK(cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost));
    REQUIRE(got == 3, "after the reset: %d", got);
    CHECK(cudaFree(d));
}

__global__ void heap_kernel(int **out) {
    int *p = (int *)malloc(64);
    if (p) p[0] = threadIdx.x;
    out[threadIdx.x] = p;
}

__global__ void heap_sum(int **p, int *out) {
    atomicAdd(out, p[threadIdx.x][0]);
    free(p[threadIdx.x]);
}

static void topic_heap(void) {
    int **p, *d, got;
    CHECK(cudaMalloc(&p, 64 * sizeof *p));
    CHECK(cudaMalloc(&d, 4));
    CHECK(cudaMemset(d, 0, 4));
    heap_kernel<<<1, 64>>>(p);
    heap_sum<<<1, 64>>>(p, d);
    CHECK(cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost));
    REQUIRE(got == 63 * 64 / 2, "sum %d", got);
    CHECK(cudaFree(p));
    CHECK(cudaFree(d));
}

static const struct {
    const char *name;
    void (*run)(void);
} topics[] = {
    {"printf", topic_printf},   {"symbols", topic_symbols},
    {"memory", topic_memory},   {"bigcopy", topic_bigcopy},
    {"pinned", topic_pinned},   {"managed", topic_managed},
    {"pools", topic_pools},     {"callbacks", topic_callbacks},
    {"streams", topic_streams}, {"cooperative", topic_cooperative},
    {"params", topic_params},   {"attributes", topic_attributes},
    {"errors", topic_errors},   {"threads", topic_threads},
    {"fork", topic_fork},       {"heap", topic_heap},
    {"boxes", topic_boxes},     {"reset", topic_reset},
};

int main(int argc, char **argv) {
    const int n = sizeof topics / sizeof *topics;
    int ran = 0;
    for (int i = 0; i < n; i++) {
        bool wanted = argc == 1;
        for (int a = 1; a < argc; a++)
            wanted |= !strcmp(argv[a], topics[i].name);
        if (!wanted) continue;
        topics[i].run();
        printf("ok %s\n", topics[i].name);
        fflush(stdout);
        ran++;
    }
    REQUIRE(ran == (argc == 1 ? n : argc - 1), "unknown topic among the arguments");
    return 0;
}
