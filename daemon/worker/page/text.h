/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of printf and assert in kernels, into the byte ring of the completion page. Owner: the
 * client. Threads: the device's write.
 */
#ifndef DAEMON_WORKER_PAGE_TEXT_H
#define DAEMON_WORKER_PAGE_TEXT_H

#include <pthread.h>

#include "daemon/device/device.h"
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

/* With a struct text as their `arg`; what does not fit is dropped. */
extern const struct dev_space_ops text_ops;

#endif
