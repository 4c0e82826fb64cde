/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of PTX and what they stand for.
 */
#ifndef DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_TABLES_H
#define DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

uint32_t ptx_type_bytes(enum ptx_type t); /* PRED: 1 */
char ptx_type_class(enum ptx_type t);
const char *ptx_type_name(enum ptx_type t);
const char *ptx_op_name(enum ptx_op op);

enum ptx_type ptx_type_find(const char *text, size_t len);
enum ptx_op ptx_op_find(const char *text, size_t len);
int ptx_sreg_find(const char *text, size_t len); /* enum ptx_sreg or -1 */
bool ptx_space_find(const char *text, size_t len, uint8_t *space);
/* Adds one modifier to `i`; false: unknown. */
bool ptx_modifier(struct ptx_inst *i, const char *text, size_t len);
/* Operations whose modifiers are left to the decoder, which has the text. */
bool ptx_op_is_raw(enum ptx_op op);
/* Operations whose operands are not parsed, only held to names that exist. */
bool ptx_op_is_opaque(enum ptx_op op);

#endif
