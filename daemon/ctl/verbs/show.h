/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs that ask the daemon and show its answer. Each returns an exit status.
 */
#ifndef DAEMON_CTL_VERBS_SHOW_H
#define DAEMON_CTL_VERBS_SHOW_H

#include "daemon/ctl/cli/cli.h"

/* Sends the verb's request and shows the records of the answer. */
int show_ask(struct cli *c, enum ctl_verb verb, int argc, char **argv);

int show_status(struct cli *c, int argc, char **argv);
int show_version(struct cli *c, int argc, char **argv);
int show_history(struct cli *c, int argc, char **argv);

#endif
