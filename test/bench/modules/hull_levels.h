/* SPDX-License-Identifier: Apache-2.0
 *
 * The alternative to the tournament of daemon/serve/plan. Points are in levels, each twice as large
 * as the one before, sorted by alpha, with the upper hull of each level (Bentley and Saxe, 1980).
 * An insertion merges full levels, a query searches every level's hull. But a hull that loses a
 * point must be rebuilt from its whole level, and the point that leaves a queue of requests is the
 * best one.
 */
#ifndef TEST_BENCH_HULL_LEVELS_H
#define TEST_BENCH_HULL_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#define HULL_LEVELS 20u
#define HULL_LEVELS_NONE UINT32_MAX

struct hull_levels {
    double *alpha, *beta; /* indexed by place */
    uint8_t *level;       /* level of each place */
    bool *in;
    struct hull_level {
        uint32_t *points, *hull; /* by alpha, ascending; removed points may be among them */
        uint32_t count, corners;
    } levels[HULL_LEVELS];
    uint32_t *merged;
};

/* Places are below `places`, at most 2^19. Ends the program when out of memory. */
void hull_levels_init(struct hull_levels *h, uint32_t places);
void hull_levels_finish(struct hull_levels *h);
void hull_levels_add(struct hull_levels *h, uint32_t place, double alpha, double beta);
void hull_levels_remove(struct hull_levels *h, uint32_t place);
/* Returns the place of the first point at x. */
uint32_t hull_levels_first(const struct hull_levels *h, double x);

#endif
