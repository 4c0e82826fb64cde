/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives operations to the driver: at once, or when earlier ones have completed. A launch may go in
 * parts (cuda_subgrid.h). Then the driver gets nothing behind it before its last part, and has at
 * most QUEUE_PARTS of its parts.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_ISSUE_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_ISSUE_H

#include "daemon/device/cuda/queue/queue_state.h"

int cuda_issue_launch(struct dev_queue *q, const struct dev_launch *launch, struct dev_op *op);
int cuda_issue_copy(struct dev_queue *q, const struct dev_copy *copy, struct dev_op *op);
int cuda_issue_memset(struct dev_queue *q, const struct dev_memset *set, struct dev_op *op);

/* Requests the times of the queue's latest operation, if it is this one. */
void cuda_issue_time(struct dev_queue *q, struct dev_op *op);

/* Queues a completion signal behind the latest operation, if none is there. */
void cuda_issue_signal(struct dev_queue *q);
/* Called at every look for completions: queues it, unless many operations came since the previous
 * look, so that more are expected. Then it waits for them for at most QUEUE_BATCH_NS. */
void cuda_issue_signal_idle(struct dev_queue *q);

/* Gives the driver waiting operations of the queue, as far as it has room. */
void cuda_issue_waiting(struct dev_queue *q);
/* Does that for queues that wait for their turn to print. */
void cuda_issue_turns(struct texts *texts);

#endif
