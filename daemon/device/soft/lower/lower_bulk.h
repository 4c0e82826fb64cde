/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers work that completes on a barrier or in a group: cp.async.bulk, cp.reduce.async.bulk,
 * st.async, red.async; and st.bulk.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_BULK_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_BULK_H

#include "daemon/device/soft/lower/lowering.h"

/* Fills `c` for the forms of cp with .bulk; async/bulk.c describes its fields. */
void lower_bulk(struct lowering *l, struct code_inst *c);

/* lower_is_async: true if a st or red completes on a barrier. lower_async then fills `c`. */
bool lower_is_async(const struct ptx_inst *i);
void lower_async(struct lowering *l, struct code_inst *c);

/* lower_is_fill: true for st.bulk. lower_fill then fills `c`. */
bool lower_is_fill(const struct ptx_inst *i);
void lower_fill(struct lowering *l, struct code_inst *c);

#endif
