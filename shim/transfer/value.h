/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory operations of streams: what one must be, and its record.
 */
#ifndef SHIM_TRANSFER_VALUE_H
#define SHIM_TRANSFER_VALUE_H

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

#define VALUE_BATCH 255u /* operations of a batch */

/* Without stream and number; rec.op is 0 for what is no work here: barriers and flushes, for what a
 * stream has done is visible to all who come after it. CUDA_ERROR_INVALID_VALUE for what is no cell
 * of the program's memory; CUDA_ERROR_NOT_SUPPORTED, said by name. */
CUresult value_record(const CUstreamBatchMemOpParams *op, struct wire_value *out);

/* All of them can be carried out. CUDA_ERROR_INVALID_VALUE, too, for a batch that is none. */
CUresult value_check(unsigned int count, const CUstreamBatchMemOpParams *ops, unsigned int flags);

#endif
