/* SPDX-License-Identifier: Apache-2.0
 *
 * The number of granules of clients' memory that one round of the loop creates, frees, moves or
 * clears. Other clients wait for all of these. Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_PACE_H
#define DAEMON_WORKER_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    uint32_t round; /* granules in this round */
    uint32_t most;  /* most granules in any earlier round */
};

static inline void pace_add(struct pace *p, uint32_t granules) {
    p->round += granules;
}

/* Begins a round. True when the round before had more granules than any other. */
static inline bool pace_next(struct pace *p) {
    bool more = p->round > p->most;
    if (more) p->most = p->round;
    p->round = 0;
    return more;
}

#endif
