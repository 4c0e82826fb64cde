/* SPDX-License-Identifier: Apache-2.0
 *
 * Rewrites a module's PTX for launches in parts. The kernels that may be split (subgrid.h) get more
 * parameters, by which %ctaid and %nctaid are those of the whole grid; functions that they call are
 * kept. All else is left out, the module's variables too. Nothing else changes, so that a compiler
 * gets the same code. Threads: any.
 */
#ifndef DAEMON_DEVICE_SUBGRID_SUBGRID_REWRITE_H
#define DAEMON_DEVICE_SUBGRID_SUBGRID_REWRITE_H

#include <stddef.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

/* `m` is the result of ptx_parse for `text`. Returns 0 and a NUL-terminated text that parses; the
 * caller frees it. -ENOENT: no kernel may be split; -ENOTSUP: it is compiled for a debugger, or
 * cannot be rewritten; -ENOMEM. On failure `*out` is NULL and `why` (>= 160 bytes) says more. */
int subgrid_rewrite(const char *text, size_t bytes, const struct ptx_module *m, char **out,
                    char *why, size_t why_bytes);

#endif
