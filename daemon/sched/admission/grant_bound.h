/* SPDX-License-Identifier: Apache-2.0
 *
 * The most memory that a job could be granted.
 */
#ifndef DAEMON_SCHED_ADMISSION_GRANT_BOUND_H
#define DAEMON_SCHED_ADMISSION_GRANT_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/sched.h"

/* The most P that ASKED would grant the admitted job now with its E as it is, and the most E with
 * its P as it is: its own reservation, and what is free beyond those of others. False: there is no
 * such job, or it waits. */
bool sched_obtainable(const struct sched *s, uint32_t job, struct sched_need *out);
/* Memory beyond all reservations: the most P of a job that would come now. */
uint64_t sched_free_bytes(const struct sched *s);

#endif
