/* SPDX-License-Identifier: Apache-2.0
 *
 * The program salusctl, which a test may call as well.
 */
#ifndef DAEMON_CTL_SALUSCTL_H
#define DAEMON_CTL_SALUSCTL_H

#include <stdio.h>

/* Takes the words of a command line: its exit status (enum cli_exit). Data goes to `out`,
 * diagnostics to `err`. */
int salusctl_main(FILE *out, FILE *err, int argc, char **argv);

#endif
