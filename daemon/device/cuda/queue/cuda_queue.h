/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue is a stream of the driver's, and another one for each level and each share of the
 * multiprocessors that it ever had: the driver fixes both when a stream is made. It has at most
 * QUEUE_DEPTH operations of ours, so that what a job sent ahead can still be taken back.
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

/* What is complete, in order; NULL: nothing. When the context is lost, that is everything: what may
 * have done it with its error, the rest with ERR_DEVICE_LOST. */
struct dev_op *cuda_queues_poll(struct queues *qs);
/* 1: something is complete already. */
int cuda_queues_arm(struct queues *qs);

int cuda_queue_create(struct queues *qs, struct dev_space *space, int priority,
                      struct dev_queue **out);
void cuda_queue_destroy(struct dev_queue *q);
void cuda_queue_level(struct dev_queue *q, uint32_t level);
void cuda_queue_share(struct dev_queue *q, uint32_t sms);
/* No kernel of it is given to the driver, nor a further part of one, until it is not still again.
 */
void cuda_queue_still(struct dev_queue *q, bool still);
/* What the driver has not been given yet is complete, with ERR_CANCELLED. */
void cuda_queues_cancel(struct queues *qs, struct dev_space *space);

#endif
