/* SPDX-License-Identifier: Apache-2.0
 *
 * How the worker learns that the GPU is through with something. Words: after each operation the
 * stream writes a number into a word of host memory (cuStreamWriteValue64), so that looking costs a
 * load and no call, and what was written before the context's end stays. Events: one is recorded
 * behind each operation, and the first that was not reached is asked. Which of them is sooner
 * completion_trial.h finds out. Who wants to sleep is woken by a thread that looks instead.
 *
 * Owner: the device. Threads: the worker's; `waiter` is its own.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_COMPLETION_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_COMPLETION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/cuda/driver/context.h"
#include "daemon/device/device.h"

#define COMPLETION_WORDS 512u /* of a page; a cache line each */
/* Numbers of a word that have not come back: a queue has at most half as many operations with the
 * driver, and may ask for the latest one again. */
#define COMPLETION_MARKS 128u

struct mark {
    CUevent event; /* NULL: was never needed */
    uint64_t number;
};

/* One stream's number, which the GPU writes; or who asks its events. */
struct word {
    _Atomic uint64_t done;
    struct word *next_free; /* of those that nobody has */
    CUdeviceptr address;    /* of `done`, for the GPU */
    struct mark *marks;     /* COMPLETION_MARKS; NULL: there were no events */
    uint32_t filled;        /* by a trial, before it is signed */
    uint32_t first, count;  /* of these, recorded and not known to be reached */
    CUevent watched;        /* the first of them when the worker went to sleep */
} __attribute__((aligned(64)));

struct word_page;

struct completions {
    struct context *context;
    enum dev_completion way; /* words or events */
    struct word_page *pages;
    struct word *free;
    int event_fd;
    pthread_t waiter;
    bool started;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;
    bool armed, stopping;
    uint64_t round;              /* of being armed */
    struct word *const *watched; /* what it looks at, the worker's; while armed */
    const uint64_t *seen;        /* their numbers when it was armed */
    uint32_t count;
};

int cuda_completion_open(struct completions *c, struct context *context, enum dev_completion way);
void cuda_completion_close(struct completions *c);

/* At zero. NULL: no memory. */
struct word *cuda_completion_take(struct completions *c);
void cuda_completion_give(struct completions *c, struct word *word);

/* `number` comes to be the word's when all of the stream up to now is complete: 0, or an error, and
 * it never does. Numbers of a word only grow. */
int cuda_completion_sign(struct completions *c, struct word *word, CUstream stream,
                         uint64_t number);
/* The number that it has come to. */
uint64_t cuda_completion_look(struct completions *c, struct word *word);
/* It has come to that, as the caller knows, and all before it. */
void cuda_completion_set(struct word *word, uint64_t number);

/* event_fd becomes readable once one of these differs from what was seen, or the context is lost
 * (looked for every while, by calls of the caller's). The arrays stay until completion_disarm. */
void cuda_completion_arm(struct completions *c, struct word *const *words, const uint64_t *seen,
                         uint32_t count);
/* Nothing of the arrays is looked at any more. */
void cuda_completion_disarm(struct completions *c);

#endif
