/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX of a module made into that of its parts: the kernels that may be cut (subgrid.h), each with
 * more parameters, by which %ctaid and %nctaid are those of the whole grid, and what they call. All
 * else is left out, the module's variables too. Nothing else is changed, so that a compiler has the
 * same to compile. Threads: any.
 */
#ifndef DAEMON_DEVICE_SUBGRID_SUBGRID_REWRITE_H
#define DAEMON_DEVICE_SUBGRID_SUBGRID_REWRITE_H

#include <stddef.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

/* `m` is what ptx_parse made of `text`. 0 and a text with a NUL behind it, the caller's to free;
 * it parses. -ENOENT: no kernel may be cut; -ENOTSUP: it is made for a debugger, or cannot be
 * rewritten; -ENOMEM. Then `*out` is NULL and `why` (>= 160 bytes) says more. */
int subgrid_rewrite(const char *text, size_t bytes, const struct ptx_module *m, char **out,
                    char *why, size_t why_bytes);

#endif
