/* SPDX-License-Identifier: Apache-2.0
 *
 * Handler of calls by which kernels launch graphs.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_GRAPH_CALL_H
#define DAEMON_DEVICE_SOFT_RUNTIME_GRAPH_CALL_H

#include <stdint.h>

#include "daemon/device/soft/code/code.h"

void graph_call(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
