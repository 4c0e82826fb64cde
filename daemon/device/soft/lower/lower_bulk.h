/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that completes on a barrier or in a group: cp.async.bulk, cp.reduce.async.bulk, st.async,
 * red.async; and st.bulk.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_BULK_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_BULK_H

#include "daemon/device/soft/lower/lowering.h"

/* Fills `c` for those of cp that name .bulk; what its fields are says async/bulk.c. */
void lower_bulk(struct lowering *l, struct code_inst *c);

/* Whether a st or red completes on a barrier; then this fills `c`. */
bool lower_is_async(const struct ptx_inst *i);
void lower_async(struct lowering *l, struct code_inst *c);

/* The same for st.bulk. */
bool lower_is_fill(const struct ptx_inst *i);
void lower_fill(struct lowering *l, struct code_inst *c);

#endif
