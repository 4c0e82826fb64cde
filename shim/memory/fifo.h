/* SPDX-License-Identifier: Apache-2.0
 *
 * The FIFO behind printf of kernels: a ring in the host window, as large as the limit asks for. It
 * is made when a limit is set, or else when the first kernel that may print is launched, and until
 * then, and where it cannot be had, it is the completion page's. Any thread.
 */
#ifndef SHIM_MEMORY_FIFO_H
#define SHIM_MEMORY_FIFO_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* A FIFO for this limit. CUDA_ERROR_OUT_OF_MEMORY, and the FIFO is as before. */
CUresult fifo_set(uint64_t limit);

/* The same, where it matters already: without room the FIFO stays. */
void fifo_reset(uint64_t limit);

/* Kernels that make these calls (WIRE_CALLS_*) are about to be launched in the current context. If
 * they may print, what earlier ones wrote is shown, as CUDA shows it then. */
void fifo_launch(uint32_t calls);

#endif
