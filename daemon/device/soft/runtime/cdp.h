/* SPDX-License-Identifier: Apache-2.0
 *
 * Handler of calls from kernels to CUDA's device runtime.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_CDP_H
#define DAEMON_DEVICE_SOFT_RUNTIME_CDP_H

#include <stdint.h>

#include "daemon/device/soft/code/code.h"

void cdp_call(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
