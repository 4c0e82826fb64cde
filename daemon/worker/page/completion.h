/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client is shown: its completion page, which we alone write, and whether it is still alive.
 * With its fault its context is dead: nothing succeeds after it, and nothing more is shown as
 * complete.
 *
 * Owner: the client. Thread: the worker's, but for the page's text (text.h).
 */
#ifndef DAEMON_WORKER_PAGE_COMPLETION_H
#define DAEMON_WORKER_PAGE_COMPLETION_H

#include <stdbool.h>

#include "proto/wire.h"

struct completion {
    struct wire_completion *page;
    int fault;      /* ERR_* or -errno; 0 while alive */
    bool published; /* since its waiters were last woken */
};

static inline bool completion_dead(const struct completion *com) {
    return com->fault != 0;
}

#endif
