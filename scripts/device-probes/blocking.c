/* SPDX-License-Identifier: Apache-2.0
 * Finds the calls that wait for a running kernel; the worker's loop must make none of them. The
 * kernel runs until the host ends it, or for some seconds. */
#include <pthread.h>
#include <sys/mman.h>

#include "scripts/device-probes/probe.h"

static double patience_ms = 400; /* PROBE_PATIENCE_MS sets it, for a machine with busy processors */
static CUcontext context;
static CUstream beside; /* a stream that the spinning kernel does not use */
static CUdeviceptr range, spare_ptr;
static size_t granule;
static CUmemGenericAllocationHandle chunk, spare;
static void *page;
static CUmodule other;
static const void *image =
    probe_ptx; /* machine code where available: compiling takes long by itself */

static CUresult do_nothing(void) {
    return cu.cuDeviceGet(&(CUdevice){0}, 0);
}
static CUresult do_create(void) {
    CUmemAllocationProp prop = {0};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return cu.cuMemCreate(&spare, granule, &prop, 0);
}
static CUresult do_map(void) {
    return cu.cuMemMap(range, granule, 0, chunk, 0);
}
static CUresult do_access(void) {
    CUmemAccessDesc all = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    return cu.cuMemSetAccess(range, granule, &all, 1);
}
static CUresult do_unmap(void) {
    return cu.cuMemUnmap(range, granule);
}
static CUresult do_release(void) {
    return cu.cuMemRelease(chunk);
}
static CUresult do_load(void) {
    return cu.cuModuleLoadData(&other, image);
}
static CUresult do_unload(void) {
    return cu.cuModuleUnload(other);
}
static CUresult do_register(void) {
    return cu.cuMemHostRegister_v2(page, 1 << 20, CU_MEMHOSTREGISTER_DEVICEMAP);
}
static CUresult do_unregister(void) {
    return cu.cuMemHostUnregister(page);
}
static CUresult do_alloc(void) {
    return cu.cuMemAlloc_v2(&spare_ptr, 1 << 20);
}
static CUresult do_free(void) {
    return cu.cuMemFree_v2(spare_ptr);
}
static CUresult do_alloc_host(void) {
    void *p;
    return cu.cuMemAllocHost_v2(&p, 1 << 20);
}
static CUresult do_stream(void) {
    CUstream s;
    return cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
}
static CUresult do_event(void) {
    CUevent e;
    return cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
}
static CUresult do_launch(void) {
    return cu.cuMemsetD32Async(range + granule, 1, 64, beside);
}

/* The calls in order: each relies on those before it. */
static const struct {
    const char *name;
    CUresult (*call)(void);
} calls[] = {{"cuDeviceGet", do_nothing},
             {"cuMemCreate", do_create},
             {"cuMemMap", do_map},
             {"cuMemSetAccess", do_access},
             {"cuMemUnmap", do_unmap},
             {"cuMemRelease", do_release},
             {"cuModuleLoadData", do_load},
             {"cuModuleUnload", do_unload},
             {"cuMemHostRegister", do_register},
             {"cuMemHostUnregister", do_unregister},
             {"cuMemAlloc", do_alloc},
             {"cuMemFree", do_free},
             {"cuMemAllocHost", do_alloc_host},
             {"cuStreamCreate", do_stream},
             {"cuEventCreate", do_event},
             {"cuMemsetD32Async", do_launch}};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

struct attempt {
    int call;
    CUresult result;
    volatile uint64_t done_at;
};

static void *attempt_it(void *arg) {
    struct attempt *a = arg;
    TRY(cu.cuCtxSetCurrent(context));
    a->result = calls[a->call].call();
    a->done_at = probe_now_ns();
    return NULL;
}

static CUfunction spin;
static CUstream stream;
static volatile uint32_t *flags; /* [0]: the kernel may end; [1]: the kernel runs */
static CUdeviceptr flags_dev;

/* Starts the kernel and waits until it runs. Returns false when it never does. */
static bool begin_kernel(void) {
    uint64_t begin = probe_now_ns();
    flags[0] = flags[1] = 0;
    LAUNCH(spin, 1, 1, stream, flags_dev, flags_dev + 4, (uint64_t)(5 * patience_ms * 1e6));
    while (!flags[1])
        if (probe_now_ns() - begin > 12.5 * patience_ms * 1e6) return false;
    return true;
}

/* While a call waits in another thread, measures whether another stream makes progress. If the
 * driver blocks this thread too, the time ends when the kernel ends by itself. */
static void look_beside(const char *name) {
    uint64_t begin = probe_now_ns();
    CUresult r = do_launch();
    uint64_t given = probe_now_ns();
    while (!r && cu.cuStreamQuery(beside) == CUDA_ERROR_NOT_READY)
        continue;
    probe_figure((given - begin) / 1e3, "us", "to_give_beside_%s", name);
    probe_figure((probe_now_ns() - given) / 1e3, "us", "to_be_done_beside_%s", name);
}

/* Returns true when the call returned while the kernel ran. */
static bool returns(int call, bool *valid) {
    struct attempt a = {call, CUDA_SUCCESS, 0};
    pthread_t thread;
    uint64_t begin = probe_now_ns();
    *valid = begin_kernel();
    if (!*valid) return false;
    uint64_t asked = probe_now_ns();
    pthread_create(&thread, NULL, attempt_it, &a);
    while (!a.done_at && probe_now_ns() - asked < patience_ms * 1e6)
        probe_sleep_ms(0.05);
    bool early = a.done_at != 0;
    if (!early) look_beside(calls[call].name);
    bool still = cu.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY;
    flags[0] = 1;
    pthread_join(thread, NULL);
    TRY(cu.cuStreamSynchronize(stream));
    probe_figure((a.done_at - asked) / 1e3, "us", "%s_us_behind_a_kernel", calls[call].name);
    if (a.result) probe_fact(calls[call].name, "%s", probe_error(a.result));
    *valid = still; /* a kernel that ended early proves nothing */
    if (!still) probe_fact("kernel_ended_early", "after %.0f ms", (probe_now_ns() - begin) / 1e6);
    return early;
}

/* Never freed: the linker owns the machine code. */
static void compile(void) {
    CUlinkState link;
    void *cubin;
    size_t bytes;
    if (cu.cuLinkCreate_v2(0, NULL, NULL, &link) == CUDA_SUCCESS &&
        cu.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)probe_ptx, strlen(probe_ptx) + 1,
                            "probe", 0, NULL, NULL) == CUDA_SUCCESS &&
        cu.cuLinkComplete(link, &cubin, &bytes) == CUDA_SUCCESS)
        image = cubin;
}

static void prepare(void) {
    void *p;
    TRY(cu.cuCtxGetCurrent(&context));
    compile();
    spin = probe_function(probe_module(), "spin");
    TRY(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(cu.cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    TRY(cu.cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    flags = p;
    TRY(cu.cuMemHostGetDevicePointer_v2(&flags_dev, p, 0));
    granule = probe_granule();
    TRY(cu.cuMemAddressReserve(&range, 2 * granule, 0, 0, 0));
    chunk = probe_chunk(granule);
    probe_map(range + granule, granule, probe_chunk(granule));
    page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(page, 1, 1 << 20);
}

int main(void) {
    char waits[400] = "";
    int asked = 0, waited = 0;
    probe_begin("blocking", "Which calls wait for a kernel that runs in another stream?");
    if (getenv("PROBE_PATIENCE_MS") && atof(getenv("PROBE_PATIENCE_MS")) > 0)
        patience_ms = atof(getenv("PROBE_PATIENCE_MS"));
    probe_driver_open();
    prepare();
    for (int i = 0; i < CALLS; i++) {
        bool valid, early = returns(i, &valid);
        if (!valid) continue;
        asked++;
        if (early) continue;
        waited++;
        snprintf(waits + strlen(waits), sizeof(waits) - strlen(waits), " %s", calls[i].name);
    }
    probe_figure(asked, "calls", "asked");
    probe_figure(waited, "calls", "that_wait");
    if (asked == 0) return probe_end(false, "no kernel ran while the host went on");
    return probe_end(asked == CALLS, waited ? "these wait:%s" : "none waits%s", waits);
}
