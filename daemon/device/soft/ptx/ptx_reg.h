/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers of the function that is being parsed.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_REG_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_REG_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/ptx/ptx_lex.h"

struct ptx_parser;

void ptx_reg_decl(struct ptx_parser *p);                                  /* behind .reg */
int32_t ptx_reg_find(struct ptx_parser *p, const struct ptx_token *name); /* -1: none */
/* A variable of a body may not bear the name of a register or variable of the same block. */
bool ptx_name_taken(const struct ptx_parser *p, const struct ptx_token *name);

#endif
