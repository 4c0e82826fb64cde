/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory for the bytes of a chunk: the device's own spares, which are filled and read without
 * a page fault for each page, or else anonymous memory.
 *
 * Owner: the caller. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_SEGMENTS_SPARE_H
#define DAEMON_WORKER_SEGMENTS_SPARE_H

#include "daemon/device/device.h"

/* Memory for a granule; NULL: there is none. */
void *spare_make(const struct dev_ops *ops, struct dev *dev, uint64_t granule);
/* Accepts NULL. */
void spare_free(const struct dev_ops *ops, struct dev *dev, uint64_t granule, void *host);

#endif
