/* SPDX-License-Identifier: Apache-2.0
 *
 * Two heaps over the same places.
 */
#include "daemon/serve/plan/state/lineup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool before(const void *keys, uint32_t a, uint32_t b) {
    const uint64_t *key = keys;
    return key[a] != key[b] ? key[a] < key[b] : a < b;
}

/* Copies an array to the new size; NULL if memory is short. */
static void *copy_of(const void *old, size_t old_bytes, size_t bytes) {
    char *copy = malloc(bytes);
    if (!copy) return NULL;
    if (old_bytes) memcpy(copy, old, old_bytes);
    memset(copy + old_bytes, 0xff, bytes - old_bytes); /* MINHEAP_NONE */
    return copy;
}

int lineup_reserve(struct lineup *l, uint32_t places) {
    uint32_t had = l->capacity, capacity = had ? had : 16;
    if (places <= had) return 0;
    while (capacity < places)
        capacity *= 2;
    size_t wide = sizeof(uint64_t), narrow = sizeof(uint32_t);
    struct lineup grown = {
        .key = copy_of(l->key, had * wide, capacity * wide),
        .until_ns = copy_of(l->until_ns, had * wide, capacity * wide),
        .order = {copy_of(l->order.items, had * narrow, capacity * narrow), l->order.count,
                  copy_of(l->order.place, had * narrow, capacity * narrow)},
        .leave = {copy_of(l->leave.items, had * narrow, capacity * narrow), l->leave.count,
                  copy_of(l->leave.place, had * narrow, capacity * narrow)},
        .capacity = capacity};
    if (!grown.key || !grown.until_ns || !grown.order.items || !grown.order.place ||
        !grown.leave.items || !grown.leave.place) {
        lineup_finish(&grown);
        return -ENOMEM;
    }
    lineup_finish(l);
    *l = grown;
    return 0;
}

void lineup_finish(struct lineup *l) {
    free(l->key);
    free(l->until_ns);
    free(l->order.items);
    free(l->order.place);
    free(l->leave.items);
    free(l->leave.place);
    *l = (struct lineup){0};
}

void lineup_add(struct lineup *l, uint32_t place, uint64_t key, uint64_t until_ns) {
    l->key[place] = key;
    l->until_ns[place] = until_ns;
    minheap_add(&l->order, place, before, l->key);
    minheap_add(&l->leave, place, before, l->until_ns);
}

void lineup_remove(struct lineup *l, uint32_t place) {
    if (!lineup_has(l, place)) return;
    minheap_remove(&l->order, l->order.place[place], before, l->key);
    minheap_remove(&l->leave, l->leave.place[place], before, l->until_ns);
}

/* Inserts each element into the heap of the previous ones, because the order mostly stays the
 * same. */
void lineup_retime(struct lineup *l, lineup_until_fn *until_ns, void *arg) {
    uint32_t count = l->leave.count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = l->leave.items[i];
        l->until_ns[place] = until_ns(arg, place);
    }
    for (uint32_t i = 0; i < count; i++) {
        l->leave.count = i + 1;
        minheap_settle(&l->leave, i, before, l->until_ns);
    }
}

void lineup_take(struct lineup *l, uint32_t count, uint32_t *out) {
    for (uint32_t i = 0; i < count; i++) {
        out[i] = lineup_first(l);
        lineup_remove(l, out[i]);
    }
}

static const char *check_heap(const struct minheap *h, const uint64_t *keys) {
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->place[h->items[i]] != i) return "an entry's recorded place is wrong";
        if (i && before(keys, h->items[i], h->items[(i - 1) / 2])) return "a heap is out of order";
    }
    return NULL;
}

const char *lineup_check(const struct lineup *l) {
    if (l->order.count != l->leave.count) return "the heaps of a line have different requests";
    const char *broken = check_heap(&l->order, l->key);
    return broken ? broken : check_heap(&l->leave, l->until_ns);
}
