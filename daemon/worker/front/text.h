/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of printf and assert in kernels, into the byte ring of the completion page.
 */
#ifndef DAEMON_WORKER_FRONT_TEXT_H
#define DAEMON_WORKER_FRONT_TEXT_H

#include "daemon/device/device.h"

/* Called by the device's threads with the client as `arg`; what does not fit is dropped. */
extern const struct dev_space_ops text_ops;

#endif
