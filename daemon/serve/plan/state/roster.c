/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores requests by place and by id.
 */
#include "daemon/serve/plan/state/roster.h"

#include <errno.h>
#include <stdlib.h>

/* A fixed seed suffices: ids are the server's own, so nobody attacks the hash table. */
#define SEED 0x9e3779b97f4a7c15ull

static uint64_t hash(uint64_t id) {
    return slotmap_hash_word(id, SEED);
}

int roster_reserve(struct roster *r, uint32_t count) {
    uint32_t capacity = r->capacity ? r->capacity : 16;
    if (count > UINT32_MAX / 4 - r->used) return -ENOMEM;
    if (slotmap_reserve(&r->ids, r->used + count)) return -ENOMEM;
    if (r->used + count <= r->capacity) return 0;
    while (capacity < r->used + count)
        capacity *= 2;
    struct roster_request *grown = realloc(r->requests, capacity * sizeof(*grown));
    if (!grown) return -ENOMEM;
    r->requests = grown;
    uint32_t after = r->capacity ? r->first_free : ROSTER_NONE;
    for (uint32_t i = capacity; i > r->capacity; i--) {
        grown[i - 1] = (struct roster_request){.next_free = after};
        after = i - 1;
    }
    r->first_free = after;
    r->capacity = capacity;
    return 0;
}

void roster_finish(struct roster *r) {
    free(r->requests);
    slotmap_finish(&r->ids);
    *r = (struct roster){0};
}

uint32_t roster_add(struct roster *r, uint64_t id, uint32_t app, uint64_t arrived_ns,
                    uint64_t deadline_ns) {
    uint32_t place = r->first_free;
    struct roster_request *q = &r->requests[place];
    r->first_free = q->next_free;
    *q = (struct roster_request){.id = id,
                                 .arrived_ns = arrived_ns,
                                 .deadline_ns = deadline_ns,
                                 .order = r->orders++,
                                 .app = app,
                                 .where = ROSTER_PENDING};
    r->used++;
    r->pending++;
    slotmap_add(&r->ids, hash(id), place);
    return place;
}

uint32_t roster_find(const struct roster *r, uint64_t id) {
    struct slotmap_walk walk = slotmap_walk(&r->ids, hash(id));
    uint32_t place;
    while ((place = slotmap_next(&r->ids, &walk)) != SLOTMAP_NONE)
        if (r->requests[place].id == id) return place;
    return ROSTER_NONE;
}

void roster_move(struct roster *r, uint32_t place, enum roster_where where) {
    r->pending -= r->requests[place].where == ROSTER_PENDING;
    r->pending += where == ROSTER_PENDING;
    r->requests[place].where = where;
}

void roster_forget(struct roster *r, uint32_t place) {
    slotmap_remove(&r->ids, hash(r->requests[place].id), place);
    roster_move(r, place, ROSTER_FORGOTTEN);
}

void roster_remove(struct roster *r, uint32_t place) {
    if (r->requests[place].where != ROSTER_FORGOTTEN) roster_forget(r, place);
    r->requests[place].where = ROSTER_FREE;
    r->requests[place].next_free = r->first_free;
    r->first_free = place;
    r->used--;
}
