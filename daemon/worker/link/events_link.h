/* SPDX-License-Identifier: Apache-2.0
 *
 * WIRE_EVENTS: a recording of what the scheduler is told and does, for somebody who asked. It goes
 * to a file of his as it happens, and ends by itself when nobody renews it.
 *
 * Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_LINK_EVENTS_LINK_H
#define DAEMON_WORKER_LINK_EVENTS_LINK_H

#include "daemon/sched/record/recorder.h"
#include "proto/wire/wire.h"

struct events_link {
    struct recorder *recorder; /* of the scheduler's latest steps */
    const struct sched *sched;
    uint64_t until_ns; /* while it streams */
};

/* fd -1: none came along. It stays the caller's. */
void events_link_take(struct events_link *l, uint64_t now_ns, const struct wire_worker_msg *msg,
                      int fd);
/* Ends a recording whose time is over, or that cannot be written. Once a tick. */
void events_link_update(struct events_link *l, uint64_t now_ns);

#endif
