/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl record`.
 */
#ifndef DAEMON_CTL_RECORD_RECORD_VERB_H
#define DAEMON_CTL_RECORD_RECORD_VERB_H

#include "daemon/ctl/cli/cli.h"

/* Records running jobs as a workload, or the scheduler's events. Returns an exit status. */
int record_verb_run(struct cli *c, int argc, char **argv);

#endif
