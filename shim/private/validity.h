/* SPDX-License-Identifier: Apache-2.0
 *
 * The question that the CUDA runtime asks a driver before it works with it.
 */
#ifndef SHIM_PRIVATE_VALIDITY_H
#define SHIM_PRIVATE_VALIDITY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* False when built with DRIVER_VALIDITY=0: then the question is not found and only programs that
 * use the driver's interface directly run. */
bool validity_built(void);

/* Addresses that the answer covers: of the runtime's table, of the one with the question, and of
 * the function in that. */
struct validity_addresses {
    const void *cudart_table, *validity_table, *function;
};

/* `time`: the asker's; `out`: 16 bytes. */
CUresult validity_answer(const struct validity_addresses *at, uint32_t version, uint64_t time,
                         uint64_t out[2]);

#endif
