/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's description of itself, asked once and compared with the figures that the worker
 * uses. Stores nothing. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_LINK_DESCRIBE_H
#define DAEMON_WORKER_LINK_DESCRIBE_H

#include "daemon/device/device.h"

/* Returns 0, or -EINVAL with the reason in *why (a literal): nothing could be computed with this
 * description, or it contradicts `info`. */
int describe_device(const struct dev_ops *ops, struct dev *dev, const struct dev_info *info,
                    struct description *out, const char **why);

#endif
