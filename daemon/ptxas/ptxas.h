/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands in ptxas' place for programs on the software GPU: the image that it writes is its
 * input, once that has been found to be PTX.
 */
#ifndef DAEMON_PTXAS_PTXAS_H
#define DAEMON_PTXAS_PTXAS_H

#include <stdio.h>

/* The whole program: 0, or 1 after lines in `log` as ptxas has them. The output is there whole, or
 * as it was before. */
int ptxas_main(FILE *out, FILE *log, char **argv);

#endif
