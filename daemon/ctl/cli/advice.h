/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice for a daemon that is missing or fails. Reads the file system.
 */
#ifndef DAEMON_CTL_CLI_ADVICE_H
#define DAEMON_CTL_CLI_ADVICE_H

#include "daemon/ctl/cli/cli.h"

#define ADVICE_BYTES 256

/* True if a daemon was meant to run: it is configured, or named by an option or a variable. Working
 * without it silently would hide the failure. */
bool advice_wants_daemon(const struct cli *c);

/* How to start the daemon of c->run_dir, and which commands need none. */
void advice_start(const struct cli *c, char out[ADVICE_BYTES]);
/* Returns where to find salusd's log, as a static string. */
const char *advice_log(const struct cli *c);

#endif
