/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/launch/ranges.h"

#include <stdlib.h>

#include "common/atomics.h"

static struct ranges *alloc_ranges(uint32_t capacity) {
    struct ranges *r = malloc(sizeof(*r) + capacity * sizeof(r->items[0]));
    if (!r) return NULL;
    atomic_init(&r->refs, 1);
    r->count = 0;
    return r;
}

/* Appends a range in ascending order and joins it with one that it touches. */
static void append_range(struct ranges *r, uint64_t lo, uint64_t hi) {
    if (lo >= hi) return;
    if (r->count && r->items[r->count - 1].hi >= lo) {
        struct range *last = &r->items[r->count - 1];
        if (hi > last->hi) last->hi = hi;
        return;
    }
    r->items[r->count++] = (struct range){lo, hi};
}

struct ranges *ranges_with(const struct ranges *old, uint64_t lo, uint64_t hi) {
    uint32_t n = old ? old->count : 0, i = 0;
    struct ranges *r = alloc_ranges(n + 1);
    if (!r) return NULL;
    for (; i < n && old->items[i].lo < lo; i++)
        append_range(r, old->items[i].lo, old->items[i].hi);
    append_range(r, lo, hi);
    for (; i < n; i++)
        append_range(r, old->items[i].lo, old->items[i].hi);
    return r;
}

struct ranges *ranges_without(const struct ranges *old, uint64_t lo, uint64_t hi) {
    uint32_t n = old ? old->count : 0;
    struct ranges *r = alloc_ranges(n + 1);
    if (!r) return NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct range *o = &old->items[i];
        append_range(r, o->lo, o->hi < lo ? o->hi : lo);
        append_range(r, o->lo > hi ? o->lo : hi, o->hi);
    }
    return r;
}

struct ranges *ranges_ref(struct ranges *r) {
    atom_add_relaxed(&r->refs, 1);
    return r;
}

void ranges_unref(struct ranges *r) {
    if (r && atom_sub_acq_rel(&r->refs, 1) == 1) free(r);
}

const struct range *ranges_find(const struct ranges *r, uint64_t addr, uint64_t bytes) {
    uint32_t lo = 0, hi = r ? r->count : 0;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const struct range *item = &r->items[mid];
        if (addr < item->lo)
            hi = mid;
        else if (addr >= item->hi)
            lo = mid + 1;
        else
            return bytes <= item->hi - addr ? item : NULL;
    }
    return NULL;
}
