/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that are objects of the device, which has them outside of any address. Here they have
 * reserved addresses that map nothing, by which copies and textures name them. Any thread.
 */
#ifndef SHIM_TEXTURE_OPAQUE_H
#define SHIM_TEXTURE_OPAQUE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* Makes the worker create the array that `d` describes; waits. `levels`: 0 if it is not mipmapped;
 * `bytes`: of all levels, as in array_layout.h. CUDA's errors. */
CUresult opaque_make(const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t levels, uint64_t bytes,
                     uint64_t *addr);
/* Drops an array; it ends when no operation that was sent uses it. */
void opaque_drop(uint64_t addr);

/* True when the range lies in the addresses of one such array. */
bool opaque_has(uint64_t addr, uint64_t bytes);

#endif
