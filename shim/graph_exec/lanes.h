/* SPDX-License-Identifier: Apache-2.0
 *
 * Which lane each step of a graph goes to. Lanes run side by side, each in the order of its records
 * (proto/wire/wire.h). What a step comes after is a place: how far each lane must be. Pure.
 */
#ifndef SHIM_GRAPH_EXEC_LANES_H
#define SHIM_GRAPH_EXEC_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/wire.h"

/* Records of each lane that are complete; 0: none need be. */
struct lanes_place {
    uint64_t at[WIRE_GRAPH_LANES];
};

/* All zeroes: nothing is in any lane. */
struct lanes {
    uint64_t count[WIRE_GRAPH_LANES];          /* records in each */
    struct lanes_place seen[WIRE_GRAPH_LANES]; /* what is complete when the lane's next one runs */
};

/* Both. */
void lanes_join(struct lanes_place *to, const struct lanes_place *from);

/* Where a step goes that comes after this: where it waits for nothing else, if there is such a
 * lane, and for as few others as can be. */
uint32_t lanes_choose(const struct lanes *l, const struct lanes_place *after);

/* What the lane has to wait for, one other lane a call, before a step that comes after this; false:
 * for nothing more. */
bool lanes_wait(struct lanes *l, uint32_t lane, const struct lanes_place *after, uint32_t *on,
                uint64_t *on_seq);

/* The number of a record that is put there now. */
uint64_t lanes_put(struct lanes *l, uint32_t lane);

/* After all that is in the lane. */
struct lanes_place lanes_end(const struct lanes *l, uint32_t lane);

/* How many have a record, the first of all among them. */
uint32_t lanes_used(const struct lanes *l);

#endif
