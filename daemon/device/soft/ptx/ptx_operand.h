/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses operands of instructions and of calls.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_OPERAND_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_OPERAND_H

#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct ptx_parser;

/* Parses an operand. `index` is its position in the instruction, for references to labels;
 * UINT32_MAX: the operand cannot be a label. */
void ptx_operand(struct ptx_parser *p, struct ptx_operand *out, uint32_t index);
/* Parses operands up to the character `close`, which is consumed, into out->elems. */
void ptx_operand_list(struct ptx_parser *p, struct ptx_operand *out, char close);
/* Results, callee, arguments. */
#define PTX_CALL_OPERANDS 3
/* Parses these three into `out`, which has PTX_CALL_OPERANDS items. Returns the prototype that is
 * named last, or NULL. */
struct ptx_func *ptx_call_operands(struct ptx_parser *p, struct ptx_operand *out);

#endif
