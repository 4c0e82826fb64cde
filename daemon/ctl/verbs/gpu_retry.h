/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl gpu retry`.
 */
#ifndef DAEMON_CTL_VERBS_GPU_RETRY_H
#define DAEMON_CTL_VERBS_GPU_RETRY_H

#include "daemon/ctl/cli/cli.h"

/* Has a GPU's worker started again, and says so in a line: an exit status. */
int gpu_retry(struct cli *c, int argc, char **argv);

#endif
