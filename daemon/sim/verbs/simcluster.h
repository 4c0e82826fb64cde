/* SPDX-License-Identifier: Apache-2.0
 *
 * The verb `salus-sim cluster`.
 */
#ifndef DAEMON_SIM_VERBS_SIMCLUSTER_H
#define DAEMON_SIM_VERBS_SIMCLUSTER_H

#include "daemon/sim/verbs/simverb.h"

/* argv[0] is the verb; the verb parses its own options. */
int simcluster_verb(struct simcli *c, char **argv);

#endif
