/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits of contexts (CUlimit). The device keeps to one value of each, so that what is in force
 * is the largest that a living context asked for. Any thread.
 */
#ifndef SHIM_CONTEXT_LIMITS_H
#define SHIM_CONTEXT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/context/ctx.h"

/* Minor version of the protocol from which on the FIFO of printf can have another size. */
#define LIMITS_FIFO_SINCE 9

/* Makes `value` what the device takes for it: rounded, or clamped. CUDA_ERROR_INVALID_VALUE,
 * CUDA_ERROR_UNSUPPORTED_LIMIT: it cannot be set. */
CUresult limits_adjust(CUlimit limit, size_t *value);

/* In force for `c`; and what would be if `c` asked for `value`. */
size_t limits_get(const struct context *c, CUlimit limit);
size_t limits_with(const struct context *c, CUlimit limit, size_t value);

/* WIRE_CALLS_*: a kernel that makes these calls is about to be launched in `c`. */
void limits_use(struct context *c, uint32_t calls);
/* A kernel that this limit bounds was launched in `c`: it cannot be changed any more. */
bool limits_is_late(const struct context *c, CUlimit limit);

#endif
