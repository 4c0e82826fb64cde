/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl gpu retry`.
 */
#ifndef DAEMON_CTL_VERBS_GPU_RETRY_H
#define DAEMON_CTL_VERBS_GPU_RETRY_H

#include "daemon/ctl/cli/cli.h"

/* Restarts a GPU's worker and prints a line about it. Returns an exit status. */
int gpu_retry(struct cli *c, int argc, char **argv);

#endif
