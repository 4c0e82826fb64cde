/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of allocations, which keep the memory for whoever has them. Any thread; the caller
 * waits for the worker.
 */
#ifndef SHIM_IPC_EXPORTING_H
#define SHIM_IPC_EXPORTING_H

#include "proto/cuda/cuda_abi.h"

/* A new one, the caller's, open across exec as CUDA's are. CUDA_ERROR_INVALID_VALUE for what is no
 * handle; CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OPERATING_SYSTEM where it is refused, which is said.
 */
CUresult exporting_make(CUmemGenericAllocationHandle handle, int *fd);

#endif
