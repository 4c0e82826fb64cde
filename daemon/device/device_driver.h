/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: it is reached through a driver. A driver can fail for good,
 * chooses addresses, has to be told of host memory, and tells exact times only when asked.
 *
 * A backend without it (dev_ops.driver is NULL) computes in this process: it cannot be lost, has
 * all memory in the windows, sees all of the host window, and its times are exact. The worker then
 * skips these questions.
 *
 * Threads and errors: as device.h says.
 */
#ifndef DAEMON_DEVICE_DEVICE_DRIVER_H
#define DAEMON_DEVICE_DEVICE_DRIVER_H

#include "daemon/device/device.h"

struct dev_driver_ops {
    /* 0 while the device works. Else ERR_*: it never will again in this process, whatever did it.
     * All that was in flight has completed or does so with the next poll: first operations that had
     * run to their end, then all others with ERR_DEVICE_LOST, except kernels of the one space that
     * can have done it: they say what they did. */
    int (*lost)(struct dev *dev);
    /* The range is memory of the space that lies outside its windows, as module variables do where
     * the driver chooses their place. */
    bool (*space_owns)(const struct dev_space *space, uint64_t addr, uint64_t bytes);
    /* Beside, one call at a time of a space. Its operations may touch this part of its host window
     * from now on. Needed only with info.host_hidden; else they may touch all of it. */
    int (*host_show)(struct dev_space *space, uint64_t addr, uint64_t bytes);
    /* Its operations may touch this part already. */
    bool (*host_shown)(const struct dev_space *space, uint64_t addr, uint64_t bytes);
    /* Asks for the end_ns of `op`, the latest of the queue and not complete. Called only with
     * info.coarse. */
    void (*queue_time)(struct dev_queue *queue, struct dev_op *op);
};

#endif
