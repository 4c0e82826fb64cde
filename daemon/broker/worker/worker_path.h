/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds salus-gpu: as configured, else beside our own binary (a build tree), else where `make
 * install` puts it.
 */
#ifndef DAEMON_BROKER_WORKER_WORKER_PATH_H
#define DAEMON_BROKER_WORKER_WORKER_PATH_H

#include <stddef.h>

#include "daemon/broker/config/config.h"

/* Returns 0 when `out` is a program that we may execute; else -errno (-EACCES: not executable,
 * -EISDIR ...), with the path tried last in `out`. */
int worker_path_find(const struct config *config, char *out, size_t cap);

#endif
