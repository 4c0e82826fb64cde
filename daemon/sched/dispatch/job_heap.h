/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues of jobs by priority, then rank, then order of arrival. A pairing heap whose links are in
 * the jobs (M. L. Fredman and others, "The pairing heap", Algorithmica 1, 1986), so that it never
 * allocates. The root is the first job, or JOB_HEAP_NONE when the queue is empty. Inserting costs
 * O(1), removing any job O(log n) amortised. A job is in one queue at most.
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
/* Inserts and removes a job. For inserting, the node's key is set and the node is in no queue. */
void job_heap_put(struct sched_job *jobs, uint32_t *root, uint32_t job);
void job_heap_take(struct sched_job *jobs, uint32_t *root, uint32_t job);

#endif
