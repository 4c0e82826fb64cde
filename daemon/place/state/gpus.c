/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores GPUs by index, in one block per node, and jobs on GPUs (struct gpus_seat) by index.
 */
#include "daemon/place/state/gpus.h"

#include <math.h>
#include <stdlib.h>

#include "daemon/place/state/place_growth.h"

void place_gpus_init(struct gpus *g) {
    *g = (struct gpus){.free_seat = GPUS_NONE};
    for (uint32_t i = 0; i <= PLACE_GPUS_A_NODE; i++)
        g->free[i] = GPUS_NONE;
}

void place_gpus_finish(struct gpus *g) {
    free(g->at);
    free(g->seats);
}

int gpus_reserve(struct gpus *g, uint64_t more, uint64_t seats) {
    int err = 0;
    g->at = place_growth_for(g->at, &g->capacity, g->used + more, sizeof(*g->at), &err);
    g->seats = place_growth_for(g->seats, &g->seats_capacity, seats, sizeof(*g->seats), &err);
    return err;
}

uint32_t gpus_add(struct gpus *g, uint32_t count) {
    uint32_t first = g->free[count];
    if (first != GPUS_NONE) {
        g->free[count] = g->at[first].left;
    } else {
        first = g->used;
        g->used += count;
    }
    g->count += count;
    return first;
}

void gpus_remove(struct gpus *g, uint32_t first, uint32_t count) {
    g->at[first].left = g->free[count];
    g->free[count] = first;
    g->count -= count;
}

/* ---- jobs on GPUs ---------------------------------------------------------------------------- */

uint32_t gpus_sit(struct gpus *g, uint32_t gpu, uint32_t job, uint32_t of_job) {
    uint32_t seat = g->free_seat, next = g->at[gpu].first_seat;
    if (seat != GPUS_NONE)
        g->free_seat = g->seats[seat].next;
    else
        seat = g->seats_used++;
    g->seats[seat] = (struct gpus_seat){job, gpu, next, GPUS_NONE, of_job};
    if (next != GPUS_NONE) g->seats[next].before = seat;
    g->at[gpu].first_seat = seat;
    g->seats_count++;
    return seat;
}

void gpus_rise(struct gpus *g, uint32_t seat) {
    const struct gpus_seat *s = &g->seats[seat];
    if (s->next != GPUS_NONE) g->seats[s->next].before = s->before;
    if (s->before != GPUS_NONE)
        g->seats[s->before].next = s->next;
    else
        g->at[s->gpu].first_seat = s->next;
    g->seats[seat].next = g->free_seat;
    g->free_seat = seat;
    g->seats_count--;
}

/* ---- usage ----------------------------------------------------------------------------------- */

struct gpus_use gpus_use_none(void) {
    return (struct gpus_use){.slack = INFINITY};
}

uint64_t gpus_span_below(const struct gpus_span *span, uint64_t most_ppm) {
    uint64_t some = span->some_ppm & ~(uint64_t)0 >> (63 - gpus_some_bit(most_ppm));
    if (!some) return UINT64_MAX;
    uint64_t top = 63 - (uint64_t)__builtin_clzll(some);
    uint64_t below = top < 63 ? ((top + 1) << GPUS_SOME_SHIFT) - 1 : most_ppm;
    if (span->most_ppm < below) below = span->most_ppm;
    return most_ppm < below ? most_ppm : below;
}

void gpus_use_add(struct gpus_use *use, const struct demand *d) {
    bool service = d->kind == PLACE_SERVICE;
    use->persistent_bytes += d->persistent_bytes;
    if (d->ephemeral_bytes > use->ephemeral_bytes) use->ephemeral_bytes = d->ephemeral_bytes;
    use->util_ppm += d->util_ppm;
    use->service_ppm += service ? d->util_ppm : 0;
    use->slack = fmin(use->slack, d->slack);
    use->jobs++;
    use->services += service;
    use->alone |= d->alone;
}
