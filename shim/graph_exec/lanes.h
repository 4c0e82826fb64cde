/* SPDX-License-Identifier: Apache-2.0
 *
 * Assigns the steps of a graph to lanes. Lanes run in parallel, each in the order of its records
 * (proto/wire/wire.h). A step comes after a place: the progress that each lane must have made.
 * Pure.
 */
#ifndef SHIM_GRAPH_EXEC_LANES_H
#define SHIM_GRAPH_EXEC_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/wire.h"

/* The number of records of each lane that must be complete; 0: none. */
struct lanes_place {
    uint64_t at[WIRE_GRAPH_LANES];
};

/* All zeros: every lane is empty. */
struct lanes {
    uint64_t count[WIRE_GRAPH_LANES];          /* records in each lane */
    struct lanes_place seen[WIRE_GRAPH_LANES]; /* complete when the lane's next record runs */
};

/* Merges `from` into `to`: the place after both. */
void lanes_join(struct lanes_place *to, const struct lanes_place *from);

/* Chooses the lane for a step after this place: one in which the step waits for no unrelated
 * record, if there is such a lane, and for as few other lanes as possible. */
uint32_t lanes_choose(const struct lanes *l, const struct lanes_place *after);

/* Returns one other lane that the lane must wait for before a step after this place, one lane a
 * call; false: no more. */
bool lanes_wait(struct lanes *l, uint32_t lane, const struct lanes_place *after, uint32_t *on,
                uint64_t *on_seq);

/* Adds a record to the lane and returns its number. */
uint64_t lanes_put(struct lanes *l, uint32_t lane);

/* The place after all records of the lane. */
struct lanes_place lanes_end(const struct lanes *l, uint32_t lane);

/* Returns how many lanes a launch needs: the highest lane with a record, plus 1; at least 1. */
uint32_t lanes_used(const struct lanes *l);

#endif
