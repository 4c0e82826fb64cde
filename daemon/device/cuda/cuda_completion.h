/* SPDX-License-Identifier: Apache-2.0
 *
 * How the worker learns that the GPU is through with something: after each operation the stream
 * writes a number into a word of host memory (cuStreamWriteValue64), so that looking costs a load
 * and no call. Who wants to sleep is woken by a thread that looks instead.
 *
 * Owner: the device. Threads: the worker's; `waiter` is its own.
 */
#ifndef DAEMON_DEVICE_CUDA_CUDA_COMPLETION_H
#define DAEMON_DEVICE_CUDA_CUDA_COMPLETION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/cuda/context.h"

#define COMPLETION_WORDS 512u /* of a page; a cache line each */

/* One stream's number, which the GPU writes. */
struct word {
    _Atomic uint64_t done;
    struct word *next_free; /* of those that nobody has */
    CUdeviceptr address;    /* of `done`, for the GPU */
} __attribute__((aligned(64)));

struct word_page;

struct completions {
    struct context *context;
    struct word_page *pages;
    struct word *free;
    int event_fd;
    pthread_t waiter;
    bool started;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;
    bool armed, stopping;
    uint64_t round;                    /* of being armed */
    const struct word *const *watched; /* what it looks at, the worker's; while armed */
    const uint64_t *seen;              /* their numbers when it was armed */
    uint32_t count;
};

int cuda_completion_open(struct completions *c, struct context *context);
void cuda_completion_close(struct completions *c);

/* At zero. NULL: no memory. */
struct word *cuda_completion_take(struct completions *c);
void cuda_completion_give(struct completions *c, struct word *word);

/* event_fd becomes readable once one of these differs from what was seen, or the context is lost
 * (looked for every while, by calls of the caller's). The arrays stay until completion_disarm. */
void cuda_completion_arm(struct completions *c, const struct word *const *words,
                         const uint64_t *seen, uint32_t count);
/* Nothing of the arrays is looked at any more. */
void cuda_completion_disarm(struct completions *c);

#endif
