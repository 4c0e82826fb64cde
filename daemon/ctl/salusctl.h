/* SPDX-License-Identifier: Apache-2.0
 *
 * The program salusctl as a function, for main and for tests.
 */
#ifndef DAEMON_CTL_SALUSCTL_H
#define DAEMON_CTL_SALUSCTL_H

#include <stdio.h>

/* Runs a command line and returns its exit status (enum cli_exit). Data goes to `out`, diagnostics
 * to `err`. */
int salusctl_main(FILE *out, FILE *err, int argc, char **argv);

#endif
