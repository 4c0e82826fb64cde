/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowers instructions that read textures and read and write surfaces. Their operands have fixed
 * positions (code_texture_use), whatever the form.
 */
#ifndef DAEMON_DEVICE_SOFT_LOWER_LOWER_TEXTURE_H
#define DAEMON_DEVICE_SOFT_LOWER_LOWER_TEXTURE_H

#include "daemon/device/soft/lower/lowering.h"

void lower_texture(struct lowering *l, struct code_inst *c);

#endif
