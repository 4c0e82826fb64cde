/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes a copy between two places of up to three dimensions, for copies that run later.
 */
#ifndef SHIM_API_MEMORY_COPY_H
#define SHIM_API_MEMORY_COPY_H

#include "proto/cuda/cuda_abi.h"
#include "shim/transfer/transfer.h"

/* Checks the two places by themselves: arrays, pitches and overflows, but not whether the memory
 * exists. Adds the TRANSFER_* that the types of the places require to `*flags`. */
CUresult copy_describe(const CUDA_MEMCPY3D *c, struct transfer *t, unsigned int *flags);

#endif
