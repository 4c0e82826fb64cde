/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks: each lane knows what it has waited for, and thereby what those records had waited
 * for.
 */
#include "shim/graph_exec/lanes.h"

void lanes_join(struct lanes_place *to, const struct lanes_place *from) {
    for (uint32_t i = 0; i < WIRE_GRAPH_LANES; i++)
        if (from->at[i] > to->at[i]) to->at[i] = from->at[i];
}

static uint32_t count_waits(const struct lanes *l, uint32_t lane, const struct lanes_place *after) {
    uint32_t waits = 0;
    for (uint32_t i = 0; i < WIRE_GRAPH_LANES; i++)
        waits += i != lane && after->at[i] > l->seen[lane].at[i];
    return waits;
}

/* True when everything in the lane comes before the step anyway. */
static bool is_free(const struct lanes *l, uint32_t lane, const struct lanes_place *after) {
    return after->at[lane] == l->count[lane];
}

/* Used when no lane is free: chooses the shortest lane, where the fewest records delay the step
 * needlessly. */
static uint32_t choose_shortest(const struct lanes *l) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < WIRE_GRAPH_LANES; i++)
        if (l->count[i] < l->count[best]) best = i;
    return best;
}

uint32_t lanes_choose(const struct lanes *l, const struct lanes_place *after) {
    uint32_t best = WIRE_GRAPH_LANES, best_waits = UINT32_MAX;
    for (uint32_t i = 0; i < WIRE_GRAPH_LANES; i++) {
        if (!is_free(l, i, after)) continue;
        uint32_t waits = count_waits(l, i, after);
        if (waits >= best_waits) continue;
        best = i;
        best_waits = waits;
    }
    return best < WIRE_GRAPH_LANES ? best : choose_shortest(l);
}

bool lanes_wait(struct lanes *l, uint32_t lane, const struct lanes_place *after, uint32_t *on,
                uint64_t *on_seq) {
    struct lanes_place *seen = &l->seen[lane];
    for (uint32_t i = 0; i < WIRE_GRAPH_LANES; i++) {
        if (i == lane || after->at[i] <= seen->at[i]) continue;
        seen->at[i] = after->at[i];
        *on = i;
        *on_seq = after->at[i];
        return true;
    }
    return false;
}

uint64_t lanes_put(struct lanes *l, uint32_t lane) {
    l->seen[lane].at[lane] = ++l->count[lane];
    return l->count[lane];
}

struct lanes_place lanes_end(const struct lanes *l, uint32_t lane) {
    return l->seen[lane];
}

uint32_t lanes_used(const struct lanes *l) {
    uint32_t used = 1;
    for (uint32_t i = 1; i < WIRE_GRAPH_LANES; i++)
        if (l->count[i]) used = i + 1;
    return used;
}
