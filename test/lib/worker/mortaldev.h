/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU with an end: it can be lost, as the context of a real one can. Kernels do
 * nothing, and stay on their queues until the test says that they are complete, or that the device
 * is lost; all else is the software GPU's. A queue has kernels alone, or none.
 *
 * Owner: the test. Thread: one. One device at a time.
 */
#ifndef TEST_LIB_MORTALDEV_H
#define TEST_LIB_MORTALDEV_H

#include "daemon/device/device.h"

/* Operations are those of struct op, whose client is who has them. */
extern struct dev_ops mortaldev;

/* Before one is opened. */
void mortaldev_reset(void);
/* Kernels that it has now, in the order in which they were given. */
uint32_t mortaldev_count(void);
struct dev_op *mortaldev_at(uint32_t i);
/* The i-th is complete. */
void mortaldev_finish(uint32_t i);
/* The device is lost because of this; what has not begun is what stands behind another kernel of
 * its queue. */
void mortaldev_end(int err);
/* It is, and the next call that makes or unmaps memory, or launches, is the first to find out. */
void mortaldev_doom(int err);

#endif
