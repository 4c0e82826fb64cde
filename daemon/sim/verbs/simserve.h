/* SPDX-License-Identifier: Apache-2.0
 *
 * The verb `salus-sim serve`.
 */
#ifndef DAEMON_SIM_VERBS_SIMSERVE_H
#define DAEMON_SIM_VERBS_SIMSERVE_H

#include "daemon/sim/verbs/simverb.h"

/* argv[0] is the verb; the verb parses its own options. */
int simserve_verb(struct simcli *c, char **argv);

#endif
