/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue is a stream of the driver's, and another one for each level and each share of the
 * multiprocessors that it ever had: the driver fixes both when a stream is made. It has at most
 * QUEUE_DEPTH operations of ours, so that what a job sent ahead can still be taken back, and no
 * call waits for room in the driver. A launch may go in parts (cuda_subgrid.h): then nothing behind
 * it is the driver's before its last part is, and QUEUE_PARTS of them are at most.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_QUEUE_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/cuda/driver/cuda_share.h"
#include "daemon/device/cuda/driver/cuda_time.h"
#include "daemon/device/cuda/memory/cuda_space.h"
#include "daemon/device/cuda/queue/cuda_assertion.h"
#include "daemon/device/cuda/queue/cuda_completion.h"
#include "daemon/device/cuda/queue/cuda_subgrid.h"
#include "daemon/device/cuda/queue/cuda_task.h"

#define QUEUE_DEPTH 64u
#define QUEUE_LEVELS 2u
#define QUEUE_PARTS 2u /* one that runs, and the next one */

/* All queues of the device. */
struct queues {
    struct context *context;
    struct shares *shares;
    struct times *times;
    struct completions words;
    struct list busy; /* queue.busy: those with an operation */
    uint32_t busy_count;
    struct tasks tasks;
    struct dev_op *done, **last; /* until the worker asks */
    struct word **watched;       /* of the busy ones, while the worker sleeps */
    uint64_t *seen;
    uint32_t room;                                 /* of both arrays */
    uint64_t kernel_timeout_ns, cancel_timeout_ns; /* as dev_config has them */
    struct cuda_subgrids subgrids;
    struct assertion assertion;
    bool asserted; /* only kernels that name an assertion can have ended the context */
    const struct dev_queue *culprit; /* whose kernel outlived one of them; NULL: none */
    bool asleep;                     /* the worker, with its arrays watched */
    uint32_t rounds;                 /* of looking, since the context was asked whether it lives */
};

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

void cuda_queue_time(struct dev_queue *q, struct dev_op *op);

int cuda_queue_launch(struct dev_queue *q, const struct dev_launch *launch, struct dev_op *op);
int cuda_queue_copy(struct dev_queue *q, const struct dev_copy *copy, struct dev_op *op);
int cuda_queue_memset(struct dev_queue *q, const struct dev_memset *set, struct dev_op *op);

#endif
