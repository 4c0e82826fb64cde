/* SPDX-License-Identifier: Apache-2.0
 *
 * The FIFO of printf in kernels: a ring in the host window, as large as the limit asks for. It is
 * made when a limit is set, or else when the first kernel that may print is launched. Before that,
 * and where it cannot be allocated, the ring in the completion page is used. Any thread.
 */
#ifndef SHIM_MEMORY_FIFO_H
#define SHIM_MEMORY_FIFO_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* Makes a FIFO for this limit. CUDA_ERROR_OUT_OF_MEMORY: the FIFO is unchanged. */
CUresult fifo_set(uint64_t limit);

/* The same, if a FIFO was made before; without memory the FIFO stays. */
void fifo_reset(uint64_t limit);

/* Called when kernels that make these calls (WIRE_CALLS_*) are about to be launched in the current
 * context. If they may print, the output of earlier kernels is printed first, as CUDA does. */
void fifo_launch(uint32_t calls);

#endif
