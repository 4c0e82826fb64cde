/* SPDX-License-Identifier: Apache-2.0
 *
 * A sorted array: there are few ranges, and lookups are more frequent than changes.
 */
#include "shim/memory/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void spans_finish(struct spans *s) {
    free(s->items);
    *s = (struct spans){.items = NULL};
}

/* Returns the first range that ends behind `addr`; s->count when there is none. */
static uint32_t lower_bound(const struct spans *s, uint64_t addr) {
    uint32_t lo = 0, hi = s->count;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const struct span *item = &s->items[mid];
        if (addr >= item->addr && addr - item->addr >= item->bytes)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool spans_overlap(const struct spans *s, uint64_t addr, uint64_t bytes) {
    uint32_t at = lower_bound(s, addr);
    return at < s->count && s->items[at].addr < addr + bytes;
}

uint32_t spans_overlapping(const struct spans *s, uint64_t addr, uint64_t bytes, uint32_t *first) {
    uint32_t end = *first = lower_bound(s, addr);
    while (end < s->count && s->items[end].addr < addr + bytes)
        end++;
    return end - *first;
}

static int reach(struct spans *s, uint32_t count) {
    if (count <= s->cap) return 0;
    uint32_t cap = s->cap ? s->cap * 2 : 16;
    struct span *items = realloc(s->items, cap * sizeof(*items));
    if (!items) return -ENOMEM;
    s->items = items;
    s->cap = cap;
    return 0;
}

int spans_add(struct spans *s, const struct span *span) {
    if (spans_overlap(s, span->addr, span->bytes)) return -EEXIST;
    int err = reach(s, s->count + 1);
    if (err) return err;
    uint32_t at = lower_bound(s, span->addr);
    memmove(s->items + at + 1, s->items + at, (s->count - at) * sizeof(*span));
    s->items[at] = *span;
    s->count++;
    return 0;
}

struct span *spans_find(const struct spans *s, uint64_t addr) {
    uint32_t at = lower_bound(s, addr);
    return at < s->count && addr >= s->items[at].addr ? &s->items[at] : NULL;
}

uint32_t spans_exactly(const struct spans *s, uint64_t addr, uint64_t bytes, uint32_t *first) {
    uint32_t at = *first = lower_bound(s, addr);
    uint64_t end = addr + bytes, next = addr;
    while (at < s->count && next < end && s->items[at].addr == next)
        next += s->items[at++].bytes;
    return next == end ? at - *first : 0;
}

bool spans_cover(const struct spans *s, uint64_t addr, uint64_t bytes) {
    uint64_t end = addr + bytes;
    if (end < addr) return false;
    for (uint32_t at = lower_bound(s, addr); at < s->count && s->items[at].access; at++) {
        const struct span *item = &s->items[at];
        if (item->addr > addr) return false;
        addr = item->addr + item->bytes;
        if (addr >= end) return true;
    }
    return false;
}

void spans_remove(struct spans *s, uint32_t first, uint32_t count) {
    if (!count) return; /* the array may never have been allocated */
    s->count -= count;
    memmove(s->items + first, s->items + first + count, (s->count - first) * sizeof(*s->items));
}
