/* SPDX-License-Identifier: Apache-2.0
 *
 * The lookup of cuGetProcAddress. The version selects the ABI: a base name has one row for each
 * version in which its arguments changed. The result is the newest row that is not newer than the
 * requested version. Static data; any thread.
 */
#ifndef PROTO_PROCADDR_H
#define PROTO_PROCADDR_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* Returns the call that `name` means at `version`, supported or not; or 0 with the reason in *why.
 * `flags`: of CU_GET_PROC_ADDRESS_*, only PER_THREAD_DEFAULT_STREAM matters. `name` may be NULL. */
unsigned int procaddr_find(const char *name, int version, uint64_t flags,
                           CUdriverProcAddressQueryResult *why);

#endif
