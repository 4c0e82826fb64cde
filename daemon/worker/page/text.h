/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of printf and assert in kernels, into the byte ring of the completion page. Owner: the
 * client. Threads: the device's write.
 */
#ifndef DAEMON_WORKER_PAGE_TEXT_H
#define DAEMON_WORKER_PAGE_TEXT_H

#include <pthread.h>

#include "proto/wire.h"

struct text {
    pthread_mutex_t lock; /* of page.text and page.text_written */
    struct wire_completion *page;
    const struct wire_submission *sub; /* how far the client has read: its own word */
};

void text_init(struct text *t);
/* Nothing is written before. */
void text_attach(struct text *t, struct wire_completion *page, const struct wire_submission *sub);
void text_finish(struct text *t);

/* As dev_space_ops.text; what does not fit is dropped. */
void text_put(struct text *t, int to_stderr, const char *text, size_t bytes);

#endif
