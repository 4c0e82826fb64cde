/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: divides its time and its multiprocessors among queues, by level,
 * by share, and by standing still. Where only some of these have an effect, info says so: levels is
 * 1, whole is set, slice_ns is 0.
 *
 * A backend without it (dev_ops.shares is NULL) runs all queues alike: the scheduler decides by
 * order alone, SM shares have no effect (info.whole), and no kernel is preempted.
 *
 * Threads and errors: as device.h says.
 */
#ifndef DAEMON_DEVICE_DEVICE_SHARES_H
#define DAEMON_DEVICE_DEVICE_SHARES_H

#include "daemon/device/device.h"

struct dev_shares_ops {
    /* Operations of queues at level 1 are dispatched before those of level 0, where queues begin; a
     * part of one that runs already runs to its end. At any time, also with operations in flight,
     * which change their level with their queue. */
    void (*queue_level)(struct dev_queue *queue, uint32_t level);
    /* Kernels of the queue that are launched from now on run on at most so many multiprocessors at
     * a time, as far as the device can tell these apart: fewer, or the least that it knows; 0: on
     * all, as it begins. */
    void (*queue_share)(struct dev_queue *queue, uint32_t sms);
    /* Kernels of the queue stand still, or go on where they were. A kernel that runs stops at the
     * end of its slice (slice_ns; or of the slice that the device has, where it goes wave by wave).
     * Cancelled kernels do not stand still. At any time. */
    void (*queue_still)(struct dev_queue *queue, bool still);
};

#endif
