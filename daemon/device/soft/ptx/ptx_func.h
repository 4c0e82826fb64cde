/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions: prototypes, bodies with what is declared in them, aliases.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_FUNC_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_FUNC_H

#include "daemon/device/soft/instructions/ptx_ir.h"

struct ptx_parser;

/* At .entry or .func, up to the body's end. */
void ptx_function(struct ptx_parser *p, enum ptx_linkage linkage);
/* Behind .alias; applied when the module has ended, since the function may come later. */
void ptx_alias(struct ptx_parser *p);
void ptx_apply_aliases(struct ptx_parser *p);
/* Behind .file: number "name" [, time, size]. */
void ptx_file_line(struct ptx_parser *p);

#endif
