/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and destroys a scheduler, and changes its policies.
 */
#ifndef DAEMON_SCHED_CORE_LIFE_H
#define DAEMON_SCHED_CORE_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/sched.h"

/* Returns 0, -ENOMEM, or -EINVAL with a sentence in `why` (at least 160 bytes, or NULL) for an
 * unknown policy or a number out of range. */
int sched_create(struct sched **out, const struct sched_config *config, char *why,
                 size_t why_bytes);
void sched_destroy(struct sched *s);

/* Prepares s->entry for the last valid SCHED_POLICY of a step. Returns 0 or -ENOMEM. */
int life_prepare(struct sched *s, const struct sched_event *events, uint32_t count);
/* Puts s->entry into effect if it is ready. No operation and no place in a queue is lost. */
void life_change(struct sched *s);
/* Preempts the job's kernels on the device, or resumes them. */
void life_preempt(struct sched *s, uint32_t job, bool still);

#endif
