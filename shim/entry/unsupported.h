/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of every entry point that is not supported.
 */
#ifndef SHIM_ENTRY_UNSUPPORTED_H
#define SHIM_ENTRY_UNSUPPORTED_H

#include "proto/cuda/cuda_abi.h"
#include "proto/gen/calls.h"

/* Says once which call it is, and gives CUDA_ERROR_NOT_SUPPORTED. Any thread. */
CUresult unsupported_call(enum call call);

#endif
