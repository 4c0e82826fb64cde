/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that access memory, or order accesses.
 */
#ifndef DAEMON_DEVICE_TOUCH_TOUCH_ACCESS_H
#define DAEMON_DEVICE_TOUCH_TOUCH_ACCESS_H

#include "daemon/device/touch/touch_walk.h"

/* False: it is another instruction. */
bool touch_access(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i);

#endif
