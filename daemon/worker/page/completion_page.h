/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's completion page, which the worker alone writes, and whether the client is alive.
 *
 * With its fault the client's context is dead: nothing succeeds after it, and nothing more is
 * published as complete. Where another worker can continue the client, the client is never told
 * that the device is lost. It is then dead for this worker alone, and waits.
 *
 * Owner: the client. Thread: the worker's, but for the page's text (text.h).
 */
#ifndef DAEMON_WORKER_PAGE_COMPLETION_PAGE_H
#define DAEMON_WORKER_PAGE_COMPLETION_PAGE_H

#include <stdbool.h>

#include "common/err.h"
#include "daemon/worker/recovery/recovery_state.h"
#include "proto/wire/wire.h"

struct completion {
    struct wire_completion *page;
    const struct recovery_state *recovery_state; /* the client's; NULL: there is none */
    int fault;                                   /* ERR_* or -errno; 0 while alive */
    bool published; /* a value was published since the client was last woken */
};

static inline bool completion_dead(const struct completion *com) {
    return com->fault != 0;
}

/* True when the error is withheld from the client, because the next worker continues it. */
static inline bool completion_withholds(const struct completion *com, int err) {
    return err == ERR_DEVICE_LOST && com->recovery_state &&
           recovery_is_complete(com->recovery_state);
}

#endif
