/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of the host window through which pageable memory is copied. A piece is reused when the
 * stream has completed the copy that uses it. Any thread.
 */
#ifndef SHIM_TRANSFER_STAGING_H
#define SHIM_TRANSFER_STAGING_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* Measured: a second copy through 2 MiB reaches 0.61 of one memcpy's rate, through 256 KiB 0.92,
 * because the piece is still in the cache when the device reads it. */
#define STAGING_BYTES (256u << 10)
#define STAGING_SLOTS 256u /* 64 MiB */

struct staging {
    uint64_t addr;
    uint32_t slot;
};

/* Takes a piece that no copy uses any more. Waits for one when no further piece can be allocated.
 * CUDA_ERROR_OUT_OF_MEMORY: there is not a single piece; or the sticky error. */
CUresult staging_take(struct staging *out);

/* Gives a piece back; its last use is `seq` of `stream`. */
void staging_give(const struct staging *s, uint32_t stream, uint64_t seq);

#endif
