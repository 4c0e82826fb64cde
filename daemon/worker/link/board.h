/* SPDX-License-Identifier: Apache-2.0
 *
 * The board: a page that the broker maps, with the scheduler's state (show.h writes it). Owner: the
 * worker. Thread: its own.
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
    uint64_t steps, ns; /* when the page was last updated */
    bool stale;         /* memory changed since then without a step of the scheduler */
};

int board_create(struct board *b); /* 0 or -errno; call board_destroy in any case */
void board_destroy(struct board *b);

#endif
