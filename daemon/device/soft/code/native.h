/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that kernels call and nobody defines in PTX: those of the system, the launch of graphs,
 * and the device runtime's (cudadevrt), which programs know as cudaX, and what nvcc 12 and newer
 * compiles as __cudaCDP2X, each with a twin _ptsz that means the thread's own default stream.
 */
#ifndef DAEMON_DEVICE_SOFT_CODE_NATIVE_H
#define DAEMON_DEVICE_SOFT_CODE_NATIVE_H

#include <stdbool.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

/* X(name, bytes of each parameter): a dim3 has 12. */
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

/* What a declaration stands for: by its name and the sizes of its parameters. NATIVE_NONE for what
 * is defined, and for all other names. */
enum code_native native_find(const struct ptx_func *f);

/* The device runtime's, which a grid needs more for than its own launch. */
static inline bool native_is_cdp(enum code_native native) {
    return native > NATIVE_GraphLaunch;
}

/* Gives or takes memory of the client's heap. */
static inline bool native_uses_heap(enum code_native native) {
    return native == NATIVE_malloc || native == NATIVE_Malloc;
}

/* The name is CUDA's own, so that nobody but CUDA could define it. */
bool native_is_cudas(const char *name);

#endif
