/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl run`, and `salusctl environment`, which has the same options. Each returns an exit
 * status.
 */
#ifndef DAEMON_CTL_RUN_RUN_H
#define DAEMON_CTL_RUN_RUN_H

#include "daemon/ctl/cli/cli.h"
#include <stdio.h>

/* Runs a program on the shared GPU. */
int run_program(struct cli *c, int argc, char **argv);
/* Prints the changes that `run` would make in a command's environment. */
int run_print_environment(struct cli *c, int argc, char **argv);

/* Prints the options of `run`, one per line. */
void run_help(FILE *out);

#endif
