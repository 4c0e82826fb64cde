/* SPDX-License-Identifier: Apache-2.0
 *
 * The number of blocks of a kernel that fit on one multiprocessor, computed from the device's and
 * the kernel's resources without asking the worker.
 */
#ifndef SHIM_API_KERNEL_OCCUPANCY_CALLS_H
#define SHIM_API_KERNEL_OCCUPANCY_CALLS_H

#include <stdint.h>

struct function;
struct stream;

/* Returns 0 when not even one block fits. `dynamic`: bytes of shared memory beyond the kernel's
 * own. */
uint32_t occupancy_calls_resident(const struct function *f, uint32_t threads, uint64_t dynamic);

/* The number of multiprocessors that kernels of the stream run on: a green context's, or all. NULL
 * and the legacy stream stand for the current context. */
uint32_t occupancy_calls_part(const struct stream *s);

#endif
