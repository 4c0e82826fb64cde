/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a command on the shared GPU: with the existing daemon, or, if none was meant to run, with a
 * private one.
 */
#ifndef DAEMON_CTL_RUN_COMMAND_H
#define DAEMON_CTL_RUN_COMMAND_H

#include <stdbool.h>

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/environment/environment.h"

struct command {
    struct environment environment; /* run number 0: command_run chooses a number */
    bool private;                   /* use a private daemon in any case */
    bool verbose;                   /* print why the job waits, even without a terminal */
    bool output_to_error;           /* redirect the command's output to standard error */
    bool hand_over; /* close inherited descriptors here once the command has them (inherited.h) */
    char **argv;
};

/* Checks whether a daemon accepts clients. Returns CLI_OK, CLI_NO_DAEMON (not reported), or an exit
 * status after a diagnostic. */
int command_probe(struct cli *c);

/* Returns a number that distinguishes this run from others. */
uint32_t command_number(void);

/* Runs the command to its end. Returns its exit status, CLI_BY_SIGNAL plus a signal's number, or
 * our own status after a diagnostic. */
int command_run(struct cli *c, struct command *o);

#endif
