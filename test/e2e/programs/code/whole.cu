/* SPDX-License-Identifier: Apache-2.0
 * Queries about parts of the device and about graph memory, neither of which exists here, and
 * the private slot that the runtime uses from CUDA 13.1 on. */
#include <cuda.h>

#include "common.h"

typedef CUresult (*slot)(void);

static const CUuuid cudart_id = {{0x6b, (char)0xd5, (char)0xfb, 0x6c, 0x5b, (char)0xf4, (char)0xe7,
                                  0x4a, (char)0x89, (char)0x87, (char)0xd9, 0x39, 0x12, (char)0xfd,
                                  (char)0x9d, (char)0xf9}};
static const CUuuid blas_id = {{0x17, 0x34, (char)0xdc, 0x26, (char)0x80, 0x0d, 0x47, 0x45,
                                (char)0x87, 0x26, (char)0xc0, (char)0xf1, (char)0xe7, (char)0xdd,
                                (char)0x8b, (char)0xca}};
static const CUuuid cupti_id = {{0x7c, (char)0xb6, 0x3f, (char)0x9b, (char)0x9c, (char)0xa4,
                                 (char)0x8e, 0x42, (char)0xa4, (char)0x84, (char)0xbe, (char)0xb6,
                                 0x6e, 0x6a, (char)0xed, 0x7f}};

static void expect(CUresult got, CUresult want, const char *what) {
    REQUIRE(got == want, "%s gave %d, expected %d", what, (int)got, (int)want);
}

#define GIVES(call, result) expect(call, result, #call)
#define WORKS(call) GIVES(call, CUDA_SUCCESS)

static void check_sms(const CUdevResource *got, int sms) {
    REQUIRE(got->type == CU_DEV_RESOURCE_TYPE_SM, "the type is %d", (int)got->type);
    REQUIRE((int)got->sm.smCount == sms, "%u SMs of %d", got->sm.smCount, sms);
    REQUIRE(got->sm.smCount % got->sm.smCoscheduledAlignment == 0, "%u and %u", got->sm.smCount,
            got->sm.smCoscheduledAlignment);
    REQUIRE(got->sm.minSmPartitionSize <= got->sm.smCount, "%u", got->sm.minSmPartitionSize);
}

static void resources(CUcontext context, int sms) {
    CUdevResource got;
    memset(&got, 0xff, sizeof(got));
    WORKS(cuDeviceGetDevResource(0, &got, CU_DEV_RESOURCE_TYPE_SM));
    check_sms(&got, sms);
    memset(&got, 0xff, sizeof(got));
    WORKS(cuCtxGetDevResource(context, &got, CU_DEV_RESOURCE_TYPE_SM));
    check_sms(&got, sms);
    WORKS(cuCtxGetDevResource(NULL, &got, CU_DEV_RESOURCE_TYPE_SM));
    GIVES(cuDeviceGetDevResource(1, &got, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_DEVICE);
    GIVES(cuDeviceGetDevResource(0, NULL, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_VALUE);
    GIVES(cuDeviceGetDevResource(0, &got, CU_DEV_RESOURCE_TYPE_INVALID),
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    GIVES(cuCtxGetDevResource((CUcontext)&got, &got, CU_DEV_RESOURCE_TYPE_SM),
          CUDA_ERROR_INVALID_CONTEXT);
}

static void green(void) {
    CUgreenCtx of = (CUgreenCtx)&of;
    CUstream stream;
    WORKS(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    WORKS(cuStreamGetGreenCtx(stream, &of));
    REQUIRE(of == NULL, "the stream has a green context");
    of = (CUgreenCtx)&of;
    WORKS(cuStreamGetGreenCtx(NULL, &of));
    REQUIRE(of == NULL, "the default stream has a green context");
    GIVES(cuStreamGetGreenCtx((CUstream)&of, &of), CUDA_ERROR_INVALID_HANDLE);
    WORKS(cuStreamDestroy(stream));
}

static void graph_memory(void) {
    for (int a = CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT; a <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
         a++) {
        cuuint64_t bytes = 5;
        WORKS(cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)a, &bytes));
        REQUIRE(bytes == 0, "attribute %d is %llu", a, (unsigned long long)bytes);
        bool high =
            a == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || a == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
        GIVES(cuDeviceSetGraphMemAttribute(0, (CUgraphMem_attribute)a, &bytes),
              high ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
        bytes = 1;
        GIVES(cuDeviceSetGraphMemAttribute(0, (CUgraphMem_attribute)a, &bytes),
              CUDA_ERROR_INVALID_VALUE);
    }
    cuuint64_t bytes;
    GIVES(cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)4, &bytes),
          CUDA_ERROR_INVALID_VALUE);
    GIVES(cuDeviceGetGraphMemAttribute(1, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &bytes),
          CUDA_ERROR_INVALID_DEVICE);
    WORKS(cuDeviceGraphMemTrim(0));
    GIVES(cuDeviceGraphMemTrim(-1), CUDA_ERROR_INVALID_DEVICE);
}

static void tables(void) {
    const slot *table;
    WORKS(cuGetExportTable((const void **)&table, &cudart_id));
    WORKS(table[12]());
    WORKS(cuGetExportTable((const void **)&table, &blas_id));
    REQUIRE((size_t)table[0] >= 5 * sizeof(void *), "%zu bytes", (size_t)table[0]);
    GIVES(table[4](), CUDA_ERROR_NOT_SUPPORTED);
    WORKS(cuGetExportTable((const void **)&table, &cupti_id));
    REQUIRE((size_t)table[0] > 32 * sizeof(void *), "%zu bytes", (size_t)table[0]);
    GIVES(table[32](), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void) {
    CUcontext context;
    int sms;
    WORKS(cuInit(0));
    WORKS(cuDevicePrimaryCtxRetain(&context, 0));
    GIVES(cuCtxGetDevResource(NULL, NULL, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_CONTEXT);
    WORKS(cuCtxPushCurrent(context));
    WORKS(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    resources(context, sms);
    green();
    graph_memory();
    tables();
    printf("whole\n");
    return 0;
}
