/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that are the device's own, which keeps them where nobody sees: here they have addresses
 * that are reserved and show nothing, by which copies and textures name them. Any thread.
 */
#ifndef SHIM_TEXTURE_OPAQUE_H
#define SHIM_TEXTURE_OPAQUE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* Has the worker make what `d` describes; waits. `levels`: 0 if it is not mipmapped; `bytes`: of
 * all, as array_layout.h has them. CUDA's errors. */
CUresult opaque_make(const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t levels, uint64_t bytes,
                     uint64_t *addr);
/* Goes when nothing that was sent uses it any more. */
void opaque_drop(uint64_t addr);

/* It lies in one of them. */
bool opaque_has(uint64_t addr, uint64_t bytes);

#endif
