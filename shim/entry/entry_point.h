/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress: maps a base name and an API version to an entry point. The table of entry
 * points and the two exports are generated (gen_entries.h); the table contains both exports.
 */
#ifndef SHIM_ENTRY_ENTRY_POINT_H
#define SHIM_ENTRY_ENTRY_POINT_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* Like cuGetProcAddress_v2, with `entries` indexed by call number. */
CUresult entry_point_find(void *const entries[], const char *symbol, void **pfn, int version,
                          uint64_t flags, CUdriverProcAddressQueryResult *status);

#endif
