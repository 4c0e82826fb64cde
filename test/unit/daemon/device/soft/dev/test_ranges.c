/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges compared with a model that has a flag for each byte: random additions and removals, every
 * lookup.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/launch/ranges.h"

#define SPAN 200
#define BASE 0x100000

static void check_model(const struct ranges *r, const char *model) {
    for (uint32_t i = 0; i < r->count; i++) {
        cr_assert_lt(r->items[i].lo, r->items[i].hi);
        if (i) cr_assert_lt(r->items[i - 1].hi, r->items[i].lo, "neighbours are merged");
    }
    for (int at = 0; at < SPAN; at++) {
        bool all = true;
        for (int bytes = 1; bytes <= 16 && at + bytes <= SPAN; bytes++) {
            all = all && model[at + bytes - 1];
            const struct range *found = ranges_find(r, BASE + (uint64_t)at, (uint64_t)bytes);
            cr_assert_eq(found != NULL, all, "%d+%d", at, bytes);
            if (found) cr_assert(found->lo <= BASE + (uint64_t)at);
        }
    }
}

Test(ranges, model) {
    uint32_t seed = 7;
    for (int round = 0; round < 20; round++) {
        char model[SPAN] = {0};
        struct ranges *r = ranges_with(NULL, 0, 0);
        cr_assert_eq(r->count, 0);
        for (int step = 0; step < 40; step++) {
            seed = seed * 1664525u + 1013904223u;
            uint64_t lo = (seed >> 8) % SPAN, n = 1 + (seed >> 20) % 30;
            uint64_t hi = lo + n > SPAN ? SPAN : lo + n;
            bool add = seed >> 31;
            struct ranges *next = add ? ranges_with(r, BASE + lo, BASE + hi)
                                      : ranges_without(r, BASE + lo, BASE + hi);
            memset(model + lo, add, hi - lo);
            ranges_unref(r);
            r = next;
            check_model(r, model);
        }
        ranges_unref(r);
    }
}

Test(ranges, sizes_that_overflow) {
    struct ranges *r = ranges_with(NULL, BASE, BASE + 100);
    cr_assert(ranges_find(r, BASE, 100));
    cr_assert_not(ranges_find(r, BASE, 101));
    cr_assert_not(ranges_find(r, BASE + 50, UINT64_MAX));
    cr_assert_not(ranges_find(r, BASE + 50, UINT64_MAX - 40));
    cr_assert_not(ranges_find(r, UINT64_MAX, 2));
    cr_assert_not(ranges_find(r, 0, 1));
    cr_assert_not(ranges_find(NULL, BASE, 1));
    ranges_unref(r);
    struct ranges *top = ranges_with(NULL, UINT64_MAX - 10, UINT64_MAX);
    cr_assert(ranges_find(top, UINT64_MAX - 10, 10));
    cr_assert_not(ranges_find(top, UINT64_MAX - 10, 11));
    ranges_unref(top);
}

Test(ranges, references) {
    struct ranges *r = ranges_with(NULL, BASE, BASE + 1), *same = ranges_ref(r);
    cr_assert_eq(r, same);
    ranges_unref(r);
    cr_assert(ranges_find(same, BASE, 1));
    ranges_unref(same);
    ranges_unref(NULL);
}
