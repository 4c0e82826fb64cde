/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses PTX text into a module (ptx_ir.h).
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_PARSE_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

/* Parses `bytes` of PTX text (no NUL needed; a NUL ends it). Returns 0 and a module that the caller
 * frees; ERR_INVALID_PTX, ERR_UNSUPPORTED_PTX or -ENOMEM with `why` filled ("line 3: expected
 * ';'"). */
int ptx_parse(const char *text, size_t bytes, struct ptx_module **out, char *why, size_t why_bytes);
/* As ptx_parse, but ends with ERR_CANCELLED at the next directive of the module once *over is
 * true. */
int ptx_parse_until(const char *text, size_t bytes, const _Atomic bool *over,
                    struct ptx_module **out, char *why, size_t why_bytes);
/* Frees a module, including one of ptx_link with its units. */
void ptx_module_free(struct ptx_module *m);

struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name);
struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name);

#endif
