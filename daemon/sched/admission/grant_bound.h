/* SPDX-License-Identifier: Apache-2.0
 *
 * The upper bound of the memory that a job would be granted.
 */
#ifndef DAEMON_SCHED_ADMISSION_GRANT_BOUND_H
#define DAEMON_SCHED_ADMISSION_GRANT_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/sched.h"

/* Sets *out to the largest P that ASKED would grant the admitted job now with its present E, and
 * the largest E with its present P: its own reservation and the memory beyond all reservations.
 * Returns false when there is no such job or it waits. */
bool sched_obtainable(const struct sched *s, uint32_t job, struct sched_need *out);
/* Memory beyond all reservations: the largest P of a job that would arrive now. */
uint64_t sched_free_bytes(const struct sched *s);

#endif
