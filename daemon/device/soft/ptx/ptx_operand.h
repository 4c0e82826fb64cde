/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses operands of instructions and of calls.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_OPERAND_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_OPERAND_H

#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct ptx_parser;

void ptx_operand(struct ptx_parser *p, struct ptx_operand *out, uint32_t index);
void ptx_operand_list(struct ptx_parser *p, struct ptx_operand *out, char close);
/* Results, callee, arguments. */
#define PTX_CALL_OPERANDS 3
/* Returns the prototype that is named after them, or NULL. */
struct ptx_func *ptx_call_operands(struct ptx_parser *p, struct ptx_operand *out);

#endif
