/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues of jobs: by priority, then rank, then order of arrival. A pairing heap whose links lie in
 * the jobs (M. L. Fredman and others, "The pairing heap", Algorithmica 1, 1986), so that it never
 * allocates. The first is its root, JOB_HEAP_NONE when empty; putting a job in costs O(1), taking
 * any job out O(log n) amortised. A job is in one queue at most.
 */
#ifndef DAEMON_SCHED_DISPATCH_JOB_HEAP_H
#define DAEMON_SCHED_DISPATCH_JOB_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#define JOB_HEAP_NONE UINT32_MAX

struct order_node;
struct sched_job;

/* True when a goes before b. */
bool job_heap_before(const struct order_node *a, const struct order_node *b);
/* The node's key is set; it is in no queue. */
void job_heap_put(struct sched_job *jobs, uint32_t *root, uint32_t job);
void job_heap_take(struct sched_job *jobs, uint32_t *root, uint32_t job);

#endif
