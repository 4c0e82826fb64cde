/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables: of the module, of bodies, and parameters.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_DECL_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_DECL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

struct ptx_parser;

/* At .global, .const, .shared, .local or .param. */
bool ptx_at_space(const struct ptx_parser *p);
/* Up to the semicolon. */
void ptx_module_var(struct ptx_parser *p, enum ptx_linkage linkage);
void ptx_body_var(struct ptx_parser *p);
/* A list in parentheses, in the arena; `declare`: its names hold in the scope that is open. */
struct ptx_var **ptx_param_list(struct ptx_parser *p, uint32_t *count, bool declare);
/* Gives parameters their offsets, one behind the other; returns the bytes of all. */
uint32_t ptx_layout(struct ptx_parser *p, struct ptx_var **params, uint32_t count);

#endif
