/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory. ld: d or extra's defs, address in a and offset. st: value in b or extra's uses. What has
 * 128 bits is a vector of one. atom, red: value in b, second in c. The flags are in target.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_ACCESS_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_ACCESS_H

#include <stdbool.h>

#include "daemon/device/soft/lower/lowering.h"

/* `load`: ld and ldu; else st. */
void lower_access(struct lowering *l, struct code_inst *c, bool load);
/* `result`: atom; else red. */
void lower_access_atomic(struct lowering *l, struct code_inst *c, bool result);
/* cp.async [to], [from], bytes{, count|ignored}: the fields are those of isa/memory/copy.c. */
void lower_access_copy(struct lowering *l, struct code_inst *c);

#endif
