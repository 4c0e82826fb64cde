/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: spares, host memory of the device's that outlives the process
 * with its memory. The worker swaps into spares and stores savepoints in them. A device with it has
 * dev_ops.recovery, too.
 *
 * A backend without it (dev_ops.spares is NULL) swaps into anonymous memory of the worker's. A job
 * with swapped memory then ends with its worker, and there are no savepoints.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_SPARES_H
#define DAEMON_DEVICE_DEVICE_SPARES_H

#include "daemon/device/device.h"

struct dev_spares_ops {
    /* A spare of granularity_bytes of zeros, for chunk_save and chunk_load; NULL: there are none
     * left. */
    void *(*spare_make)(struct dev *dev);
    void (*spare_free)(struct dev *dev, void *host);
    /* The number of a spare, like chunk_id for a chunk; the two kinds of numbers are unrelated. */
    uint64_t (*spare_id)(const struct dev *dev, const void *host);
    /* The spare of an earlier process with this number. Errors as for chunk_adopt. */
    int (*spare_adopt)(struct dev *dev, uint64_t id, void **out);
};

#endif
