/* SPDX-License-Identifier: Apache-2.0
 *
 * Handler of loads by descriptor, for products of four warps.
 */
#ifndef DAEMON_DEVICE_SOFT_MEMORY_GROUP_H
#define DAEMON_DEVICE_SOFT_MEMORY_GROUP_H

#include <stdint.h>

#include "daemon/device/soft/code/code.h"

/* Loads a part of a matrix as its descriptor says. All lanes run this handler together. */
void group_load(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
