/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-sim as a library: the command line.
 */
#ifndef DAEMON_SIM_VERBS_SIMCLI_H
#define DAEMON_SIM_VERBS_SIMCLI_H

#include <stdio.h>

#include "daemon/sim/verbs/simcli_exit.h"

/* The whole program. Returns the exit status, enum simcli_exit. */
int simcli_main(FILE *out, FILE *err, int argc, char **argv);

#endif
