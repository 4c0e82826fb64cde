/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations given to the driver: at once, or when those before them leave room. A launch may go in
 * parts (cuda_subgrid.h): then nothing behind it is the driver's before its last part is, and
 * QUEUE_PARTS of them are at most.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_ISSUE_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_ISSUE_H

#include "daemon/device/cuda/queue/queue_state.h"

int cuda_issue_launch(struct dev_queue *q, const struct dev_launch *launch, struct dev_op *op);
int cuda_issue_copy(struct dev_queue *q, const struct dev_copy *copy, struct dev_op *op);
int cuda_issue_memset(struct dev_queue *q, const struct dev_memset *set, struct dev_op *op);

/* Asks for the times of the queue's latest operation, if it is this one. */
void cuda_issue_time(struct dev_queue *q, struct dev_op *op);

/* Gives the driver what it has room for, of what the queue waits with. */
void cuda_issue_waiting(struct dev_queue *q);
/* The same of the queues that wait for their turn to print. */
void cuda_issue_turns(struct texts *texts);

#endif
