/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of accesses to surfaces.
 */
#ifndef DAEMON_DEVICE_SOFT_TEXTURE_SURFACE_H
#define DAEMON_DEVICE_SOFT_TEXTURE_SURFACE_H

#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/instructions/ptx_texture.h"

/* Returns the handler of an access to a surface of this form, or NULL if there is none. */
code_handler *surface_select(const struct ptx_texture *form);

#endif
