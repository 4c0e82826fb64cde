/* SPDX-License-Identifier: Apache-2.0
 *
 * The ABI as the toolkit's cuda.h declares it, if one of the right version is installed. Our
 * prototypes are declared after cuda.h's, so the compiler rejects any that differ.
 */
#include "test/lib/cuda/cuda_abi_rows.h"

#if __has_include(<cuda.h>)
/* NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): cuda.h's name. */
#define __CUDA_API_VERSION_INTERNAL /* also the older versions of each call */
#include <cuda.h>
#include <cudaProfiler.h>
#define PRESENT (CUDA_VERSION == 13000 || CUDA_VERSION == 13050)
#else
#define PRESENT 0
#endif

#if PRESENT
#if CUDA_VERSION < 13050
#include "test/lib/cuda/cuda_abi_newer.inc"
#endif

#define PROTO_CUDA_CUDA_ABI_H /* keeps our types out, because their names are the same */
#include "proto/gen/prototypes.h"

#include "test/lib/cuda/cuda_abi_rows.inc"

const struct cuda_abi_table cuda_abi_theirs = {rows, sizeof(rows) / sizeof(rows[0]), CUDA_VERSION,
                                               NULL};
#else
const struct cuda_abi_table cuda_abi_theirs = {NULL, 0, 0,
                                               "no cuda.h of CUDA 13.0 or 13.5 is installed"};
#endif
