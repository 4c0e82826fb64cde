/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue ordered by key and by time, compared with a search over all its entries.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "daemon/serve/plan/state/lineup.h"

#define PLACES 200u
#define STEPS 100000u

static uint64_t key[PLACES], until[PLACES];
static bool in[PLACES];
static uint64_t seed = 1;

static uint32_t draw(uint32_t below) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((seed >> 33) % below);
}

static uint32_t smallest(const uint64_t *of) {
    uint32_t best = LINEUP_NONE;
    for (uint32_t i = 0; i < PLACES; i++)
        if (in[i] && (best == LINEUP_NONE || of[i] < of[best])) best = i;
    return best;
}

static void expect_same(const struct lineup *l, uint64_t now) {
    uint32_t first = smallest(key), next = smallest(until);
    cr_assert_eq(lineup_first(l), first);
    cr_assert_eq(lineup_next(l), next);
    bool late = next != LINEUP_NONE && until[next] < now;
    cr_assert_eq(lineup_late(l, now), late ? next : LINEUP_NONE);
    cr_assert_eq(lineup_wake(l), next == LINEUP_NONE ? UINT64_MAX : until[next] + 1);
}

Test(plan_lineup, the_first_and_the_late_are_those_of_a_search) {
    struct lineup l = {0};
    cr_assert_eq(lineup_reserve(&l, 10), 0);
    cr_assert_eq(lineup_reserve(&l, PLACES), 0);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t i = draw(PLACES);
        if (in[i])
            lineup_remove(&l, i);
        else {
            key[i] = draw(50);
            until[i] = draw(50);
            lineup_add(&l, i, key[i], until[i]);
        }
        in[i] = !in[i];
        cr_assert_eq(lineup_has(&l, i), in[i]);
        expect_same(&l, draw(50));
        if (step % 100 == 0) cr_assert_null(lineup_check(&l), "%s", lineup_check(&l));
    }
    lineup_finish(&l);
}

/* A request is late after its deadline, not at it, and the scheduler's timer fires then. */
Test(plan_lineup, it_is_late_after_its_moment) {
    struct lineup l = {0};
    cr_assert_eq(lineup_reserve(&l, 2), 0);
    lineup_add(&l, 1, 0, 100);
    cr_expect_eq(lineup_late(&l, 100), LINEUP_NONE);
    cr_expect_eq(lineup_late(&l, 101), 1);
    cr_expect_eq(lineup_wake(&l), 101);
    lineup_remove(&l, 1);
    lineup_remove(&l, 1); /* removing an absent entry has no effect */
    cr_expect_eq(lineup_wake(&l), UINT64_MAX);
    lineup_finish(&l);
}

static uint64_t another(void *arg, uint32_t place) {
    uint64_t *times = arg;
    return times[place];
}

Test(plan_lineup, everybodys_time_may_change) {
    struct lineup l = {0};
    uint64_t times[100];
    cr_assert_eq(lineup_reserve(&l, 100), 0);
    for (uint32_t i = 0; i < 100; i++)
        lineup_add(&l, i, i, draw(1000));
    for (int round = 0; round < 50; round++) {
        uint32_t first = 0;
        for (uint32_t i = 0; i < 100; i++) {
            times[i] = draw(1000);
            if (times[i] < times[first]) first = i;
        }
        lineup_retime(&l, another, times);
        cr_assert_null(lineup_check(&l), "%s", lineup_check(&l));
        cr_assert_eq(lineup_count(&l), 100);
        cr_assert_eq(lineup_next(&l), first);
        cr_assert_eq(lineup_wake(&l), times[first] + 1);
    }
    lineup_finish(&l);
}

Test(plan_lineup, they_are_taken_in_order_and_more_room_keeps_it) {
    struct lineup l = {0};
    uint32_t out[20];
    cr_assert_eq(lineup_reserve(&l, 16), 0);
    for (uint32_t i = 0; i < 16; i++)
        lineup_add(&l, i, 100 - i, i);
    cr_assert_eq(lineup_reserve(&l, 100), 0);
    for (uint32_t i = 16; i < 20; i++)
        lineup_add(&l, i, 100 - i, i);
    lineup_take(&l, 20, out);
    for (uint32_t i = 0; i < 20; i++)
        cr_expect_eq(out[i], 19 - i);
    cr_expect_eq(lineup_count(&l), 0);
    lineup_finish(&l);
}
