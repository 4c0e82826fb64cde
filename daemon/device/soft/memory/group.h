/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads by descriptor for what four warps multiply together, as a handler.
 */
#ifndef DAEMON_DEVICE_SOFT_MEMORY_GROUP_H
#define DAEMON_DEVICE_SOFT_MEMORY_GROUP_H

#include <stdint.h>

#include "daemon/device/soft/code/code.h"

/* Run together. */
void group_load(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
