/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies at an address of the windows, however it came there: allocated, by a call or a
 * graph, or mapped. Any thread.
 */
#ifndef SHIM_TRANSFER_LOOKUP_H
#define SHIM_TRANSFER_LOOKUP_H

#include "shim/memory/mem.h"

/* The block or the mapping that contains `addr`. */
bool lookup_block(uint64_t addr, struct mem_block *out);

/* The same, of which the program may use `bytes` from `addr` on. Mappings that follow each other
 * are as good as one. */
bool lookup_range(uint64_t addr, uint64_t bytes, struct mem_block *out);

/* The worker placed variables of modules there; where each begins and ends, nobody looks. */
bool lookup_variable(uint64_t addr, uint64_t bytes);

#endif
