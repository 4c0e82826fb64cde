/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of modules that the log names: nobody else is given it until they are placed again.
 */
#ifndef DAEMON_WORKER_ESTATE_PROMISE_H
#define DAEMON_WORKER_ESTATE_PROMISE_H

#include "daemon/device/device.h"
#include "daemon/worker/estate/record_log.h"

/* All of it, or none: dev_recovery_ops.chunk_promise's errors. */
int promise_modules(const struct log *l, const struct dev_ops *ops, struct dev *dev);
/* What was promised, and not taken yet. */
void promise_renounce(const struct log *l, const struct dev_ops *ops, struct dev *dev);

#endif
