/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/context/limits.h"

#include "proto/wire/wire.h"
#include "shim/device/device_view.h"

#define STACK_UNIT 16u
#define STACK_MOST (512u << 10) /* bytes of local memory that a thread can have */
#define FIFO_LEAST 4096u
#define SYNC_DEPTH_MOST 24u
#define FETCH_MOST 128u

static size_t at_most(size_t value, size_t most) {
    return value < most ? value : most;
}

static CUresult adjust_stack(size_t *value) {
    if (*value > STACK_MOST) return CUDA_ERROR_INVALID_VALUE;
    size_t units = (*value + STACK_UNIT - 1) / STACK_UNIT;
    *value = (units ? units : 1) * STACK_UNIT;
    return CUDA_SUCCESS;
}

/* Checks the depth of device-side synchronization. Devices of 9.0 and newer have no such call. */
static CUresult check_depth(size_t value) {
    if (state.conn.device.cc_major >= 9) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    return value <= SYNC_DEPTH_MOST ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult limits_adjust(CUlimit limit, size_t *value) {
    switch (limit) {
    case CU_LIMIT_STACK_SIZE: return adjust_stack(value);
    case CU_LIMIT_PRINTF_FIFO_SIZE:
        if (state.conn.minor < LIMITS_FIFO_SINCE) *value = WIRE_TEXT_BYTES;
        if (*value < FIFO_LEAST) *value = FIFO_LEAST;
        return CUDA_SUCCESS;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: return CUDA_SUCCESS;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH: return check_depth(*value);
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
        *value = at_most(*value, FETCH_MOST);
        return CUDA_SUCCESS;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
        *value =
            at_most(*value, (size_t)device_view(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE));
        return CUDA_SUCCESS;
    /* The other limits are about graphics contexts, which do not exist here. */
    default: return CUDA_ERROR_UNSUPPORTED_LIMIT;
    }
}

size_t limits_with(const struct context *c, CUlimit limit, size_t value) {
    for (uint32_t i = 0; i < ctx_limit(); i++) {
        const struct context *other = ctx_at(i);
        if (other == c || !atom_load_acquire(&other->live)) continue;
        if (other->limits[limit] > value) value = other->limits[limit];
    }
    return value;
}

size_t limits_get(const struct context *c, CUlimit limit) {
    return limits_with(c, limit, c->limits[limit]);
}

void limits_use(struct context *c, uint32_t calls) {
    if ((atom_load_relaxed(&c->calls) & calls) != calls) atom_or_relaxed(&c->calls, calls);
}

bool limits_is_late(const struct context *c, CUlimit limit) {
    uint32_t call = limit == CU_LIMIT_PRINTF_FIFO_SIZE   ? WIRE_CALLS_PRINTF
                    : limit == CU_LIMIT_MALLOC_HEAP_SIZE ? WIRE_CALLS_MALLOC
                                                         : 0;
    return (atom_load_relaxed(&c->calls) & call) != 0;
}
