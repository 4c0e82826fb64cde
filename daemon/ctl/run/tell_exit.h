/* SPDX-License-Identifier: Apache-2.0
 *
 * salusd is told how a command ended, which only its parent knows: for the history.
 */
#ifndef DAEMON_CTL_RUN_TELL_EXIT_H
#define DAEMON_CTL_RUN_TELL_EXIT_H

#include <stdint.h>

#include "daemon/ctl/cli/cli.h"

/* `run`: the command's SALUS_RUN; `status`: as waitpid has it. Returns when salusd has heard it, or
 * cannot be told. */
void tell_exit(const struct cli *c, uint32_t run, int status);

#endif
