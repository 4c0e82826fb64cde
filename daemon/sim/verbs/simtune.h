/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim tune`: tuning jobs.
 */
#ifndef DAEMON_SIM_VERBS_SIMTUNE_H
#define DAEMON_SIM_VERBS_SIMTUNE_H

#include "daemon/sim/verbs/simverb.h"

/* argv[0] is the verb, and its options are its own. */
int simtune_verb(struct simcli *c, char **argv);

#endif
