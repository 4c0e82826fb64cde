/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tournament of daemon/serve/plan was chosen against: points in levels of twice as many
 * each, sorted by alpha, with the upper hull of each level (Bentley and Saxe, 1980). An insertion
 * merges full levels, a query searches every level's hull; but a hull that loses a point has to be
 * made anew of all of its level, and the one that leaves a queue of requests is the best.
 */
#ifndef TEST_BENCH_HULL_LEVELS_H
#define TEST_BENCH_HULL_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#define HULL_LEVELS 20u
#define HULL_LEVELS_NONE UINT32_MAX

struct hull_levels {
    double *alpha, *beta; /* by place */
    uint8_t *level;       /* level of each place */
    bool *in;
    struct hull_level {
        uint32_t *points, *hull; /* by alpha, ascending; points that are gone are among them */
        uint32_t count, corners;
    } levels[HULL_LEVELS];
    uint32_t *merged;
};

/* Places are below `places`, at most 2^19. Ends the program when there is no memory. */
void hull_levels_init(struct hull_levels *h, uint32_t places);
void hull_levels_finish(struct hull_levels *h);
void hull_levels_add(struct hull_levels *h, uint32_t place, double alpha, double beta);
void hull_levels_remove(struct hull_levels *h, uint32_t place);
/* Returns the first place at x. */
uint32_t hull_levels_first(const struct hull_levels *h, double x);

#endif
