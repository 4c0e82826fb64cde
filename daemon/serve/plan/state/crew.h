/* SPDX-License-Identifier: Apache-2.0
 *
 * The workers of a model, and the batches that they have.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SERVE_PLAN_STATE_CREW_H
#define DAEMON_SERVE_PLAN_STATE_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/serve/plan/types/plan_types.h"

#define CREW_NONE UINT32_MAX

struct crew_worker {
    bool here;
    uint32_t count;                /* of its batch; 0: idle */
    uint64_t sent_ns, expected_ns; /* when it got it; how long it was to take then, by the mean */
    uint32_t places[PLAN_BATCH_MOST];
};

struct crew {
    struct crew_worker workers[PLAN_WORKERS];
    uint32_t here, idle;
};

void crew_join(struct crew *c, uint32_t worker);
void crew_leave(struct crew *c, uint32_t worker);
/* Its places are written by the caller; `count` above 0. */
void crew_send(struct crew *c, uint32_t worker, uint32_t count, uint64_t now_ns,
               uint64_t expected_ns);
void crew_done(struct crew *c, uint32_t worker);

/* The idle one of the lowest number; CREW_NONE. */
uint32_t crew_idle(const struct crew *c);
/* When the first worker is expected to be free; now where there is none. */
uint64_t crew_free_ns(const struct crew *c, uint64_t now_ns);

#endif
