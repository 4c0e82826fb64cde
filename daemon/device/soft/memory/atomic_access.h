/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions in memory, for instructions that do more than one.
 */
#ifndef DAEMON_DEVICE_SOFT_MEMORY_ATOMIC_ACCESS_H
#define DAEMON_DEVICE_SOFT_MEMORY_ATOMIC_ACCESS_H

#include <stdint.h>

#include "daemon/device/soft/code/code.h"

/* Combines what lies at `addr`, which was checked, with a value, as i's sub and type say. */
void atomic_access_combine(const struct code_inst *i, uint64_t addr, uint64_t value);

/* The handler of an atomic operation; NULL: it is none. */
code_handler *atomic_access_select(const struct code_inst *i);

#endif
