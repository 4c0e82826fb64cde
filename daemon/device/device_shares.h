/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: divides its time and its multiprocessors among queues, by level,
 * by share, and by suspending them. Where only some of these have an effect, info tells: levels is
 * 1, whole is set, slice_ns is 0.
 *
 * A backend without it (dev_ops.shares is NULL) runs all queues alike: the scheduler decides by
 * order alone, SM shares have no effect (info.whole), and no kernel is preempted.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_SHARES_H
#define DAEMON_DEVICE_DEVICE_SHARES_H

#include "daemon/device/device.h"

struct dev_shares_ops {
    /* Sets the queue's level. Operations at level 1 are dispatched before those of level 0, where
     * queues begin; a part of an operation that runs already runs to its end. Allowed at any time:
     * operations in flight change their level with their queue. */
    void (*queue_level)(struct dev_queue *queue, uint32_t level);
    /* Limits kernels of the queue that are launched from now on to `sms` multiprocessors at a time,
     * as exactly as the device can: it may use fewer, or its smallest unit. 0: all, the initial
     * value. */
    void (*queue_share)(struct dev_queue *queue, uint32_t sms);
    /* Suspends or resumes the queue's kernels. A running kernel stops at the end of its slice
     * (slice_ns; or the device's own slice, where it runs wave by wave). Cancelled kernels are not
     * suspended. Allowed at any time. */
    void (*queue_still)(struct dev_queue *queue, bool still);
};

#endif
