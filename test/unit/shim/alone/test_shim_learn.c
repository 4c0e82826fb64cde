/* SPDX-License-Identifier: Apache-2.0
 *
 * Learning the lifetimes of allocations from the positions of boundaries among the allocations'
 * announcements.
 */
#include "shim/memory/learn.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct learn *l;
static uint64_t uses, boundaries; /* as the worker counts them */

static void born(uint64_t addr, uint64_t key, bool ephemeral) {
    uses += ephemeral;
    learn_born(l, addr, key, ephemeral);
}

/* Makes a boundary here, which the library learns at once. */
static void boundary(void) {
    learn_boundary(l, ++boundaries, uses, uses);
}

/* Starts after the first boundary, as most tests need. */
static void begin(void) {
    uses = boundaries = 0;
    cr_assert_eq(learn_create(&l), 0);
    boundary();
}

static void end(void) {
    learn_destroy(l);
}

TestSuite(shim_learn, .init = begin, .fini = end);

#define EPHEMERAL true
#define PERSISTENT false
#define KEY 77

Test(shim_learn, the_call_decides_until_something_is_known) {
    cr_assert(learn_ephemeral(l, KEY, true));
    cr_assert_not(learn_ephemeral(l, KEY, false));
}

Test(shim_learn, one_that_is_alive_at_a_boundary_was_persistent) {
    born(0x1000, KEY, EPHEMERAL);
    born(0x2000, KEY + 1, EPHEMERAL);
    learn_died(l, 0x2000);
    born(0x3000, KEY + 2, EPHEMERAL);
    boundary();
    cr_assert_not(learn_ephemeral(l, KEY, true));
    cr_assert(learn_ephemeral(l, KEY + 1, true));
    cr_assert_not(learn_ephemeral(l, KEY + 2, true));
}

Test(shim_learn, born_after_the_boundary_tells_nothing) {
    born(0x1000, KEY, EPHEMERAL);
    learn_died(l, 0x1000);
    born(0x2000, KEY + 1, EPHEMERAL); /* the boundary came before this allocation */
    learn_boundary(l, ++boundaries, 1, 1);
    cr_assert(learn_ephemeral(l, KEY + 1, true));
    boundary();
    cr_assert_not(learn_ephemeral(l, KEY + 1, true), "but at the next one it is alive");
}

Test(shim_learn, freed_after_the_boundary_but_before_it_is_known) {
    born(0x1000, KEY, EPHEMERAL);
    born(0x2000, KEY + 1, EPHEMERAL);
    learn_died(l, 0x2000);
    /* The boundary is here, after two announcements, and the client continues. */
    born(0x3000, KEY + 2, EPHEMERAL);
    learn_died(l, 0x1000);
    learn_boundary(l, ++boundaries, 2, 2);
    cr_assert_not(learn_ephemeral(l, KEY, true));
    cr_assert(learn_ephemeral(l, KEY + 1, true));
}

/* The first launch of an iteration comes after its first allocations. */
Test(shim_learn, what_holds_no_result_belongs_to_what_begins) {
    for (int i = 0; i < 5; i++) {
        born(0x1000, KEY, EPHEMERAL);
        learn_boundary(l, ++boundaries, uses, uses - 1);
        born(0x2000, KEY + 1, EPHEMERAL);
        learn_died(l, 0x1000);
        learn_died(l, 0x2000);
    }
    cr_assert(learn_ephemeral(l, KEY, true));
    cr_assert(learn_ephemeral(l, KEY + 1, true));
    born(0x1000, KEY, EPHEMERAL);
    learn_boundary(l, ++boundaries, uses, uses - 1);
    learn_boundary(l, ++boundaries, uses, uses);
    cr_assert_not(learn_ephemeral(l, KEY, true), "it outlived the one that began");
}

Test(shim_learn, what_was_copied_ahead_outlives) {
    born(0x1000, KEY, EPHEMERAL);
    born(0x2000, KEY + 1, EPHEMERAL);
    born(0x3000, KEY + 2, EPHEMERAL);
    learn_written(l, 0x2000);
    learn_written(l, 0x9000);
    learn_died(l, 0x3000);
    uint64_t before = uses;
    born(0x4000, KEY + 3, EPHEMERAL);
    born(0x5000, KEY + 4, EPHEMERAL);
    learn_written(l, 0x1000); /* after the boundary, like the calls below */
    learn_written(l, 0x5000);
    learn_boundary(l, ++boundaries, before, 0);
    cr_assert(learn_ephemeral(l, KEY, true));
    cr_assert_not(learn_ephemeral(l, KEY + 1, true));
    for (uint64_t i = 2; i < 5; i++)
        cr_assert(learn_ephemeral(l, KEY + i, true), "%lu", (unsigned long)i);
}

Test(shim_learn, an_address_is_used_again) {
    for (uint64_t i = 0; i < 10; i++) {
        born(0x1000, KEY + i, EPHEMERAL);
        if (i < 9) learn_died(l, 0x1000);
    }
    boundary();
    for (uint64_t i = 0; i < 9; i++)
        cr_assert(learn_ephemeral(l, KEY + i, true), "%lu", (unsigned long)i);
    cr_assert_not(learn_ephemeral(l, KEY + 9, true));
}

/* ---- from the persistent window -------------------------------------------------------------- */

/* An iteration in which a block of the persistent window is allocated and freed. */
static void step_without_announcements(uint64_t key) {
    born(0x1000, key, PERSISTENT);
    learn_died(l, 0x1000);
    boundary();
}

Test(shim_learn, twice_within_an_iteration_is_ephemeral) {
    step_without_announcements(KEY);
    cr_assert_not(learn_ephemeral(l, KEY, false), "once is not enough");
    step_without_announcements(KEY);
    cr_assert(learn_ephemeral(l, KEY, false));
}

Test(shim_learn, twice_in_the_same_iteration_is_once) {
    for (int i = 0; i < 10; i++) {
        born(0x1000, KEY, PERSISTENT);
        learn_died(l, 0x1000);
    }
    cr_assert_not(learn_ephemeral(l, KEY, false));
}

Test(shim_learn, before_the_first_boundary_is_no_iteration) {
    end();
    cr_assert_eq(learn_create(&l), 0);
    uses = boundaries = 0;
    born(0x2000, KEY + 1, EPHEMERAL);
    for (int i = 0; i < 10; i++) {
        born(0x1000, KEY, PERSISTENT);
        learn_died(l, 0x1000);
    }
    boundary();
    step_without_announcements(KEY);
    cr_assert_not(learn_ephemeral(l, KEY, false), "this was the first");
    cr_assert(learn_ephemeral(l, KEY + 1, true));
    learn_died(l, 0x2000);
    born(0x3000, KEY + 2, EPHEMERAL);
    learn_boundary(l, ++boundaries, 1, 1); /* announcements are counted from the start */
    cr_assert(learn_ephemeral(l, KEY + 2, true));
    learn_boundary(l, ++boundaries, 2, 2);
    cr_assert_not(learn_ephemeral(l, KEY + 2, true));
}

Test(shim_learn, placed_by_announcements_around_it) {
    for (int i = 0; i < 2; i++) {
        born(0x9000, 1, EPHEMERAL);
        born(0x1000, KEY, PERSISTENT);
        /* an earlier boundary, reported late */
        learn_boundary(l, ++boundaries, uses - 1, uses - 1);
        born(0xa000, 2, EPHEMERAL);
        learn_died(l, 0x1000);
        born(0xb000, 3, EPHEMERAL);
        learn_died(l, 0xb000);
        learn_died(l, 0xa000);
        learn_died(l, 0x9000);
        boundary();
    }
    cr_assert(learn_ephemeral(l, KEY, false));
}

Test(shim_learn, where_its_place_is_not_known_nothing_is_concluded) {
    for (int i = 0; i < 10; i++) {
        born(0x1000, KEY, PERSISTENT);
        boundary(); /* before or after the allocation: no announcement shows which */
        learn_died(l, 0x1000);
    }
    cr_assert_not(learn_ephemeral(l, KEY, false));
    cr_assert(learn_ephemeral(l, KEY, true), "no counterexample either");
}

Test(shim_learn, a_counterexample_is_for_good) {
    step_without_announcements(KEY);
    step_without_announcements(KEY);
    cr_assert(learn_ephemeral(l, KEY, false));
    born(0x1000, KEY, EPHEMERAL); /* the window in which the block is placed now */
    boundary();
    cr_assert_not(learn_ephemeral(l, KEY, false));
    learn_died(l, 0x1000);
    for (int i = 0; i < 10; i++)
        step_without_announcements(KEY);
    cr_assert_not(learn_ephemeral(l, KEY, false));
}

Test(shim_learn, one_that_stays_is_seen_without_announcements) {
    born(0x1000, KEY, PERSISTENT);
    boundary();
    boundary();
    cr_assert_not(learn_ephemeral(l, KEY, true));
}

Test(shim_learn, one_that_stays_behind_one_that_is_not_known) {
    born(0x1000, KEY, PERSISTENT);
    born(0x2000, KEY + 1, PERSISTENT);
    boundary();
    learn_died(l, 0x1000); /* the block's position is unknown */
    boundary();
    cr_assert_not(learn_ephemeral(l, KEY + 1, true));
    cr_assert(learn_ephemeral(l, KEY, true));
}

/* ---- bounds ---------------------------------------------------------------------------------- */

Test(shim_learn, within_a_long_iteration_the_oldest_are_given_up) {
    for (uint64_t i = 0; i < 3 * LEARN_BLOCKS; i++)
        born(0x1000 + i * 512, 100 + i, EPHEMERAL);
    for (uint64_t i = 0; i < 3 * LEARN_BLOCKS; i += 2)
        learn_died(l, 0x1000 + i * 512);
    boundary();
    uint64_t last = 100 + 3 * LEARN_BLOCKS - 1;
    cr_assert_not(learn_ephemeral(l, last, true));
    cr_assert(learn_ephemeral(l, last - 1, true));
    cr_assert(learn_ephemeral(l, 101, true), "forgotten long ago");
}

Test(shim_learn, keys_that_are_looked_up_stay) {
    born(0x1000, KEY, EPHEMERAL);
    boundary();
    for (uint64_t i = 0; i < 4 * LEARN_KEYS; i++) {
        born(0x2000 + i * 512, 1000 + i, EPHEMERAL);
        boundary();
        cr_assert_not(learn_ephemeral(l, KEY, true), "at %lu", (unsigned long)i);
        cr_assert_not(learn_ephemeral(l, 1000 + i, true));
    }
    cr_assert(learn_ephemeral(l, 1000, true), "made room");
}

Test(shim_learn, nonsense_from_the_other_side_is_harmless) {
    born(0x1000, KEY, EPHEMERAL);
    learn_boundary(l, 5, UINT64_MAX, UINT64_MAX);
    learn_boundary(l, 3, 0, 0);
    learn_boundary(l, UINT64_MAX, 0, UINT64_MAX);
    born(0x2000, KEY, EPHEMERAL);
    learn_died(l, 0x2000);
    learn_died(l, 0x2000);
    learn_died(l, 0xdead);
    born(0x3000, KEY + 1, EPHEMERAL);
    learn_boundary(l, 7, uses, uses);
    cr_assert(learn_ephemeral(l, KEY + 1, true), "boundaries do not become fewer");
    cr_assert_not(learn_ephemeral(l, KEY, true));
}

Test(shim_learn, what_a_key_is_made_of) {
    struct learn_launch a = {.func = 1, .grid = {2, 1, 1}, .block = {32, 1, 1}};
    struct learn_launch b = a, c = a, d = a;
    b.func = 2;
    c.grid[1] = 7;
    d.block[2] = 3;
    uint64_t key = learn_key(4096, 1, &a, 512);
    cr_assert_eq(key, learn_key(4096, 1, &a, 512));
    cr_assert_neq(key, learn_key(4097, 1, &a, 512));
    cr_assert_neq(key, learn_key(4096, 2, &a, 512));
    cr_assert_neq(key, learn_key(4096, 1, &a, 513));
    cr_assert_neq(key, learn_key(4096, 1, &b, 512));
    cr_assert_neq(key, learn_key(4096, 1, &c, 512));
    cr_assert_neq(key, learn_key(4096, 1, &d, 512));
}

/* ---- a program compared with the true lifetimes ---------------------------------------------- */

#define LIVE 64

/* Blocks of sixteen keys, each with a fixed lifetime, while boundaries become known up to an
 * iteration late. The verdict on every key must be its lifetime. */
struct program {
    struct {
        uint64_t addr, key;
    } live[LIVE];
    int count;
    uint64_t next_addr, told, told_uses;
};

static bool lives_long(uint64_t key) {
    return key % 4 == 0;
}

static void run_iteration(struct program *p) {
    for (int i = 0; i < 40; i++) {
        uint64_t key = 1 + (uint64_t)rand() % 16;
        if (p->count < LIVE / 2 && (!lives_long(key) || rand() % 8 == 0)) {
            p->live[p->count].addr = p->next_addr += 512;
            p->live[p->count++].key = key;
            born(p->next_addr, key, EPHEMERAL);
        }
        if (rand() % 10 == 0) learn_boundary(l, p->told, p->told_uses, p->told_uses);
    }
    for (int i = 0; i < p->count;) {
        bool stays = lives_long(p->live[i].key);
        if (!stays || (p->count > LIVE / 4 && rand() % 2)) {
            learn_died(l, p->live[i].addr);
            p->live[i] = p->live[--p->count];
        } else {
            i++;
        }
    }
}

Test(shim_learn, learns_what_keys_are) {
    for (int seed = 0; seed < 20; seed++) {
        end();
        begin();
        struct program p = {.next_addr = 0x1000, .told = boundaries};
        srand((unsigned)seed);
        for (int i = 0; i < 60; i++) {
            learn_boundary(l, p.told, p.told_uses, p.told_uses);
            p.told = ++boundaries;
            p.told_uses = uses;
            run_iteration(&p);
        }
        for (uint64_t key = 1; key <= 16; key++)
            cr_assert_eq(learn_ephemeral(l, key, true), !lives_long(key), "seed %d key %lu", seed,
                         (unsigned long)key);
    }
}
