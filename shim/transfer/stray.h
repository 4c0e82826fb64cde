/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory outside of the device window: variables of modules at addresses that a driver
 * chose. Each range is reserved here without access, so that it is never mistaken for memory of the
 * program, or the reverse. Most devices have none; a lookup then costs one load. Any thread.
 */
#ifndef SHIM_TRANSFER_STRAY_H
#define SHIM_TRANSFER_STRAY_H

#include <stdbool.h>
#include <stdint.h>

/* Returns 0; -EEXIST: the program has memory of its own there; -ENOMEM. A range added again is
 * counted. */
int stray_add(uint64_t addr, uint64_t bytes);
/* Removes a range as it was added. */
void stray_remove(uint64_t addr, uint64_t bytes);

/* True when the whole range lies in one range that was added. */
bool stray_has(uint64_t addr, uint64_t bytes);

#endif
