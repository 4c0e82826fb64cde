/* SPDX-License-Identifier: Apache-2.0
 *
 * State of CUDA's device runtime for all kernels of a client: facts about the device, the texts of
 * its errors, and memory for the parameters of pending launches. CUDA's limit of pending launches
 * bounds their number. Owner: the client's space. Texts and parameters lie in the client's memory,
 * which kernels may spoil, so no value in them is trusted. Thread-safe.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_RUNTIME_H
#define DAEMON_DEVICE_SOFT_RUNTIME_RUNTIME_H

#include <stdatomic.h>
#include <stdint.h>

#include "proto/cuda/occupancy.h"

struct heap;

#define RUNTIME_PARAMS_MAX 4096u /* bytes of one grid's parameters */
/* Bytes of parameter memory per pending launch, on average: together with the texts, CUDA's default
 * of 2048 launches fills a granule. */
#define RUNTIME_PARAMS_BYTES 960u

/* X(NAME, cudaError, name, text): results of the device runtime's calls. */
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
    uint32_t sm_count, capability; /* capability: 90 for 9.0 */
    uint32_t shared_per_block_bytes, clock_khz, mem_clock_khz, mem_bus_bits, l2_bytes;
};

struct runtime_limits {
    uint64_t stack_bytes, text_bytes, heap_bytes; /* other files apply them, if at all */
    uint32_t pending;
};

struct runtime {
    struct runtime_facts facts;
    _Atomic uint64_t stack_bytes, text_bytes, heap_bytes;
    _Atomic uint32_t pending_limit, pending; /* pending: launches that have not begun */
    uint64_t texts;                          /* address of the texts in the client's memory */
    struct heap *params;                     /* allocates the rest of that memory */
};

/* Bytes of the client's memory for this many pending launches. */
uint64_t runtime_room(uint32_t pending_limit);
/* Uses [lo, hi), zeroed memory of the client that stays mapped. Returns 0 or -ENOMEM. */
int runtime_init(struct runtime *r, uint64_t lo, uint64_t hi);
void runtime_finish(struct runtime *r);
void runtime_set_limits(struct runtime *r, const struct runtime_limits *limits);
struct runtime_limits runtime_get_limits(struct runtime *r);
/* Takes memory for parameters from [lo, hi) from now on (heap_extend). */
void runtime_extend(struct runtime *r, uint64_t lo, uint64_t hi);

/* Allocates memory for a grid's parameters, aligned to 64. Returns RUNTIME_SUCCESS,
 * RUNTIME_PENDING_COUNT, or RUNTIME_OUT_OF_RESOURCES when there is no memory although fewer
 * launches are pending. The caller gives the memory back when the grid begins. */
enum runtime_error runtime_take(struct runtime *r, uint64_t bytes, uint64_t *addr);
void runtime_give(struct runtime *r, uint64_t addr);

/* Return the address of an error's name, and of its description. */
uint64_t runtime_error_name(const struct runtime *r, uint32_t error);
uint64_t runtime_error_text(const struct runtime *r, uint32_t error);

#endif
