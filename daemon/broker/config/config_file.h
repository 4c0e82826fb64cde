/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration files.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_FILE_H
#define DAEMON_BROKER_CONFIG_CONFIG_FILE_H

#include "daemon/broker/config/config.h"

/* Reads one INI file into *c. Appends one line per error to `errors` and returns their number. A
 * missing file is an error only with `must_exist`. */
int config_file_read(struct config *c, const char *path, bool must_exist, FILE *errors);

#endif
