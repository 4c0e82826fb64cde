/* SPDX-License-Identifier: Apache-2.0
 *
 * Assigns registers to positions in a frame.
 */
#ifndef DAEMON_DEVICE_SOFT_DECODE_REGALLOC_H
#define DAEMON_DEVICE_SOFT_DECODE_REGALLOC_H

#include <stdint.h>

#include "daemon/device/soft/code/func.h"

/* During decoding the slot of register `v` is v itself; this function replaces it by the register's
 * position in the frame. `bytes` has the width of every register (0: predicate; or CODE_SINK).
 * Fills f's reg_bytes and pressure. Returns 0, -ENOMEM, or ERR_ILLEGAL_INSTRUCTION if a frame would
 * exceed CODE_FRAME_MAX. */
int regalloc_run(struct code_func *f, const uint8_t *bytes, uint32_t reg_count);

#endif
