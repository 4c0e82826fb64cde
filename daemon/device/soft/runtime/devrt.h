/* SPDX-License-Identifier: Apache-2.0
 *
 * Handler of calls from kernels to functions that a device provides, such as malloc and printf.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_DEVRT_H
#define DAEMON_DEVICE_SOFT_RUNTIME_DEVRT_H

#include <stdint.h>

#include "daemon/device/soft/code/code.h"

void devrt_call(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
