/* SPDX-License-Identifier: Apache-2.0
 * Calls that need no current context, by a thread that has none: according to CUDA's
 * documentation, none of them can return CUDA_ERROR_INVALID_CONTEXT. A call that needs a context
 * must return it. */
#include <cuda.h>

#include "common.h"

#define BYTES (1 << 20)

static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                          ".visible .entry k()\n{\nret;\n}\n";

static void expect(CUresult got, CUresult want, const char *what) {
    REQUIRE(got == want, "%s gave %d, expected %d", what, (int)got, (int)want);
}

#define WORKS(call) expect(call, CUDA_SUCCESS, #call)

static void pools(void) {
    CUmemoryPool pool, old;
    CUmemAccessDesc access = {};
    CUmemAccess_flags flags;
    CUmemPoolProps props = {};
    cuuint64_t keep = BYTES, got = 0;
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    WORKS(cuDeviceGetDefaultMemPool(&old, 0));
    WORKS(cuDeviceGetMemPool(&old, 0));
    WORKS(cuMemPoolCreate(&pool, &props));
    WORKS(cuDeviceSetMemPool(0, pool));
    WORKS(cuDeviceSetMemPool(0, old));
    WORKS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    WORKS(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &got));
    REQUIRE(got == keep, "the threshold is %llu", (unsigned long long)got);
    WORKS(cuMemPoolSetAccess(pool, &access, 1));
    WORKS(cuMemPoolGetAccess(&flags, pool, &access.location));
    WORKS(cuMemPoolTrimTo(pool, 0));
    WORKS(cuMemPoolDestroy(pool));
}

static void objects(void) {
    CUcontext context;
    CUevent event;
    CUmodule module;
    CUdeviceptr managed;
    CUmemLocation here = {};
    unsigned int count = 0;
    here.type = CU_MEM_LOCATION_TYPE_DEVICE;
    WORKS(cuDevicePrimaryCtxRetain(&context, 0));
    WORKS(cuCtxPushCurrent(context));
    WORKS(cuEventCreate(&event, CU_EVENT_DEFAULT));
    WORKS(cuModuleLoadData(&module, ptx));
    WORKS(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    WORKS(cuCtxPopCurrent(NULL));
    WORKS(cuEventQuery(event));
    WORKS(cuModuleGetFunctionCount(&count, module));
    REQUIRE(count == 1, "%u kernels", count);
    expect(cuMemAdvise(managed, BYTES, CU_MEM_ADVISE_SET_READ_MOSTLY, here),
           CUDA_ERROR_INVALID_CONTEXT, "what managed memory is for, whatever is documented");
    WORKS(cuMemFree(managed));
    WORKS(cuDevicePrimaryCtxRelease(0));
}

static void device(void) {
    int parts = -1;
    CUdevice none = 1;
    WORKS(cuDeviceGetExecAffinitySupport(&parts, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
    REQUIRE(parts == 0, "contexts of a part of the device: %d", parts);
    expect(cuDeviceGetExecAffinitySupport(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0),
           CUDA_ERROR_INVALID_VALUE, "no place for the answer");
    expect(cuDeviceGetExecAffinitySupport(&parts, CU_EXEC_AFFINITY_TYPE_SM_COUNT, none),
           CUDA_ERROR_INVALID_DEVICE, "a device that is not there");
}

/* NVIDIA's documentation lists the error for these calls. But its runtime, and programs whose
 * threads clean up at their ends or wait for one another's events, rely on their not returning
 * it. */
static void others(void) {
    CUcontext context;
    CUevent events[2];
    CUstream stream;
    void *host;
    float ms = -1;
    WORKS(cuDevicePrimaryCtxRetain(&context, 0));
    WORKS(cuCtxPushCurrent(context));
    WORKS(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    WORKS(cuMemAllocHost(&host, BYTES));
    for (int i = 0; i < 2; i++) {
        WORKS(cuEventCreate(&events[i], CU_EVENT_DEFAULT));
        WORKS(cuEventRecord(events[i], stream));
    }
    WORKS(cuCtxPopCurrent(NULL));
    WORKS(cuEventSynchronize(events[1]));
    WORKS(cuEventElapsedTime(&ms, events[0], events[1]));
    REQUIRE(ms >= 0, "%f ms", ms);
    WORKS(cuStreamDestroy(stream));
    WORKS(cuMemFreeHost(host));
    WORKS(cuDevicePrimaryCtxRelease(0));
}

static void pointers(void) {
    CUmemorytype type = CU_MEMORYTYPE_DEVICE;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *place = &type;
    CUdeviceptr ours = (CUdeviceptr)(uintptr_t)&type;
    WORKS(cuPointerGetAttributes(1, &attribute, &place, ours));
    REQUIRE(type == 0, "memory of the program's own has type %d", (int)type);
    expect(cuPointerGetAttribute(&type, attribute, ours), CUDA_ERROR_INVALID_VALUE,
           "the single form");
}

int main(void) {
    CUdeviceptr p;
    WORKS(cuInit(0));
    device();
    pointers();
    pools();
    expect(cuMemAlloc(&p, BYTES), CUDA_ERROR_INVALID_CONTEXT, "an allocation without a context");
    objects();
    others();
    printf("contextless\n");
    return 0;
}
