/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts of an allocation that its address does not tell: its buffer id and whether synchronous
 * operations on it always synchronize. A program that reads or sets neither pays for one load an
 * allocation. Any thread; the lock is a leaf.
 */
#ifndef SHIM_MEMORY_IDENTITY_H
#define SHIM_MEMORY_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

/* A number that this process has not been given before, from 1. */
uint64_t identity_next(void);

/* The id of the allocation [addr, addr + bytes): the same on every call until identity_forget, and
 * never that of another allocation. 0: no memory. */
uint64_t identity_of(uint64_t addr, uint64_t bytes);

/* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the allocation. False: no memory, and nothing changed. */
bool identity_set_sync(uint64_t addr, uint64_t bytes, bool sync);
/* True if SYNC_MEMOPS is set for the allocation that contains `addr`. */
bool identity_sync(uint64_t addr);

/* The range belongs to a new allocation from now on. */
void identity_forget(uint64_t addr, uint64_t bytes);

#endif
