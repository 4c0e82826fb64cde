/* SPDX-License-Identifier: Apache-2.0
 *
 * What people can do about a daemon that is not there, or fails. Reads the file system.
 */
#ifndef DAEMON_CTL_CLI_ADVICE_H
#define DAEMON_CTL_CLI_ADVICE_H

#include "daemon/ctl/cli/cli.h"

#define ADVICE_BYTES 256

/* True if a daemon was meant to run: configured, or named by an option or a variable. To do without
 * it in silence would hide that. */
bool advice_wants_daemon(const struct cli *c);

/* How to start the daemon of c->run_dir, and what needs none. */
void advice_start(const struct cli *c, char out[ADVICE_BYTES]);
/* The place of salusd's log, as a static string. */
const char *advice_log(const struct cli *c);

#endif
