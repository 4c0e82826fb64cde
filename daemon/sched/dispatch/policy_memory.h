/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocates, grows, clears and frees the kernel policy's memory (policy.h).
 */
#ifndef DAEMON_SCHED_DISPATCH_POLICY_MEMORY_H
#define DAEMON_SCHED_DISPATCH_POLICY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/policy/policy.h"
#include "daemon/sched/state.h"
#include "daemon/sched/visit.h"

/* Allocates a policy's memory with zeroed items for slots below `jobs`. Returns 0 or -ENOMEM; the
 * caller must drop *out after either. */
int policy_memory_make(const struct policy *policy, uint32_t jobs, struct sched_own *out);
/* Grows the items from `before` to `jobs` slots. Returns 0 or -ENOMEM. */
int policy_memory_grow(const struct policy *policy, uint32_t before, uint32_t jobs,
                       struct sched_own *own);
/* Frees what the job's item points to and clears the item, since another job will get the slot. */
void policy_memory_forget(const struct policy *policy, struct sched_own *own, uint32_t job);
/* Returns NULL, or an error if the item of a slot without a job is not empty. */
const char *policy_memory_check(const struct policy *policy, const struct sched_own *own,
                                uint32_t job);
/* Frees the memory. `jobs`: number of items that may point to blocks. */
void policy_memory_drop(const struct policy *policy, uint32_t jobs, struct sched_own *own);
bool policy_memory_walk(const struct policy *policy, uint32_t jobs, struct sched_own *own,
                        memory_visit *visit, void *arg);

#endif
