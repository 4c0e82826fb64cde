/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks that outlive an iteration: short scenarios, then random calls compared with a model that
 * stores each block's history, then calls that no correct client makes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/worker/iteration/lifetime.h"

#define BASE 0x700000000000ull
#define SIZE (1ull << 30)

static char why[128];

/* Blocks about which lifetime_settle asked: numbers (address / 4096), in order. */
struct asked {
    uint64_t numbers[512];
    uint32_t count;
    bool yes, whole;
};

static bool keep(void *arg, uint64_t addr, uint64_t bytes) {
    struct asked *a = arg;
    if (bytes == SIZE) {
        a->whole = true;
        return a->yes;
    }
    cr_assert_lt(a->count, 512);
    a->numbers[a->count++] = (addr - BASE) / 4096;
    return a->yes;
}

static int use(struct lifetime *l, uint64_t number) {
    lifetime_announced(l);
    return lifetime_use(l, BASE + number * 4096, 4096, why, sizeof(why));
}

static int drop(struct lifetime *l, uint64_t number) {
    return lifetime_drop(l, BASE + number * 4096, 4096, why, sizeof(why));
}

/* The survivors as text, ascending; *first: how many survive for the first time. */
static const char *settle(struct lifetime *l, bool yes, uint64_t *first) {
    static char text[256];
    struct asked a = {.yes = yes};
    size_t used = 0;
    uint64_t n = lifetime_settle(l, keep, &a);
    if (first) *first = n;
    text[0] = 0;
    for (uint64_t number = 0; number < 512; number++)
        for (uint32_t i = 0; i < a.count; i++)
            if (a.numbers[i] == number)
                used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lu", used ? " " : "",
                                         (unsigned long)number);
    if (a.whole) snprintf(text, sizeof(text), "whole");
    return text;
}

Test(lifetime, what_a_launch_can_have_filled_survives) {
    struct lifetime l;
    uint64_t first;
    lifetime_init(&l, BASE, SIZE, 7);
    use(&l, 1);
    use(&l, 2);
    lifetime_launch(&l);
    drop(&l, 2);
    use(&l, 3); /* after the last launch: the launches cannot use it */
    lifetime_mark(&l);
    use(&l, 4);
    cr_expect_str_eq(settle(&l, true, &first), "1");
    cr_expect_eq(first, 1);
    lifetime_launch(&l);
    lifetime_mark(&l);
    cr_expect_str_eq(settle(&l, true, &first), "3 4", "what was kept is not asked about again");
    cr_expect_eq(first, 2);
    cr_expect_eq(l.live_bytes, 3 * 4096);
    cr_expect_eq(l.uses, 4);
    lifetime_finish(&l);
}

Test(lifetime, a_copy_fills_a_block_too) {
    struct lifetime l;
    lifetime_init(&l, BASE, SIZE, 7);
    for (uint64_t i = 1; i <= 6; i++)
        use(&l, i);
    lifetime_written(&l, BASE + 4096 + 100, 8);   /* within block 1 */
    lifetime_written(&l, BASE + 3 * 4096, 4096);  /* all of block 3 */
    lifetime_written(&l, BASE + 5 * 4096 - 1, 2); /* the end of block 4 and the start of 5 */
    lifetime_written(&l, BASE + 7 * 4096, 4096);  /* no block there */
    lifetime_written(&l, BASE - 4096, 4096);      /* another window */
    lifetime_written(&l, BASE + 3 * 4096, 4096);  /* a second time */
    lifetime_mark(&l);
    lifetime_written(&l, BASE + 2 * 4096, 4096); /* belongs to the next iteration */
    cr_expect_str_eq(settle(&l, true, NULL), "1 3 4 5");
    lifetime_mark(&l);
    cr_expect_str_eq(settle(&l, true, NULL), "2");
    lifetime_finish(&l);
}

Test(lifetime, a_survivor_that_the_next_iteration_frees_is_still_one) {
    struct lifetime l;
    lifetime_init(&l, BASE, SIZE, 7);
    use(&l, 1);
    use(&l, 2);
    lifetime_launch(&l);
    use(&l, 3);
    lifetime_mark(&l);
    drop(&l, 1); /* read ahead: earlier operations may still read the block */
    drop(&l, 3);
    use(&l, 1); /* the same address, but a new block */
    lifetime_launch(&l);
    cr_expect_str_eq(settle(&l, false, NULL), "1 2");
    lifetime_mark(&l);
    cr_expect_str_eq(settle(&l, true, NULL), "1 2", "the new 1, and 2 that was not kept");
    cr_expect_eq(drop(&l, 1), 0);
    cr_expect_eq(drop(&l, 2), 0);
    cr_expect_eq(l.live_bytes, 0);
    cr_expect_eq(l.by_addr.count, 0);
    lifetime_finish(&l);
}

Test(lifetime, what_could_not_be_kept_counts_once) {
    struct lifetime l;
    uint64_t first;
    lifetime_init(&l, BASE, SIZE, 7);
    use(&l, 1);
    lifetime_launch(&l);
    for (int i = 0; i < 3; i++) {
        lifetime_mark(&l);
        cr_expect_str_eq(settle(&l, i == 2, &first), "1");
        cr_expect_eq(first, i == 0);
    }
    lifetime_mark(&l);
    cr_expect_str_eq(settle(&l, true, &first), "");
    lifetime_finish(&l);
}

/* ---- random calls ---------------------------------------------------------------------------- */

enum { BLOCKS = 40, STEPS = 200000 };

struct model {
    bool alive, filled, surviving, kept;
};

static uint32_t rnd(uint32_t below) {
    static uint64_t seed = 11;
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((seed >> 33) % below);
}

static void model_settle(struct lifetime *l, struct model *m, bool marked, bool yes) {
    struct asked a = {.yes = yes};
    uint32_t times[BLOCKS] = {0};
    lifetime_settle(l, keep, &a);
    for (uint32_t i = 0; i < a.count; i++)
        times[a.numbers[i]]++;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        cr_assert_eq(times[i], marked && m[i].surviving, "block %u: asked %u times", i, times[i]);
        if (m[i].surviving && m[i].alive && !m[i].filled) {
            m[i].kept = yes;
            m[i].filled = !yes;
        }
        m[i].surviving = false;
    }
}

/* A block's number is reused only when nothing of its earlier use is left, so that the model can
 * tell the uses apart. */
static void model_step(struct lifetime *l, struct model *m, bool *marked) {
    uint32_t i = rnd(BLOCKS), pick = rnd(100);
    if (pick < 40 && !m[i].alive && !m[i].surviving) {
        cr_assert_eq(use(l, i), 0);
        m[i] = (struct model){.alive = true};
    } else if (pick < 70 && m[i].alive) {
        cr_assert_eq(drop(l, i), 0);
        m[i] = (struct model){.surviving = m[i].surviving};
    } else if (pick < 80 && m[i].alive) {
        lifetime_written(l, BASE + i * 4096ull + rnd(4096), 1);
        if (!m[i].kept && !m[i].surviving) m[i].filled = true;
    } else if (pick < 85) {
        lifetime_launch(l);
        for (i = 0; i < BLOCKS; i++)
            if (m[i].alive && !m[i].kept && !m[i].surviving) m[i].filled = true;
    } else if (pick < 92 && !*marked) {
        lifetime_mark(l);
        *marked = true;
        for (i = 0; i < BLOCKS; i++) {
            m[i].surviving = m[i].filled;
            m[i].filled = false;
        }
    } else if (pick >= 92 && *marked) {
        model_settle(l, m, true, rnd(2));
        *marked = false;
    }
}

Test(lifetime, a_random_life_is_as_the_model_says, .timeout = 600) {
    static struct model m[BLOCKS];
    struct lifetime l;
    bool marked = false;
    lifetime_init(&l, BASE, SIZE, 7);
    for (int i = 0; i < STEPS; i++)
        model_step(&l, m, &marked);
    uint64_t alive = 0;
    for (uint32_t i = 0; i < BLOCKS; i++)
        alive += m[i].alive;
    cr_expect_eq(l.by_addr.count, alive);
    cr_expect_eq(l.live_bytes, alive * 4096);
    lifetime_finish(&l);
}

/* ---- hostile --------------------------------------------------------------------------------- */

Test(lifetime, what_cannot_be_is_refused) {
    struct lifetime l;
    lifetime_init(&l, BASE, SIZE, 7);
    cr_expect_eq(use(&l, 1), 0);
    cr_expect_eq(use(&l, 1), ERR_PROTOCOL);
    cr_expect_neq(strstr(why, "twice"), NULL, "%s", why);
    cr_expect_eq(drop(&l, 2), ERR_PROTOCOL);
    cr_expect_neq(strstr(why, "not alive"), NULL, "%s", why);
    cr_expect_eq(lifetime_drop(&l, BASE + 4096, 8192, why, sizeof(why)), ERR_PROTOCOL);
    cr_expect_neq(strstr(why, "4096 bytes, and the client frees 8192"), NULL, "%s", why);
    static const uint64_t ranges[][2] = {{BASE - 1, 2},    {BASE + SIZE - 1, 2},
                                         {BASE + SIZE, 1}, {0, 1},
                                         {BASE, SIZE + 1}, {BASE + 8, UINT64_MAX - BASE - 8}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        cr_expect_eq(lifetime_use(&l, ranges[i][0], ranges[i][1], why, sizeof(why)), ERR_PROTOCOL,
                     "range %zu", i);
    cr_expect_eq(lifetime_use(&l, BASE, SIZE, why, sizeof(why)), ERR_PROTOCOL, "more than all");
    cr_expect_eq(lifetime_use(&l, BASE, SIZE - 4096, why, sizeof(why)), 0);
    cr_expect_eq(lifetime_use(&l, BASE + 1, 1, why, sizeof(why)), ERR_PROTOCOL, "nothing is left");
    cr_expect_neq(strstr(why, "more blocks"), NULL, "%s", why);
    lifetime_finish(&l);
}

/* Beyond the limit of tracked blocks, everything survives; memory stays bounded. */
Test(lifetime, a_crowd_is_kept_as_a_whole) {
    struct lifetime l;
    lifetime_init(&l, BASE, SIZE, 7);
    for (uint64_t i = 0; i < LIFETIME_BLOCKS + 1000; i++)
        cr_assert_eq(use(&l, i), 0);
    cr_expect_eq(l.by_addr.count, LIFETIME_BLOCKS);
    lifetime_mark(&l);
    cr_expect_str_eq(settle(&l, true, NULL), "whole");
    for (uint64_t i = 0; i < LIFETIME_BLOCKS + 1000; i++)
        cr_assert_eq(drop(&l, i), 0);
    cr_expect_eq(l.by_addr.count, 0);
    cr_expect_eq(l.live_bytes, 0);
    cr_expect_eq(drop(&l, 5), ERR_PROTOCOL, "all are gone");
    lifetime_mark(&l);
    cr_expect_str_eq(settle(&l, true, NULL), "");
    lifetime_finish(&l);
}
