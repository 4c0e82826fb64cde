/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at a placement, for pictures, placers and tests.
 */
#ifndef DAEMON_PLACE_PLACE_LOOK_H
#define DAEMON_PLACE_PLACE_LOOK_H

#include "daemon/place/state/place_types.h"

struct place_use { /* of one GPU */
    uint32_t jobs;
    double util;           /* summed; may exceed 1 */
    uint64_t memory_bytes; /* as config.memory adds up */
    double slowdown;       /* f(util): 0 where nobody is slowed down */
};

/* 0, or -ENOENT. */
int place_look(const struct place *p, const struct place_where *where, struct place_use *use);

/* The cost of placing a GPU of this job there, (7); a negative number: it cannot be placed
 * there now. Reserved nodes (horus_f) are as others here. */
double place_cost(const struct place *p, const struct place_job *job,
                  const struct place_where *where);

#endif
