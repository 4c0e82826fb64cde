/* SPDX-License-Identifier: Apache-2.0
 *
 * Completed operations: their times, their results, and the output of their kernels.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_RETIRE_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_RETIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "daemon/device/cuda/queue/queue_state.h"

/* Requests the output of the queue's kernel, which is complete. */
void cuda_retire_ask_text(struct dev_queue *q);

/* True when a completed operation can be retired: its job has its output. */
static inline bool cuda_retire_is_through(struct dev_queue *q, const struct task *t) {
    if (!queue_state_prints(t)) return true;
    if (!q->through_ns) cuda_retire_ask_text(q);
    return atom_load_acquire(&q->flush.done);
}

/* Sets the operation's result to the driver's refusal. */
void cuda_retire_note_error(struct dev_op *op, int err);

/* Called before the operations that have completed are retired: divides the time that they took
 * among those without times of the driver's. */
void cuda_retire_begin(struct dev_queue *q);
/* Hands the first operation of the queue to the worker; `now_ns`: when its completion was seen. */
void cuda_retire_first(struct dev_queue *q, uint64_t now_ns);

#endif
