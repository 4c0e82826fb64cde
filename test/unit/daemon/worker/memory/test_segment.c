/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments that only descriptors hold, where device memory is host memory: such a segment stays
 * where it is until its place is needed, is charged to no user, and comes back unchanged.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "daemon/worker/segments/segment.h"

#define GRAN (2ull << 20)
#define CHUNKS 8u
#define COUNT 3u
#define ALICE 1001

static struct dev *dev;
static struct segment_set set;
static struct segment *kept;

static uint64_t used(void) {
    return dev_soft.mem_used(dev) / GRAN;
}

static void fill(const struct segment *s, uint64_t value) {
    static uint64_t words[GRAN / 8];
    for (uint32_t i = 0; i < s->count; i++) {
        words[0] = words[GRAN / 8 - 1] = value + i;
        cr_assert_eq(dev_soft.chunk_load(dev, s->chunks[i], words), 0);
    }
}

static void expect(const struct segment *s, uint64_t value) {
    static uint64_t words[GRAN / 8];
    for (uint32_t i = 0; i < s->count; i++) {
        cr_assert_eq(dev_soft.chunk_save(dev, words, s->chunks[i]), 0);
        cr_expect_eq(words[0], value + i);
        cr_expect_eq(words[GRAN / 8 - 1], value + i);
    }
}

static void expect_zeros(struct dev_chunk *chunk) {
    static uint64_t words[GRAN / 8], zeros[GRAN / 8];
    cr_assert_eq(dev_soft.chunk_save(dev, words, chunk), 0);
    cr_expect_eq(memcmp(words, zeros, sizeof(words)), 0);
}

/* Loads all of it to the device, in parts. */
static int load(uint64_t *moved) {
    uint32_t done = 0;
    int err = 0;
    while (!err && !segment_whole(kept))
        err = segment_load(kept, 2, &done, moved);
    return err;
}

static void make_kept(void) {
    uint64_t moved = 0;
    cr_assert_eq(segment_create(&kept, &dev_soft, dev, COUNT, ALICE), 0);
    cr_expect_eq(used(), 0, "no chunk yet");
    cr_assert_eq(load(&moved), 0);
    cr_expect_eq(moved, 0, "zeros");
    segment_enter(kept);
    cr_assert_eq(segment_export(kept, &set), 0);
    segment_keep(kept);
}

/* Creates a segment that no client holds. */
static void setup(void) {
    struct dev_config config = {.memory_bytes = CHUNKS * GRAN, .threads = 1};
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    list_init(&set.exported);
    make_kept();
    fill(kept, 70);
    cr_expect_eq(segment_drop_ahead(kept, false, 100), 0, "nothing is copied");
    segment_drop(kept, false);
    cr_expect_eq(used(), 0);
    cr_expect_eq(set.alone_bytes, COUNT * GRAN);
}

static void teardown(void) {
    segment_unkeep(kept);
    cr_expect_eq(set.alone_bytes, 0);
    cr_expect_eq(used(), 0);
    dev_soft.close(dev);
}

TestSuite(segment, .init = setup, .fini = teardown);

static int open_again(uint64_t *moved) {
    *moved = 0;
    int err = load(moved);
    if (!err) segment_hold(kept);
    if (!err) segment_enter(kept);
    segment_settle(kept);
    return err;
}

static uint32_t take(struct dev_chunk **chunks) {
    uint32_t n = 0;
    while (!dev_soft.chunk_create(dev, &chunks[n]))
        n++;
    return n;
}

static void give(struct dev_chunk **chunks, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        dev_soft.chunk_destroy(dev, chunks[i]);
}

Test(segment, what_is_opened_again_was_not_moved) {
    uint64_t moved;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(open_again(&moved), 0);
        cr_expect_eq(moved, 0);
        cr_expect_eq(used(), COUNT);
        cr_expect_eq(set.alone_bytes, 0);
        expect(kept, 70);
        segment_drop(kept, false);
        cr_expect_eq(used(), 0);
    }
}

/* A client that takes the whole device gets zeroed memory, without traces of the segment. */
Test(segment, it_is_in_nobodys_way) {
    struct dev_chunk *chunks[CHUNKS + 1];
    uint64_t moved;
    cr_assert_eq(take(chunks), CHUNKS);
    for (uint32_t i = 0; i < CHUNKS; i++)
        expect_zeros(chunks[i]);
    cr_expect_eq(open_again(&moved), ERR_NO_MEMORY);
    cr_expect_eq(used(), CHUNKS);
    give(chunks + 1, CHUNKS - 1);
    cr_assert_eq(open_again(&moved), 0);
    cr_expect_eq(used(), COUNT + 1);
    expect(kept, 70);
    expect_zeros(chunks[0]);
    dev_soft.chunk_destroy(dev, chunks[0]);
    segment_drop(kept, false);
}

/* If it does not fit completely, no part of it stays on the device. */
Test(segment, what_does_not_fit_stays_whole) {
    struct dev_chunk *chunks[CHUNKS + 1];
    uint64_t moved;
    cr_assert_eq(take(chunks), CHUNKS);
    give(chunks + CHUNKS - 1, 1);
    cr_expect_eq(open_again(&moved), ERR_NO_MEMORY);
    cr_expect_eq(used(), CHUNKS - 1);
    cr_expect_eq(set.alone_bytes, COUNT * GRAN);
    give(chunks, CHUNKS - 1);
    cr_assert_eq(open_again(&moved), 0);
    expect(kept, 70);
    segment_drop(kept, false);
}

/* The segment is loaded, and then its caller cannot get it. */
Test(segment, what_nobody_holds_in_the_end_is_charged_to_nobody) {
    uint64_t moved = 0;
    cr_assert_eq(load(&moved), 0);
    cr_expect_eq(used(), COUNT);
    segment_settle(kept);
    cr_expect_eq(used(), 0);
    cr_assert_eq(open_again(&moved), 0);
    expect(kept, 70);
    segment_drop(kept, false);
}

/* Repeats this more often than the space for moved-out segments allows. */
Test(segment, what_is_left_ends_with_its_descriptors) {
    struct dev_chunk *chunks[CHUNKS + 1];
    for (int i = 0; i < 50; i++) {
        cr_assert_eq(take(chunks), CHUNKS, "round %d", i);
        give(chunks, CHUNKS);
        segment_unkeep(kept);
        make_kept();
        segment_drop(kept, false);
    }
}
