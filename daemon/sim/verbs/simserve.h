/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim serve`: a served model's requests.
 */
#ifndef DAEMON_SIM_VERBS_SIMSERVE_H
#define DAEMON_SIM_VERBS_SIMSERVE_H

#include "daemon/sim/verbs/simverb.h"

/* argv[0] is the verb, and its options are its own. */
int simserve_verb(struct simcli *c, char **argv);

#endif
