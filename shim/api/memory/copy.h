/* SPDX-License-Identifier: Apache-2.0
 *
 * What a copy between two places of up to three dimensions is, for those that are not run at once.
 */
#ifndef SHIM_API_MEMORY_COPY_H
#define SHIM_API_MEMORY_COPY_H

#include "proto/cuda/cuda_abi.h"
#include "shim/transfer/transfer.h"

/* Not checked but for what is said of the places. One that copies nothing has width 0. */
CUresult copy_describe(const CUDA_MEMCPY3D *c, struct transfer *t, unsigned int *flags);

#endif
