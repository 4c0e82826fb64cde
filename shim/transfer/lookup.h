/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the memory at an address of the windows, whether a call or a graph allocated it or it was
 * mapped. Any thread.
 */
#ifndef SHIM_TRANSFER_LOOKUP_H
#define SHIM_TRANSFER_LOOKUP_H

#include "shim/memory/mem.h"

/* Finds the block or the mapping that contains `addr`. */
bool lookup_block(uint64_t addr, struct mem_block *out);

/* The same, if the program may use `bytes` from `addr` on. Adjacent mappings count as one. */
bool lookup_range(uint64_t addr, uint64_t bytes, struct mem_block *out);

/* True for memory that belongs to no block: the part of the device window where the worker places
 * variables of modules, without a check of a single variable's bounds; variables elsewhere
 * (stray.h); and registered memory that has the same address on the device. */
bool lookup_variable(uint64_t addr, uint64_t bytes);

#endif
