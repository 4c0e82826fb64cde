/* SPDX-License-Identifier: Apache-2.0
 *
 * WIRE_EVENTS: a recording of the scheduler's events and actions, for a user who asked for it. It
 * is written to that user's file as events happen, and ends by itself when the user does not renew
 * it.
 *
 * Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_LINK_EVENTS_LINK_H
#define DAEMON_WORKER_LINK_EVENTS_LINK_H

#include "daemon/sched/record/recorder.h"
#include "proto/wire/wire.h"

struct events_link {
    struct recorder *recorder; /* the scheduler's latest steps */
    const struct sched *sched;
    uint64_t until_ns; /* end of the recording, if one runs */
};

/* Begins a recording to `fd`, which stays the caller's; -1: only prolongs a recording in progress.
 * It ends msg->for_ns from now. */
void events_link_take(struct events_link *l, uint64_t now_ns, const struct wire_worker_msg *msg,
                      int fd);
/* Ends a recording whose time is over, or that cannot be written. Called once a tick. */
void events_link_update(struct events_link *l, uint64_t now_ns);

#endif
