/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills of memory that the worker can access: the checks of a fill, and its record.
 */
#ifndef SHIM_TRANSFER_FILL_H
#define SHIM_TRANSFER_FILL_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

struct fill {
    uint64_t dst, pitch, width,
        height;                 /* width in elements; pitch in bytes, only for more than one row */
    uint32_t value, elem_bytes; /* 1, 2 or 4 */
};

/* CUDA_ERROR_INVALID_VALUE for a range outside of the program's memory. Not called for an empty
 * fill. */
CUresult fill_check(struct fill *f);

/* Returns the record without stream and number. */
struct wire_memset fill_record(const struct fill *f);

#endif
