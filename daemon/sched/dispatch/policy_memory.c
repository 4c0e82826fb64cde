/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel policy's memory: one block, and an item for each job. An empty item is all zero.
 */
#include "daemon/sched/dispatch/policy_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *job_at(const struct policy *policy, const struct sched_own *own, uint32_t job) {
    return (char *)own->jobs + job * policy->job_bytes;
}

/* Allocates zeroed memory, or sets *out to NULL when its size is 0. */
static int make(void **out, size_t items, size_t bytes) {
    *out = items && bytes ? calloc(items, bytes) : NULL;
    return items && bytes && !*out ? -ENOMEM : 0;
}

int policy_memory_make(const struct policy *policy, uint32_t jobs, struct sched_own *out) {
    int err = make(&out->policy, 1, policy->own_bytes);
    return err ? err : make(&out->jobs, jobs, policy->job_bytes);
}

int policy_memory_grow(const struct policy *policy, uint32_t before, uint32_t jobs,
                       struct sched_own *own) {
    if (!policy->job_bytes) return 0;
    void *grown = realloc(own->jobs, jobs * policy->job_bytes);
    if (!grown) return -ENOMEM;
    own->jobs = grown;
    memset(job_at(policy, own, before), 0, (jobs - before) * policy->job_bytes);
    return 0;
}

static bool drop(void *arg, void **block, size_t bytes) {
    free(*block);
    *block = NULL;
    return true;
}

void policy_memory_forget(const struct policy *policy, struct sched_own *own, uint32_t job) {
    if (!policy->job_bytes) return;
    void *mine = job_at(policy, own, job);
    if (policy->blocks) policy->blocks(mine, drop, NULL);
    memset(mine, 0, policy->job_bytes);
}

const char *policy_memory_check(const struct policy *policy, const struct sched_own *own,
                                uint32_t job) {
    if (!policy->job_bytes) return NULL;
    const char *item = job_at(policy, own, job);
    for (size_t i = 0; i < policy->job_bytes; i++)
        if (item[i]) return "a policy remembers a job that has left";
    return NULL;
}

void policy_memory_drop(const struct policy *policy, uint32_t jobs, struct sched_own *own) {
    for (uint32_t job = 0; job < jobs; job++)
        policy_memory_forget(policy, own, job);
    free(own->policy);
    free(own->jobs);
    *own = (struct sched_own){0};
}

bool policy_memory_walk(const struct policy *policy, uint32_t jobs, struct sched_own *own,
                        memory_visit *visit, void *arg) {
    bool visited = visit(arg, &own->policy, policy->own_bytes) &&
                   visit(arg, &own->jobs, jobs * policy->job_bytes);
    for (uint32_t job = 0; visited && policy->blocks && job < jobs; job++)
        visited = policy->blocks(job_at(policy, own, job), visit, arg);
    return visited;
}
