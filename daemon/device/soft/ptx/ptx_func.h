/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses functions: prototypes, bodies with their declarations, aliases.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_FUNC_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_FUNC_H

#include "daemon/device/soft/instructions/ptx_ir.h"

struct ptx_parser;

/* Parses from .entry or .func up to the end of the body. */
void ptx_function(struct ptx_parser *p, enum ptx_linkage linkage);
/* Parses what follows .alias. Aliases are applied at the end of the module, since the target may
 * come later. */
void ptx_alias(struct ptx_parser *p);
void ptx_apply_aliases(struct ptx_parser *p);
/* Parses what follows .file: number "name" [, time, size]. */
void ptx_file_line(struct ptx_parser *p);

#endif
