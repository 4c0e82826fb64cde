/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses the driver API as a worker on the real driver does: libcuda.so.1 by dlopen,
 * entry points by cuGetProcAddress, one context for several threads. Each topic is a file; it ends
 * the program when something differs from CUDA.
 */
#ifndef TEST_E2E_DRIVER_H
#define TEST_E2E_DRIVER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/gen/prototypes.h"

/* The functions that a program of CUDA 12.8 looks up: X(member, name, a function of the same
 * type) */
#define DRIVER_VERSION 12080
#define DRIVER_ENTRIES(X)                                                                          \
    X(Init, "cuInit", cuInit)                                                                      \
    X(DriverGetVersion, "cuDriverGetVersion", cuDriverGetVersion)                                  \
    X(DeviceGet, "cuDeviceGet", cuDeviceGet)                                                       \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", cuDeviceGetAttribute)                            \
    X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)                \
    X(DevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset)                   \
    X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease)             \
    X(CtxCreate, "cuCtxCreate", cuCtxCreate_v2)                                                    \
    X(CtxDestroy, "cuCtxDestroy", cuCtxDestroy_v2)                                                 \
    X(CtxSetCurrent, "cuCtxSetCurrent", cuCtxSetCurrent)                                           \
    X(CtxSynchronize, "cuCtxSynchronize", cuCtxSynchronize)                                        \
    X(CtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", cuCtxGetStreamPriorityRange)       \
    X(MemGetInfo, "cuMemGetInfo", cuMemGetInfo_v2)                                                 \
    X(MemAlloc, "cuMemAlloc", cuMemAlloc_v2)                                                       \
    X(MemFree, "cuMemFree", cuMemFree_v2)                                                          \
    X(MemGetAllocationGranularity, "cuMemGetAllocationGranularity", cuMemGetAllocationGranularity) \
    X(MemCreate, "cuMemCreate", cuMemCreate)                                                       \
    X(MemRelease, "cuMemRelease", cuMemRelease)                                                    \
    X(MemExportToShareableHandle, "cuMemExportToShareableHandle", cuMemExportToShareableHandle)    \
    X(MemImportFromShareableHandle, "cuMemImportFromShareableHandle",                              \
      cuMemImportFromShareableHandle)                                                              \
    X(MemAddressReserve, "cuMemAddressReserve", cuMemAddressReserve)                               \
    X(MemAddressFree, "cuMemAddressFree", cuMemAddressFree)                                        \
    X(MemMap, "cuMemMap", cuMemMap)                                                                \
    X(MemUnmap, "cuMemUnmap", cuMemUnmap)                                                          \
    X(MemSetAccess, "cuMemSetAccess", cuMemSetAccess)                                              \
    X(MemHostRegister, "cuMemHostRegister", cuMemHostRegister_v2)                                  \
    X(MemHostUnregister, "cuMemHostUnregister", cuMemHostUnregister)                               \
    X(MemHostGetDevicePointer, "cuMemHostGetDevicePointer", cuMemHostGetDevicePointer_v2)          \
    X(MemHostAlloc, "cuMemHostAlloc", cuMemHostAlloc)                                              \
    X(MemFreeHost, "cuMemFreeHost", cuMemFreeHost)                                                 \
    X(MemcpyAsync, "cuMemcpyAsync", cuMemcpyAsync)                                                 \
    X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync", cuMemcpyDtoDAsync_v2)                                  \
    X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2)                                  \
    X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2)                                  \
    X(Memcpy2DAsync, "cuMemcpy2DAsync", cuMemcpy2DAsync_v2)                                        \
    X(Memcpy3DAsync, "cuMemcpy3DAsync", cuMemcpy3DAsync_v2)                                        \
    X(MemsetD8Async, "cuMemsetD8Async", cuMemsetD8Async)                                           \
    X(MemsetD16Async, "cuMemsetD16Async", cuMemsetD16Async)                                        \
    X(MemsetD32Async, "cuMemsetD32Async", cuMemsetD32Async)                                        \
    X(MemsetD2D32Async, "cuMemsetD2D32Async", cuMemsetD2D32Async)                                  \
    X(StreamCreate, "cuStreamCreate", cuStreamCreate)                                              \
    X(StreamCreateWithPriority, "cuStreamCreateWithPriority", cuStreamCreateWithPriority)          \
    X(StreamGetPriority, "cuStreamGetPriority", cuStreamGetPriority)                               \
    X(StreamDestroy, "cuStreamDestroy", cuStreamDestroy_v2)                                        \
    X(StreamSynchronize, "cuStreamSynchronize", cuStreamSynchronize)                               \
    X(StreamQuery, "cuStreamQuery", cuStreamQuery)                                                 \
    X(StreamWaitEvent, "cuStreamWaitEvent", cuStreamWaitEvent)                                     \
    X(StreamWriteValue32, "cuStreamWriteValue32", cuStreamWriteValue32_v2)                         \
    X(StreamWriteValue64, "cuStreamWriteValue64", cuStreamWriteValue64_v2)                         \
    X(EventCreate, "cuEventCreate", cuEventCreate)                                                 \
    X(EventDestroy, "cuEventDestroy", cuEventDestroy_v2)                                           \
    X(EventRecord, "cuEventRecord", cuEventRecord)                                                 \
    X(EventQuery, "cuEventQuery", cuEventQuery)                                                    \
    X(EventSynchronize, "cuEventSynchronize", cuEventSynchronize)                                  \
    X(EventElapsedTime, "cuEventElapsedTime", cuEventElapsedTime)                                  \
    X(LaunchHostFunc, "cuLaunchHostFunc", cuLaunchHostFunc)                                        \
    X(LaunchKernel, "cuLaunchKernel", cuLaunchKernel)                                              \
    X(LaunchKernelEx, "cuLaunchKernelEx", cuLaunchKernelEx)                                        \
    X(ModuleLoadData, "cuModuleLoadData", cuModuleLoadData)                                        \
    X(ModuleLoadDataEx, "cuModuleLoadDataEx", cuModuleLoadDataEx)                                  \
    X(ModuleUnload, "cuModuleUnload", cuModuleUnload)                                              \
    X(ModuleGetFunction, "cuModuleGetFunction", cuModuleGetFunction)                               \
    X(ModuleGetGlobal, "cuModuleGetGlobal", cuModuleGetGlobal_v2)                                  \
    X(ModuleGetFunctionCount, "cuModuleGetFunctionCount", cuModuleGetFunctionCount)                \
    X(ModuleEnumerateFunctions, "cuModuleEnumerateFunctions", cuModuleEnumerateFunctions)          \
    X(LibraryLoadData, "cuLibraryLoadData", cuLibraryLoadData)                                     \
    X(LibraryUnload, "cuLibraryUnload", cuLibraryUnload)                                           \
    X(LibraryGetKernel, "cuLibraryGetKernel", cuLibraryGetKernel)                                  \
    X(LibraryGetModule, "cuLibraryGetModule", cuLibraryGetModule)                                  \
    X(FuncGetName, "cuFuncGetName", cuFuncGetName)                                                 \
    X(FuncGetParamInfo, "cuFuncGetParamInfo", cuFuncGetParamInfo)                                  \
    X(FuncGetAttribute, "cuFuncGetAttribute", cuFuncGetAttribute)                                  \
    X(FuncSetAttribute, "cuFuncSetAttribute", cuFuncSetAttribute)                                  \
    X(FuncLoad, "cuFuncLoad", cuFuncLoad)                                                          \
    X(OccupancyMaxActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                     \
      cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                 \
    X(OccupancyMaxPotentialBlockSize, "cuOccupancyMaxPotentialBlockSize",                          \
      cuOccupancyMaxPotentialBlockSize)                                                            \
    X(OccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters", cuOccupancyMaxActiveClusters)    \
    X(OccupancyAvailableDynamicSMem, "cuOccupancyAvailableDynamicSMemPerBlock",                    \
      cuOccupancyAvailableDynamicSMemPerBlock)                                                     \
    X(ArrayCreate, "cuArrayCreate", cuArrayCreate_v2)                                              \
    X(Array3DCreate, "cuArray3DCreate", cuArray3DCreate_v2)                                        \
    X(ArrayDestroy, "cuArrayDestroy", cuArrayDestroy)                                              \
    X(MipmappedArrayCreate, "cuMipmappedArrayCreate", cuMipmappedArrayCreate)                      \
    X(MipmappedArrayGetLevel, "cuMipmappedArrayGetLevel", cuMipmappedArrayGetLevel)                \
    X(MipmappedArrayDestroy, "cuMipmappedArrayDestroy", cuMipmappedArrayDestroy)                   \
    X(TexObjectCreate, "cuTexObjectCreate", cuTexObjectCreate)                                     \
    X(TexObjectDestroy, "cuTexObjectDestroy", cuTexObjectDestroy)                                  \
    X(SurfObjectCreate, "cuSurfObjectCreate", cuSurfObjectCreate)                                  \
    X(SurfObjectDestroy, "cuSurfObjectDestroy", cuSurfObjectDestroy)                               \
    X(DeviceGetDevResource, "cuDeviceGetDevResource", cuDeviceGetDevResource)                      \
    X(DevSmResourceSplitByCount, "cuDevSmResourceSplitByCount", cuDevSmResourceSplitByCount)       \
    X(DevResourceGenerateDesc, "cuDevResourceGenerateDesc", cuDevResourceGenerateDesc)             \
    X(GreenCtxCreate, "cuGreenCtxCreate", cuGreenCtxCreate)                                        \
    X(GreenCtxDestroy, "cuGreenCtxDestroy", cuGreenCtxDestroy)                                     \
    X(GreenCtxStreamCreate, "cuGreenCtxStreamCreate", cuGreenCtxStreamCreate)

struct driver {
#define X(member, name, form) __typeof__(form) *member;
    DRIVER_ENTRIES(X)
#undef X
};

extern struct driver cu;
extern CUcontext driver_context; /* the primary context, current on the program's first thread */
extern CUfunction driver_fill, driver_count, driver_add, driver_wild, driver_endless, driver_bump;
extern bool driver_times; /* print the times of the calls */

CUfunction driver_function(CUmodule module, const char *name);

void driver_expect(CUresult got, CUresult want, const char *what, const char *file, int line);
void driver_fail(const char *file, int line, const char *what);

#define GIVES(want, call) driver_expect(call, want, #call, __FILE__, __LINE__)
#define WORKS(call) GIVES(CUDA_SUCCESS, call)
#define REQUIRE(condition)                                             \
    do {                                                               \
        if (!(condition)) driver_fail(__FILE__, __LINE__, #condition); \
    } while (0)

/* Launches as many threads, in blocks of 128, as `words` words need. */
void driver_launch(CUfunction f, CUstream stream, unsigned words, void **params);
/* Sets p[i] = i * 2654435761 + seed for `words` words. */
void driver_fill_words(CUdeviceptr p, unsigned words, unsigned seed, CUstream stream);
/* Waits, and ends the program unless the words are those of driver_fill_words(). */
void driver_check_words(CUdeviceptr p, unsigned words, unsigned seed, const char *what);

/* Prints the time per call of `calls` calls since `begin` (driver_now), if times are wanted. */
unsigned long long driver_now(void);
void driver_took(const char *what, unsigned calls, unsigned long long begin);

void topic_memory(void);
void topic_words(void);
void topic_green(void);
void topic_code(void);
void topic_textures(void);
void topic_fault(void);
void topic_exit(void);
void topic_shared(void);
void topic_peer(void);
void topic_unshared(void);
void topic_many(void);
void topic_holds(void);
void topic_busy(void);

#endif
