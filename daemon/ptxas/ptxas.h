/* SPDX-License-Identifier: Apache-2.0
 *
 * A replacement for ptxas for programs on the software GPU. The image that it writes is its input,
 * after a check that the input is PTX.
 */
#ifndef DAEMON_PTXAS_PTXAS_H
#define DAEMON_PTXAS_PTXAS_H

#include <stdio.h>

/* Runs the program. Returns 0, or 1 after lines in `log` in ptxas's form. The output is complete,
 * or unchanged after an error. */
int ptxas_main(FILE *out, FILE *log, char **argv);

#endif
