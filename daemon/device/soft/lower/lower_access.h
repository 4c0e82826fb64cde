/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers accesses to memory. Fields of the executable instruction. ld: the result in d or extra's
 * defs, the address in a and offset. st: the value in b or extra's uses. 128 bits are a vector of
 * one element. atom, red: the value in b, a second one in c; of vectors, the values in extra's uses
 * and the results in its defs. target has the flags (func.h).
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_ACCESS_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_ACCESS_H

#include <stdbool.h>

#include "daemon/device/soft/lower/lowering.h"

/* `load`: ld and ldu; otherwise st. */
void lower_access(struct lowering *l, struct code_inst *c, bool load);
/* `result`: atom; otherwise red. */
void lower_access_atomic(struct lowering *l, struct code_inst *c, bool result);
/* Lowers cp.async [to], [from], bytes{, count|ignored}; isa/memory/copy.c describes the fields. */
void lower_access_copy(struct lowering *l, struct code_inst *c);

#endif
