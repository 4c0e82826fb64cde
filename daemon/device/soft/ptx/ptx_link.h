/* SPDX-License-Identifier: Apache-2.0
 *
 * Links the modules of one program (-rdc=true) into one.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_LINK_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

/* Joins the units and resolves .extern. Takes ownership of them on success; after a failure they
 * are only fit for ptx_module_free. Functions that no unit defines stay undefined (vprintf).
 * Symbols that are private to a unit stay separate, and are renamed if units share a name. Returns
 * 0, -EINVAL without any unit, or the errors of ptx_parse. */
int ptx_link(struct ptx_module **units, uint32_t count, struct ptx_module **out, char *why,
             size_t why_bytes);

#endif
