/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of allocations, which keep the memory alive for every process that has them. Any
 * thread; the caller waits for the worker.
 */
#ifndef SHIM_IPC_ALLOCATION_EXPORT_H
#define SHIM_IPC_ALLOCATION_EXPORT_H

#include "proto/cuda/cuda_abi.h"

/* Makes a new descriptor, which the caller owns, open across exec as CUDA's are.
 * CUDA_ERROR_INVALID_VALUE for an invalid handle; CUDA_ERROR_OUT_OF_MEMORY or
 * CUDA_ERROR_OPERATING_SYSTEM, with a log line, for a refusal. */
CUresult allocation_export_make(CUmemGenericAllocationHandle handle, int *fd);

#endif
