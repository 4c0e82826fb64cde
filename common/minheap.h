/* SPDX-License-Identifier: Apache-2.0
 *
 * A binary heap of numbers (jobs, registers), with the first of an order on top. The caller owns
 * the keys. `before` says which of two numbers goes first; it is inlined, so that it costs as much
 * as a comparison written in place. The caller provides the memory, and `place` if numbers are
 * removed from the middle or change their keys.
 */
#ifndef COMMON_MINHEAP_H
#define COMMON_MINHEAP_H

#include <stdbool.h>
#include <stdint.h>

#define MINHEAP_NONE UINT32_MAX

struct minheap {
    uint32_t *items; /* items[0]: the first */
    uint32_t count;
    uint32_t *place; /* number -> index in `items`, or MINHEAP_NONE; NULL: not maintained */
};

typedef bool minheap_before_fn(const void *keys, uint32_t a, uint32_t b);

#define MINHEAP_INLINE static inline __attribute__((always_inline))

MINHEAP_INLINE void minheap_set(struct minheap *h, uint32_t at, uint32_t item) {
    h->items[at] = item;
    if (h->place) h->place[item] = at;
}

/* Moves the item at `at` to where its key belongs. */
MINHEAP_INLINE void minheap_settle(struct minheap *h, uint32_t at, minheap_before_fn *before,
                                   const void *keys) {
    uint32_t item = h->items[at];
    for (; at > 0 && before(keys, item, h->items[(at - 1) / 2]); at = (at - 1) / 2)
        minheap_set(h, at, h->items[(at - 1) / 2]);
    for (uint32_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && before(keys, h->items[child + 1], h->items[child])) child++;
        if (!before(keys, h->items[child], item)) break;
        minheap_set(h, at, h->items[child]);
    }
    minheap_set(h, at, item);
}

/* Appends a number that is not in the heap, and returns its index, for minheap_settle. */
MINHEAP_INLINE uint32_t minheap_append(struct minheap *h, uint32_t item) {
    minheap_set(h, h->count, item);
    return h->count++;
}

/* Removes the item at `at`. Returns true if the last item has replaced it and must be settled. */
MINHEAP_INLINE bool minheap_cut(struct minheap *h, uint32_t at) {
    if (h->place) h->place[h->items[at]] = MINHEAP_NONE;
    if (at == --h->count) return false;
    minheap_set(h, at, h->items[h->count]);
    return true;
}

/* Adds a number that is not in the heap. */
MINHEAP_INLINE void minheap_add(struct minheap *h, uint32_t item, minheap_before_fn *before,
                                const void *keys) {
    minheap_settle(h, minheap_append(h, item), before, keys);
}

MINHEAP_INLINE void minheap_remove(struct minheap *h, uint32_t at, minheap_before_fn *before,
                                   const void *keys) {
    if (minheap_cut(h, at)) minheap_settle(h, at, before, keys);
}

/* Removes and returns the first item; the heap must not be empty. */
MINHEAP_INLINE uint32_t minheap_take(struct minheap *h, minheap_before_fn *before,
                                     const void *keys) {
    uint32_t first = h->items[0];
    minheap_remove(h, 0, before, keys);
    return first;
}

#endif
