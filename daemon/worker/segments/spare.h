/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory for what was in a chunk: the device's, where it has such, which is filled and read
 * without a fault for each of its pages; or our own.
 *
 * Owner: the caller. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_SEGMENTS_SPARE_H
#define DAEMON_WORKER_SEGMENTS_SPARE_H

#include "daemon/device/device.h"

/* A granule; NULL: there is none. */
void *spare_make(const struct dev_ops *ops, struct dev *dev, uint64_t granule);
/* Accepts NULL. */
void spare_free(const struct dev_ops *ops, struct dev *dev, uint64_t granule, void *host);

#endif
