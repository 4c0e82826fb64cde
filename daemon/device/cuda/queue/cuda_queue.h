/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue is a stream of the driver, plus another one for each level and each share of the
 * multiprocessors that it ever had, because the driver fixes both when it makes a stream. It has at
 * most QUEUE_DEPTH of our operations, so that a job's later ones can still be cancelled.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_QUEUE_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/cuda/queue/queue_state.h"

int cuda_queues_open(struct queues *qs, struct context *context, struct shares *shares,
                     struct times *times, enum dev_completion way);
void cuda_queues_close(struct queues *qs);

/* Completed operations, in order; NULL: none. After the context is lost, that is all of them:
 * suspects with its error, the rest with ERR_DEVICE_LOST. */
struct dev_op *cuda_queues_poll(struct queues *qs);
/* 1: an operation is complete already. */
int cuda_queues_arm(struct queues *qs);

int cuda_queue_create(struct queues *qs, struct dev_space *space, int priority,
                      struct dev_queue **out);
void cuda_queue_destroy(struct dev_queue *q);
void cuda_queue_level(struct dev_queue *q, uint32_t level);
void cuda_queue_share(struct dev_queue *q, uint32_t sms);
/* Stops giving the driver kernels of this queue, or further parts of one, until it is called with
 * false. */
void cuda_queue_still(struct dev_queue *q, bool still);
/* Completes the space's operations that the driver does not have yet, with ERR_CANCELLED. */
void cuda_queues_cancel(struct queues *qs, struct dev_space *space);

#endif
