/* SPDX-License-Identifier: Apache-2.0
 *
 * KEY=VALUE words, for arguments that proto/control/ctl.def defines as keys. This module checks the
 * syntax only; the daemon checks the values.
 */
#ifndef DAEMON_CTL_CLI_KEYS_H
#define DAEMON_CTL_CLI_KEYS_H

#include "daemon/ctl/cli/cli.h"
#include "proto/control/ctl_msg.h"

/* Puts the word into the request. Returns CLI_OK, or an exit status after a diagnostic. */
int keys_take(struct cli *c, const char *word, struct ctl_request *r);

#endif
