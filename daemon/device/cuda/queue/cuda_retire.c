/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation's times are the driver's, or else those of giving it and seeing its completion.
 */
#include "daemon/device/cuda/queue/cuda_retire.h"

#include <stdio.h>

#include "common/err.h"
#include "common/fdutil.h"

/* The weight of an operation of unknown duration. */
#define UNKNOWN_NS 1000u

void cuda_retire_ask_text(struct dev_queue *q) {
    q->through_ns = fdutil_now_ns();
    cuda_text_ask(q->all->context->texts, &q->flush, q->streams[q->current]);
}

/* Returns the time at which the kernel was complete. */
static uint64_t end_printing(struct dev_queue *q) {
    uint64_t through_ns = q->through_ns;
    q->printing = false;
    q->through_ns = 0;
    cuda_text_leave(q->all->context->texts);
    return through_ns;
}

static uint64_t between(uint64_t value, uint64_t least, uint64_t most) {
    if (value < least) value = least;
    return value < most ? value : most;
}

/* Weight of an operation in the time that its batch took. */
static uint64_t weight_ns(const struct dev_op *op) {
    return op->expected_ns ? op->expected_ns : UNKNOWN_NS;
}

void cuda_retire_begin(struct dev_queue *q) {
    q->batch_ns = 0;
    for (const struct task *t = q->first; t && queue_state_is_back(q, t); t = t->next)
        q->batch_ns += weight_ns(t->op);
}

/* The assumed end of an operation whose completion was seen at `now_ns` together with that of those
 * behind it: the time since `before_ns` is divided as expected. */
static uint64_t assumed_end(const struct dev_queue *q, const struct dev_op *op, uint64_t before_ns,
                            uint64_t now_ns) {
    uint64_t mine = weight_ns(op);
    if (now_ns <= before_ns || q->batch_ns <= mine) return now_ns;
    return before_ns +
           (uint64_t)((double)(now_ns - before_ns) * (double)mine / (double)q->batch_ns);
}

/* Sets the driver's times, or else the observed ones: it began when it was given to the driver or
 * when the one before it had ended. Clock errors must not move its begin before it was given, nor
 * its end after `now_ns`, when its completion was seen. */
static void note_times(struct dev_queue *q, const struct task *t, uint64_t now_ns) {
    struct times *times = q->all->times;
    struct dev_op *op = t->op;
    uint64_t before_ns = t->issued_ns > q->last_end_ns ? t->issued_ns : q->last_end_ns;
    bool ended = cuda_time_of(times, t->ended, &op->end_ns);
    op->timed = ended && cuda_time_of(times, t->began, &op->start_ns);
    uint64_t took_ns = op->timed && op->end_ns > op->start_ns ? op->end_ns - op->start_ns : 0;
    if (!ended) op->end_ns = assumed_end(q, op, before_ns, now_ns);
    if (op->timed && op->start_ns < t->issued_ns) op->end_ns = t->issued_ns + took_ns;
    op->end_ns = between(op->end_ns, t->issued_ns, now_ns);
    op->start_ns = between(op->timed ? op->end_ns - took_ns : before_ns, t->issued_ns, op->end_ns);
    op->busy_ns = op->timed ? took_ns : op->end_ns - op->start_ns;
    op->busy_ns -= t->stood_ns < op->busy_ns ? t->stood_ns : op->busy_ns;
    op->timed &= !t->stood; /* the time of an uninterrupted run is less exact */
    if (op->end_ns > q->last_end_ns) q->last_end_ns = op->end_ns;
    q->batch_ns -= between(weight_ns(op), 0, q->batch_ns);
    cuda_time_drop(times, t->began);
    cuda_time_drop(times, t->ended);
}

void cuda_retire_note_error(struct dev_op *op, int err) {
    op->result = err;
    /* The operation itself is not at fault: it did not begin, or was stopped. */
    if (err == ERR_DEVICE_LOST || err == ERR_CANCELLED) return;
    snprintf(op->fault_text, sizeof(op->fault_text), "the driver rejected the operation: %s",
             err_text(err));
}

void cuda_retire_first(struct dev_queue *q, uint64_t now_ns) {
    struct task *t = q->first;
    struct dev_op *op = t->op;
    q->first = t->next;
    if (!q->first) q->last = &q->first;
    if (t->end && !op->result) cuda_retire_note_error(op, t->end);
    if (q->waiting == t) q->waiting = t->next;
    if (t->issued) {
        q->in_driver--;
        if (queue_state_prints(t)) now_ns = end_printing(q);
        note_times(q, t, now_ns);
    }
    queue_state_say_done(q->all, op);
    cuda_task_give(&q->all->tasks, t);
}
