/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: it is reached through a driver. A driver can fail for good,
 * chooses addresses, has to be told of host memory, and gives exact times only when asked.
 *
 * A backend without it (dev_ops.driver is NULL) computes in this process: it cannot be lost, has
 * all memory in the windows, sees all of the host window, and its times are exact. The worker then
 * skips these questions.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_DRIVER_H
#define DAEMON_DEVICE_DEVICE_DRIVER_H

#include "daemon/device/device.h"

struct dev_driver_ops {
    /* 0 while the device works. Else ERR_*: it will not work again in this process, whatever the
     * cause. All operations in flight have completed or do so with the next poll. First come
     * operations that had run to their end, then all others with ERR_DEVICE_LOST. If only one space
     * can have caused the loss, its kernels report their fault instead. */
    int (*lost)(struct dev *dev);
    /* True for memory of the space outside its windows, such as module variables where the driver
     * chooses their place. */
    bool (*space_owns)(const struct dev_space *space, uint64_t addr, uint64_t bytes);
    /* Background, one call at a time for a space. Makes this part of the host window accessible to
     * the space's operations. Needed only with info.host_hidden; otherwise all of it is accessible.
     */
    int (*host_show)(struct dev_space *space, uint64_t addr, uint64_t bytes);
    /* True when operations of the space may access this part already. */
    bool (*host_shown)(const struct dev_space *space, uint64_t addr, uint64_t bytes);
    /* Requests the end_ns of `op`, the latest of the queue and not complete. Called only with
     * info.coarse. */
    void (*queue_time)(struct dev_queue *queue, struct dev_op *op);
};

#endif
