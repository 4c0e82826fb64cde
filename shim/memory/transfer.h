/* SPDX-License-Identifier: Apache-2.0
 *
 * Carrying out a copy: what the two places are decides how. Places that the worker sees are copied
 * by one record; pageable memory passes through staging.
 */
#ifndef SHIM_MEMORY_TRANSFER_H
#define SHIM_MEMORY_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

struct stream;

/* Bytes. A plain copy has height and depth 1; then pitches and slices do not matter. */
struct transfer {
    uint64_t dst, src;
    uint64_t width, height, depth;
    uint64_t dst_pitch, src_pitch, dst_slice, src_slice;
};

#define TRANSFER_DST_DEVICE 1u /* the destination must be the device's */
#define TRANSFER_SRC_DEVICE 2u
#define TRANSFER_ASYNC 4u

/* CUDA's rules on when it returns: with pageable memory when the program's buffer is no longer
 * needed or is filled; with pinned memory at once if asynchronous, else when it is complete. */
CUresult transfer_run(const struct transfer *asked, const struct stream *s, unsigned int flags);

#endif
