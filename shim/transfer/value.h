/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory operations of streams: their checks and records.
 */
#ifndef SHIM_TRANSFER_VALUE_H
#define SHIM_TRANSFER_VALUE_H

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

#define VALUE_BATCH 255u /* most operations of a batch */

/* Returns the record without stream and number. rec.op is 0 for a barrier, which needs no work
 * here, because the earlier work of a stream is visible to all later work. CUDA_ERROR_INVALID_VALUE
 * for an address outside of the program's memory, and for unknown operations and flags.
 * CUDA_ERROR_NOT_SUPPORTED for flushes of remote writes and, logged by name, for atomic reductions.
 */
CUresult value_record(const CUstreamBatchMemOpParams *op, struct wire_value *out);

/* Checks that all operations can be carried out. CUDA_ERROR_INVALID_VALUE also for an invalid
 * batch. */
CUresult value_check(unsigned int count, const CUstreamBatchMemOpParams *ops, unsigned int flags);

#endif
