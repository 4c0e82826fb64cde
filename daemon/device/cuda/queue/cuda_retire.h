/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that are complete: their times, their results, and the text that their kernels
 * printed.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_RETIRE_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_RETIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "daemon/device/cuda/queue/queue_state.h"

/* Asks the driver for what the queue's kernel printed, which is complete. */
void cuda_retire_ask_text(struct dev_queue *q);

/* A complete one is through once its job has what it printed. */
static inline bool cuda_retire_is_through(struct dev_queue *q, const struct task *t) {
    if (!queue_state_prints(t)) return true;
    if (!q->through_ns) cuda_retire_ask_text(q);
    return atom_load_acquire(&q->flush.done);
}

/* The operation's result: the driver refused it. */
void cuda_retire_note_error(struct dev_op *op, int err);

/* Hands the first operation of the queue to the worker; `now_ns`: when it was seen to be complete.
 */
void cuda_retire_first(struct dev_queue *q, uint64_t now_ns);

#endif
