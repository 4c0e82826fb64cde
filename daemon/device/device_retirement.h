/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: takes a chunk out of the device's memory without copying it,
 * where that memory is host memory anyway. The worker retires segments that only descriptors keep.
 *
 * A backend without it (dev_ops.retirement is NULL) has such segments copied to host memory and
 * back.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_RETIREMENT_H
#define DAEMON_DEVICE_DEVICE_RETIREMENT_H

#include "daemon/device/device.h"

struct dev_retired; /* the bytes of a chunk, outside the device's memory */

struct dev_retirement_ops {
    /* Retires a chunk that is mapped nowhere: it uses no device memory any more and keeps its
     * bytes. The caller gets `*out` in its place. -ENOMEM: it stays a chunk. */
    int (*chunk_retire)(struct dev *dev, struct dev_chunk *chunk, struct dev_retired **out);
    /* Makes it a chunk again, possibly with another number. ERR_NO_MEMORY: the device is full, and
     * the bytes stay retired. */
    int (*chunk_revive)(struct dev *dev, struct dev_retired *retired, struct dev_chunk **out);
    /* Frees the bytes of a retired chunk. */
    void (*retired_free)(struct dev *dev, struct dev_retired *retired);
};

#endif
