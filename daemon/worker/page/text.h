/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of printf and assert in kernels, into a byte ring that the client reads: that of the
 * completion page, or a larger one in the client's host window. Owner: the client. Threads: the
 * device's write, the worker's moves the ring.
 */
#ifndef DAEMON_WORKER_PAGE_TEXT_H
#define DAEMON_WORKER_PAGE_TEXT_H

#include <pthread.h>

#include "proto/wire/wire.h"

struct text {
    pthread_mutex_t lock; /* of the ring, page.text_written and page.text_ring */
    struct wire_completion *page;
    const struct wire_submission *sub; /* how far the client has read: its own word */
    char *ring;
    uint64_t bytes; /* of the ring */
};

void text_init(struct text *t);
/* Nothing is written before. `ring`: where page.text_ring says that it is; NULL: in the page. */
void text_attach(struct text *t, struct wire_completion *page, const struct wire_submission *sub,
                 void *ring);
void text_finish(struct text *t);

/* From now on the ring is [ring, ring + bytes), which the client knows as `addr`; NULL: in the
 * page. What the client has not read goes along, without its oldest where the new ring is smaller.
 */
void text_move(struct text *t, void *ring, uint64_t addr, uint64_t bytes);

/* As dev_space_ops.text. The oldest output gives way to it, as in CUDA's FIFO. */
void text_put(struct text *t, int to_stderr, const char *text, size_t bytes);

#endif
