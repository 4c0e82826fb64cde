/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of salusctl: their usage, their help and their handlers.
 */
#ifndef DAEMON_CTL_VERB_TABLE_H
#define DAEMON_CTL_VERB_TABLE_H

#include <stdio.h>

#include "daemon/ctl/cli/cli.h"

/* Returns the usage line of the verb that the words begin with; NULL: there is none. */
const char *verb_table_usage(int argc, char **argv);

/* Calls the verb that the words begin with, passing the words that follow. Returns its exit status.
 */
int verb_table_call(struct cli *c, int argc, char **argv);

/* Prints all verbs with their help, by noun. */
void verb_table_help(FILE *out);

#endif
