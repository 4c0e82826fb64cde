/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells salusd, for its history, how a command ended, which only its parent knows.
 */
#ifndef DAEMON_CTL_RUN_EXIT_REPORT_H
#define DAEMON_CTL_RUN_EXIT_REPORT_H

#include <stdint.h>

#include "daemon/ctl/cli/cli.h"

/* Sends the wait status of the command with this SALUS_RUN. Returns when salusd has received it, or
 * cannot be told. */
void exit_report(const struct cli *c, uint32_t run, int status);

#endif
