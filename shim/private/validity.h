/* SPDX-License-Identifier: Apache-2.0
 *
 * The check that the CUDA runtime makes of a driver before it works with it.
 */
#ifndef SHIM_PRIVATE_VALIDITY_H
#define SHIM_PRIVATE_VALIDITY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* Returns false when built with DRIVER_VALIDITY=0: then the check is not found, and only programs
 * that use the driver's interface directly run. */
bool validity_built(void);

/* Addresses that the answer covers: the runtime's table, the table with the check, and the check's
 * function. */
struct validity_addresses {
    const void *cudart_table, *validity_table, *function;
};

/* `time`: from the caller; `out`: 16 bytes. */
CUresult validity_answer(const struct validity_addresses *at, uint32_t version, uint64_t time,
                         uint64_t out[2]);

#endif
