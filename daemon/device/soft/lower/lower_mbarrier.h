/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers operations on barriers in shared memory.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_MBARRIER_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_MBARRIER_H

#include "daemon/device/soft/lower/lowering.h"

/* Fills `c` for mbarrier: the result in d, the address in a and offset, the operand after the
 * address in b. For a wait, vec says whether this operand is a parity. */
void lower_mbarrier(struct lowering *l, struct code_inst *c);
/* Fills `c` for cp.async.mbarrier.arrive: an arrival, or nothing (lower_mbarrier.c). */
void lower_mbarrier_copies(struct lowering *l, struct code_inst *c);

#endif
