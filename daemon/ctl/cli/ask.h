/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a request from the command line, using the verb's arguments in proto/control/ctl.def.
 */
#ifndef DAEMON_CTL_CLI_ASK_H
#define DAEMON_CTL_CLI_ASK_H

#include "daemon/ctl/cli/cli.h"
#include "proto/control/ctl_msg.h"

/* Builds a request from the options given and the words behind the verb: first the words that name
 * objects, then KEY=VALUE. Returns CLI_OK, or an exit status after a diagnostic. */
int ask_build(struct cli *c, enum ctl_verb verb, int argc, char **argv, struct ctl_request *r);

/* Takes option --gpu N for a verb that builds its request itself. Returns the same. */
int ask_gpu(struct cli *c, struct ctl_request *r);

#endif
