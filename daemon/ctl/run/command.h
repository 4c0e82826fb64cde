/* SPDX-License-Identifier: Apache-2.0
 *
 * A command that is run on the shared GPU: by the daemon that there is, or where none was meant to
 * run by a private one.
 */
#ifndef DAEMON_CTL_RUN_COMMAND_H
#define DAEMON_CTL_RUN_COMMAND_H

#include <stdbool.h>

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/environment/environment.h"

struct command {
    struct environment environment; /* of its run number 0: one is chosen */
    bool private;                   /* a daemon of its own in any case */
    bool verbose;                   /* say why it waits, also without a terminal */
    bool output_to_error;           /* what it prints goes to standard error */
    bool hand_over; /* its descriptors are closed here once it has them (inherited.h) */
    char **argv;
};

/* Whether a daemon accepts clients there: CLI_OK, CLI_NO_DAEMON (not diagnosed), or a diagnosed
 * exit status. */
int command_probe(struct cli *c);

/* By which a run is told from others. */
uint32_t command_number(void);

/* Runs it to its end: its exit status, CLI_BY_SIGNAL and a signal's number, or ours after a
 * diagnostic. */
int command_run(struct cli *c, struct command *o);

#endif
