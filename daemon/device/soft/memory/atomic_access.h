/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomic operations in memory, also for instructions that combine several values.
 */
#ifndef DAEMON_DEVICE_SOFT_MEMORY_ATOMIC_ACCESS_H
#define DAEMON_DEVICE_SOFT_MEMORY_ATOMIC_ACCESS_H

#include <stdint.h>

#include "daemon/device/soft/code/code.h"

/* Combines the value at `addr`, which has been checked, with `value`, as i's sub and type say. */
void atomic_access_combine(const struct code_inst *i, uint64_t addr, uint64_t value);

/* Returns the handler of an atomic operation, or NULL if PTX has no such form. */
code_handler *atomic_access_select(const struct code_inst *i);

#endif
