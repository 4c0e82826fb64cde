/* SPDX-License-Identifier: Apache-2.0
 * CUDA's promises about settings, one per run, by the names of proto/promises.def: settings take
 * effect, getters return them, and unique numbers are never reused. Without a name the program
 * prints all of them. */
#include <cuda.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "common.h"

/* Programs from before CUDA 12 make some of these calls. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define GIVES(call, want)                                                                    \
    do {                                                                                     \
        CUresult gives_r = (call);                                                           \
        REQUIRE(gives_r == CUDA_##want, "%s gave %d, not CUDA_" #want, #call, (int)gives_r); \
    } while (0)
#define EXPECT(cond) REQUIRE(cond, "not true: %s", #cond)
#define OK(call) GIVES(call, SUCCESS)
#define CUDA_INVALID_VALUE CUDA_ERROR_INVALID_VALUE
#define CUDA_OUT_OF_MEMORY CUDA_ERROR_OUT_OF_MEMORY
#define CUDA_INVALID_HANDLE CUDA_ERROR_INVALID_HANDLE
#define CUDA_INVALID_CONTEXT CUDA_ERROR_INVALID_CONTEXT
#define CUDA_NOT_SUPPORTED CUDA_ERROR_NOT_SUPPORTED
#define CUDA_NOT_READY CUDA_ERROR_NOT_READY

/* Calls that are newer than the oldest headers with which this file compiles. */
#if CUDA_VERSION < 13050
extern "C" CUresult CUDAAPI cuGraphGetId(CUgraph, unsigned int *);
extern "C" CUresult CUDAAPI cuGraphExecGetId(CUgraphExec, unsigned int *);
extern "C" CUresult CUDAAPI cuStreamGetDevResource(CUstream, CUdevResource *, CUdevResourceType);
#endif

/* ---- helpers --------------------------------------------------------------------------------- */

/* Destroys the primary context and makes it anew. */
static void reset() {
    CHECK(cudaDeviceReset());
    CHECK(cudaFree(0));
}

static int device(CUdevice_attribute attribute) {
    int value = -1;
    OK(cuDeviceGetAttribute(&value, attribute, 0));
    return value;
}

static int capability() {
    return device(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
           device(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

static size_t limit(CUlimit which) {
    size_t value = 0;
    OK(cuCtxGetLimit(&value, which));
    return value;
}

static void limit_is(CUlimit which, size_t set, size_t want) {
    OK(cuCtxSetLimit(which, set));
    REQUIRE(limit(which) == want, "limit %d was set to %zu and is %zu", which, set, limit(which));
}

static void limit_refused(CUlimit which, size_t set, CUresult want) {
    CUresult r = cuCtxSetLimit(which, set);
    REQUIRE(r == want, "limit %d, set to %zu, gave %d", which, set, r);
}

static unsigned int context_flags() {
    unsigned int flags = 0;
    OK(cuCtxGetFlags(&flags));
    return flags;
}

static CUfunc_cache cache_config() {
    CUfunc_cache config;
    OK(cuCtxGetCacheConfig(&config));
    return config;
}

static CUsharedconfig bank_config() {
    CUsharedconfig config;
    OK(cuCtxGetSharedMemConfig(&config));
    return config;
}

static CUdeviceptr memory(size_t bytes) {
    CUdeviceptr p;
    OK(cuMemAlloc(&p, bytes));
    return p;
}

template <typename T> static T pointer_attribute(CUpointer_attribute attribute, CUdeviceptr p) {
    T value = {};
    OK(cuPointerGetAttribute(&value, attribute, p));
    return value;
}

static CUdeviceptr of(const void *p) {
    return (CUdeviceptr)(uintptr_t)p;
}

__global__ void add(int *to, int what) {
    atomicAdd(to, what);
}

static CUfunction function() {
    cudaFunction_t f;
    CHECK(cudaGetFuncBySymbol(&f, (const void *)add));
    return (CUfunction)f;
}

static int function_attribute(CUfunction_attribute attribute) {
    int value = -99;
    OK(cuFuncGetAttribute(&value, attribute, function()));
    return value;
}

static const char plain_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                ".visible .entry k()\n{\nret;\n}\n";

static CUkernel plain_kernel() {
    static CUkernel k;
    CUlibrary l;
    if (k) return k;
    OK(cuLibraryLoadData(&l, plain_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&k, l, "k"));
    return k;
}

/* Both a function and a kernel of a library keep the attribute. */
static void function_keeps(CUfunction_attribute attribute, int value) {
    int of_kernel = -99;
    OK(cuFuncSetAttribute(function(), attribute, value));
    REQUIRE(function_attribute(attribute) == value, "attribute %d is %d", attribute,
            function_attribute(attribute));
    OK(cuKernelSetAttribute(attribute, value, plain_kernel(), 0));
    OK(cuKernelGetAttribute(&of_kernel, attribute, plain_kernel(), 0));
    REQUIRE(of_kernel == value, "attribute %d of a kernel is %d", attribute, of_kernel);
}

static void function_refuses(CUfunction_attribute attribute, int value) {
    int before = -99, after = -98;
    CUresult known = cuFuncGetAttribute(&before, attribute, function());
    GIVES(cuFuncSetAttribute(function(), attribute, value), INVALID_VALUE);
    GIVES(cuKernelSetAttribute(attribute, value, plain_kernel(), 0), INVALID_VALUE);
    if (known == CUDA_SUCCESS) OK(cuFuncGetAttribute(&after, attribute, function()));
    EXPECT(known != CUDA_SUCCESS || before == after);
}

static void add_one_works() {
    int *p, got = 0;
    CHECK(cudaMalloc(&p, sizeof(*p)));
    CHECK(cudaMemset(p, 0, sizeof(*p)));
    add<<<1, 32>>>(p, 1);
    OK(cuCtxSynchronize());
    CHECK(cudaMemcpy(&got, p, sizeof(got), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(p));
    EXPECT(got == 32);
}

/* ---- a gate for kernels ---------------------------------------------------------------------- */

__global__ void hold(volatile int *gate) {
    while (!*gate)
        __nanosleep(1000);
}

/* A gate that another thread opens, a while after work was queued behind it. */
struct Gate {
    volatile int *word; /* kernels see it */
    volatile bool opened;
    pthread_t thread;

    static void *open_later(void *arg) {
        Gate *g = (Gate *)arg;
        usleep(100000);
        g->opened = true;
        __sync_synchronize();
        *g->word = 1;
        return NULL;
    }

    Gate() : opened(false) {
        void *p;
        OK(cuMemHostAlloc(&p, sizeof(int), CU_MEMHOSTALLOC_DEVICEMAP));
        word = (volatile int *)p;
        *word = 0;
    }

    void close_until_later() {
        *word = 0;
        opened = false;
        hold<<<1, 1>>>(word);
        EXPECT(pthread_create(&thread, NULL, open_later, this) == 0);
    }

    /* Checks that the gate was open when the call behind it returned. */
    void was_waited_for(const char *what) {
        REQUIRE(opened, "%s returned before the kernel in front of it had ended", what);
        pthread_join(thread, NULL);
        OK(cuCtxSynchronize());
    }
};

#define WAITS(gate, call)             \
    do {                              \
        (gate).close_until_later();   \
        OK(call);                     \
        (gate).was_waited_for(#call); \
    } while (0)

static void operations_wait(CUdeviceptr a, CUdeviceptr b) {
    static char host[512];
    Gate gate;
    WAITS(gate, cuMemcpyDtoD(a, b, 512));
    WAITS(gate, cuMemcpyDtoD(b + 1024, a + 256, 512));
    WAITS(gate, cuMemcpy(a, b, 64));
    WAITS(gate, cuMemcpyHtoD(a, host, 64));
    WAITS(gate, cuMemsetD8(a, 1, 512));
    WAITS(gate, cuMemsetD32(a + 512, 1, 16));
    WAITS(gate, cuMemsetD2D8(a, 512, 1, 16, 4));
}

static void pointer_memops_wait() {
    CUdeviceptr a = memory(65536), b = memory(65536);
    unsigned int on = 1, off = 0;
    EXPECT(pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a) == 0);
    OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a + 100));
    EXPECT(pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a + 65535) == 1);
    EXPECT(pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, b) == 0);
    operations_wait(a, b);
    OK(cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    EXPECT(pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a) == 0);
    OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
    OK(cuMemFree(a));
    a = memory(65536);
    EXPECT(pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a) == 0);
}

static void context_memops_wait() {
    OK(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
    EXPECT(context_flags() == CU_CTX_SYNC_MEMOPS);
    operations_wait(memory(65536), memory(65536));
}

/* ---- limits ---------------------------------------------------------------------------------- */

__host__ __device__ __noinline__ int deep(int n, int seed) {
    volatile int local[25];
    for (int i = 0; i < 25; i++)
        local[i] = seed + i * n;
    if (!n) return local[24];
    int below = deep(n - 1, seed + 1);
    return below + local[n % 25] - n;
}

__global__ void dive(int *out, int n) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = deep(n, (int)threadIdx.x);
}

/* A frame has 100 bytes of variables, and the registers that the compiler saves. */
static void deep_recursion() {
    const int threads = 512, blocks = 3, depth = 900;
    std::vector<int> got(threads * blocks);
    int *out;
    limit_is(CU_LIMIT_STACK_SIZE, 256 << 10, 256 << 10);
    CHECK(cudaMalloc(&out, got.size() * sizeof(int)));
    dive<<<blocks, threads>>>(out, depth);
    CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < got.size(); i++)
        REQUIRE(got[i] == deep(depth, (int)(i % threads)), "thread %zu: %d", i, got[i]);
}

__global__ void say(int from, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) printf("line %d: %s %f\n", from + i, "some text that takes room", i * 0.5);
}

__global__ void say_in_order(int n) {
    for (int i = 0; i < n; i++)
        printf("line %d: some text that takes room\n", i);
}

/* Returns the numbers in the lines that kernels print. */
template <typename Launch> static std::vector<int> printed(Launch launch) {
    char name[] = "/tmp/promises_XXXXXX", line[256];
    int out = mkstemp(name), saved = dup(1), number;
    std::vector<int> lines;
    EXPECT(out >= 0 && saved >= 0);
    unlink(name);
    fflush(stdout);
    dup2(out, 1);
    launch();
    CUresult r = cuCtxSynchronize();
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
    OK(r);
    lseek(out, 0, SEEK_SET);
    FILE *f = fdopen(out, "r");
    while (fgets(line, sizeof(line), f)) {
        REQUIRE(sscanf(line, "line %d: some text that takes room", &number) == 1 &&
                    line[strlen(line) - 1] == '\n',
                "a line is: %s", line);
        lines.push_back(number);
    }
    fclose(f);
    return lines;
}

static void fifo_holds_all() {
    const int n = 100000;
    limit_is(CU_LIMIT_PRINTF_FIFO_SIZE, 32 << 20, 32 << 20);
    std::vector<int> lines = printed([&] { say<<<(n + 255) / 256, 256>>>(0, n); });
    std::set<int> once(lines.begin(), lines.end());
    REQUIRE((int)lines.size() == n && (int)once.size() == n, "%zu lines, %zu of them different",
            lines.size(), once.size());
    /* Launches flush the output of earlier ones. */
    lines = printed([&] {
        for (int k = 0; k < 4; k++) {
            say<<<(n / 2 + 255) / 256, 256>>>(0, n / 2);
            OK(cuStreamSynchronize(0));
        }
    });
    REQUIRE((int)lines.size() == 2 * n, "%zu lines of 4 launches", lines.size());
}

static void fifo_keeps_the_latest() {
    const int n = 20000;
    limit_is(CU_LIMIT_PRINTF_FIFO_SIZE, 16 << 10, 16 << 10);
    std::vector<int> lines = printed([&] { say_in_order<<<1, 1>>>(n); });
    REQUIRE(lines.size() > 100 && (int)lines.size() < n, "%zu lines", lines.size());
    for (size_t i = 0; i < lines.size(); i++)
        REQUIRE(lines[i] == n - (int)lines.size() + (int)i, "line %d is in place %zu of %zu",
                lines[i], i, lines.size());
}

static void fifo_is_late() {
    add_one_works();
    limit_is(CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20, 2 << 20);
    EXPECT(printed([] { say<<<1, 32>>>(0, 10); }).size() == 10);
    limit_refused(CU_LIMIT_PRINTF_FIFO_SIZE, 4 << 20, CUDA_ERROR_INVALID_VALUE);
    EXPECT(limit(CU_LIMIT_PRINTF_FIFO_SIZE) == 2 << 20);
    EXPECT(printed([] { say<<<1, 32>>>(0, 10); }).size() == 10);
    reset();
    limit_is(CU_LIMIT_PRINTF_FIFO_SIZE, 4 << 20, 4 << 20);
    /* Graphs launch kernels as well. */
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    say<<<1, 32, 0, s>>>(0, 7);
    CHECK(cudaStreamEndCapture(s, &g));
    CHECK(cudaGraphInstantiate(&e, g, 0));
    limit_is(CU_LIMIT_PRINTF_FIFO_SIZE, 5 << 20, 5 << 20);
    EXPECT(printed([&] { CHECK(cudaGraphLaunch(e, s)); }).size() == 7);
    limit_refused(CU_LIMIT_PRINTF_FIFO_SIZE, 6 << 20, CUDA_ERROR_INVALID_VALUE);
}

__device__ void *pieces;

__global__ void exhaust(int *count) {
    void *piece;
    pieces = NULL;
    for (*count = 0; (piece = malloc(1 << 20)) != NULL; ++*count) {
        *(void **)piece = pieces;
        ((char *)piece)[(1 << 20) - 1] = 1;
        pieces = piece;
    }
    while (pieces) {
        void *next = *(void **)pieces;
        free(pieces);
        pieces = next;
    }
}

static int exhausted() {
    int *count;
    CHECK(cudaMallocManaged(&count, sizeof(*count)));
    exhaust<<<1, 1>>>(count);
    OK(cuCtxSynchronize());
    int got = *count;
    CHECK(cudaFree(count));
    return got;
}

static void heap_is_that_large() {
    limit_is(CU_LIMIT_MALLOC_HEAP_SIZE, 160 << 20, 160 << 20);
    int got = exhausted();
    REQUIRE(got >= 120 && got <= 160, "%d pieces of a MiB", got);
}

static void heap_is_late() {
    add_one_works();
    limit_is(CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20, 16 << 20);
    exhausted();
    limit_refused(CU_LIMIT_MALLOC_HEAP_SIZE, 32 << 20, CUDA_ERROR_INVALID_VALUE);
    EXPECT(limit(CU_LIMIT_MALLOC_HEAP_SIZE) == 16 << 20);
}

static void limits_of_two_contexts() {
    const CUlimit which = CU_LIMIT_STACK_SIZE;
    CUcontext other;
    size_t first = limit(which);
    limit_is(which, 8192, 8192);
    OK(cuCtxCreate(&other, NULL, 0, 0));
    EXPECT(limit(which) == 8192);
    limit_is(which, 16384, 16384);
    OK(cuCtxPopCurrent(NULL));
    EXPECT(limit(which) == 16384);
    OK(cuCtxDestroy(other));
    EXPECT(limit(which) == 8192);
    reset();
    EXPECT(limit(which) == first);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static void primary_context_state() {
    unsigned int flags = 99;
    int active = -1;
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active == 1);
    OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(flags == CU_CTX_SCHED_BLOCKING_SYNC && context_flags() == flags);
    GIVES(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_SCHED_SPIN),
          INVALID_VALUE);
    CHECK(cudaDeviceReset());
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT(active == 0);
    OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
    CHECK(cudaFree(0));
    EXPECT(context_flags() == CU_CTX_SCHED_YIELD);
    add_one_works();
}

static unsigned long long context_number(CUcontext c) {
    unsigned long long id = 0;
    OK(cuCtxGetId(c, &id));
    return id;
}

static void context_ids() {
    std::set<unsigned long long> seen = {context_number(NULL)};
    for (int i = 0; i < 2000; i++) {
        CUcontext c;
        OK(cuCtxCreate(&c, NULL, 0, 0));
        EXPECT(context_number(c) == context_number(NULL));
        REQUIRE(seen.insert(context_number(c)).second, "context %d has an earlier one's id", i);
        OK(cuCtxDestroy(c));
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

extern __shared__ char dynamic[];

__global__ void use_shared(int *out, int bytes) {
    dynamic[bytes - 1] = 7;
    *out = dynamic[bytes - 1];
}

static CUresult launch_shared(int bytes, int *out) {
    cudaFunction_t f;
    void *params[] = {&out, &bytes};
    CHECK(cudaGetFuncBySymbol(&f, (const void *)use_shared));
    CUresult r =
        cuLaunchKernel((CUfunction)f, 1, 1, 1, 1, 1, 1, (unsigned)bytes, NULL, params, NULL);
    OK(cuCtxSynchronize());
    return r;
}

static void shared_memory_of_launches() {
    cudaFunction_t f;
    int *out;
    CHECK(cudaMalloc(&out, sizeof(*out)));
    CHECK(cudaGetFuncBySymbol(&f, (const void *)use_shared));
    OK(launch_shared(1000, out));
    GIVES(launch_shared(60000, out), INVALID_VALUE);
    OK(cuFuncSetAttribute((CUfunction)f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
    OK(launch_shared(60000, out));
    GIVES(launch_shared(60004, out), INVALID_VALUE);
    OK(cuFuncSetAttribute((CUfunction)f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100));
    GIVES(launch_shared(1000, out), INVALID_VALUE);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static unsigned long long buffer_id(CUdeviceptr p) {
    return pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, p);
}

static std::set<unsigned long long> ids_seen;
static std::set<CUdeviceptr> addresses_seen;
static int recycled;

static void new_id(CUdeviceptr p, size_t bytes, const char *what) {
    unsigned long long id = buffer_id(p);
    REQUIRE(buffer_id(p + bytes / 2) == id && buffer_id(p + bytes - 1) == id, "%s: two ids", what);
    REQUIRE(id && ids_seen.insert(id).second, "%s at %llx has an earlier one's id", what,
            (unsigned long long)p);
    recycled += !addresses_seen.insert(p).second;
}

static void ids_of_mappings() {
    CUmemAllocationProp prop = {};
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    size_t bytes;
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    for (int i = 0; i < 20; i++) {
        OK(cuMemCreate(&handle, bytes, &prop, 0));
        OK(cuMemMap(at, bytes, 0, handle, 0));
        OK(cuMemSetAccess(at, bytes, &access, 1));
        new_id(at, bytes, "a mapping");
        OK(cuMemUnmap(at, bytes));
        OK(cuMemRelease(handle));
    }
    OK(cuMemAddressFree(at, bytes));
}

static void ids_of_graphs() {
    CUgraph g;
    CUgraphNode node;
    CUgraphExec e;
    CUDA_MEM_ALLOC_NODE_PARAMS p = {};
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.bytesize = 1 << 20;
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemAllocNode(&node, g, NULL, 0, &p));
    OK(cuGraphInstantiate(&e, g, 0));
    for (int i = 0; i < 20; i++) {
        OK(cuGraphLaunch(e, NULL));
        new_id(p.dptr, 1 << 20, "memory of a graph");
        OK(cuMemFree(p.dptr));
    }
}

static const char global_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                 ".visible .global .b8 cell[256];\n"
                                 ".visible .entry k()\n{\nret;\n}\n";

static void buffer_ids() {
    static char registered[8192];
    CUdeviceptr p, variable;
    CUmodule module;
    size_t length;
    void *h;
    for (int i = 0; i < 1500; i++) {
        size_t bytes = i % 3 ? 64 << 10 : 3 << 20;
        OK(cuMemAlloc(&p, bytes));
        new_id(p, bytes, "memory");
        OK(cuMemFree(p));
        OK(cuMemAllocAsync(&p, bytes, NULL));
        new_id(p, bytes, "memory of a pool");
        OK(cuMemFreeAsync(p, NULL));
    }
    for (int i = 0; i < 200; i++) {
        OK(cuMemHostAlloc(&h, 4096, 0));
        new_id(of(h), 4096, "pinned memory");
        OK(cuMemFreeHost(h));
        OK(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
        new_id(p, 4096, "managed memory");
        OK(cuMemFree(p));
        OK(cuMemHostRegister(registered, sizeof(registered), 0));
        new_id(of(registered), sizeof(registered), "registered memory");
        OK(cuMemHostUnregister(registered));
    }
    for (int i = 0; i < 20; i++) {
        OK(cuModuleLoadData(&module, global_ptx));
        OK(cuModuleGetGlobal(&variable, &length, module, "cell"));
        new_id(variable, 256, "a variable");
        OK(cuModuleUnload(module));
    }
    ids_of_mappings();
    ids_of_graphs();
    EXPECT(recycled > 1000);
}

struct kind {
    const char *name;
    CUdeviceptr p;
    unsigned int type, managed;
    bool host, device;
};

static void pointers_of_all_kinds() {
    static char mine[4096];
    CUdeviceptr plain, managed, pooled;
    void *pinned;
    CUcontext current;
    OK(cuCtxGetCurrent(&current));
    OK(cuMemAlloc(&plain, 4096));
    OK(cuMemAllocAsync(&pooled, 4096, NULL));
    OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemHostAlloc(&pinned, 4096, 0));
    const kind kinds[] = {
        {"plain", plain, CU_MEMORYTYPE_DEVICE, 0, false, true},
        {"pooled", pooled, CU_MEMORYTYPE_DEVICE, 0, false, true},
        {"managed", managed, CU_MEMORYTYPE_DEVICE, 1, true, true},
        {"pinned", of(pinned), CU_MEMORYTYPE_HOST, 0, true, true},
    };
    for (const kind &k : kinds) {
        CUdeviceptr inside = k.p + 100;
        unsigned int type =
            pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside);
        REQUIRE(type == k.type, "%s memory is of type %u", k.name, type);
        EXPECT(pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_IS_MANAGED, inside) ==
               k.managed);
        EXPECT(pointer_attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, inside) == current);
        EXPECT(pointer_attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside) == 0);
        EXPECT(pointer_attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside) ==
               k.p);
        EXPECT(pointer_attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside) == 4096);
        EXPECT(pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_MAPPED, inside) == 1);
        EXPECT(pointer_attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside) ==
               inside);
        EXPECT(pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, inside) ==
               3);
        CUdeviceptr host;
        CUresult r = cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside);
        REQUIRE(k.host ? r == CUDA_SUCCESS && host == inside : r == CUDA_ERROR_INVALID_VALUE,
                "a host pointer of %s memory: %d", k.name, r);
    }
    EXPECT(pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, plain));
    EXPECT(
        !pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, managed));
    unsigned int type = 77;
    unsigned long long id = 77;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void *answers[] = {&type, &id};
    GIVES(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, of(mine)), INVALID_VALUE);
    OK(cuPointerGetAttributes(2, asked, answers, of(mine)));
    EXPECT(type == 0 && id == 0);
    OK(cuPointerGetAttributes(2, asked, answers, plain + 7));
    EXPECT(type == CU_MEMORYTYPE_DEVICE && id == buffer_id(plain));
    OK(cuMemHostRegister(mine, sizeof(mine), CU_MEMHOSTREGISTER_DEVICEMAP));
    CUdeviceptr seen;
    if (cuMemHostGetDevicePointer(&seen, mine, 0) == CUDA_SUCCESS) {
        EXPECT(pointer_attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_HOST_POINTER, seen + 8) ==
               of(mine + 8));
        EXPECT(buffer_id(seen + 8) == buffer_id(of(mine)));
    }
    OK(cuMemHostUnregister(mine));
}

struct Mapped {
    CUdeviceptr at;
    size_t bytes;
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc access;

    Mapped() {
        CUmemAllocationProp prop = {};
        access = {};
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        OK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        OK(cuMemAddressReserve(&at, 4 * bytes, 0, 0, 0));
        OK(cuMemCreate(&handle, bytes, &prop, 0));
        OK(cuMemMap(at + bytes, bytes, 0, handle, 0));
    }

    void let(CUmemAccess_flags flags) {
        access.flags = flags;
        OK(cuMemSetAccess(at + bytes, bytes, &access, 1));
    }
};

static void pointers_of_mappings() {
    Mapped m;
    CUdeviceptr p = m.at + m.bytes;
    EXPECT(pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_MAPPED, m.at) == 0);
    EXPECT(pointer_attribute<unsigned int>(CU_POINTER_ATTRIBUTE_MAPPED, p) == 1);
    EXPECT(pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p) == 0);
    m.let(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    EXPECT(pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p) == 3);
    for (CUdeviceptr q : {m.at, p, p + 5, m.at + 4 * m.bytes - 1}) {
        EXPECT(pointer_attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, q) == m.at);
        EXPECT(pointer_attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, q) == 4 * m.bytes);
    }
    EXPECT(pointer_attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, p + 5) == p);
    EXPECT(pointer_attribute<size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, p + 5) == m.bytes);
    m.let(CU_MEM_ACCESS_FLAGS_PROT_NONE);
    EXPECT(pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p) == 0);
}

static unsigned long long block_id(CUdeviceptr p) {
    return pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, p);
}

static void block_ids() {
    Mapped m, other;
    m.let(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    other.let(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr p = m.at + m.bytes, twin = m.at + 3 * m.bytes;
    OK(cuMemMap(twin, m.bytes, 0, m.handle, 0));
    OK(cuMemSetAccess(twin, m.bytes, &m.access, 1));
    EXPECT(block_id(p) == block_id(twin) && buffer_id(p) != buffer_id(twin));
    EXPECT(block_id(p) != block_id(other.at + other.bytes));
    std::set<unsigned long long> seen = {block_id(p), block_id(other.at + other.bytes)};
    for (int i = 0; i < 300; i++) {
        CUdeviceptr q = memory(4096);
        EXPECT(block_id(q) == block_id(q + 4095) && seen.insert(block_id(q)).second);
        OK(cuMemFree(q));
    }
}

/* ---- pools ----------------------------------------------------------------------------------- */

static CUmemoryPool new_pool(size_t most = 0) {
    CUmemPoolProps props = {};
    CUmemoryPool pool;
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = most;
    OK(cuMemPoolCreate(&pool, &props));
    return pool;
}

static cuuint64_t pool_value(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t value = 77;
    OK(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static void pool_keeps_flag(CUmemPool_attribute attribute) {
    CUmemoryPool pool = new_pool();
    int off = 0, on = 1, got = -1;
    OK(cuMemPoolGetAttribute(pool, attribute, &got));
    EXPECT(got == 1);
    OK(cuMemPoolSetAttribute(pool, attribute, &off));
    OK(cuMemPoolGetAttribute(pool, attribute, &got));
    EXPECT(got == 0);
    OK(cuMemPoolSetAttribute(pool, attribute, &on));
    OK(cuMemPoolGetAttribute(pool, attribute, &got));
    EXPECT(got == 1);
    OK(cuMemPoolDestroy(pool));
}

static void use_pool(CUmemoryPool pool, size_t bytes) {
    CUdeviceptr p;
    OK(cuMemAllocFromPoolAsync(&p, bytes, pool, NULL));
    OK(cuMemFreeAsync(p, NULL));
}

static void pool_keeps_to_its_threshold() {
    CUmemoryPool pool = new_pool();
    cuuint64_t all = UINT64_MAX, none = 0, some = 40 << 20;
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 0);
    use_pool(pool, 40 << 20);
    OK(cuStreamSynchronize(NULL));
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == all);
    use_pool(pool, 40 << 20);
    OK(cuCtxSynchronize());
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 40 << 20);
    OK(cuMemPoolTrimTo(pool, 0));
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &some));
    for (int i = 1; i < 10; i++)
        use_pool(pool, i << 20);
    OK(cuCtxSynchronize());
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) <= some);
    use_pool(pool, 40 << 20);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
    OK(cuCtxSynchronize());
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
}

/* Without the attribute, memory freed in one stream is never given to another. */
static void pool_that_may_not_reuse() {
    CUmemoryPool pool = new_pool();
    CUstream a, b;
    CUdeviceptr p, q;
    cuuint64_t all = UINT64_MAX;
    int off = 0;
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &off));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &off));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &off));
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 20; i++) {
        OK(cuMemAllocFromPoolAsync(&p, 1 << 20, pool, a));
        OK(cuMemFreeAsync(p, a));
        while (cuStreamQuery(a) == CUDA_ERROR_NOT_READY) {
        }
        OK(cuMemAllocFromPoolAsync(&q, 1 << 20, pool, b));
        EXPECT(p != q);
        OK(cuMemFreeAsync(q, b));
    }
}

static void pool_watermarks() {
    CUmemoryPool pool = new_pool();
    cuuint64_t zero = 0, one = 1;
    CUdeviceptr p, q;
    OK(cuMemAllocFromPoolAsync(&p, 4 << 20, pool, NULL));
    OK(cuMemAllocFromPoolAsync(&q, 2 << 20, pool, NULL));
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 6 << 20);
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 6 << 20);
    OK(cuMemFreeAsync(p, NULL));
    OK(cuCtxSynchronize());
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 2 << 20);
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 6 << 20);
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) >= 6 << 20);
    GIVES(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one), INVALID_VALUE);
    GIVES(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &one), INVALID_VALUE);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 2 << 20);
    EXPECT(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) ==
           pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    GIVES(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero), INVALID_VALUE);
    GIVES(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &zero), INVALID_VALUE);
    GIVES(cuMemPoolSetAttribute(pool, (CUmemPool_attribute)99, &zero), INVALID_VALUE);
    GIVES(cuMemPoolSetAttribute((CUmemoryPool)&pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero),
          INVALID_VALUE);
}

static void pool_properties() {
    CUmemoryPool pool = new_pool(64 << 20);
    CUdeviceptr p;
    GIVES(cuMemAllocFromPoolAsync(&p, 65 << 20, pool, NULL), OUT_OF_MEMORY);
    OK(cuMemAllocFromPoolAsync(&p, 60 << 20, pool, NULL));
    GIVES(cuMemAllocFromPoolAsync(&p, 60 << 20, pool, NULL), OUT_OF_MEMORY);
}

static void pool_access() {
    CUmemoryPool pool = new_pool();
    CUmemAccessDesc d = {};
    CUmemAccess_flags flags;
    d.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cuMemPoolGetAccess(&flags, pool, &d.location));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemPoolSetAccess(pool, &d, 1));
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    GIVES(cuMemPoolSetAccess(pool, &d, 1), INVALID_VALUE);
    OK(cuMemPoolGetAccess(&flags, pool, &d.location));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemPoolProps props = {};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_HOST;
    if (cuMemPoolCreate(&pool, &props) != CUDA_SUCCESS) return;
    for (CUmemAccess_flags want :
         {CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_NONE}) {
        CUdeviceptr p;
        d.flags = want;
        OK(cuMemPoolSetAccess(pool, &d, 1));
        OK(cuMemPoolGetAccess(&flags, pool, &d.location));
        EXPECT(flags == want);
        OK(cuMemAllocFromPoolAsync(&p, 4096, pool, NULL));
        EXPECT(pointer_attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p) ==
               (unsigned long long)want);
    }
}

static CUmemoryPool pool_of(CUdeviceptr p) {
    return pointer_attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
}

static void pool_of_pointer() {
    CUmemoryPool pool = new_pool(), first;
    CUdeviceptr p;
    OK(cuDeviceGetDefaultMemPool(&first, 0));
    OK(cuMemAllocFromPoolAsync(&p, 4096, pool, NULL));
    EXPECT(pool_of(p + 5) == pool);
    OK(cuMemAllocAsync(&p, 4096, NULL));
    EXPECT(pool_of(p) == first && pool_of(memory(4096)) == NULL);
}

static void pool_of_device() {
    CUmemoryPool pool = new_pool(), first, got;
    CUmemLocation here = {};
    CUdeviceptr p;
    here.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cuDeviceGetMemPool(&first, 0));
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuDeviceGetMemPool(&got, 0));
    EXPECT(got == pool);
    OK(cuMemAllocAsync(&p, 4096, NULL));
    EXPECT(pool_of(p) == pool);
    OK(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, first));
    OK(cuMemGetMemPool(&got, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    EXPECT(got == first);
    OK(cuMemAllocAsync(&p, 4096, NULL));
    EXPECT(pool_of(p) == first);
    GIVES(cuDeviceSetMemPool(0, (CUmemoryPool)&pool), INVALID_VALUE);
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuMemPoolDestroy(pool));
    OK(cuDeviceGetMemPool(&got, 0));
    EXPECT(got == first);
}

/* ---- managed and mapped memory --------------------------------------------------------------- */

static int range_value(CUmem_range_attribute attribute, CUdeviceptr p, size_t bytes) {
    int value = -77;
    OK(cuMemRangeGetAttribute(&value, sizeof(value), attribute, p, bytes));
    return value;
}

static void advice_is_read_back() {
    const size_t bytes = 1 << 20;
    CUmemLocation gpu = {}, cpu = {};
    CUdeviceptr p;
    gpu.type = CU_MEM_LOCATION_TYPE_DEVICE;
    cpu.type = CU_MEM_LOCATION_TYPE_HOST;
    OK(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, bytes) == 0);
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, bytes) == CU_DEVICE_INVALID);
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, bytes) == CU_DEVICE_INVALID);
    OK(cuMemAdvise(p, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu));
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, bytes) == 1);
    OK(cuMemAdvise(p, bytes / 2, CU_MEM_ADVISE_UNSET_READ_MOSTLY, gpu));
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, bytes) == 0);
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p + bytes / 2, bytes / 2) == 1);
    OK(cuMemAdvise(p, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, gpu));
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, bytes) == 0);
    OK(cuMemAdvise(p, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, cpu));
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, bytes) == CU_DEVICE_CPU);
    OK(cuMemAdvise(p, bytes, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, cpu));
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, bytes) == CU_DEVICE_INVALID);
    OK(cuMemAdvise(p, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, gpu));
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, bytes) == 0);
    OK(cuMemAdvise(p, bytes, CU_MEM_ADVISE_UNSET_ACCESSED_BY, gpu));
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, bytes) == CU_DEVICE_INVALID);
    OK(cuMemPrefetchAsync(p, bytes, gpu, 0, NULL));
    OK(cuCtxSynchronize());
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, bytes) == 0);
    GIVES(cuMemAdvise(p, bytes, (CUmem_advise)99, gpu), INVALID_VALUE);
    GIVES(cuMemAdvise(p, bytes + 1, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu), INVALID_VALUE);
    OK(cuMemAdvise(p, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu));
    OK(cuMemFree(p));
    OK(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
    EXPECT(range_value(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, bytes) == 0);
}

static void host_flags() {
    static char mine[4096];
    unsigned int flags = 0;
    void *p;
    OK(cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED));
    OK(cuMemHostGetFlags(&flags, p));
    EXPECT(flags & CU_MEMHOSTALLOC_PORTABLE && flags & CU_MEMHOSTALLOC_WRITECOMBINED);
    OK(cuMemHostRegister(mine, sizeof(mine), CU_MEMHOSTREGISTER_PORTABLE));
    OK(cuMemHostGetFlags(&flags, mine));
    EXPECT(flags & CU_MEMHOSTREGISTER_PORTABLE);
    GIVES(cuMemHostAlloc(&p, 4096, 256), INVALID_VALUE);
    GIVES(cuMemHostGetFlags(&flags, &flags), INVALID_VALUE);
}

static void access_to_mappings() {
    Mapped m;
    CUdeviceptr p = m.at + m.bytes;
    CUmemAllocationProp prop = {};
    unsigned long long flags = 77;
    OK(cuMemGetAccess(&flags, &m.access.location, p));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    GIVES(cuMemsetD8(p, 1, 16), INVALID_VALUE);
    m.let(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemGetAccess(&flags, &m.access.location, p));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemsetD8(p, 1, 16));
    OK(cuCtxSynchronize());
    m.let(CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemGetAccess(&flags, &m.access.location, p));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    m.access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    GIVES(cuMemSetAccess(p, m.bytes, &m.access, 1), NOT_SUPPORTED);
    OK(cuMemGetAllocationPropertiesFromHandle(&prop, m.handle));
    EXPECT(prop.type == CU_MEM_ALLOCATION_TYPE_PINNED && !prop.requestedHandleTypes);
    EXPECT(prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop.location.id == 0);
    if (device(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED)) return;
    prop.allocFlags.gpuDirectRDMACapable = 1;
    CUmemGenericAllocationHandle handle;
    GIVES(cuMemCreate(&handle, m.bytes, &prop, 0), NOT_SUPPORTED);
}

/* ---- streams and events ---------------------------------------------------------------------- */

static unsigned long long stream_number(CUstream s) {
    unsigned long long id = 0;
    OK(cuStreamGetId(s, &id));
    return id;
}

static void stream_ids() {
    std::set<unsigned long long> seen = {stream_number(NULL), stream_number(CU_STREAM_PER_THREAD)};
    EXPECT(seen.size() == 2 && stream_number(NULL) == stream_number(CU_STREAM_LEGACY));
    for (int i = 0; i < 140000; i++) {
        CUstream s;
        OK(cuStreamCreate(&s, i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
        REQUIRE(seen.insert(stream_number(s)).second, "stream %d has an earlier one's id", i);
        OK(cuStreamDestroy(s));
    }
    reset();
    EXPECT(seen.insert(stream_number(NULL)).second);
}

static int priority_of(CUstream s) {
    int priority = 77;
    OK(cuStreamGetPriority(s, &priority));
    return priority;
}

static void stream_as_made() {
    int least, greatest;
    unsigned int flags;
    CUstream s;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, greatest));
    OK(cuStreamGetFlags(s, &flags));
    EXPECT(flags == CU_STREAM_NON_BLOCKING && priority_of(s) == greatest);
    OK(cuStreamCreateWithPriority(&s, CU_STREAM_DEFAULT, least + 10));
    OK(cuStreamGetFlags(s, &flags));
    EXPECT(flags == CU_STREAM_DEFAULT && priority_of(s) == least);
    OK(cuStreamCreateWithPriority(&s, CU_STREAM_DEFAULT, greatest - 10));
    EXPECT(priority_of(s) == greatest);
    GIVES(cuStreamCreate(&s, 8), INVALID_VALUE);
}

static void stream_priority() {
    int least, greatest, *sum, got;
    CUstream s, copy;
    CUstreamAttrValue v = {};
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&copy, CU_STREAM_NON_BLOCKING));
    CHECK(cudaMalloc(&sum, sizeof(*sum)));
    CHECK(cudaMemset(sum, 0, sizeof(*sum)));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 200; i++) {
        v.priority = i % 2 ? greatest : least;
        add<<<1, 1, 0, s>>>(sum, 1);
        OK(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
        EXPECT(priority_of(s) == v.priority);
        add<<<1, 1, 0, s>>>(sum, 1);
    }
    OK(cuStreamSynchronize(s));
    CHECK(cudaMemcpy(&got, sum, sizeof(got), cudaMemcpyDeviceToHost));
    EXPECT(got == 400);
    v.priority = greatest - 50;
    OK(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    OK(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    EXPECT(v.priority == greatest && priority_of(s) == greatest);
    OK(cuStreamCopyAttributes(copy, s));
    EXPECT(priority_of(copy) == greatest);
}

static void stream_policy() {
    CUstream s;
    CUstreamAttrValue v = {};
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    EXPECT(v.syncPolicy == CU_SYNC_POLICY_AUTO);
    for (int policy = CU_SYNC_POLICY_AUTO; policy <= CU_SYNC_POLICY_BLOCKING_SYNC; policy++) {
        v.syncPolicy = (CUsynchronizationPolicy)policy;
        OK(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
        OK(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
        EXPECT(v.syncPolicy == policy);
        OK(cuStreamSynchronize(s));
    }
    v.syncPolicy = (CUsynchronizationPolicy)9;
    GIVES(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v), INVALID_VALUE);
}

static void stream_hints() {
    CUstream s;
    CUstreamAttrValue v = {}, got;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    v.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    OK(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &v));
    OK(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &got));
    EXPECT(got.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
    v.memSyncDomain = (CUlaunchMemSyncDomain)7;
    GIVES(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &v), INVALID_VALUE);
    v = {};
    v.accessPolicyWindow.base_ptr = (void *)4096;
    v.accessPolicyWindow.num_bytes = 4096;
    v.accessPolicyWindow.hitRatio = 0.5f;
    v.accessPolicyWindow.hitProp = CU_ACCESS_PROPERTY_PERSISTING;
    OK(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    OK(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &got));
    EXPECT(got.accessPolicyWindow.num_bytes == 4096 && got.accessPolicyWindow.hitRatio == 0.5f);
    v.accessPolicyWindow.hitRatio = 2;
    GIVES(cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v), INVALID_VALUE);
    GIVES(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v), INVALID_VALUE);
    GIVES(cuStreamGetAttribute(s, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v), INVALID_VALUE);
}

static void event_flags() {
    CUevent timed, first, blocking, untimed;
    float ms = -1;
    OK(cuEventCreate(&first, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&timed, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&blocking, CU_EVENT_BLOCKING_SYNC));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    GIVES(cuEventElapsedTime(&ms, first, timed), INVALID_HANDLE);
    OK(cuEventRecord(first, NULL));
    add_one_works();
    for (CUevent e : {timed, blocking, untimed}) {
        OK(cuEventRecord(e, NULL));
        OK(cuEventSynchronize(e));
        OK(cuEventQuery(e));
    }
    OK(cuEventElapsedTime(&ms, first, timed));
    EXPECT(ms >= 0);
    OK(cuEventElapsedTime(&ms, first, blocking));
    EXPECT(ms >= 0);
    GIVES(cuEventElapsedTime(&ms, first, untimed), INVALID_HANDLE);
    GIVES(cuEventElapsedTime(&ms, untimed, timed), INVALID_HANDLE);
    GIVES(cuEventCreate(&timed, CU_EVENT_INTERPROCESS), INVALID_VALUE);
    GIVES(cuEventCreate(&timed, 64), INVALID_VALUE);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void graph_ids() {
    std::set<unsigned int> seen;
    for (int i = 0; i < 3000; i++) {
        CUgraph g;
        CUgraphExec e;
        unsigned int id = 0, exec_id = 0;
        OK(cuGraphCreate(&g, 0));
        OK(cuGraphInstantiate(&e, g, 0));
        OK(cuGraphGetId(g, &id));
        OK(cuGraphExecGetId(e, &exec_id));
        REQUIRE(seen.insert(id).second && seen.insert(exec_id).second, "graph %d: %u, %u", i, id,
                exec_id);
        OK(cuGraphExecDestroy(e));
        OK(cuGraphDestroy(g));
    }
}

struct Adder {
    int *sum, what;
    void *params[2];
    CUDA_KERNEL_NODE_PARAMS p;

    Adder(int *s, int w) : sum(s), what(w), p() {
        params[0] = &sum;
        params[1] = &what;
        p.func = function();
        p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
        p.kernelParams = params;
    }
};

struct Graph {
    CUgraph graph;
    CUgraphNode node;
    int *sum;

    explicit Graph(int what) {
        CHECK(cudaMalloc(&sum, 64));
        Adder a(sum, what);
        OK(cuGraphCreate(&graph, 0));
        OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &a.p));
    }

    CUgraphExec exec() const {
        CUgraphExec e;
        OK(cuGraphInstantiate(&e, graph, 0));
        return e;
    }

    /* Returns the sum that a launch leaves in memory that was zero. */
    int gives(CUgraphExec e) const {
        int got = -1;
        OK(cuMemsetD32(of(sum), 0, 16));
        OK(cuGraphLaunch(e, NULL));
        OK(cuMemcpyDtoH(&got, of(sum), sizeof(got)));
        return got;
    }
};

static void node_attributes() {
    Graph g(1);
    CUkernelNodeAttrValue v = {}, got;
    CUgraphNode other;
    Adder a(g.sum, 2);
    OK(cuGraphAddKernelNode(&other, g.graph, NULL, 0, &a.p));
    v.priority = -2;
    OK(cuGraphKernelNodeSetAttribute(g.node, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
    OK(cuGraphKernelNodeGetAttribute(g.node, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &got));
    EXPECT(got.priority == -2);
    v = {};
    v.cooperative = 1;
    OK(cuGraphKernelNodeSetAttribute(g.node, CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &v));
    OK(cuGraphKernelNodeGetAttribute(g.node, CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &got));
    EXPECT(got.cooperative == 1);
    OK(cuGraphKernelNodeGetAttribute(g.node, CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &got));
    EXPECT(got.memSyncDomainMap.default_ == 0 && got.memSyncDomainMap.remote == 1);
    OK(cuGraphKernelNodeCopyAttributes(other, g.node));
    OK(cuGraphKernelNodeGetAttribute(other, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &got));
    EXPECT(got.priority == -2);
    GIVES(cuGraphKernelNodeSetAttribute(g.node, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v),
          INVALID_VALUE);
    GIVES(cuGraphKernelNodeGetAttribute(g.node, (CUkernelNodeAttrID)99, &got), INVALID_VALUE);
    v = {};
    v.clusterSchedulingPolicyPreference = (CUclusterSchedulingPolicy)77;
    GIVES(cuGraphKernelNodeSetAttribute(
              g.node, CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, &v),
          INVALID_VALUE);
}

static CUDA_MEMSET_NODE_PARAMS fill(int *p, unsigned int value) {
    CUDA_MEMSET_NODE_PARAMS m = {};
    m.dst = of(p);
    m.elementSize = 4;
    m.width = m.height = 1;
    m.value = value;
    return m;
}

static CUDA_MEMCPY3D copy(int *to, int *from) {
    CUDA_MEMCPY3D c = {};
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = of(from);
    c.dstDevice = of(to);
    c.WidthInBytes = 4;
    c.Height = c.Depth = 1;
    return c;
}

static void node_params() {
    Graph g(3);
    CUcontext current;
    OK(cuCtxGetCurrent(&current));
    EXPECT(g.gives(g.exec()) == 3);
    Adder other(g.sum, 8);
    CUDA_KERNEL_NODE_PARAMS got;
    OK(cuGraphKernelNodeSetParams(g.node, &other.p));
    OK(cuGraphKernelNodeGetParams(g.node, &got));
    EXPECT(*(int *)got.kernelParams[1] == 8);
    EXPECT(g.gives(g.exec()) == 8);
    CUgraphNode set, moved;
    CUDA_MEMSET_NODE_PARAMS m = fill(g.sum + 1, 40), m_got;
    CUDA_MEMCPY3D c = copy(g.sum, g.sum + 1), c_got;
    OK(cuGraphAddMemsetNode(&set, g.graph, &g.node, 1, &m, current));
    OK(cuGraphAddMemcpyNode(&moved, g.graph, &set, 1, &c, current));
    EXPECT(g.gives(g.exec()) == 40);
    m = fill(g.sum + 2, 50);
    OK(cuGraphMemsetNodeSetParams(set, &m));
    OK(cuGraphMemsetNodeGetParams(set, &m_got));
    EXPECT(m_got.value == 50 && m_got.dst == of(g.sum + 2));
    EXPECT(g.gives(g.exec()) == 0);
    c = copy(g.sum, g.sum + 2);
    OK(cuGraphMemcpyNodeSetParams(moved, &c));
    OK(cuGraphMemcpyNodeGetParams(moved, &c_got));
    EXPECT(c_got.srcDevice == of(g.sum + 2));
    EXPECT(g.gives(g.exec()) == 50);
    GIVES(cuGraphMemsetNodeSetParams(g.node, &m), INVALID_VALUE);
    m.elementSize = 3;
    GIVES(cuGraphMemsetNodeSetParams(set, &m), INVALID_VALUE);
}

static int called;

static void call_first(void *) {
    called += 1;
}

static void call_second(void *) {
    called += 100;
}

static void node_other_params() {
    CUgraph g;
    CUgraphNode host, record, wait;
    CUDA_HOST_NODE_PARAMS h = {call_first, NULL}, h_got;
    CUevent first, second, got;
    OK(cuEventCreate(&first, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&second, CU_EVENT_DEFAULT));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddHostNode(&host, g, NULL, 0, &h));
    OK(cuGraphAddEventRecordNode(&record, g, &host, 1, first));
    OK(cuGraphAddEventWaitNode(&wait, g, &record, 1, first));
    h.fn = call_second;
    OK(cuGraphHostNodeSetParams(host, &h));
    OK(cuGraphHostNodeGetParams(host, &h_got));
    EXPECT(h_got.fn == call_second);
    OK(cuGraphEventRecordNodeSetEvent(record, second));
    OK(cuGraphEventRecordNodeGetEvent(record, &got));
    EXPECT(got == second);
    OK(cuGraphEventWaitNodeSetEvent(wait, second));
    OK(cuGraphEventWaitNodeGetEvent(wait, &got));
    EXPECT(got == second);
    CUgraphExec e;
    OK(cuGraphInstantiate(&e, g, 0));
    OK(cuGraphLaunch(e, NULL));
    OK(cuCtxSynchronize());
    EXPECT(called == 100);
    GIVES(cuGraphEventRecordNodeSetEvent(host, second), INVALID_VALUE);
}

static void exec_params() {
    Graph g(3);
    CUcontext current;
    CUgraphNode set, moved;
    OK(cuCtxGetCurrent(&current));
    CUDA_MEMSET_NODE_PARAMS m = fill(g.sum + 1, 40);
    CUDA_MEMCPY3D c = copy(g.sum + 2, g.sum + 1);
    OK(cuGraphAddMemsetNode(&set, g.graph, &g.node, 1, &m, current));
    OK(cuGraphAddMemcpyNode(&moved, g.graph, &set, 1, &c, current));
    CUgraphExec e = g.exec();
    EXPECT(g.gives(e) == 3);
    Adder other(g.sum, 8);
    OK(cuGraphExecKernelNodeSetParams(e, g.node, &other.p));
    EXPECT(g.gives(e) == 8 && g.gives(g.exec()) == 3);
    m = fill(g.sum + 1, 60);
    OK(cuGraphExecMemsetNodeSetParams(e, set, &m, current));
    c = copy(g.sum, g.sum + 1);
    OK(cuGraphExecMemcpyNodeSetParams(e, moved, &c, current));
    EXPECT(g.gives(e) == 60 && g.gives(g.exec()) == 3);
    CUgraphNodeParams any = {};
    any.type = CU_GRAPH_NODE_TYPE_MEMSET;
    any.memset.dst = of(g.sum + 1);
    any.memset.elementSize = 4;
    any.memset.width = any.memset.height = 1;
    any.memset.value = 70;
    any.memset.ctx = current;
    OK(cuGraphExecNodeSetParams(e, set, &any));
    EXPECT(g.gives(e) == 70);
    OK(cuGraphNodeSetParams(set, &any));
    EXPECT(g.gives(g.exec()) == 3);
}

static void exec_other_params() {
    CUgraph g, child, other;
    CUgraphNode host, record, wait, sub, ignored;
    CUgraphExec e;
    int *sum, got;
    CUDA_HOST_NODE_PARAMS h = {call_first, NULL};
    CUevent first, second;
    OK(cuEventCreate(&first, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&second, CU_EVENT_DEFAULT));
    CHECK(cudaMalloc(&sum, sizeof(*sum)));
    CHECK(cudaMemset(sum, 0, sizeof(*sum)));
    Adder five(sum, 5), six(sum, 6);
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphCreate(&child, 0));
    OK(cuGraphCreate(&other, 0));
    OK(cuGraphAddKernelNode(&ignored, child, NULL, 0, &five.p));
    OK(cuGraphAddKernelNode(&ignored, other, NULL, 0, &six.p));
    OK(cuGraphAddHostNode(&host, g, NULL, 0, &h));
    OK(cuGraphAddEventRecordNode(&record, g, &host, 1, first));
    OK(cuGraphAddEventWaitNode(&wait, g, &record, 1, first));
    OK(cuGraphAddChildGraphNode(&sub, g, &wait, 1, child));
    OK(cuGraphInstantiate(&e, g, 0));
    called = 0;
    h.fn = call_second;
    OK(cuGraphExecHostNodeSetParams(e, host, &h));
    OK(cuGraphExecEventRecordNodeSetEvent(e, record, second));
    OK(cuGraphExecEventWaitNodeSetEvent(e, wait, second));
    OK(cuGraphExecChildGraphNodeSetParams(e, sub, other));
    OK(cuGraphLaunch(e, NULL));
    OK(cuCtxSynchronize());
    CHECK(cudaMemcpy(&got, sum, sizeof(got), cudaMemcpyDeviceToHost));
    EXPECT(called == 100 && got == 6);
    float ms;
    GIVES(cuEventElapsedTime(&ms, first, second), INVALID_HANDLE);
    OK(cuEventElapsedTime(&ms, second, second));
}

static void exec_enabled() {
    Graph g(3);
    CUgraphExec e = g.exec();
    unsigned int on = 77;
    cuuint64_t flags = 77;
    OK(cuGraphNodeSetEnabled(e, g.node, 0));
    OK(cuGraphNodeGetEnabled(e, g.node, &on));
    EXPECT(on == 0 && g.gives(e) == 0);
    OK(cuGraphNodeSetEnabled(e, g.node, 1));
    OK(cuGraphNodeGetEnabled(e, g.node, &on));
    EXPECT(on == 1 && g.gives(e) == 3);
    OK(cuGraphExecGetFlags(e, &flags));
    EXPECT(flags == 0);
    OK(cuGraphInstantiate(&e, g.graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    OK(cuGraphExecGetFlags(e, &flags));
    EXPECT(flags == CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
}

static cuuint64_t graph_value(CUgraphMem_attribute attribute) {
    cuuint64_t value = 77;
    OK(cuDeviceGetGraphMemAttribute(0, attribute, &value));
    return value;
}

static void graph_memory_watermarks() {
    CUgraph g;
    CUgraphNode node, end;
    CUgraphExec e;
    CUDA_MEM_ALLOC_NODE_PARAMS p = {};
    cuuint64_t zero = 0, one = 1;
    p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.bytesize = 4 << 20;
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemAllocNode(&node, g, NULL, 0, &p));
    OK(cuGraphAddMemFreeNode(&end, g, &node, 1, p.dptr));
    OK(cuGraphInstantiate(&e, g, 0));
    OK(cuGraphLaunch(e, NULL));
    OK(cuCtxSynchronize());
    EXPECT(graph_value(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) >= 4 << 20);
    EXPECT(graph_value(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) >= 4 << 20);
    EXPECT(graph_value(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) >= 4 << 20);
    GIVES(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &one), INVALID_VALUE);
    GIVES(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero),
          INVALID_VALUE);
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuDeviceGraphMemTrim(0));
    EXPECT(graph_value(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 0);
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero));
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    EXPECT(graph_value(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) == 0);
    EXPECT(graph_value(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 0);
}

static volatile int destroyed;

static void destroy(void *) {
    destroyed++;
}

static void user_objects() {
    CUuserObject o;
    CUgraph g;
    OK(cuUserObjectCreate(&o, NULL, destroy, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuUserObjectRetain(o, 3));
    OK(cuUserObjectRelease(o, 4));
    EXPECT(destroyed == 0);
    OK(cuGraphDestroy(g));
    for (int i = 0; i < 10000 && !destroyed; i++)
        usleep(1000);
    EXPECT(destroyed == 1);
    GIVES(cuUserObjectCreate(&o, NULL, destroy, 1, 0), INVALID_VALUE);
}

/* ---- texture references, green contexts ------------------------------------------------------ */

static const char texture_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                  ".visible .global .texref plane;\n"
                                  ".visible .entry k()\n{\nret;\n}\n";

static void texture_reference_settings() {
    CUmodule module;
    CUtexref t;
    CUaddress_mode mode;
    CUfilter_mode filter;
    CUarray_format format;
    unsigned int flags;
    float bias, least, most, border[4] = {0.25f, 0.5f, 0.75f, 1}, got[4];
    int anisotropy, channels;
    OK(cuModuleLoadData(&module, texture_ptx));
    OK(cuModuleGetTexRef(&t, module, "plane"));
    OK(cuTexRefSetAddressMode(t, 0, CU_TR_ADDRESS_MODE_MIRROR));
    OK(cuTexRefGetAddressMode(&mode, t, 0));
    EXPECT(mode == CU_TR_ADDRESS_MODE_MIRROR);
    OK(cuTexRefSetFilterMode(t, CU_TR_FILTER_MODE_LINEAR));
    OK(cuTexRefGetFilterMode(&filter, t));
    EXPECT(filter == CU_TR_FILTER_MODE_LINEAR);
    OK(cuTexRefSetMipmapFilterMode(t, CU_TR_FILTER_MODE_POINT));
    OK(cuTexRefGetMipmapFilterMode(&filter, t));
    EXPECT(filter == CU_TR_FILTER_MODE_POINT);
    OK(cuTexRefSetMipmapLevelBias(t, 1.5f));
    OK(cuTexRefGetMipmapLevelBias(&bias, t));
    EXPECT(bias == 1.5f);
    OK(cuTexRefSetMipmapLevelClamp(t, 1, 3));
    OK(cuTexRefGetMipmapLevelClamp(&least, &most, t));
    EXPECT(least == 1 && most == 3);
    OK(cuTexRefSetMaxAnisotropy(t, 4));
    OK(cuTexRefGetMaxAnisotropy(&anisotropy, t));
    EXPECT(anisotropy == 4);
    OK(cuTexRefSetBorderColor(t, border));
    OK(cuTexRefGetBorderColor(got, t));
    EXPECT(memcmp(got, border, sizeof(got)) == 0);
    OK(cuTexRefSetFlags(t, CU_TRSF_NORMALIZED_COORDINATES));
    OK(cuTexRefGetFlags(&flags, t));
    EXPECT(flags == CU_TRSF_NORMALIZED_COORDINATES);
    OK(cuTexRefSetFormat(t, CU_AD_FORMAT_FLOAT, 2));
    OK(cuTexRefGetFormat(&format, &channels, t));
    EXPECT(format == CU_AD_FORMAT_FLOAT && channels == 2);
}

static void green_resources() {
    CUdevResource all, part[2], got;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUcontext context;
    CUstream s;
    unsigned int groups = 2;
    std::set<unsigned long long> seen;
    OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    EXPECT(all.sm.smCount == (unsigned)device(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    OK(cuDevSmResourceSplitByCount(part, &groups, &all, NULL, 0, 8));
    OK(cuDevResourceGenerateDesc(&desc, part, 1));
    for (int i = 0; i < 300; i++) {
        unsigned long long id = 0;
        OK(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
        OK(cuGreenCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_SM));
        EXPECT(got.sm.smCount == part[0].sm.smCount);
        OK(cuGreenCtxGetId(green, &id));
        EXPECT(seen.insert(id).second);
        OK(cuCtxFromGreenCtx(&context, green));
        OK(cuCtxGetDevResource(context, &got, CU_DEV_RESOURCE_TYPE_SM));
        EXPECT(got.sm.smCount == part[0].sm.smCount);
        OK(cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0));
        OK(cuStreamGetDevResource(s, &got, CU_DEV_RESOURCE_TYPE_SM));
        EXPECT(got.sm.smCount == part[0].sm.smCount);
        OK(cuStreamDestroy(s));
        OK(cuGreenCtxDestroy(green));
    }
}

/* ---- the driver's log ------------------------------------------------------------------------ */

static std::vector<std::string> heard;

static void CUDA_CB hear(void *data, CUlogLevel level, char *message, size_t length) {
    EXPECT(data == &heard && level == CU_LOG_LEVEL_ERROR && strlen(message) == length);
    heard.push_back(message);
}

static void logs_are_heard() {
    CUlogsCallbackHandle handle;
    CUlogIterator mark, again;
    char text[512];
    size_t bytes = sizeof(text), n = 1;
    bool yes;
    OK(cuLogsCurrent(&mark, 0));
    again = mark;
    OK(cuLogsRegisterCallback(hear, &heard, &handle));
    GIVES(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &yes, &n), NOT_SUPPORTED);
    EXPECT(heard.size() == 1 && heard[0].find("cuCoredumpGetAttribute") != std::string::npos);
    OK(cuLogsDumpToMemory(&mark, text, &bytes, 0));
    EXPECT(bytes == strlen(text) && text == heard[0] + "\n");
    bytes = sizeof(text);
    OK(cuLogsDumpToMemory(&mark, text, &bytes, 0));
    EXPECT(bytes == 0);
    bytes = 8;
    GIVES(cuLogsDumpToMemory(&again, text, &bytes, 0), INVALID_VALUE);
    OK(cuLogsUnregisterCallback(handle));
    GIVES(cuLogsUnregisterCallback(handle), INVALID_VALUE);
    GIVES(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &yes, &n), NOT_SUPPORTED);
    EXPECT(heard.size() == 1);
}

#include "gen_promises.inc"

int main(int argc, char **argv) {
    const int count = sizeof(promises) / sizeof(promises[0]);
    for (int i = 0; i < count; i++) {
        if (argc < 2)
            printf("%s\n", promises[i].name);
        else if (!strcmp(argv[1], promises[i].name)) {
            CHECK(cudaFree(0));
            promises[i].run();
            printf("%s\n", argv[1]);
            return 0;
        }
    }
    return argc >= 2;
}
