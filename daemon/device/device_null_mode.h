/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: null mode, in which kernels take their time and compute nothing.
 *
 * A backend without it (dev_ops.null_mode is NULL) always computes: the worker refuses a job that
 * asks for null mode with -ENOTSUP, and says why.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_NULL_MODE_H
#define DAEMON_DEVICE_DEVICE_NULL_MODE_H

#include "daemon/device/device.h"

struct dev_null_mode_ops {
    /* Stops computing for the space; called before its first module. Modules with machine code only
     * are then accepted too, kernels have the properties that their image states, and launch is
     * refused with -EPERM; `spend` replaces it. Copies and fills work as usual. 0 or -errno. */
    int (*space_null)(struct dev_space *space);
    /* Submits an operation that takes `ns` of `sms` multiprocessors, and does nothing. It runs in
     * its queue's order, and beside others of its kind while there are multiprocessors for both. It
     * slows down no computation. busy_ns: of all multiprocessors. */
    int (*spend)(struct dev_queue *queue, uint32_t sms, uint64_t ns, struct dev_op *op);
};

#endif
