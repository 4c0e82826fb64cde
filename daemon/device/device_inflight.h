/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: it reports the state of operations in flight.
 *
 * A backend without it (dev_ops.inflight is NULL) is opaque until an operation completes. The
 * worker then takes the time since an operation was submitted for its device time so far; such a
 * backend cannot be deterministic (info.in_order).
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_INFLIGHT_H
#define DAEMON_DEVICE_DEVICE_INFLIGHT_H

#include "daemon/device/device.h"

struct dev_inflight_ops {
    /* Number of the space's operations in flight that are stalled, because all of them only poll
     * for values that have not come; 0: at least one has work. When that changes to all, poll's
     * thread is woken. It stays so until another one is submitted, or for some milliseconds. Zero
     * where operations are not run one at a time. */
    uint32_t (*stalled)(struct dev_space *space);
    /* The busy_ns so far of an operation in flight. */
    uint64_t (*busy)(struct dev *dev, const struct dev_op *op);
};

#endif
