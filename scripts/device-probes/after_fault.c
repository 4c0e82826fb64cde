/* SPDX-License-Identifier: Apache-2.0
 * After an illegal address: what does each call return, can the process have a new context
 * without ending, and how long does that take? */
#include "scripts/device-probes/probe.h"

static double since_ms(uint64_t begin) {
    return (probe_now_ns() - begin) / 1e6;
}

static void say(const char *what, CUresult r) {
    probe_fact(what, "%s", r ? probe_error(r) : "success");
}

/* Calls each function in a context that has faulted. */
static void what_works(CUdeviceptr p, CUfunction f, CUmemGenericAllocationHandle chunk) {
    int fd = -1;
    uint32_t word;
    CUstream s;
    CUmemAllocationProp prop = {0};
    CUmemGenericAllocationHandle more;
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    say("copy", cu.cuMemcpyDtoH_v2(&word, p, 4));
    say("launch", probe_launch_values(f, 1, 1, NULL, (uint64_t[PROBE_PARAMS]){0}));
    say("stream_create", cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    say("mem_create", cu.cuMemCreate(&more, probe_small() ? 2 << 20 : 32 << 20, &prop, 0));
    say("export",
        cu.cuMemExportToShareableHandle(&fd, chunk, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}

/* Resets the primary context and uses it again in the same process. */
static bool again(CUdevice dev) {
    CUcontext ctx;
    CUdeviceptr p;
    CUmodule m;
    CUfunction bump;
    uint64_t begin = probe_now_ns();
    CUresult r = cu.cuDevicePrimaryCtxReset(dev);
    say("primary_context_reset", r);
    probe_figure(since_ms(begin), "ms", "reset");
    begin = probe_now_ns();
    if ((r = cu.cuDevicePrimaryCtxRetain(&ctx, dev)) == CUDA_SUCCESS) r = cu.cuCtxSetCurrent(ctx);
    if (r == CUDA_SUCCESS) r = cu.cuMemAlloc_v2(&p, 8);
    if (r == CUDA_SUCCESS) r = cu.cuModuleLoadData(&m, probe_ptx);
    if (r == CUDA_SUCCESS) r = cu.cuModuleGetFunction(&bump, m, "bump");
    if (r == CUDA_SUCCESS) r = probe_launch_values(bump, 1, 1, NULL, (uint64_t[PROBE_PARAMS]){p});
    if (r == CUDA_SUCCESS) r = cu.cuCtxSynchronize();
    say("a_new_context_in_the_same_process", r);
    probe_figure(since_ms(begin), "ms", "new_context_and_first_kernel");
    return r == CUDA_SUCCESS;
}

int main(void) {
    CUdevice dev;
    CUdeviceptr p;
    probe_begin("after_fault",
                "Can a process go on after an illegal address, by resetting its primary context?");
    probe_driver_open();
    TRY(cu.cuDeviceGet(&dev, 0));
    TRY(cu.cuMemAlloc_v2(&p, 8));
    CUmodule m = probe_work();
    CUfunction stray = probe_function(m, "stray"), nothing = probe_function(m, "nothing");
    CUmemGenericAllocationHandle chunk = probe_chunk(probe_granule());
    LAUNCH(nothing, 1, 1, NULL);
    TRY(cu.cuCtxSynchronize());
    uint64_t begin = probe_now_ns();
    LAUNCH(stray, 1, 1, NULL, 0x10);
    CUresult r = cu.cuCtxSynchronize();
    probe_figure(since_ms(begin), "ms", "until_the_fault_is_told");
    say("the_fault", r);
    if (r == CUDA_SUCCESS) return probe_end(false, "a store to address 16 was no error");
    what_works(p, nothing, chunk);
    bool goes_on = again(dev);
    return probe_end(true, "the fault is %s; a new context in the same process %s", probe_error(r),
                     goes_on ? "works" : "does not work");
}
