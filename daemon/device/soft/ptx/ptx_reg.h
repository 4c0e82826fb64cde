/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses registers of the function that is being parsed.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_REG_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_REG_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/ptx/ptx_lex.h"

struct ptx_parser;

void ptx_reg_decl(struct ptx_parser *p);                                  /* after .reg */
int32_t ptx_reg_find(struct ptx_parser *p, const struct ptx_token *name); /* -1: none */
/* True if the name is taken: a variable in a body may not have the name of a register or variable
 * of the same block. */
bool ptx_name_taken(const struct ptx_parser *p, const struct ptx_token *name);

#endif
