/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl top`.
 */
#ifndef DAEMON_CTL_VERBS_TOP_H
#define DAEMON_CTL_VERBS_TOP_H

#include "daemon/ctl/cli/cli.h"

/* Draws lanes and jobs repeatedly until interrupted. Returns an exit status. */
int top_run(struct cli *c, int argc, char **argv);

#endif
