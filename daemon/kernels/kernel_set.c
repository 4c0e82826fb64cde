/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of profiles is an array with a slotmap as its index; the hints are a sorted array.
 */
#include "daemon/kernels/kernel_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kernel_set_init(struct kernel_set *s, uint64_t seed) {
    *s = (struct kernel_set){.device = {.name = "?"}, .seed = seed};
}

void kernel_set_finish(struct kernel_set *s) {
    free(s->items);
    free(s->marks);
    free(s->hints);
    slotmap_finish(&s->by_key);
    kernel_set_init(s, s->seed);
}

bool kernel_set_device_same(const struct kernel_set_device *a, const struct kernel_set_device *b) {
    return a->sms == b->sms && strcmp(a->name, b->name) == 0;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static uint32_t find(const struct kernel_set *s, const struct kernel_profile_key *key) {
    struct slotmap_walk walk = slotmap_walk(&s->by_key, kernel_profile_hash(key, s->seed));
    uint32_t slot;

    do
        slot = slotmap_next(&s->by_key, &walk);
    while (slot != SLOTMAP_NONE && !kernel_profile_same(&s->items[slot].key, key));
    return slot;
}

const struct kernel_profile *kernel_set_find(const struct kernel_set *s,
                                             const struct kernel_profile_key *key) {
    uint32_t slot = find(s, key);

    return slot == SLOTMAP_NONE ? NULL : &s->items[slot];
}

/* The slot to evict so that a profile of this user fits; SLOTMAP_NONE if the set has space. */
static uint32_t victim(const struct kernel_set *s, uint32_t uid) {
    uint32_t oldest = 0, own_oldest = SLOTMAP_NONE, own = 0;

    for (uint32_t i = 0; i < s->count; i++) {
        if (s->marks[i].used < s->marks[oldest].used) oldest = i;
        if (s->marks[i].uid != uid) continue;
        own++;
        if (own_oldest == SLOTMAP_NONE || s->marks[i].used < s->marks[own_oldest].used)
            own_oldest = i;
    }
    if (own >= KERNEL_SET_USER_MAX) return own_oldest;
    return s->count == KERNEL_SET_MAX ? oldest : SLOTMAP_NONE;
}

static int grow(struct kernel_set *s) {
    uint32_t cap = s->cap ? 2 * s->cap : 64;
    struct kernel_profile *items;
    struct kernel_set_mark *marks;

    if (s->count < s->cap) return 0;
    items = realloc(s->items, cap * sizeof(*items));
    if (items) s->items = items;
    marks = realloc(s->marks, cap * sizeof(*marks));
    if (marks) s->marks = marks;
    if (!items || !marks) return -ENOMEM;
    s->cap = cap;
    return 0;
}

/* Provides a slot for a new profile with this key; SLOTMAP_NONE if memory is short. */
static uint32_t take_slot(struct kernel_set *s, const struct kernel_profile_key *key) {
    uint32_t slot = s->count < KERNEL_SET_USER_MAX ? SLOTMAP_NONE : victim(s, key->uid);

    if (slot != SLOTMAP_NONE) {
        slotmap_remove(&s->by_key, kernel_profile_hash(&s->items[slot].key, s->seed), slot);
    } else {
        if (grow(s) < 0 || slotmap_reserve(&s->by_key, s->count + 1) < 0) return SLOTMAP_NONE;
        slot = s->count++;
    }
    slotmap_add(&s->by_key, kernel_profile_hash(key, s->seed), slot);
    return slot;
}

int kernel_set_learn(struct kernel_set *s, const struct kernel_profile *p) {
    uint32_t slot = find(s, &p->key);

    if (slot == SLOTMAP_NONE) slot = take_slot(s, &p->key);
    if (slot == SLOTMAP_NONE) return -ENOMEM;
    s->items[slot] = *p;
    s->marks[slot] = (struct kernel_set_mark){++s->uses, p->key.uid};
    return 0;
}

static int by_use(const void *a, const void *b, void *marks) {
    const struct kernel_set_mark *x = (struct kernel_set_mark *)marks + *(const uint32_t *)a;
    const struct kernel_set_mark *y = (struct kernel_set_mark *)marks + *(const uint32_t *)b;

    return x->used < y->used ? -1 : x->used > y->used;
}

uint32_t *kernel_set_order(const struct kernel_set *s) {
    uint32_t *order = malloc((s->count + 1) * sizeof(*order));

    if (!order) return NULL;
    for (uint32_t i = 0; i < s->count; i++)
        order[i] = i;
    qsort_r(order, s->count, sizeof(*order), by_use, s->marks);
    return order;
}

/* ---- hints ----------------------------------------------------------------------------------- */

/* The index of the hint, or the index at which it has to be inserted. */
static uint32_t place_of(const struct kernel_set *s, const struct kernel_profile_hint *h) {
    uint32_t low = 0, high = s->hint_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (kernel_profile_hint_order(&s->hints[middle], h) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_there(const struct kernel_set *s, const struct kernel_profile_hint *h,
                     uint32_t place) {
    return place < s->hint_count && kernel_profile_hint_order(&s->hints[place], h) == 0;
}

int kernel_set_add_hints(struct kernel_set *s, const struct kernel_profile_hint *hints,
                         uint32_t count) {
    uint32_t fresh = 0;

    for (uint32_t i = 0; i < count; i++)
        fresh += !is_there(s, &hints[i], place_of(s, &hints[i]));
    if (fresh > KERNEL_SET_HINTS_MAX - s->hint_count) return -ENOSPC;
    if (s->hint_count + fresh > s->hint_cap) {
        uint32_t cap = s->hint_count + fresh + s->hint_cap / 2;
        struct kernel_profile_hint *grown = realloc(s->hints, cap * sizeof(*grown));

        if (!grown) return -ENOMEM;
        s->hints = grown;
        s->hint_cap = cap;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = place_of(s, &hints[i]);

        if (!is_there(s, &hints[i], at)) {
            memmove(&s->hints[at + 1], &s->hints[at], (s->hint_count - at) * sizeof(*hints));
            s->hint_count++;
        }
        s->hints[at] = hints[i];
    }
    return 0;
}

/* ---- removal --------------------------------------------------------------------------------- */

bool kernel_set_matches(const struct kernel_set_filter *f, const struct kernel_profile *p) {
    return (f->uid == KERNEL_SET_ANYBODY || f->uid == p->key.uid) &&
           (!f->name || strcmp(f->name, p->name) == 0);
}

uint32_t kernel_set_forget(struct kernel_set *s, const struct kernel_set_filter *f) {
    uint32_t kept = 0, hints = 0, gone;

    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t hash = kernel_profile_hash(&s->items[i].key, s->seed);

        slotmap_remove(&s->by_key, hash, i);
        if (kernel_set_matches(f, &s->items[i])) continue;
        s->items[kept] = s->items[i];
        s->marks[kept] = s->marks[i];
        slotmap_add(&s->by_key, hash, kept++);
    }
    for (uint32_t i = 0; i < s->hint_count; i++)
        if (!f->hints || (f->name && strcmp(f->name, s->hints[i].name) != 0))
            s->hints[hints++] = s->hints[i];
    gone = s->count - kept + s->hint_count - hints;
    s->count = kept;
    s->hint_count = hints;
    return gone;
}
