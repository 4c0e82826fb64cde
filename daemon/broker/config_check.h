/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether this machine can do what the configuration says, as far as that shows before it is
 * tried: programs, directories, memory.
 */
#ifndef DAEMON_BROKER_CONFIG_CHECK_H
#define DAEMON_BROKER_CONFIG_CHECK_H

#include <stdio.h>

#include "common/hostmem.h"
#include "daemon/broker/config/config.h"

/* Appends a line an error; returns how many. The default run_dir and names in the state directory
 * are not looked at: whoever starts the service makes those (RuntimeDirectory=, StateDirectory=).
 */
int config_check_machine(const struct config *c, const struct hostmem *m, FILE *errors);

#endif
