/* SPDX-License-Identifier: Apache-2.0
 *
 * The ABI as proto/cuda/cuda_abi.h declares it.
 */
#include "test/lib/cuda/cuda_abi_rows.h"

#include "proto/cuda/cuda_abi.h"
#include "test/lib/cuda/cuda_abi_rows.inc"

const struct cuda_abi_table cuda_abi_ours = {rows, sizeof(rows) / sizeof(rows[0]), CUDA_VERSION,
                                             NULL};
