/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that kernels call but PTX does not define: the system's, the launch of graphs, and
 * those of the device runtime (cudadevrt). Programs know the latter as cudaX; nvcc 12 and newer
 * compiles them as __cudaCDP2X. Each has a twin _ptsz, which uses the thread's own default stream.
 */
#ifndef DAEMON_DEVICE_SOFT_CODE_NATIVE_H
#define DAEMON_DEVICE_SOFT_CODE_NATIVE_H

#include <stdbool.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

/* X(name, bytes of each parameter). A dim3 has 12 bytes. */
#define NATIVE_SYSTEM(X) \
    X(vprintf, 8, 8)     \
    X(malloc, 8)         \
    X(free, 8)           \
    X(__assertfail, 8, 8, 4, 8, 8)

#define NATIVE_GRAPH(X) X(GraphLaunch, 8, 8)

#define NATIVE_CDP(X)                                        \
    X(GetParameterBuffer, 8, 8)                              \
    X(GetParameterBufferV2, 8, 12, 12, 4)                    \
    X(LaunchDevice, 8, 8, 12, 12, 4, 8)                      \
    X(LaunchDeviceV2, 8, 8)                                  \
    X(StreamCreateWithFlags, 8, 4)                           \
    X(StreamDestroy, 8)                                      \
    X(StreamWaitEvent, 8, 8, 4)                              \
    X(EventCreateWithFlags, 8, 4)                            \
    X(EventRecord, 8, 8)                                     \
    X(EventRecordWithFlags, 8, 8, 4)                         \
    X(EventDestroy, 8)                                       \
    X(MemcpyAsync, 8, 8, 8, 4, 8)                            \
    X(Memcpy2DAsync, 8, 8, 8, 8, 8, 8, 4, 8)                 \
    X(Memcpy3DAsync, 8, 8)                                   \
    X(MemsetAsync, 8, 4, 8, 8)                               \
    X(Memset2DAsync, 8, 8, 4, 8, 8, 8)                       \
    X(Memset3DAsync, 32, 4, 24, 8)                           \
    X(Malloc, 8, 8)                                          \
    X(Free, 8)                                               \
    X(GetLastError, 0)                                       \
    X(PeekAtLastError, 0)                                    \
    X(GetErrorString, 4)                                     \
    X(GetErrorName, 4)                                       \
    X(GetDeviceCount, 8)                                     \
    X(GetDevice, 8)                                          \
    X(RuntimeGetVersion, 8)                                  \
    X(DeviceGetAttribute, 8, 4, 4)                           \
    X(DeviceGetLimit, 8, 4)                                  \
    X(DeviceGetCacheConfig, 8)                               \
    X(DeviceGetSharedMemConfig, 8)                           \
    X(FuncGetAttributes, 8, 8)                               \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, 8, 8, 4, 8) \
    X(OccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 8, 8, 4, 8, 4)

enum code_native {
    NATIVE_NONE,
#define X(name, ...) NATIVE_##name,
    NATIVE_SYSTEM(X) NATIVE_GRAPH(X) NATIVE_CDP(X)
#undef X
};

/* Finds the function of a declaration by name and parameter sizes. Returns NATIVE_NONE if the
 * function is defined, or if name or sizes fit none. */
enum code_native native_find(const struct ptx_func *f);

/* True for functions of the device runtime, which need more state of a grid than its own launch. */
static inline bool native_is_cdp(enum code_native native) {
    return native > NATIVE_GraphLaunch;
}

/* True for the functions that allocate from the client's heap (heap.h). free() is not among them:
 * without an allocation there is nothing to free. */
static inline bool native_uses_heap(enum code_native native) {
    return native == NATIVE_malloc || native == NATIVE_Malloc;
}

/* True if the name is reserved for CUDA, so that only CUDA could define it. */
bool native_is_cudas(const char *name);

#endif
