/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of an allocation that its address does not tell: its buffer id, and whether
 * synchronous operations on it always synchronize. A program that uses neither pays one load for
 * each allocation. Any thread; no other lock is taken under this one.
 */
#ifndef SHIM_MEMORY_IDENTITY_H
#define SHIM_MEMORY_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

/* Returns a number from 1 on that this process has not used before. */
uint64_t identity_next(void);

/* Returns the id of the allocation [addr, addr + bytes): the same on every call until
 * identity_forget, and never that of another allocation. 0: out of memory. */
uint64_t identity_of(uint64_t addr, uint64_t bytes);

/* Sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of the allocation. False: out of memory, nothing changed.
 */
bool identity_set_sync(uint64_t addr, uint64_t bytes, bool sync);
/* True if SYNC_MEMOPS is set for the allocation that contains `addr`. */
bool identity_sync(uint64_t addr);

/* Called when the range belongs to a new allocation. */
void identity_forget(uint64_t addr, uint64_t bytes);

#endif
