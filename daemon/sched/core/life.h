/* SPDX-License-Identifier: Apache-2.0
 *
 * Beginning and end, and the change of policies in between.
 */
#ifndef DAEMON_SCHED_CORE_LIFE_H
#define DAEMON_SCHED_CORE_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/sched.h"

/* -EINVAL and a sentence in `why` (>= 160 bytes, or NULL) when there is no such policy or a number
 * is out of range. */
int sched_create(struct sched **out, const struct sched_config *config, char *why,
                 size_t why_bytes);
void sched_destroy(struct sched *s);

/* Makes s->entry ready for the last valid POLICY of a step: 0 or -ENOMEM. */
int life_prepare(struct sched *s, const struct sched_event *events, uint32_t count);
/* Other policies from now on: s->entry, if it is ready. No operation and no place is lost. */
void life_change(struct sched *s);
/* The job's kernels that are on the device stand still from now on, or go on. */
void life_still(struct sched *s, uint32_t job, bool still);

#endif
