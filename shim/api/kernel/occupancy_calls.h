/* SPDX-License-Identifier: Apache-2.0
 *
 * How many blocks of a kernel one multiprocessor holds: from the device's and the kernel's numbers,
 * without asking anybody.
 */
#ifndef SHIM_API_KERNEL_OCCUPANCY_CALLS_H
#define SHIM_API_KERNEL_OCCUPANCY_CALLS_H

#include <stdint.h>

struct function;
struct stream;

/* 0 when not even one fits. `dynamic`: bytes of shared memory beyond the kernel's own. */
uint32_t occupancy_calls_resident(const struct function *f, uint32_t threads, uint64_t dynamic);

/* Multiprocessors that kernels in the stream have: a green context's, or all. NULL, and a default
 * stream, stand for the current context. */
uint32_t occupancy_calls_part(const struct stream *s);

#endif
