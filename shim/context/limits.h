/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits of contexts (CUlimit). The device has one value of each limit, so the value in force
 * is the largest one that a living context requested. Any thread.
 */
#ifndef SHIM_CONTEXT_LIMITS_H
#define SHIM_CONTEXT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/context/ctx.h"

/* First minor version of the protocol in which the FIFO of printf can have another size. */
#define LIMITS_FIFO_SINCE 9

/* Rounds or clamps `value` to what the device accepts. CUDA_ERROR_INVALID_VALUE: it is too large;
 * CUDA_ERROR_UNSUPPORTED_LIMIT: the device has no such limit. */
CUresult limits_adjust(CUlimit limit, size_t *value);

/* The limit in force for `c`, and the limit that would be in force if `c` asked for `value`. */
size_t limits_get(const struct context *c, CUlimit limit);
size_t limits_with(const struct context *c, CUlimit limit, size_t value);

/* Notes that a kernel which makes these calls (WIRE_CALLS_*) is about to be launched in `c`. */
void limits_use(struct context *c, uint32_t calls);
/* True when a kernel that this limit bounds was launched in `c`: the limit cannot be changed any
 * more. */
bool limits_is_late(const struct context *c, CUlimit limit);

#endif
