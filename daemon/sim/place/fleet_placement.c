/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of jobs per GPU and of GPUs per job, in one pool of places on GPUs.
 */
#include "daemon/sim/place/fleet_placement.h"

#include <errno.h>
#include <stdlib.h>

#define ROOM_FIRST 256u

static int grow(struct fleet *f) {
    uint32_t more = f->seat_room ? 2 * f->seat_room : ROOM_FIRST;
    struct fleet_seat *grown = realloc(f->seats, more * sizeof(*grown));
    if (!grown) return -ENOMEM;
    for (uint32_t i = f->seat_room; i < more; i++)
        grown[i].next = i + 1 < more ? i + 1 : FLEET_NONE;
    f->free_seat = f->seat_room;
    f->seats = grown;
    f->seat_room = more;
    return 0;
}

static void make_dirty(struct fleet *f, uint32_t gpu) {
    if (f->gpus[gpu].dirty) return;
    f->gpus[gpu].dirty = true;
    f->dirty[f->dirty_count++] = gpu;
}

int fleet_placement_take(struct fleet *f, uint32_t job, uint32_t gpu) {
    if (f->free_seat == FLEET_NONE && grow(f)) return -ENOMEM;
    struct fleet_gpu *g = &f->gpus[gpu];
    uint32_t at = f->free_seat;
    struct fleet_seat *s = &f->seats[at];
    f->free_seat = s->next;
    *s = (struct fleet_seat){.job = job,
                             .gpu = gpu,
                             .next_of_job = f->jobs[job].seats,
                             .next = g->first,
                             .before = FLEET_NONE};
    if (g->first != FLEET_NONE) f->seats[g->first].before = at;
    g->first = f->jobs[job].seats = at;
    make_dirty(f, gpu);
    return 0;
}

static void unlink_seat(struct fleet *f, uint32_t at) {
    struct fleet_seat *s = &f->seats[at];
    if (s->before == FLEET_NONE)
        f->gpus[s->gpu].first = s->next;
    else
        f->seats[s->before].next = s->next;
    if (s->next != FLEET_NONE) f->seats[s->next].before = s->before;
    make_dirty(f, s->gpu);
    s->next = f->free_seat;
    f->free_seat = at;
}

void fleet_placement_leave(struct fleet *f, uint32_t job) {
    for (uint32_t at = f->jobs[job].seats, next; at != FLEET_NONE; at = next) {
        next = f->seats[at].next_of_job;
        unlink_seat(f, at);
    }
    f->jobs[job].seats = FLEET_NONE;
}

bool fleet_placement_fits(const struct fleet *f, uint32_t gpu) {
    bool lanes = f->rules->memory == PLACE_MEMORY_LANES;
    uint64_t sum = 0, largest = 0;
    for (uint32_t at = f->gpus[gpu].first; at != FLEET_NONE; at = f->seats[at].next) {
        const struct jobset_need *is = &f->set->jobs[f->seats[at].job].is;
        if (f->jobs[f->seats[at].job].doomed) continue;
        sum += is->persistent_bytes + (lanes ? 0 : is->ephemeral_bytes);
        if (is->ephemeral_bytes > largest) largest = is->ephemeral_bytes;
    }
    return sum + (lanes ? largest : 0) <= f->gpus[gpu].bytes;
}
