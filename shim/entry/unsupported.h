/* SPDX-License-Identifier: Apache-2.0
 *
 * The common body of all unsupported entry points.
 */
#ifndef SHIM_ENTRY_UNSUPPORTED_H
#define SHIM_ENTRY_UNSUPPORTED_H

#include "proto/cuda/cuda_abi.h"
#include "proto/gen/calls.h"

/* Logs the name of the call once, and returns CUDA_ERROR_NOT_SUPPORTED; before cuInit and in a
 * forked child only returns CUDA_ERROR_NOT_INITIALIZED. Any thread. */
CUresult unsupported_call(enum call call);

#endif
