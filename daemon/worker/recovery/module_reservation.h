/* SPDX-License-Identifier: Apache-2.0
 *
 * Reserves the memory of modules that the log names, until they are placed again.
 */
#ifndef DAEMON_WORKER_RECOVERY_MODULE_RESERVATION_H
#define DAEMON_WORKER_RECOVERY_MODULE_RESERVATION_H

#include "daemon/device/device.h"
#include "daemon/worker/recovery/record_log.h"

/* Reserves all of it, or none: dev_recovery_ops.chunk_promise's errors. */
int module_reservation_make(const struct log *l, const struct dev_ops *ops, struct dev *dev);
/* Releases the reservations that are not used yet. */
void module_reservation_release(const struct log *l, const struct dev_ops *ops, struct dev *dev);

#endif
