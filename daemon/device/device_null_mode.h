/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: null mode, in which kernels take their time and compute nothing.
 *
 * A backend without it (dev_ops.null_mode is NULL) always computes: the worker refuses a job that
 * asks for null mode with -ENOTSUP, and says why.
 *
 * Threads and errors: as device.h says.
 */
#ifndef DAEMON_DEVICE_DEVICE_NULL_MODE_H
#define DAEMON_DEVICE_DEVICE_NULL_MODE_H

#include "daemon/device/device.h"

struct dev_null_mode_ops {
    /* From now on nothing of the space is computed. Called before its first module. Modules with
     * machine code only are accepted as well, kernels are what they say of themselves, and launch
     * is refused with -EPERM; `spend` stands for it. Copies and fills are as ever. 0 or -errno. */
    int (*space_null)(struct dev_space *space);
    /* An operation that takes `ns` of so many multiprocessors, and does nothing: in its queue's
     * order, and beside others that are spent while there are multiprocessors for both. It slows
     * down no computation. busy_ns: of all multiprocessors. */
    int (*spend)(struct dev_queue *queue, uint32_t sms, uint64_t ns, struct dev_op *op);
};

#endif
