/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions whose results are in registers.
 */
#ifndef DAEMON_DEVICE_TOUCH_TOUCH_COMPUTE_H
#define DAEMON_DEVICE_TOUCH_TOUCH_COMPUTE_H

#include "daemon/device/touch/touch_walk.h"

/* False: it is another instruction. */
bool touch_compute(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i);

#endif
