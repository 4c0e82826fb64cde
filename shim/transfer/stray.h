/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory outside the device window: variables of modules, where a driver chose their place.
 * Each range is reserved here without access, so that no memory of the program's is ever taken for
 * one, nor the other way round. Most devices have none, and looking costs one load then. Any
 * thread.
 */
#ifndef SHIM_TRANSFER_STRAY_H
#define SHIM_TRANSFER_STRAY_H

#include <stdbool.h>
#include <stdint.h>

/* 0; -EEXIST: the program has memory of its own there; -ENOMEM. A range that is there already is
 * counted. */
int stray_add(uint64_t addr, uint64_t bytes);
/* One as it was added. */
void stray_remove(uint64_t addr, uint64_t bytes);

/* All of it lies in one of them. */
bool stray_has(uint64_t addr, uint64_t bytes);

#endif
