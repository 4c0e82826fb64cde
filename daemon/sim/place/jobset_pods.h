/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts a row of Alibaba's table of pods to a job. Private to daemon/sim/place.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_PODS_H
#define DAEMON_SIM_PLACE_JOBSET_PODS_H

#include "daemon/sim/place/jobset_row.h"

/* The table's columns. */
extern const char *const jobset_pod_names[];
/* Returns 0, -E2BIG with an error in the list, or -ENOMEM. */
int jobset_pod_take(struct jobset *s, const struct jobset_rules *rules, struct table *t);

#endif
