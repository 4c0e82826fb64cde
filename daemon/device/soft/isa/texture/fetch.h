/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture fetches and queries. There is one table per build; select.c chooses.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_TEXTURE_FETCH_H
#define DAEMON_DEVICE_SOFT_ISA_TEXTURE_FETCH_H

#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/instructions/ptx_texture.h"

code_handler *fetch_select_base(const struct ptx_texture *form);
code_handler *fetch_select_v3(const struct ptx_texture *form);
code_handler *fetch_select_v4(const struct ptx_texture *form);

#endif
