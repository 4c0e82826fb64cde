/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores trials by place, by id, and in the order of joining.
 */
#include "daemon/tune/trials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A fixed seed suffices: ids are the caller's own, so nobody attacks the hash table. */
#define SEED 0x9e3779b97f4a7c15ull

static uint64_t hash(uint64_t id) {
    return slotmap_hash_word(id, SEED);
}

int trials_init(struct trials *t, uint32_t capacity) {
    *t = (struct trials){.capacity = capacity, .first_free = TRIALS_NONE};
    t->at = calloc(capacity, sizeof(*t->at));
    t->in_order = calloc(capacity, sizeof(*t->in_order));
    if (!t->at || !t->in_order || slotmap_reserve(&t->ids, capacity)) return -ENOMEM;
    for (uint32_t i = capacity; i > 0; i--) {
        t->at[i - 1].next_free = t->first_free;
        t->first_free = i - 1;
    }
    return 0;
}

void trials_finish(struct trials *t) {
    free(t->at);
    free(t->in_order);
    slotmap_finish(&t->ids);
}

uint32_t trials_find(const struct trials *t, uint64_t id) {
    struct slotmap_walk walk = slotmap_walk(&t->ids, hash(id));
    uint32_t place;
    while ((place = slotmap_next(&t->ids, &walk)) != SLOTMAP_NONE)
        if (t->at[place].id == id) return place;
    return TRIALS_NONE;
}

uint32_t trials_add(struct trials *t, uint64_t id) {
    uint32_t place = t->first_free;
    t->first_free = t->at[place].next_free;
    t->at[place] = (struct trial){.id = id, .gpu = TRIALS_NONE, .shown_share = -1};
    t->in_order[t->count++] = place;
    slotmap_add(&t->ids, hash(id), place);
    return place;
}

void trials_remove(struct trials *t, uint32_t place) {
    uint32_t i = 0;
    while (t->in_order[i] != place)
        i++;
    t->count--;
    memmove(&t->in_order[i], &t->in_order[i + 1], (t->count - i) * sizeof(*t->in_order));
    slotmap_remove(&t->ids, hash(t->at[place].id), place);
    t->at[place].next_free = t->first_free;
    t->first_free = place;
}

/* Searches from the end, because trials of a group mostly join one after another. */
uint64_t trials_turn(struct trials *t, uint64_t group) {
    for (uint32_t i = t->count; i > 0; i--) {
        const struct trial *trial = &t->at[t->in_order[i - 1]];
        if (trial->group == group) return trial->turn;
    }
    return t->turns++;
}
