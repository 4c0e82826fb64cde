/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-only queries of a placement, for diagrams, placers and tests.
 */
#ifndef DAEMON_PLACE_PLACE_LOOK_H
#define DAEMON_PLACE_PLACE_LOOK_H

#include "daemon/place/state/place_types.h"

struct place_use { /* usage of one GPU */
    uint32_t jobs;
    double util;           /* sum over its jobs; may exceed 1 */
    uint64_t memory_bytes; /* summed as config.memory says */
    double slowdown;       /* f(util); 0 if no job is slowed down */
};

/* Returns 0 or -ENOENT. */
int place_look(const struct place *p, const struct place_where *where, struct place_use *use);

/* The cost of placing one GPU of this job there, (7); negative if the job cannot be placed there
 * now. Reserved nodes (horus_f) count as any others. */
double place_cost(const struct place *p, const struct place_job *job,
                  const struct place_where *where);

#endif
