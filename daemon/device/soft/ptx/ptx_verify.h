/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks instructions against the signatures of their opcodes. Does nothing after an earlier error.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_VERIFY_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_VERIFY_H

#include "daemon/device/soft/instructions/ptx_ir.h"
#include "daemon/device/soft/instructions/ptx_rules.h"

struct ptx_parser;

void ptx_verify_inst(struct ptx_parser *p, const struct ptx_inst *i, const struct ptx_sig *sig);
void ptx_verify_call(struct ptx_parser *p, const struct ptx_inst *i);

#endif
