/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU, except that the test can make it lose its device, as a real GPU's context can
 * be lost. Kernels do nothing, and stay on their queues until the test completes them or loses the
 * device. All other calls are the software GPU's. A queue holds kernels only. Owner: the test.
 * Thread: one. One device at a time.
 */
#ifndef TEST_LIB_MORTALDEV_H
#define TEST_LIB_MORTALDEV_H

#include "daemon/device/device.h"

/* Operations must be members of struct op; its client owns them. */
extern struct dev_ops mortaldev;

/* Called before a device is opened. */
void mortaldev_reset(void);
/* The number of kernels on the device; and the i-th of them, in the order of their launches. */
uint32_t mortaldev_count(void);
struct dev_op *mortaldev_at(uint32_t i);
/* Completes the i-th kernel. */
void mortaldev_finish(uint32_t i);
/* Loses the device with this error. Kernels behind another one in their queue count as not
 * begun. */
void mortaldev_end(int err);
/* The device is lost with this error, and the next call that makes or unmaps memory, or
 * launches, is the first to report it. */
void mortaldev_doom(int err);

#endif
