/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel policy's memory: made, grown, emptied and freed for it (policy.h).
 */
#ifndef DAEMON_SCHED_DISPATCH_POLICY_MEMORY_H
#define DAEMON_SCHED_DISPATCH_POLICY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/policy/policy.h"
#include "daemon/sched/state.h"
#include "daemon/sched/visit.h"

/* A policy's memory with items for slots below `jobs`, zeroed: 0 or -ENOMEM, and then to be
 * dropped. */
int policy_memory_make(const struct policy *policy, uint32_t jobs, struct sched_own *out);
/* For slots below `jobs`; there were `before`. 0 or -ENOMEM. */
int policy_memory_grow(const struct policy *policy, uint32_t before, uint32_t jobs,
                       struct sched_own *own);
/* The job's item, and what it points to: another job gets the slot. */
void policy_memory_forget(const struct policy *policy, struct sched_own *own, uint32_t job);
/* NULL, or that the item of a slot without a job is not empty. */
const char *policy_memory_check(const struct policy *policy, const struct sched_own *own,
                                uint32_t job);
/* `jobs`: items that may point to blocks. */
void policy_memory_drop(const struct policy *policy, uint32_t jobs, struct sched_own *own);
bool policy_memory_walk(const struct policy *policy, uint32_t jobs, struct sched_own *own,
                        memory_visit *visit, void *arg);

#endif
