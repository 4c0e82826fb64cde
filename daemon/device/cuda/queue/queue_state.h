/* SPDX-License-Identifier: Apache-2.0
 *
 * The queues of the device: a queue's operations in order, the numbers given to the driver and
 * completed, and its streams of the driver.
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
/* The most operations that share a completion signal, and the most time that they are expected to
 * take together, or that the first of them waits for the signal to be queued. A batch is half of
 * QUEUE_DEPTH, so that the driver has another one while the worker learns of the first. */
#define QUEUE_BATCH (QUEUE_DEPTH / 2)
#define QUEUE_BATCH_NS 100000u
/* Operations without a signal that make a burst: more are expected behind them. A round of the loop
 * may take long, so that fewer must not wait for the next one. */
#define QUEUE_BURST 8u
#define QUEUE_LEVELS 2u
#define QUEUE_PARTS 2u /* the running one and the next one */
#define QUEUE_STREAMS ((1 + SHARE_MAX) * QUEUE_LEVELS)

/* All queues of the device. */
struct queues {
    struct context *context;
    struct shares *shares;
    struct times *times;
    struct completions words;
    bool each;        /* a completion signal follows each operation */
    struct list busy; /* queue.busy: queues with an operation */
    uint32_t busy_count;
    struct tasks tasks;
    struct dev_op *done, **last; /* until the worker polls */
    struct word **watched;       /* words of the busy queues, while the worker sleeps */
    uint64_t *seen;
    uint32_t room;                                 /* size of both arrays */
    uint64_t kernel_timeout_ns, cancel_timeout_ns; /* from dev_config */
    struct cuda_subgrids subgrids;
    struct assertion assertion;
    bool asserted; /* only kernels that name an assertion can have ended the context */
    const struct dev_queue *culprit; /* queue whose kernel exceeded a limit; NULL: none */
    bool asleep;                     /* the worker sleeps, with its arrays watched */
    uint32_t rounds; /* checks since the driver was asked whether the context lives */
};

struct dev_queue {
    struct queues *all;
    struct dev_space *space;
    struct list busy;                /* all->busy, while it has an operation */
    int priority;                    /* CUDA's */
    uint32_t level, share;           /* wanted level; wanted share's number */
    uint32_t share_sms;              /* as requested */
    uint32_t current;                /* index of the stream in use */
    CUstream streams[QUEUE_STREAMS]; /* by share and level; NULL: not needed yet */
    CUevent passing;                 /* lets one stream wait for another; NULL: not needed yet */
    struct word *word;
    uint64_t clears;               /* clears of its space for which its streams have waited */
    uint64_t number, seen;         /* the latest number given, and the latest completed */
    uint64_t signalled;            /* the latest number whose completion the driver will signal */
    uint64_t looked;               /* `number` when completions were last collected */
    uint64_t unsignalled_ns;       /* expected time of the operations behind `signalled` */
    uint64_t unsignalled_since_ns; /* when the first of these was given to the driver */
    uint64_t batch_ns; /* expected time of the operations that complete now and are not retired */
    uint32_t in_driver;
    struct task *first, **last; /* incomplete operations */
    struct task *waiting;       /* the first of these that the driver does not have completely */
    bool still;                 /* it gets no more kernels */
    bool failed; /* an operation failed: later ones do not run until the worker sees it */
    uint64_t last_end_ns;
    struct list turn;    /* waits for the turn to print */
    bool printing;       /* the driver's last one may print: nothing is given behind it */
    uint64_t through_ns; /* when that was complete, and its output requested; 0: it is not */
    struct text_flush flush;
};

/* Converts the driver's result, and records the loss of the context. */
static inline int queue_state_result(const struct dev_queue *q, CUresult r) {
    return context_result(q->all->context, r);
}

/* ---- the driver's streams -------------------------------------------------------------------- */

/* Makes the driver's stream of this number; 0 or an error. */
int queue_state_need_stream(struct dev_queue *q, uint32_t number);

/* Makes later work on the stream of this number wait for the current stream; 0 or an error. */
int queue_state_pass_over(struct dev_queue *q, uint32_t number);

/* The stream of the queue's share and level; if it cannot be made, the one before. */
static inline CUstream queue_state_stream(struct dev_queue *q) {
    uint32_t wanted = q->share * QUEUE_LEVELS + q->level;
    if (wanted != q->current && !queue_state_pass_over(q, wanted)) q->current = wanted;
    return q->streams[q->current];
}

/* ---- operations ------------------------------------------------------------------------------ */

static inline bool queue_state_prints(const struct task *t) {
    return t->kind == TASK_LAUNCH && t->launch.func->module->prints;
}

/* Number of its parts that the driver has and has not completed; the task is the latest given one.
 */
static inline uint64_t queue_state_parts_out(const struct dev_queue *q, const struct task *t) {
    return q->number - (q->seen > t->before ? q->seen : t->before);
}

/* True when it is between two parts, and none of its parts is in progress. */
static inline bool queue_state_is_between(const struct dev_queue *q, const struct task *t) {
    return cuda_task_is_partly_given(t) && !queue_state_parts_out(q, t);
}

/* True when it is complete, although its output may not be delivered yet. */
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
