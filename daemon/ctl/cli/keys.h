/* SPDX-License-Identifier: Apache-2.0
 *
 * KEY=VALUE words: a verb's arguments that proto/control/ctl.def has as keys. What a value may be
 * is the daemon's to say; here is only how it is written.
 */
#ifndef DAEMON_CTL_CLI_KEYS_H
#define DAEMON_CTL_CLI_KEYS_H

#include "daemon/ctl/cli/cli.h"
#include "proto/control/ctl_msg.h"

/* Puts the word into the request: CLI_OK, or an exit status after a diagnostic. */
int keys_take(struct cli *c, const char *word, struct ctl_request *r);

#endif
