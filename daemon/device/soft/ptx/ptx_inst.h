/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses instructions: guard, opcode, operands, up to the semicolon.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_INST_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_INST_H

struct ptx_parser;

void ptx_inst(struct ptx_parser *p);

#endif
