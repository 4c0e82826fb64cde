/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks whether this machine can do what the configuration demands, as far as that shows in
 * advance: programs, directories, memory.
 */
#ifndef DAEMON_BROKER_CONFIG_CHECK_H
#define DAEMON_BROKER_CONFIG_CHECK_H

#include <stdio.h>

#include "common/hostmem.h"
#include "daemon/broker/config/config.h"

/* Appends one line per error and returns their number. Skips the default run_dir and names in the
 * state directory: whatever starts the service creates those (RuntimeDirectory=, StateDirectory=).
 */
int config_check_machine(const struct config *c, const struct hostmem *m, FILE *errors);

#endif
