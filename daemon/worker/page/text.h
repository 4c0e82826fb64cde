/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of printf and assert in kernels, in a byte ring that the client reads: the completion
 * page's ring, or a larger one in the client's host window. Owner: the client. Threads: the
 * device's write text, the worker's moves the ring.
 */
#ifndef DAEMON_WORKER_PAGE_TEXT_H
#define DAEMON_WORKER_PAGE_TEXT_H

#include <pthread.h>

#include "proto/wire/wire.h"

struct text {
    pthread_mutex_t lock; /* over the ring, page.text_written and page.text_ring */
    struct wire_completion *page;
    const struct wire_submission *sub; /* has the client's own count of the bytes it has read */
    char *ring;
    uint64_t bytes; /* size of the ring */
};

void text_init(struct text *t);
/* Called before any text is written. `ring`: the address that page.text_ring names; NULL: the
 * page's ring. */
void text_attach(struct text *t, struct wire_completion *page, const struct wire_submission *sub,
                 void *ring);
void text_finish(struct text *t);

/* Moves the ring to [ring, ring + bytes), which the client knows as `addr`; NULL: into the page.
 * Unread text moves along, without its oldest part where the new ring is smaller. */
void text_move(struct text *t, void *ring, uint64_t addr, uint64_t bytes);

/* Implements dev_space_ops.text. New output replaces the oldest, as in CUDA's FIFO. Output that
 * does not fit into the ring is dropped. */
void text_put(struct text *t, int to_stderr, const char *text, size_t bytes);

#endif
