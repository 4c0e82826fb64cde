/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges in ascending order, each with one value of every kind. Addresses outside of them have no
 * hint.
 */
#include "shim/memory/hints.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim/lock.h"

struct range {
    uint64_t addr, end;
    uint64_t values[HINT_KINDS];
};

static struct range *ranges;
static uint32_t count, cap;
static pthread_mutex_t hints_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the first range that ends behind `addr`; `count` when there is none. */
static uint32_t lower_bound(uint64_t addr) {
    uint32_t lo = 0, hi = count;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (ranges[mid].end <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool reach(uint32_t more) {
    if (count + more <= cap) return true;
    uint32_t room = 2 * (count + more);
    struct range *bigger = realloc(ranges, room * sizeof(*ranges));
    if (!bigger) return false;
    ranges = bigger;
    cap = room;
    return true;
}

/* Inserts a range; the array has room for it. */
static void insert(uint32_t at, const struct range *r) {
    memmove(ranges + at + 1, ranges + at, (count - at) * sizeof(*ranges));
    ranges[at] = *r;
    count++;
}

/* Splits a range at `at`, if one contains it; the array has room for one more. */
static void cut(uint64_t at) {
    uint32_t i = lower_bound(at);
    if (i == count || ranges[i].addr >= at) return;
    struct range right = ranges[i];
    right.addr = at;
    ranges[i].end = at;
    insert(i + 1, &right);
}

/* Counts the ranges needed to fill the gaps of [addr, end). */
static uint32_t count_gaps(uint64_t addr, uint64_t end) {
    uint32_t gaps = 0;
    for (uint32_t i = lower_bound(addr); addr < end; i++) {
        bool last = i == count || ranges[i].addr >= end;
        gaps += last || ranges[i].addr > addr;
        addr = last ? end : ranges[i].end;
    }
    return gaps;
}

static void set(uint64_t addr, uint64_t end, enum hint kind, uint64_t value) {
    cut(addr);
    cut(end);
    for (uint32_t i = lower_bound(addr); addr < end; addr = ranges[i++].end) {
        uint64_t next = i < count && ranges[i].addr < end ? ranges[i].addr : end;
        if (next > addr) insert(i, &(struct range){.addr = addr, .end = next});
        ranges[i].values[kind] = value;
    }
}

int hints_set(uint64_t addr, uint64_t bytes, enum hint kind, uint64_t value) {
    lock_enter(&hints_lock);
    bool room = reach(count_gaps(addr, addr + bytes) + 2);
    if (room) set(addr, addr + bytes, kind, value);
    lock_leave(&hints_lock);
    return room ? 0 : -ENOMEM;
}

static bool same(uint64_t addr, uint64_t end, enum hint kind, uint64_t *value) {
    bool begun = false, equal = true;
    for (uint32_t i = lower_bound(addr); addr < end && equal; i++) {
        bool gap = i == count || ranges[i].addr > addr;
        uint64_t here = gap ? 0 : ranges[i].values[kind];
        equal = !begun || here == *value;
        *value = here;
        begun = true;
        addr = !gap ? ranges[i].end : i == count ? end : ranges[i].addr;
        i -= gap;
    }
    return equal;
}

bool hints_get(uint64_t addr, uint64_t bytes, enum hint kind, uint64_t *value) {
    lock_enter(&hints_lock);
    bool equal = same(addr, addr + bytes, kind, value);
    lock_leave(&hints_lock);
    return equal;
}

/* Removes hints. Without memory to split ranges, those that reach beyond are removed completely. */
void hints_forget(uint64_t addr, uint64_t bytes) {
    lock_enter(&hints_lock);
    if (reach(2)) {
        cut(addr);
        cut(addr + bytes);
    }
    uint32_t first = lower_bound(addr), end = first;
    while (end < count && ranges[end].addr < addr + bytes)
        end++;
    memmove(ranges + first, ranges + end, (count - end) * sizeof(*ranges));
    count -= end - first;
    lock_leave(&hints_lock);
}
