/* SPDX-License-Identifier: Apache-2.0
 *
 * A request from the command line, by what proto/control/ctl.def says of the verb's arguments.
 */
#ifndef DAEMON_CTL_CLI_ASK_H
#define DAEMON_CTL_CLI_ASK_H

#include "daemon/ctl/cli/cli.h"
#include "proto/control/ctl_msg.h"

/* From the options that were given, and the words behind the verb: those that name something, then
 * KEY=VALUE. CLI_OK, or an exit status after a diagnostic. */
int ask_build(struct cli *c, enum ctl_verb verb, int argc, char **argv, struct ctl_request *r);

/* Option --gpu N, of a verb that builds its request itself: the same. */
int ask_gpu(struct cli *c, struct ctl_request *r);

#endif
