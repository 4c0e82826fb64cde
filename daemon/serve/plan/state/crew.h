/* SPDX-License-Identifier: Apache-2.0
 *
 * The workers of a model and their batches.
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
    uint32_t count; /* requests in its batch; 0: idle */
    /* When the batch was sent; its expected duration at that time, by the mean. */
    uint64_t sent_ns, expected_ns;
    uint32_t places[PLAN_BATCH_MOST];
};

struct crew {
    struct crew_worker workers[PLAN_WORKERS];
    uint32_t here, idle;
};

void crew_join(struct crew *c, uint32_t worker);
void crew_leave(struct crew *c, uint32_t worker);
/* The caller writes `places`; `count` is above 0. */
void crew_send(struct crew *c, uint32_t worker, uint32_t count, uint64_t now_ns,
               uint64_t expected_ns);
void crew_done(struct crew *c, uint32_t worker);

/* The idle worker with the lowest number; CREW_NONE if there is none. */
uint32_t crew_idle(const struct crew *c);
/* When the first worker is expected to be free; now if there is no worker. */
uint64_t crew_free_ns(const struct crew *c, uint64_t now_ns);

#endif
