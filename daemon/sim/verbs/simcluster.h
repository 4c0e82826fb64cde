/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim cluster`: a cluster.
 */
#ifndef DAEMON_SIM_VERBS_SIMCLUSTER_H
#define DAEMON_SIM_VERBS_SIMCLUSTER_H

#include "daemon/sim/verbs/simverb.h"

/* argv[0] is the verb, and its options are its own. */
int simcluster_verb(struct simcli *c, char **argv);

#endif
