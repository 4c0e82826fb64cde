/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: reads and writes the memory of module variables, so that
 * savepoints contain them. A device with it has dev_ops.recovery and dev_ops.spares, too.
 *
 * A backend without it (dev_ops.variables is NULL) leaves variables out of savepoints: the next
 * worker finds them as they were when this one ended. Such a backend reports by space_unrestorable
 * which jobs cannot continue from that.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_VARIABLES_H
#define DAEMON_DEVICE_DEVICE_VARIABLES_H

#include "daemon/device/device.h"

struct dev_variables_ops {
    /* Do chunk_save and chunk_load for a granule of variables, by the number of its chunk from
     * module_where. */
    int (*granule_save)(struct dev *dev, void *host, uint64_t chunk);
    int (*granule_load)(struct dev *dev, uint64_t chunk, const void *host);
};

#endif
