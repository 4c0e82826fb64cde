/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling memory that the worker sees: what a fill must be, and its record.
 */
#ifndef SHIM_TRANSFER_FILL_H
#define SHIM_TRANSFER_FILL_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

struct fill {
    uint64_t dst, pitch, width,
        height;                 /* width in elements; pitch in bytes, of more than one row */
    uint32_t value, elem_bytes; /* 1, 2 or 4 */
};

/* CUDA_ERROR_INVALID_VALUE for what does not lie in memory of the program. Not of an empty one. */
CUresult fill_check(struct fill *f);

/* Without stream and number. */
struct wire_memset fill_record(const struct fill *f);

#endif
