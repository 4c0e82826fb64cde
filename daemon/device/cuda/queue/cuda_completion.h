/* SPDX-License-Identifier: Apache-2.0
 *
 * How the worker learns that the GPU has completed an operation. Words: after each operation the
 * stream writes a number into a word of host memory (cuStreamWriteValue64), so that a check costs a
 * load and no call, and words survive the context's end. Events: one is recorded behind each
 * operation, and the first incomplete one is queried. completion_trial.h measures which is faster.
 * When the worker sleeps, a thread checks instead and wakes it.
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

#define COMPLETION_WORDS 512u /* words in a page, each in its own cache line */
/* The most events of a word that are not reached. A queue has at most half as many operations in
 * the driver, and may ask again for the latest one. */
#define COMPLETION_MARKS 128u

struct mark {
    CUevent event; /* NULL: not needed yet */
    uint64_t number;
};

/* The number of one stream, which the GPU writes; or which the caller takes from its events. */
struct word {
    _Atomic uint64_t done;
    struct word *next_free; /* next unused word */
    CUdeviceptr address;    /* the GPU's address of `done` */
    struct mark *marks;     /* COMPLETION_MARKS; NULL: there were no events */
    uint32_t filled;        /* for a trial's fill */
    uint32_t first, count;  /* recorded events not known to be reached */
    CUevent watched;        /* the first of these when the worker began to sleep */
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
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake;
    bool armed, stopping;
    uint64_t round;              /* counts how often it was armed */
    struct word *const *watched; /* words that it checks, owned by the worker; while armed */
    const uint64_t *seen;        /* the words' numbers when it was armed */
    uint32_t count;
};

int cuda_completion_open(struct completions *c, struct context *context, enum dev_completion way);
void cuda_completion_close(struct completions *c);

/* A word with number 0. NULL: no memory. */
struct word *cuda_completion_take(struct completions *c);
void cuda_completion_give(struct completions *c, struct word *word);

/* Makes the word's number become `number` when all of the stream up to now is complete. 0, or an
 * error: it never will. Numbers of a word only grow. */
int cuda_completion_sign(struct completions *c, struct word *word, CUstream stream,
                         uint64_t number);
/* The word's present number. */
uint64_t cuda_completion_look(struct completions *c, struct word *word);
/* Sets the number, because the caller knows that this and all earlier work is complete. */
void cuda_completion_set(struct word *word, uint64_t number);

/* Makes event_fd readable once a word differs from what was seen, or the context is lost (the
 * caller's calls check that now and then). The arrays must stay until completion_disarm. */
void cuda_completion_arm(struct completions *c, struct word *const *words, const uint64_t *seen,
                         uint32_t count);
/* Stops all checks of the arrays. */
void cuda_completion_disarm(struct completions *c);

#endif
