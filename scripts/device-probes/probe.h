/* SPDX-License-Identifier: Apache-2.0
 *
 * Common parts of the probes: the driver, which is loaded at run time; processes that are forked
 * before the driver is loaded; and the one JSON object that a probe prints. Nothing here is part of
 * the product, and nothing needs CUDA's toolkit.
 *
 * Owner: the process. Thread: the main thread, but for the driver's own calls and probe_now_ns().
 */
#ifndef DEVICE_PROBES_PROBE_H
#define DEVICE_PROBES_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "proto/gen/prototypes.h"
#include "scripts/device-probes/report.h"

/* ---- the driver ------------------------------------------------------------------------------ */

/* Every driver call that a probe makes, by its exported name. */
#define PROBE_CALLS(X)                \
    X(cuInit)                         \
    X(cuDriverGetVersion)             \
    X(cuGetErrorName)                 \
    X(cuGetExportTable)               \
    X(cuDeviceGet)                    \
    X(cuDeviceGetName)                \
    X(cuDeviceGetAttribute)           \
    X(cuDeviceTotalMem_v2)            \
    X(cuDevicePrimaryCtxRetain)       \
    X(cuDevicePrimaryCtxReset)        \
    X(cuCtxSetCurrent)                \
    X(cuCtxGetCurrent)                \
    X(cuCtxSynchronize)               \
    X(cuCtxGetStreamPriorityRange)    \
    X(cuCtxCreate_v2)                 \
    X(cuCtxDestroy_v2)                \
    X(cuModuleLoadData)               \
    X(cuModuleUnload)                 \
    X(cuModuleGetFunction)            \
    X(cuModuleGetGlobal_v2)           \
    X(cuLinkCreate_v2)                \
    X(cuLinkAddData_v2)               \
    X(cuLinkComplete)                 \
    X(cuLinkDestroy)                  \
    X(cuLaunchKernel)                 \
    X(cuLaunchHostFunc)               \
    X(cuStreamCreate)                 \
    X(cuStreamCreateWithPriority)     \
    X(cuStreamDestroy_v2)             \
    X(cuStreamSynchronize)            \
    X(cuStreamQuery)                  \
    X(cuStreamWriteValue64_v2)        \
    X(cuStreamWriteValue32_v2)        \
    X(cuEventCreate)                  \
    X(cuEventDestroy_v2)              \
    X(cuEventRecord)                  \
    X(cuEventQuery)                   \
    X(cuEventSynchronize)             \
    X(cuMemAlloc_v2)                  \
    X(cuMemFree_v2)                   \
    X(cuMemGetInfo_v2)                \
    X(cuMemAllocHost_v2)              \
    X(cuMemHostAlloc)                 \
    X(cuMemFreeHost)                  \
    X(cuMemHostRegister_v2)           \
    X(cuMemHostUnregister)            \
    X(cuMemHostGetDevicePointer_v2)   \
    X(cuMemcpyHtoD_v2)                \
    X(cuMemcpyDtoH_v2)                \
    X(cuMemcpyHtoDAsync_v2)           \
    X(cuMemcpyDtoHAsync_v2)           \
    X(cuMemsetD32_v2)                 \
    X(cuMemsetD32Async)               \
    X(cuMemAddressReserve)            \
    X(cuMemAddressFree)               \
    X(cuMemCreate)                    \
    X(cuMemRelease)                   \
    X(cuMemMap)                       \
    X(cuMemUnmap)                     \
    X(cuMemSetAccess)                 \
    X(cuMemExportToShareableHandle)   \
    X(cuMemImportFromShareableHandle) \
    X(cuMemGetAllocationGranularity)  \
    X(cuDeviceGetDevResource)         \
    X(cuDevSmResourceSplitByCount)    \
    X(cuDevResourceGenerateDesc)      \
    X(cuGreenCtxCreate)               \
    X(cuGreenCtxDestroy)              \
    X(cuGreenCtxStreamCreate)         \
    X(cuCtxFromGreenCtx)

struct probe_driver {
#define PROBE_MEMBER(call) __typeof__(&call) call;
    PROBE_CALLS(PROBE_MEMBER)
#undef PROBE_MEMBER
};
/* The driver's functions. A function that the driver lacks returns CUDA_ERROR_NOT_FOUND. */
extern struct probe_driver cu;

/* Loads libcuda.so.1, initialises it, and makes the primary context of device 0 current; ends the
 * probe if that fails. A process that forks others calls this after the last fork. */
void probe_driver_open(void);
/* The steps of probe_driver_open(), for a probe that times them. */
void probe_driver_load(void);

/* Ends the probe (or the forked process, which its parent notices) unless the call returns
 * CUDA_SUCCESS. */
#define TRY(call) probe_try((call), #call, __FILE__, __LINE__)
void probe_try(CUresult r, const char *what, const char *file, int line);
/* Returns the error's name, such as "CUDA_ERROR_INVALID_VALUE", or a number. Static memory. */
const char *probe_error(CUresult r);

/* ---- kernels --------------------------------------------------------------------------------- */

/* PTX for sm_75 and later, the same for all probes:
 *   nothing(u64 x 8)                       does nothing
 *   fill(p, u64 n, u32 seed)               word i = i * 2654435761 + seed
 *   check(p, u64 n, u32 seed, u64 *wrong)  *wrong += number of words with other values
 *   spin(flag, started, u64 limit_ns)      *started = 1, then spins until *flag or the time limit
 *   endless(p)                             spins until *p is 0xffffffff, which never happens
 *   stray(p)                               stores to p, an unmapped address
 *   bump(p)                                *p += 1 by one thread
 *   burn(p, u32 rounds)                    a chain of FMAs per thread, its result to p[i]
 *   where(p)                               p[%smid] = 1
 *   stamp(p)                               *p = the device's time in ns
 *   count(p)                               *p = ++probe_variable
 *   say(u32 n)                             printf("said %u\n", n) by one thread
 *   stir(p, u64 n, u32 rounds, u32 seed)   hashes words in place
 *   fold(out, p, u64 n)                    *out += each word * an odd number for its place */
extern const char probe_ptx[];
CUmodule probe_module(void);
/* A module like that of probe_module() without `count` and `say`, so that nothing in it ends with
 * its context. */
CUmodule probe_work(void);
CUfunction probe_function(CUmodule module, const char *name);
/* A launch takes up to 8 parameters, each in 8 bytes of memory: narrower ones use the low end. */
#define PROBE_PARAMS 8
#define LAUNCH(f, blocks, threads, stream, ...)                                                   \
    probe_try_launch(f, blocks, threads, stream, (uint64_t[PROBE_PARAMS]){__VA_ARGS__}, __FILE__, \
                     __LINE__)
void probe_try_launch(CUfunction f, unsigned blocks, unsigned threads, CUstream stream,
                      const uint64_t *values, const char *file, int line);
CUresult probe_launch_values(CUfunction f, unsigned blocks, unsigned threads, CUstream stream,
                             const uint64_t *values);

/* ---- device memory with a descriptor --------------------------------------------------------- */

/* `bytes` must be a multiple of probe_granule(). */
size_t probe_granule(void);
CUmemGenericAllocationHandle probe_chunk(size_t bytes);
int probe_export(CUmemGenericAllocationHandle chunk);
CUmemGenericAllocationHandle probe_import(int fd);
void probe_map(CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle chunk);

/* ---- other processes ------------------------------------------------------------------------- */

struct probe_child {
    pid_t pid;
    int peer; /* the parent's end of the socket */
};

/* Forks a process that runs `body` with its end of the socket; `body` never returns. Only before
 * probe_driver_open(). */
struct probe_child probe_fork(void (*body)(int peer, void *arg), void *arg);
/* Waits for a child. Returns the exit status, 128 + the signal that ended it, or -1 when it still
 * ran after `seconds` and was killed. */
int probe_join(struct probe_child *c, double seconds);

/* These send and receive a word, or a descriptor with a word. Each ends the calling process when
 * its peer is gone. */
void probe_tell(int peer, uint64_t word);
uint64_t probe_hear(int peer);
/* Like probe_hear(), but returns false when no word comes within the time or the peer is gone. */
bool probe_hear_within(int peer, uint64_t *word, double seconds);
void probe_give_fd(int peer, int fd);
int probe_take_fd(int peer);

#endif
