/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client is shown: its completion page, which we alone write, and whether it is still alive.
 * With its fault its context is dead: nothing succeeds after it, and nothing more is shown as
 * complete. Where another worker can go on with the client, it is never told that the device is
 * lost: it is dead for this worker alone, and waits.
 *
 * Owner: the client. Thread: the worker's, but for the page's text (text.h).
 */
#ifndef DAEMON_WORKER_PAGE_COMPLETION_PAGE_H
#define DAEMON_WORKER_PAGE_COMPLETION_PAGE_H

#include <stdbool.h>

#include "common/err.h"
#include "daemon/worker/estate/estate.h"
#include "proto/wire/wire.h"

struct completion {
    struct wire_completion *page;
    const struct estate *estate; /* of the client; NULL: it ends with this worker */
    int fault;                   /* ERR_* or -errno; 0 while alive */
    bool published;              /* since its waiters were last woken */
};

static inline bool completion_dead(const struct completion *com) {
    return com->fault != 0;
}

/* That it is no concern of the client: the next worker goes on with what this one could not do. */
static inline bool completion_withholds(const struct completion *com, int err) {
    return err == ERR_DEVICE_LOST && com->estate && estate_whole(com->estate);
}

#endif
