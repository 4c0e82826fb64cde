/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-sim as a library: the command line.
 */
#ifndef DAEMON_SIM_SIMCLI_H
#define DAEMON_SIM_SIMCLI_H

#include <stdio.h>

enum simcli_exit {
    SIMCLI_OK = 0,
    SIMCLI_FAILED = 1,
    SIMCLI_USAGE = 2,
    SIMCLI_WORKLOAD = 3, /* the file has faults */
    SIMCLI_BROKEN = 4,   /* the scheduler broke a rule, or does something else than recorded */
};

/* The whole program: returns the exit status. */
int simcli_main(FILE *out, FILE *err, int argc, char **argv);

#endif
