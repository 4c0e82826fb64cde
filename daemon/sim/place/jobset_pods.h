/* SPDX-License-Identifier: Apache-2.0
 *
 * A row of Alibaba's table of pods becomes a job. Private to daemon/sim/place.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_PODS_H
#define DAEMON_SIM_PLACE_JOBSET_PODS_H

#include "daemon/sim/place/jobset_row.h"

/* The table's columns. */
extern const char *const jobset_pod_names[];
/* 0, -E2BIG with a fault, -ENOMEM. */
int jobset_pod_take(struct jobset *s, const struct jobset_rules *rules, struct table *t);

#endif
