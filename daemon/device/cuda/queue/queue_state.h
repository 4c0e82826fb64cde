/* SPDX-License-Identifier: Apache-2.0
 *
 * The queues of the device: a queue's operations in order, how many of them the driver has and how
 * many came back, and the driver's streams that it has.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_QUEUE_STATE_H
#define DAEMON_DEVICE_CUDA_QUEUE_QUEUE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/cuda/driver/cuda_share.h"
#include "daemon/device/cuda/driver/cuda_text.h"
#include "daemon/device/cuda/driver/cuda_time.h"
#include "daemon/device/cuda/memory/cuda_space.h"
#include "daemon/device/cuda/module/cuda_module.h"
#include "daemon/device/cuda/queue/cuda_assertion.h"
#include "daemon/device/cuda/queue/cuda_completion.h"
#include "daemon/device/cuda/queue/cuda_subgrid.h"
#include "daemon/device/cuda/queue/cuda_task.h"

#define QUEUE_DEPTH 64u
#define QUEUE_LEVELS 2u
#define QUEUE_PARTS 2u /* one that runs, and the next one */
#define QUEUE_STREAMS ((1 + SHARE_MAX) * QUEUE_LEVELS)

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

struct dev_queue {
    struct queues *all;
    struct dev_space *space;
    struct list busy;                /* all->busy, while it has an operation */
    int priority;                    /* CUDA's */
    uint32_t level, share;           /* as it is to be; the share's number */
    uint32_t share_sms;              /* that was asked for */
    uint32_t current;                /* of the streams */
    CUstream streams[QUEUE_STREAMS]; /* by share and level; NULL: was never needed */
    CUevent passing;                 /* from one stream to the other; NULL: was never needed */
    struct word *word;
    uint64_t clears;       /* of its space, that its streams have waited for */
    uint64_t number, seen; /* the latest given, the latest that came back */
    uint32_t in_driver;
    struct task *first, **last; /* not complete */
    struct task *waiting;       /* the first of these that the driver does not have all of */
    bool still;                 /* it gets no more kernels */
    bool failed; /* one of these: what is behind it does not run, until the worker has seen that */
    uint64_t last_end_ns;
    struct list turn; /* its next operation waits for its turn to print */
    bool printing;    /* the last one that the driver has may print: nothing is given behind it */
    uint64_t through_ns; /* when that was complete, and asked for what it printed; 0: it is not */
    struct text_flush flush;
};

/* The device's code for what the driver said; the loss of the context is noted. */
static inline int queue_state_result(const struct dev_queue *q, CUresult r) {
    return context_result(q->all->context, r);
}

/* ---- the driver's streams -------------------------------------------------------------------- */

/* Makes the driver's stream of this number; 0 or an error. */
int queue_state_need_stream(struct dev_queue *q, uint32_t number);

/* Makes what comes on the stream of this number wait for what is on the current one; 0 or an error.
 */
int queue_state_pass_over(struct dev_queue *q, uint32_t number);

/* The stream of the queue's share and level; where it cannot be had, the one before. */
static inline CUstream queue_state_stream(struct dev_queue *q) {
    uint32_t wanted = q->share * QUEUE_LEVELS + q->level;
    if (wanted != q->current && !queue_state_pass_over(q, wanted)) q->current = wanted;
    return q->streams[q->current];
}

/* ---- its operations -------------------------------------------------------------------------- */

static inline bool queue_state_prints(const struct task *t) {
    return t->kind == TASK_LAUNCH && t->launch.func->module->prints;
}

/* Parts of it that the driver has and is not through with; it is the latest that it was given. */
static inline uint64_t queue_state_parts_out(const struct dev_queue *q, const struct task *t) {
    return q->number - (q->seen > t->before ? q->seen : t->before);
}

/* Nothing of it is under way: it stands between two parts. */
static inline bool queue_state_is_between(const struct dev_queue *q, const struct task *t) {
    return cuda_task_is_partly_given(t) && !queue_state_parts_out(q, t);
}

/* Complete, though what it printed may be on its way. */
static inline bool queue_state_is_back(const struct dev_queue *q, const struct task *t) {
    return t->issued && t->number <= q->seen;
}

/* Hands a complete operation to the worker. */
static inline void queue_state_say_done(struct queues *qs, struct dev_op *op) {
    op->next = NULL;
    *qs->last = op;
    qs->last = &op->next;
}

static inline void queue_state_set_busy(struct dev_queue *q, bool busy) {
    if (busy == !list_empty(&q->busy)) return;
    if (busy) {
        list_append(&q->all->busy, &q->busy);
        q->all->busy_count++;
    } else {
        list_remove(&q->busy);
        q->all->busy_count--;
    }
}

#endif
