/* SPDX-License-Identifier: Apache-2.0
 *
 * The address allocator compared with a model that is a plain list, and its rules about backing
 * memory.
 */
#include "shim/memory/vmem.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BASE 0x100000000ull
#define GRANULE (2ull << 20)
#define GRANULES 64

/* A device that records which granules are backed, and can refuse. */
struct fake {
    bool backed[GRANULES];
    int total, limit, backs, unbacks;
    int credit, asked; /* granules that need no request; requests made */
    /* a granule was backed twice, unbacked when not backed, or backed beyond the credit without
     * a request */
    bool broken;
};

static void give(struct fake *f, uint64_t addr, uint64_t bytes) {
    for (uint64_t i = (addr - BASE) / GRANULE, n = bytes / GRANULE; n > 0; i++, n--) {
        if (f->backed[i]) f->broken = true;
        f->backed[i] = true;
        f->total++;
    }
}

static void fake_back(void *arg, uint64_t addr, uint64_t bytes) {
    struct fake *f = arg;
    f->backs++;
    if (f->total + (int)(bytes / GRANULE) > f->credit) f->broken = true;
    give(f, addr, bytes);
}

static bool fake_ask(struct fake *f, uint64_t addr, uint64_t bytes) {
    f->backs++;
    f->asked++;
    if (f->total + (int)(bytes / GRANULE) <= f->credit) f->broken = true;
    if (f->total + (int)(bytes / GRANULE) > f->limit) return false;
    give(f, addr, bytes);
    return true;
}

static void fake_unback(void *arg, uint64_t addr, uint64_t bytes) {
    struct fake *f = arg;
    f->unbacks++;
    for (uint64_t i = (addr - BASE) / GRANULE, n = bytes / GRANULE; n > 0; i++, n--) {
        if (!f->backed[i]) f->broken = true;
        f->backed[i] = false;
        f->total--;
    }
}

static uint64_t fake_credit(void *arg) {
    return (uint64_t)((struct fake *)arg)->credit;
}

static const struct vmem_ops fake_ops = {fake_back, fake_unback, fake_credit};

static struct vmem make(struct fake *f, int limit, uint64_t cache) {
    *f = (struct fake){.limit = limit};
    struct vmem v;
    cr_assert_eq(vmem_init(&v, BASE, GRANULES * GRANULE, GRANULE, cache, &fake_ops, f), 0);
    return v;
}

static int take(struct vmem *v, uint64_t bytes, uint32_t tag, uint64_t *addr) {
    struct vmem_ask ask;
    int err = vmem_alloc(v, bytes, tag, addr, &ask);
    while (err == -EAGAIN)
        err = vmem_settle(v, &ask, fake_ask(v->arg, ask.addr, ask.bytes), addr);
    return err;
}

Test(vmem, small_blocks_share_a_granule_and_one_round_trip) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 0);
    uint64_t a[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(take(&v, 300, 0, &a[i]), 0);
    cr_assert_eq(f.backs, 1);
    cr_assert_eq(f.total, 1);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(a[i] % VMEM_ALIGN, 0);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(vmem_free(&v, a[i]), 0);
    cr_assert_eq(f.total, 0, "the last free gives the granule back");
    vmem_finish(&v);
}

Test(vmem, large_blocks_are_granules) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 0);
    uint64_t a, b;
    cr_assert_eq(take(&v, GRANULE + 1, 0, &a), 0);
    cr_assert_eq(take(&v, GRANULE, 0, &b), 0);
    cr_assert_eq(a % GRANULE, 0);
    cr_assert_eq(f.total, 3);
    struct vmem_block block;
    cr_assert_eq(vmem_find(&v, a + GRANULE, &block), 0);
    cr_assert_eq(block.addr, a);
    cr_assert_eq(block.bytes, GRANULE + 1);
    cr_assert_eq(vmem_find(&v, a + GRANULE + 1, &block), -ENOENT, "beyond what was asked for");
    cr_assert_eq(vmem_free(&v, a + GRANULE), -EINVAL, "only at its beginning");
    cr_assert_eq(vmem_free(&v, a), 0);
    cr_assert_eq(vmem_free(&v, a), -EINVAL, "twice");
    vmem_finish(&v);
}

Test(vmem, cache_saves_round_trips) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 4 * GRANULE);
    uint64_t a;
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(take(&v, 3 * GRANULE, 0, &a), 0);
        cr_assert_eq(vmem_free(&v, a), 0);
    }
    cr_assert_eq(f.backs, 1);
    cr_assert_eq(f.unbacks, 0);
    vmem_trim(&v);
    cr_assert_eq(f.total, 0);
    vmem_finish(&v);
}

Test(vmem, a_full_device_gives_up_the_cache_first) {
    struct fake f;
    struct vmem v = make(&f, 8, 8 * GRANULE);
    uint64_t a, b, c;
    cr_assert_eq(take(&v, 3 * GRANULE, 0, &a), 0);
    cr_assert_eq(take(&v, 1 * GRANULE, 0, &b), 0);
    cr_assert_eq(vmem_free(&v, a), 0);
    cr_assert_eq(take(&v, 7 * GRANULE, 0, &c), 0, "three cached granules stood in the way");
    cr_assert_eq(take(&v, GRANULE, 0, &a), -ENOMEM);
    cr_assert_eq(f.total, 8);
    cr_assert_not(f.broken);
    vmem_finish(&v);
}

/* ---- credit ---------------------------------------------------------------------------------- */

Test(vmem, nobody_is_asked_within_the_credit) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 0);
    uint64_t a[5];
    f.credit = 4;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 4; i++)
            cr_assert_eq(take(&v, GRANULE, 0, &a[i]), 0);
        cr_assert_eq(f.asked, 0, "round %d", round);
        for (int i = 0; i < 4; i++)
            cr_assert_eq(vmem_free(&v, a[i]), 0);
    }
    for (int i = 0; i < 5; i++)
        cr_assert_eq(take(&v, GRANULE, 0, &a[i]), 0);
    cr_assert_eq(f.asked, 1, "the fifth is beyond it");
    cr_assert_not(f.broken);
    vmem_finish(&v);
}

Test(vmem, empty_granules_leave_before_anybody_is_asked) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 8 * GRANULE);
    uint64_t a, b, c;
    f.credit = 6;
    cr_assert_eq(take(&v, 3 * GRANULE, 0, &a), 0);
    cr_assert_eq(take(&v, 1 * GRANULE, 0, &b), 0);
    cr_assert_eq(vmem_free(&v, a), 0);
    cr_assert_eq(f.unbacks, 0, "kept");
    cr_assert_eq(take(&v, 5 * GRANULE, 0, &c), 0);
    cr_assert_eq(f.asked, 0, "three empty ones and five are beyond the credit, five are not");
    cr_assert_eq(f.total, 6);
    cr_assert_not(f.broken);
    vmem_finish(&v);
}

Test(vmem, a_refusal_is_asked_for_once) {
    struct fake f;
    struct vmem v = make(&f, 2, 8 * GRANULE);
    uint64_t a;
    cr_assert_eq(take(&v, 3 * GRANULE, 0, &a), -ENOMEM);
    cr_assert_eq(f.asked, 1, "nothing was given back, so the answer cannot be another");
    vmem_finish(&v);
}

/* ---- two allocations at a time --------------------------------------------------------------- */

Test(vmem, what_is_asked_for_is_nobody_elses) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 8 * GRANULE);
    struct vmem_ask first, second;
    struct vmem_block b;
    uint64_t a, c, d;
    cr_assert_eq(vmem_alloc(&v, 2 * GRANULE, 1, &a, &first), -EAGAIN);
    cr_assert_eq(vmem_alloc(&v, 1000, 2, &c, &second), -EAGAIN, "another granule");
    cr_assert(first.addr + first.bytes <= second.addr || second.addr + second.bytes <= first.addr);
    cr_assert_eq(vmem_find(&v, first.addr, &b), -ENOENT, "no block as yet");
    cr_assert(fake_ask(&f, second.addr, second.bytes));
    cr_assert_eq(vmem_settle(&v, &second, true, &c), 0);
    cr_assert_eq(vmem_alloc(&v, 900, 3, &d, &second), 0, "beside it, while the first still waits");
    cr_assert(fake_ask(&f, first.addr, first.bytes));
    cr_assert_eq(vmem_settle(&v, &first, true, &a), 0);
    cr_assert_eq(vmem_find(&v, a + GRANULE, &b), 0);
    cr_assert_eq(b.tag, 1);
    cr_assert_eq(v.used_granules, 3);
    cr_assert_not(f.broken);
    vmem_finish(&v);
}

Test(vmem, a_hole_before_what_is_asked_for_ends_there) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 8 * GRANULE);
    struct vmem_ask first, second;
    uint64_t low, a, b;
    cr_assert_eq(take(&v, GRANULE, 0, &low), 0);
    cr_assert_eq(vmem_alloc(&v, 2 * GRANULE, 0, &a, &first), -EAGAIN);
    cr_assert_eq(vmem_free(&v, low), 0);
    cr_assert_eq(vmem_alloc(&v, 2 * GRANULE, 0, &b, &second), -EAGAIN);
    cr_assert_eq(second.first, first.first + first.count);
    cr_assert_eq(vmem_settle(&v, &first, false, &a), -EAGAIN, "the hole is given up for it");
    cr_assert(fake_ask(&f, first.addr, first.bytes));
    cr_assert_eq(vmem_settle(&v, &first, true, &a), 0);
    cr_assert_eq(a, low, "and taken");
    cr_assert(fake_ask(&f, second.addr, second.bytes));
    cr_assert_eq(vmem_settle(&v, &second, true, &b), 0);
    cr_assert_not(f.broken);
    vmem_finish(&v);
}

Test(vmem, what_is_asked_for_counts_against_the_credit) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 0);
    struct vmem_ask ask, other;
    uint64_t a;
    f.credit = 1;
    cr_assert_eq(vmem_alloc(&v, 2 * GRANULE, 0, &a, &ask), -EAGAIN);
    cr_assert_eq(vmem_alloc(&v, GRANULE, 0, &a, &other), -EAGAIN, "it may be granted meanwhile");
    cr_assert_eq(vmem_settle(&v, &ask, false, &a), -ENOMEM);
    cr_assert_eq(vmem_settle(&v, &other, false, &a), -ENOMEM);
    cr_assert_eq(take(&v, GRANULE, 0, &a), 0);
    cr_assert_eq(f.asked, 0, "what was refused counts no more");
    cr_assert_eq(v.used_granules, 1);
    cr_assert_not(f.broken);
    vmem_finish(&v);
}

Test(vmem, refuses_nonsense) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 0);
    struct vmem_block block;
    uint64_t a;
    cr_assert_eq(take(&v, 0, 0, &a), -EINVAL);
    cr_assert_eq(take(&v, UINT64_MAX, 0, &a), -ENOMEM);
    cr_assert_eq(take(&v, (GRANULES + 1) * GRANULE, 0, &a), -ENOMEM);
    cr_assert_eq(vmem_free(&v, 0), -EINVAL);
    cr_assert_eq(vmem_find(&v, BASE - 1, &block), -ENOENT);
    cr_assert_eq(vmem_find(&v, BASE + GRANULES * GRANULE, &block), -ENOENT);
    cr_assert_eq(vmem_next(&v, 0, &block), -ENOENT);
    vmem_finish(&v);
}

/* ---- random walks against a list ------------------------------------------------------------- */

#define MODEL_MAX 256

struct model {
    struct vmem_block blocks[MODEL_MAX];
    int count;
    uint64_t bytes;
};

static void check_new(const struct model *m, const struct vmem_block *b) {
    cr_assert_eq(b->addr % VMEM_ALIGN, 0);
    cr_assert(b->addr >= BASE && b->addr + b->bytes <= BASE + GRANULES * GRANULE);
    for (int i = 0; i < m->count; i++) {
        const struct vmem_block *o = &m->blocks[i];
        cr_assert(b->addr + b->bytes <= o->addr || o->addr + o->bytes <= b->addr, "overlap");
    }
}

static void check_backed(const struct fake *f, const struct model *m) {
    for (int i = 0; i < m->count; i++) {
        uint64_t first = (m->blocks[i].addr - BASE) / GRANULE;
        uint64_t last = (m->blocks[i].addr + m->blocks[i].bytes - 1 - BASE) / GRANULE;
        for (uint64_t g = first; g <= last; g++)
            cr_assert(f->backed[g], "used but not backed");
    }
}

static uint64_t random_size(void) {
    int shift = rand() % 23;
    return ((uint64_t)rand() % (1ull << shift)) + 1;
}

static void step(struct vmem *v, struct fake *f, struct model *m) {
    if (m->count < MODEL_MAX && rand() % 5 < 3) {
        struct vmem_block b = {.bytes = random_size(), .tag = (uint32_t)rand()};
        if (take(v, b.bytes, b.tag, &b.addr)) return;
        check_new(m, &b);
        m->blocks[m->count++] = b;
        m->bytes += b.bytes;
    } else if (m->count > 0) {
        int i = rand() % m->count;
        struct vmem_block found, b = m->blocks[i];
        cr_assert_eq(vmem_find(v, b.addr + (uint64_t)rand() % b.bytes, &found), 0);
        cr_assert(found.addr == b.addr && found.bytes == b.bytes && found.tag == b.tag);
        cr_assert_eq(vmem_free(v, b.addr), 0);
        cr_assert_eq(vmem_find(v, b.addr, &found), -ENOENT);
        m->blocks[i] = m->blocks[--m->count];
        m->bytes -= b.bytes;
    }
    cr_assert_not(f->broken);
}

static void check_walk(const struct vmem *v, const struct model *m) {
    struct vmem_block b;
    uint64_t at = 0;
    uint64_t bytes = 0;
    int seen = 0;
    while (vmem_next(v, at, &b) == 0) {
        at = b.addr + b.bytes;
        bytes += b.bytes;
        seen++;
    }
    cr_assert_eq(seen, m->count);
    cr_assert_eq(bytes, m->bytes);
}

Test(vmem, random_walk_against_a_model) {
    for (int seed = 0; seed < 20; seed++) {
        srand((unsigned)seed);
        struct fake f;
        struct model m = {.count = 0};
        struct vmem v = make(&f, seed % 2 ? GRANULES : 24, (uint64_t)(seed % 3) * 4 * GRANULE);
        f.credit = seed % 4 * 8;
        for (int i = 0; i < 2000; i++)
            step(&v, &f, &m);
        check_backed(&f, &m);
        check_walk(&v, &m);
        while (m.count > 0)
            cr_assert_eq(vmem_free(&v, m.blocks[--m.count].addr), 0);
        vmem_trim(&v);
        cr_assert_eq(f.total, 0, "seed %d leaks %d granules", seed, f.total);
        cr_assert_eq(v.used_granules, 0);
        vmem_finish(&v);
    }
}

/* ---- addresses without memory ---------------------------------------------------------------- */

Test(vmem, reserved_addresses_have_no_memory_and_are_nobodys) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 0);
    struct vmem_block block;
    uint64_t a, b, c;
    cr_assert_eq(vmem_reserve(&v, 3 * GRANULE - 5, 0, 0, &a), 0);
    cr_expect_eq(a, BASE + (GRANULES - 3) * GRANULE, "from the end");
    cr_assert_eq(vmem_reserve(&v, GRANULE, 8 * GRANULE, 0, &b), 0);
    cr_expect_eq(b % (8 * GRANULE), 0);
    cr_expect_eq(b, BASE + (GRANULES - 8) * GRANULE);
    cr_expect_eq(v.used_granules + v.cached + v.bare, 0);
    cr_expect_eq(vmem_find(&v, a, &block), -ENOENT);
    cr_expect_eq(vmem_free(&v, a), -EINVAL);
    cr_expect_eq(vmem_next(&v, BASE, &block), -ENOENT);
    cr_assert_eq(take(&v, 56 * GRANULE, 0, &c), 0);
    cr_expect_eq(c, BASE);
    cr_expect_eq(take(&v, 5 * GRANULE, 0, &c), -ENOMEM, "four are left in one place");
    cr_assert_eq(vmem_reserve(&v, 4 * GRANULE, 0, 0, &c), 0);
    cr_expect_eq(vmem_reserve(&v, GRANULE, 0, 0, &c), -ENOMEM);
    vmem_unreserve(&v, b, GRANULE);
    vmem_unreserve(&v, c, 4 * GRANULE);
    cr_assert_eq(take(&v, 5 * GRANULE, 0, &c), 0);
    vmem_unreserve(&v, a, 3 * GRANULE - 5);
    cr_assert_eq(take(&v, 3 * GRANULE, 0, &c), 0);
    cr_expect_eq(c, a);
    cr_expect_not(f.broken);
    vmem_finish(&v);
}

Test(vmem, a_wanted_place_is_a_hint) {
    struct fake f;
    struct vmem v = make(&f, GRANULES, 0);
    uint64_t a, b;
    cr_assert_eq(vmem_reserve(&v, 2 * GRANULE, 0, BASE + 7 * GRANULE, &a), 0);
    cr_expect_eq(a, BASE + 7 * GRANULE);
    cr_assert_eq(vmem_reserve(&v, 2 * GRANULE, 0, BASE + 6 * GRANULE, &b), 0);
    cr_expect_eq(b, BASE + (GRANULES - 2) * GRANULE, "something is there");
    const uint64_t odd[] = {BASE - GRANULE, BASE + 100, BASE + (GRANULES - 1) * GRANULE,
                            BASE + GRANULES * GRANULE, UINT64_MAX};
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(vmem_reserve(&v, 2 * GRANULE, 0, odd[i], &b), 0);
        cr_expect_eq(b, BASE + (GRANULES - 4 - 2 * (uint64_t)i) * GRANULE);
    }
    cr_expect_eq(vmem_reserve(&v, GRANULES * GRANULE + 1, 0, 0, &b), -ENOMEM);
    cr_expect_eq(vmem_reserve(&v, UINT64_MAX, 0, 0, &b), -ENOMEM);
    cr_expect_eq(vmem_reserve(&v, GRANULE, 1ull << 60, 0, &b), -ENOMEM);
    vmem_finish(&v);
}
