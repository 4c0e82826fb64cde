/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses variables of modules and of function bodies, and parameters.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_DECL_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_DECL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct ptx_parser;

/* True at .global, .const, .shared, .local or .param. */
bool ptx_at_space(const struct ptx_parser *p);
/* Parse a variable up to the semicolon. */
void ptx_module_var(struct ptx_parser *p, enum ptx_linkage linkage);
void ptx_body_var(struct ptx_parser *p);
/* Parses a list in parentheses into the arena. `declare`: the names are declared in the open scope.
 * Returns NULL, with *count 0, after a failure. */
struct ptx_var **ptx_param_list(struct ptx_parser *p, uint32_t *count, bool declare);
/* Assigns consecutive offsets to parameters. Returns the bytes of all of them. */
uint32_t ptx_layout(struct ptx_parser *p, struct ptx_var **params, uint32_t count);

#endif
