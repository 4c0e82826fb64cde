/* SPDX-License-Identifier: Apache-2.0
 *
 * The board: a page that the broker maps, with the scheduler's state (front/scheduler_view.h writes
 * it). Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_LINK_BOARD_H
#define DAEMON_WORKER_LINK_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/sched.h"
#include "proto/wire/wire.h"

struct board {
    struct wire_board *page; /* NULL in a worker that was never ready */
    int fd;
    uint64_t steps, ns; /* the scheduler's steps, and the time, at the latest update of the page */
    bool stale;         /* memory changed since the update without a step of the scheduler */
};

int board_create(struct board *b); /* 0 or -errno; call board_destroy in any case */
void board_destroy(struct board *b);

#endif
