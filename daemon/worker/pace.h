/* SPDX-License-Identifier: Apache-2.0
 *
 * How many granules of clients' memory come, go, are moved or cleared in one round of the loop: all
 * that others wait for it. Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_PACE_H
#define DAEMON_WORKER_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace {
    uint32_t round; /* in this one */
    uint32_t most;  /* in any before */
};

static inline void pace_add(struct pace *p, uint32_t granules) {
    p->round += granules;
}

/* A round begins. True: the one before had more than any other. */
static inline bool pace_next(struct pace *p) {
    bool more = p->round > p->most;
    if (more) p->most = p->round;
    p->round = 0;
    return more;
}

#endif
