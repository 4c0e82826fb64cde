/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold for the sizes of windows and of a GPU's memory. Each function appends a line an
 * error and returns how many.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_MEMORY_H
#define DAEMON_BROKER_CONFIG_CONFIG_MEMORY_H

#include "daemon/broker/config/config.h"

int config_memory_check_windows(const struct config *c, FILE *errors);

/* A GPU's memory, where the configuration says how much. */
int config_memory_check(const struct config *c, FILE *errors);

#endif
