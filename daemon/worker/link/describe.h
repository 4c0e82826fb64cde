/* SPDX-License-Identifier: Apache-2.0
 *
 * What the device says of itself, asked once and held against what the worker itself goes by.
 * Keeps nothing. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_LINK_DESCRIBE_H
#define DAEMON_WORKER_LINK_DESCRIBE_H

#include "daemon/device/device.h"

/* 0; -EINVAL, with the reason in *why (a literal): nothing could be computed with it, or it is not
 * the device of `info`. */
int describe_device(const struct dev_ops *ops, struct dev *dev, const struct dev_info *info,
                    struct description *out, const char **why);

#endif
