/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of the configuration.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_FILE_H
#define DAEMON_BROKER_CONFIG_CONFIG_FILE_H

#include "daemon/broker/config/config.h"

/* Reads one INI file over *c. Appends one line an error to `errors`; returns how many. A file that
 * does not exist is an error only when `must_exist`. */
int config_file_read(struct config *c, const char *path, bool must_exist, FILE *errors);

#endif
