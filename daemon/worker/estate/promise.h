/* SPDX-License-Identifier: Apache-2.0
 *
 * Reserves the memory of modules that the log names, until they are placed again.
 */
#ifndef DAEMON_WORKER_ESTATE_PROMISE_H
#define DAEMON_WORKER_ESTATE_PROMISE_H

#include "daemon/device/device.h"
#include "daemon/worker/estate/record_log.h"

/* Reserves all of it, or none: dev_recovery_ops.chunk_promise's errors. */
int promise_modules(const struct log *l, const struct dev_ops *ops, struct dev *dev);
/* Releases the reservations that are not used yet. */
void promise_renounce(const struct log *l, const struct dev_ops *ops, struct dev *dev);

#endif
