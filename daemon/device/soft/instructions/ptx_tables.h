/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks up words of PTX and their meaning.
 */
#ifndef DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_TABLES_H
#define DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

uint32_t ptx_type_bytes(enum ptx_type t); /* 1 for PRED */
char ptx_type_class(enum ptx_type t);
const char *ptx_type_name(enum ptx_type t);
const char *ptx_op_name(enum ptx_op op);

enum ptx_type ptx_type_find(const char *text, size_t len);
enum ptx_op ptx_op_find(const char *text, size_t len);
int ptx_sreg_find(const char *text, size_t len); /* enum ptx_sreg or -1 */
bool ptx_space_find(const char *text, size_t len, uint8_t *space);
/* Adds one modifier to `i`. Returns false if it is unknown, or a type too many. */
bool ptx_modifier(struct ptx_inst *i, const char *text, size_t len);
/* True for operations whose modifiers the decoder reads from the text. */
bool ptx_op_is_raw(enum ptx_op op);
/* True for operations whose operands are not parsed; only the names in them must exist. */
bool ptx_op_is_opaque(enum ptx_op op);

#endif
