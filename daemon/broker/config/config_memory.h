/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for the sizes of windows and of a GPU's memory. Each function appends one line per error
 * and returns their number.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_MEMORY_H
#define DAEMON_BROKER_CONFIG_CONFIG_MEMORY_H

#include "daemon/broker/config/config.h"

int config_memory_check_windows(const struct config *c, FILE *errors);

/* Checks a GPU's memory if the configuration sets that. */
int config_memory_check(const struct config *c, FILE *errors);

#endif
