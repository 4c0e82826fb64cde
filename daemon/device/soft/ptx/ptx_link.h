/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules of one program (-rdc=true) joined to one.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_LINK_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

/* Joins the units, resolving .extern. It takes them over on success, and leaves them fit for
 * ptx_module_free only on failure. What no unit defines stays undefined (vprintf). Symbols that are
 * private to a unit stay apart, renamed where units share a name. 0 or as ptx_parse. */
int ptx_link(struct ptx_module **units, uint32_t count, struct ptx_module **out, char *why,
             size_t why_bytes);

#endif
