/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue's streams of the driver: one for each share and level that it ever had.
 */
#include "daemon/device/cuda/queue/queue_state.h"

/* Priorities that a job sets stay below that of the higher level. */
static int priority_of(const struct dev_queue *q, uint32_t level) {
    const struct context *c = q->all->context;
    int most =
        c->greatest_priority < c->least_priority ? c->greatest_priority + 1 : c->greatest_priority;
    if (level) return c->greatest_priority;
    if (q->priority > c->least_priority) return c->least_priority;
    return q->priority < most ? most : q->priority;
}

int queue_state_need_stream(struct dev_queue *q, uint32_t number) {
    if (q->streams[number]) return 0;
    return cuda_share_stream(q->all->shares, number / QUEUE_LEVELS,
                             priority_of(q, number % QUEUE_LEVELS), &q->streams[number]);
}

int queue_state_pass_over(struct dev_queue *q, uint32_t number) {
    const struct driver *d = &q->all->context->driver;
    int err = queue_state_need_stream(q, number);
    if (err || !q->in_driver) return err;
    if (!q->passing)
        err = queue_state_result(q, d->cuEventCreate(&q->passing, CU_EVENT_DISABLE_TIMING));
    if (!err) err = queue_state_result(q, d->cuEventRecord(q->passing, q->streams[q->current]));
    if (!err) err = queue_state_result(q, d->cuStreamWaitEvent(q->streams[number], q->passing, 0));
    return err;
}
