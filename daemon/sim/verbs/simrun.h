/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that run a workload: `salus-sim run` and `compare`.
 */
#ifndef DAEMON_SIM_VERBS_SIMRUN_H
#define DAEMON_SIM_VERBS_SIMRUN_H

#include "daemon/sim/verbs/simverb.h"

/* Runs the workload under each lane policy. */
int simrun_verb(struct simcli *c, const char *path);

#endif
