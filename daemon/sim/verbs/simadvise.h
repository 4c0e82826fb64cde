/* SPDX-License-Identifier: Apache-2.0
 *
 * The verb `salus-sim advise`.
 */
#ifndef DAEMON_SIM_VERBS_SIMADVISE_H
#define DAEMON_SIM_VERBS_SIMADVISE_H

#include "daemon/sim/verbs/simverb.h"

/* Answers whether the jobs of several workloads should share a device. */
int simadvise_verb(struct simcli *c, char **paths, int count);

#endif
