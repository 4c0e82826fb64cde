/* SPDX-License-Identifier: Apache-2.0
 *
 * A map from hashes to slots compared with a plain array with the same contents.
 */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/slotmap.h"

static bool has(const struct slotmap *m, uint64_t hash, uint32_t slot) {
    struct slotmap_walk walk = slotmap_walk(m, hash);
    uint32_t s;

    while ((s = slotmap_next(m, &walk)) != SLOTMAP_NONE)
        if (s == slot) return true;
    return false;
}

Test(slotmap, an_empty_one_finds_nothing) {
    struct slotmap m = {0};

    cr_assert_not(has(&m, 7, 0));
    slotmap_finish(&m);
}

Test(slotmap, slots_of_one_hash_are_all_found) {
    struct slotmap m = {0};

    cr_assert_eq(slotmap_reserve(&m, 300), 0);
    for (uint32_t i = 0; i < 100; i++)
        slotmap_add(&m, 5, i);
    slotmap_remove(&m, 5, 40);
    for (uint32_t i = 0; i < 100; i++)
        cr_assert_eq(has(&m, 5, i), i != 40, "%u", i);
    cr_assert_eq(m.count, 99);
    slotmap_finish(&m);
}

/* The map has few home slots, so that runs of entries form, wrap around and get holes. */
Test(slotmap, it_agrees_with_a_plain_array_under_churn) {
    enum { SLOTS = 200, STEPS = 200000 };
    struct slotmap m = {0};
    uint64_t hash[SLOTS];
    bool in[SLOTS] = {false};

    srand(1);
    for (int step = 0; step < STEPS; step++) {
        uint32_t slot = (uint32_t)(rand() % SLOTS);

        if (in[slot]) {
            slotmap_remove(&m, hash[slot], slot);
        } else {
            hash[slot] = (uint64_t)(rand() % 24) * 37 + (rand() % 2 ? 0xfffffff0u : 0);
            cr_assert_eq(slotmap_reserve(&m, m.count + 1), 0);
            slotmap_add(&m, hash[slot], slot);
        }
        in[slot] = !in[slot];
        if (step % 64) continue;
        for (uint32_t i = 0; i < SLOTS; i++)
            if (in[i]) cr_assert(has(&m, hash[i], i), "step %d, slot %u", step, i);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        count += in[i];
    cr_assert_eq(m.count, count);
    slotmap_finish(&m);
}

Test(slotmap, a_hash_depends_on_seed_order_and_number) {
    uint64_t a[3] = {1, 2, 0}, b[3] = {2, 1, 0};

    cr_assert_eq(slotmap_hash(a, 2, 9), slotmap_hash(a, 2, 9));
    cr_assert_neq(slotmap_hash(a, 2, 9), slotmap_hash(b, 2, 9));
    cr_assert_neq(slotmap_hash(a, 2, 9), slotmap_hash(a, 2, 10));
    cr_assert_neq(slotmap_hash(a, 2, 9), slotmap_hash(a, 3, 9));
}

/* Addresses are multiples of some number, which a client can choose. No seed makes them cluster.
 * At half full, a run of 64 is far beyond chance. */
Test(slotmap, multiples_do_not_crowd) {
    enum { KEYS = 2048, SEEDS = 32, LONGEST = 64 };

    srand(2);
    for (int seed = 0; seed < SEEDS; seed++) {
        struct slotmap m = {0};
        uint64_t secret = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand();
        unsigned shift = 9 + (unsigned)seed % 24;
        uint32_t run = 0;

        cr_assert_eq(slotmap_reserve(&m, KEYS), 0);
        for (uint64_t i = 0; i < KEYS; i++)
            slotmap_add(&m, slotmap_hash_word((0x200000000000ull + i) << shift, secret),
                        (uint32_t)i);
        for (uint32_t i = 0; i < 2 * slotmap_size(&m); i++) {
            run = m.entries[i & m.mask].slot == SLOTMAP_NONE ? 0 : run + 1;
            cr_assert_leq(run, LONGEST, "seed %d, multiples of 2^%u", seed, shift);
        }
        slotmap_finish(&m);
    }
}

/* Keys that differ in one small number are spread like random ones: of 4096 keys in 8192 home slots
 * the fullest slot has only a few. */
Test(slotmap, neighbours_are_spread) {
    static unsigned char homes[8192];
    unsigned most = 0;

    for (uint64_t i = 0; i < 4096; i++) {
        uint64_t words[2] = {42, i}, hash = slotmap_hash(words, 2, 0);
        unsigned n = ++homes[(uint32_t)(hash ^ hash >> 32) & 8191];

        if (n > most) most = n;
    }
    cr_assert_leq(most, 8);
}
