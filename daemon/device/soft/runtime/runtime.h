/* SPDX-License-Identifier: Apache-2.0
 *
 * What CUDA's device runtime has for all kernels of a client: facts about the device, the texts of
 * its errors, and room for the parameters of grids that were asked for and have not begun, of which
 * there can be as many as CUDA's limit of pending launches says. Owner: the client's space; texts
 * and parameters lie in memory of the client's, which kernels may spoil: nothing of it is believed.
 * Thread-safe.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_RUNTIME_H
#define DAEMON_DEVICE_SOFT_RUNTIME_RUNTIME_H

#include <stdatomic.h>
#include <stdint.h>

#include "proto/cuda/occupancy.h"

struct heap;

#define RUNTIME_PARAMS_MAX 4096u /* bytes of one grid's */
/* Bytes that an average pending launch may take of the parameters' room: with the texts, CUDA's
 * default of 2048 launches fills a granule. */
#define RUNTIME_PARAMS_BYTES 960u

/* X(NAME, cudaError, name, text): what the device runtime's calls give. */
#define RUNTIME_ERRORS(X)                                                                          \
    X(SUCCESS, 0, "cudaSuccess", "no error")                                                       \
    X(INVALID_VALUE, 1, "cudaErrorInvalidValue", "invalid argument")                               \
    X(NO_MEMORY, 2, "cudaErrorMemoryAllocation", "out of memory")                                  \
    X(INVALID_CONFIGURATION, 9, "cudaErrorInvalidConfiguration", "invalid configuration argument") \
    X(INVALID_DIRECTION, 21, "cudaErrorInvalidMemcpyDirection",                                    \
      "invalid copy direction for memcpy")                                                         \
    X(MAX_DEPTH, 65, "cudaErrorLaunchMaxDepthExceeded",                                            \
      "launch would exceed maximum depth of nested launches")                                      \
    X(PENDING_COUNT, 69, "cudaErrorLaunchPendingCountExceeded",                                    \
      "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount")           \
    X(INVALID_FUNCTION, 98, "cudaErrorInvalidDeviceFunction", "invalid device function")           \
    X(INVALID_DEVICE, 101, "cudaErrorInvalidDevice", "invalid device ordinal")                     \
    X(UNSUPPORTED_LIMIT, 215, "cudaErrorUnsupportedLimit",                                         \
      "limit is not supported on this "                                                            \
      "architecture")                                                                              \
    X(OUT_OF_RESOURCES, 701, "cudaErrorLaunchOutOfResources",                                      \
      "too many resources requested "                                                              \
      "for launch")                                                                                \
    X(UNKNOWN, 999, "cudaErrorUnknown", "unknown error")

enum runtime_error {
#define X(name, number, ...) RUNTIME_##name = (number),
    RUNTIME_ERRORS(X)
#undef X
};

struct runtime_facts {
    struct occupancy_sm sm;
    uint32_t sm_count, capability; /* 90 for 9.0 */
    uint32_t shared_per_block_bytes, clock_khz, mem_clock_khz, mem_bus_bits, l2_bytes;
};

struct runtime_limits {
    uint64_t stack_bytes, text_bytes, heap_bytes; /* kept by others, if at all */
    uint32_t pending;
};

struct runtime {
    struct runtime_facts facts;
    _Atomic uint64_t stack_bytes, text_bytes, heap_bytes;
    _Atomic uint32_t pending_limit, pending; /* launches that have not begun */
    uint64_t texts;                          /* in memory of the client's */
    struct heap *params;                     /* the rest of it */
};

/* Bytes of the client's memory for so many pending launches. */
uint64_t runtime_room(uint32_t pending_limit);
/* In [lo, hi), zeroed memory of the client's that stays mapped. 0 or -ENOMEM. */
int runtime_init(struct runtime *r, uint64_t lo, uint64_t hi);
void runtime_finish(struct runtime *r);
void runtime_set_limits(struct runtime *r, const struct runtime_limits *limits);
struct runtime_limits runtime_get_limits(struct runtime *r);
/* More room for parameters, which is used before what is left of the old. */
void runtime_extend(struct runtime *r, uint64_t lo, uint64_t hi);

/* Room for a grid's parameters, aligned to 64: RUNTIME_SUCCESS, _PENDING_COUNT, or
 * _OUT_OF_RESOURCES when there is none though fewer launches are pending. To be given back when the
 * grid begins. */
enum runtime_error runtime_take(struct runtime *r, uint64_t bytes, uint64_t *addr);
void runtime_give(struct runtime *r, uint64_t addr);

/* Address of an error's name, or of what it means. */
uint64_t runtime_error_name(const struct runtime *r, uint32_t error);
uint64_t runtime_error_text(const struct runtime *r, uint32_t error);

#endif
