/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's memory and its lane, on the real software GPU and on the fake one (which counts the
 * calls and fails on demand).
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "daemon/device/device_spares.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_check.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_join.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_peek.h"
#include "daemon/worker/memory/memory_segment.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/memory/memory_swap.h"
#include "test/lib/worker/fakedev.h"

#define MIB (1ull << 20)
#define GRAN (2 * MIB)
#define BASE 0x210000000000ull
#define STRIDE 0x10000000000ull
#define HALF_PAGES 16u
#define ALLOC (2 * HALF_PAGES * GRAN)
#define CLIENTS 3

static const struct dev_ops *ops;
static struct dev *dev;
static struct dev_space *spaces[CLIENTS];
static struct memory *mem[CLIENTS];
static struct memory_lane *lane;

static uint64_t window(int client) {
    return BASE + (uint64_t)client * STRIDE;
}
static uint64_t persistent_at(int client, uint32_t page) {
    return window(client) + page * GRAN;
}
static uint64_t ephemeral_at(int client, uint32_t page) {
    return window(client) + ALLOC / 2 + page * GRAN;
}

static void rig_open(const struct dev_ops *on, uint64_t memory_bytes) {
    static const struct dev_space_ops space_ops;
    struct dev_config config = {.memory_bytes = memory_bytes, .threads = 1};
    ops = on;
    cr_assert_eq(ops->open(&dev, &config), 0);
    uint64_t host = (uint64_t)(uintptr_t)mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_eq(memory_lane_create(&lane, ops, dev), 0);
    for (int i = 0; i < CLIENTS; i++) {
        struct dev_windows w = {window(i), ALLOC, 4 * MIB, host, 4 * MIB, 2 * MIB};
        cr_assert_eq(ops->space_create(dev, &w, &space_ops, NULL, &spaces[i]), 0);
        cr_assert_eq(memory_create(&mem[i], ops, dev, spaces[i], &w, GRAN), 0);
        cr_assert_eq(memory_join(mem[i], lane, MEMORY_ALL), 0);
    }
}

static void expect_sound(void) {
    const char *what;
    for (int i = 0; i < CLIENTS; i++)
        cr_assert_null((what = memory_check(mem[i])), "client %d: %s", i, what);
    if (ops == &fakedev) cr_assert_eq(fakedev_violations(dev, &what), 0, "%s", what);
}

static void rig_close(void) {
    expect_sound();
    for (int i = 0; i < CLIENTS; i++)
        memory_destroy(mem[i]);
    memory_lane_destroy(lane);
    cr_expect_eq(ops->mem_used(dev), 0, "chunks leaked");
    for (int i = 0; i < CLIENTS; i++)
        ops->space_destroy(spaces[i]);
    if (ops == &fakedev) cr_expect_eq(fakedev_violations(dev, NULL), 0);
    ops->close(dev);
}

static void soft_open(void) {
    rig_open(&dev_soft, 256 * MIB);
}
static void fake_open(void) {
    rig_open(&fakedev, 0);
}

TestSuite(memory, .init = soft_open, .fini = rig_close);
TestSuite(memory_fake, .init = fake_open, .fini = rig_close);

/* Volatile, because several addresses are one word here, which compilers assume to be
 * impossible. */
static volatile uint64_t *words(uint64_t addr) {
    return (volatile uint64_t *)(uintptr_t)addr;
}

static uint64_t noise(uint64_t seed, uint64_t at) {
    at = (at + seed * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    return at ^ at >> 31;
}
static void fill(uint64_t addr, uint64_t bytes, uint64_t seed) {
    for (uint64_t i = 0; i < bytes / 8; i++)
        words(addr)[i] = noise(seed, i);
}
static void expect_filled(uint64_t addr, uint64_t bytes, uint64_t seed) {
    for (uint64_t i = 0; i < bytes / 8; i++)
        cr_assert_eq(words(addr)[i], noise(seed, i), "seed %lu, word %lu", seed, i);
}

/* Returns whether this process can read the address, by a system call that fails instead of
 * raising a signal. */
static bool readable(uint64_t addr) {
    static int sink = -1;
    if (sink < 0) sink = memfd_create("sink", MFD_CLOEXEC);
    return pwrite(sink, (void *)(uintptr_t)addr, 4, 0) == 4;
}

static uint64_t used(void) {
    return ops->mem_used(dev) / GRAN;
}

/* ---- backing --------------------------------------------------------------------------------- */

Test(memory, whole_granules_of_one_half) {
    cr_expect_eq(memory_back(mem[0], persistent_at(0, 0) + 4096, GRAN), -EINVAL);
    cr_expect_eq(memory_back(mem[0], persistent_at(0, 0), 4096), -EINVAL);
    cr_expect_eq(memory_back(mem[0], persistent_at(0, 0), 0), -EINVAL);
    cr_expect_eq(memory_back(mem[0], window(0) - GRAN, GRAN), -EINVAL);
    cr_expect_eq(memory_back(mem[0], window(0) + ALLOC, GRAN), -EINVAL, "the module window");
    cr_expect_eq(memory_back(mem[0], persistent_at(0, HALF_PAGES - 1), 2 * GRAN), -EINVAL);
    cr_expect_eq(memory_back(mem[0], persistent_at(0, 0), UINT64_MAX - GRAN + 1), -EINVAL);
    cr_assert_eq(memory_back(mem[0], persistent_at(0, 4), 2 * GRAN), 0);
    cr_expect_eq(memory_back(mem[0], persistent_at(0, 3), 2 * GRAN), -EEXIST);
    cr_expect_eq(memory_unback(mem[0], persistent_at(0, 5), 2 * GRAN), -ENOENT);
    cr_expect_eq(used(), 2);
    cr_expect_eq(memory_persistent(mem[0]), 2 * GRAN);
    fill(persistent_at(0, 4), 2 * GRAN, 3);
    cr_assert_eq(memory_unback(mem[0], persistent_at(0, 4), GRAN), 0);
    cr_expect(!readable(persistent_at(0, 4)));
    cr_expect_eq(used(), 1);
    cr_assert_eq(memory_back(mem[0], persistent_at(0, 4), GRAN), 0);
    cr_expect_eq(words(persistent_at(0, 4))[7], 0, "new memory is zero");
    struct dev_windows odd = {BASE, 3 * GRAN, 0, 0, 0, 0};
    struct memory *none;
    cr_expect_eq(memory_create(&none, ops, dev, spaces[0], &odd, GRAN), -EINVAL);
    cr_expect_null(none);
}

Test(memory, without_a_lane_there_is_no_ephemeral_memory) {
    cr_assert_eq(memory_join(mem[0], NULL, MEMORY_ALL), 0);
    cr_expect_eq(memory_back(mem[0], ephemeral_at(0, 0), GRAN), ERR_NO_MEMORY);
    cr_expect_eq(memory_ephemeral(mem[0]), 0);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

Test(memory, two_clients_see_one_lane_at_their_own_addresses) {
    cr_assert_eq(memory_back(mem[0], ephemeral_at(0, 0), 3 * GRAN), 0);
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 9), GRAN), 0);
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 2), 2 * GRAN), 0);
    cr_expect_eq(used(), 3, "no chunk of its own for anybody");
    cr_expect_eq(memory_lane_bytes(lane), 3 * GRAN);
    fill(ephemeral_at(0, 0), 3 * GRAN, 1);
    for (uint64_t i = 0; i < GRAN / 8; i++) { /* in the order of first use */
        cr_assert_eq(words(ephemeral_at(1, 9))[i], noise(1, i));
        cr_assert_eq(words(ephemeral_at(1, 2))[i], noise(1, GRAN / 8 + i));
        cr_assert_eq(words(ephemeral_at(1, 3))[i], noise(1, GRAN / 4 + i));
    }
    fill(ephemeral_at(1, 9), GRAN, 2);
    expect_filled(ephemeral_at(0, 0), GRAN, 2);
    cr_assert_eq(memory_unback(mem[1], ephemeral_at(1, 9), GRAN), 0);
    cr_expect_eq(used(), 3, "a lane keeps its chunks");
    cr_expect(!readable(ephemeral_at(1, 9)));
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 0), GRAN), 0);
    expect_filled(ephemeral_at(1, 0), GRAN, 2); /* the lowest free page of the lane */
    cr_expect_eq(memory_ephemeral(mem[1]), 3 * GRAN);
}

Test(memory_fake, handing_a_lane_over_maps_and_moves_nothing) {
    for (int i = 0; i < CLIENTS; i++)
        cr_assert_eq(memory_back(mem[i], ephemeral_at(i, 0), 8 * GRAN), 0);
    cr_expect_eq(fakedev_maps(dev), CLIENTS, "one call for a client's pages");
    for (int turn = 0; turn < 30; turn++) { /* one iteration of each client in turn */
        uint64_t at = ephemeral_at(turn % CLIENTS, 0);
        for (uint32_t page = 0; turn && page < 8; page++)
            cr_assert_eq(words(at + page * GRAN)[1], (uint64_t)turn - 1);
        for (uint32_t page = 0; page < 8; page++)
            words(at + page * GRAN)[1] = (uint64_t)turn;
        expect_sound();
    }
    /* pages already in place, without gaps */
    cr_assert_eq(memory_join(mem[0], lane, MEMORY_ALL), 0);
    cr_expect_eq(fakedev_maps(dev), CLIENTS);
    cr_expect_eq(fakedev_moves(dev), 0);
    cr_expect_eq(used(), 8);
}

Test(memory, joining_another_lane_takes_the_pages_along) {
    struct memory_lane *second;
    cr_assert_eq(memory_lane_create(&second, ops, dev), 0);
    cr_assert_eq(memory_back(mem[0], ephemeral_at(0, 0), 6 * GRAN), 0);
    cr_assert_eq(memory_unback(mem[0], ephemeral_at(0, 1), 2 * GRAN), 0);
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 0), GRAN), 0);
    fill(ephemeral_at(0, 0), GRAN, 1);
    cr_assert_eq(memory_join(mem[0], second, MEMORY_ALL), 0);
    cr_expect_eq(memory_lane_bytes(second), 4 * GRAN, "as many as are in use");
    cr_expect_eq(memory_ephemeral(mem[0]), 4 * GRAN);
    cr_expect_eq(words(ephemeral_at(0, 5))[0], 0, "new chunks");
    fill(ephemeral_at(0, 0), GRAN, 2);
    expect_filled(ephemeral_at(1, 0), GRAN, 1);
    cr_assert_eq(memory_lane_shrink(lane, GRAN, MEMORY_ALL), 0);
    cr_expect_eq(used(), 5);
    cr_assert_eq(memory_join(mem[1], second, MEMORY_ALL), 0);
    expect_filled(ephemeral_at(1, 0), GRAN, 2);
    cr_assert_eq(memory_join(mem[0], NULL, MEMORY_ALL), 0);
    cr_expect(!readable(ephemeral_at(0, 0)));
    expect_sound();
    cr_assert_eq(memory_join(mem[0], lane, MEMORY_ALL), 0);
    cr_expect(readable(ephemeral_at(0, 5)));
    cr_assert_eq(memory_join(mem[1], NULL, MEMORY_ALL), 0);
    memory_lane_destroy(second);
}

Test(memory, a_lane_shrinks_to_what_nobody_uses) {
    cr_assert_eq(memory_back(mem[0], ephemeral_at(0, 0), 2 * GRAN), 0);
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 0), 5 * GRAN), 0);
    fill(ephemeral_at(0, 0), 2 * GRAN, 4);
    cr_expect_eq(memory_lane_shrink(lane, 4 * GRAN, MEMORY_ALL), -EBUSY);
    cr_expect_eq(memory_lane_shrink(lane, 5 * GRAN - 1, MEMORY_ALL), 0);
    cr_expect_eq(used(), 5);
    cr_assert_eq(memory_unback(mem[1], ephemeral_at(1, 2), 3 * GRAN), 0);
    cr_expect_eq(memory_lane_shrink(lane, 2 * GRAN, MEMORY_ALL), 0);
    cr_expect_eq(used(), 2);
    expect_filled(ephemeral_at(0, 0), 2 * GRAN, 4);
    cr_expect_eq(memory_lane_shrink(lane, GRAN, MEMORY_ALL), -EBUSY);
    cr_assert_eq(memory_unback(mem[0], ephemeral_at(0, 0), GRAN), 0);
    cr_assert_eq(memory_unback(mem[1], ephemeral_at(1, 0), 2 * GRAN), 0);
    cr_expect_eq(memory_lane_shrink(lane, GRAN, MEMORY_ALL), -EBUSY,
                 "its page is on the second chunk");
    cr_assert_eq(memory_join(mem[0], lane, MEMORY_ALL), 0);
    cr_expect_eq(memory_lane_shrink(lane, GRAN, MEMORY_ALL), 0, "joining its own lane closes gaps");
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 0), 4 * GRAN), 0);
    cr_expect_eq(memory_lane_bytes(lane), 4 * GRAN);
}

/* ---- owners ---------------------------------------------------------------------------------- */

static void expect_zeros(uint64_t addr, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes / 8; i++)
        cr_assert_eq(words(addr)[i], 0, "word %lu", i);
}

/* Gives the client the turn, with all its effects on memory. */
static void enter(int client, uint64_t bytes) {
    memory_enter(mem[client], bytes);
    while (memory_unclear(mem[client]))
        cr_assert_eq(memory_clear(mem[client], 1), 0);
    expect_sound();
}

/* Client 0 belongs to one user, 1 and 2 to another; 0 has filled three pages, 1 has mapped
 * three. */
static void strangers(void) {
    for (int i = 0; i < CLIENTS; i++) {
        memory_set_owner(mem[i], i ? 7 : 5);
        cr_assert_eq(memory_back(mem[i], ephemeral_at(i, 0), 3 * GRAN), 0);
    }
    enter(0, 0);
    fill(ephemeral_at(0, 0), 3 * GRAN, 1);
}

Test(memory, what_one_owner_left_is_cleared_for_another) {
    strangers();
    enter(1, 0);
    expect_zeros(ephemeral_at(1, 0), 3 * GRAN);
    cr_expect_eq(memory_cleared(mem[1]), 3 * GRAN);
    fill(ephemeral_at(1, 0), 3 * GRAN, 2);
    enter(2, 0);
    expect_filled(ephemeral_at(2, 0), 3 * GRAN, 2);
    cr_expect_eq(memory_cleared(mem[2]), 0, "of the same owner");
    enter(0, 0);
    expect_zeros(ephemeral_at(0, 0), 3 * GRAN);
    cr_expect_eq(memory_lane_cleared(lane), 6 * GRAN);
}

/* No other user will ever see those pages. */
Test(memory, only_what_may_be_seen_is_cleared) {
    strangers();
    cr_assert_eq(memory_unback(mem[1], ephemeral_at(1, 1), 2 * GRAN), 0);
    enter(1, 0);
    cr_expect_eq(memory_cleared(mem[1]), GRAN);
    for (uint64_t i = 0; i < GRAN / 4; i++)
        cr_assert_eq(words(ephemeral_at(0, 1))[i], noise(1, GRAN / 8 + i));
}

Test(memory, what_is_backed_during_a_turn_is_cleared_first) {
    strangers();
    cr_assert_eq(memory_unback(mem[1], ephemeral_at(1, 0), 3 * GRAN), 0);
    enter(1, 0);
    cr_expect_eq(memory_cleared(mem[1]), 0);
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 5), 2 * GRAN), 0);
    expect_zeros(ephemeral_at(1, 5), 2 * GRAN);
    expect_sound();
    cr_assert_eq(memory_unback(mem[1], ephemeral_at(1, 5), 2 * GRAN), 0);
    enter(1, 3 * GRAN);
    cr_expect_eq(memory_cleared(mem[1]), 3 * GRAN, "what it said it needs");
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 5), 3 * GRAN), 0);
    expect_zeros(ephemeral_at(1, 5), 3 * GRAN);
}

/* Without the turn, a page shows the lane's present contents, which must not be copied. */
Test(memory, what_another_owner_wrote_is_neither_kept_nor_spilled) {
    uint64_t copied, moved;
    strangers();
    cr_assert_eq(memory_keep(mem[1], ephemeral_at(1, 0), GRAN, MEMORY_ALL, &copied), 0);
    expect_zeros(ephemeral_at(1, 0), GRAN);
    cr_assert_eq(memory_spill(mem[1], true, MEMORY_ALL, &moved), 0);
    cr_assert_eq(memory_spill(mem[2], false, MEMORY_ALL, &moved), 0);
    for (int i = 1; i < CLIENTS; i++) {
        cr_assert_eq(memory_restore(mem[i], MEMORY_ALL, &moved), 0);
        enter(i, 0);
        expect_zeros(ephemeral_at(i, 1), 2 * GRAN);
    }
}

Test(memory, what_came_back_is_its_owners) {
    uint64_t moved;
    strangers();
    cr_assert_eq(memory_spill(mem[0], true, MEMORY_ALL, &moved), 0);
    enter(1, 0);
    fill(ephemeral_at(1, 0), 3 * GRAN, 2);
    cr_assert_eq(memory_restore(mem[0], MEMORY_ALL, &moved), 0);
    enter(0, 0);
    expect_filled(ephemeral_at(0, 0), 3 * GRAN, 1);
    cr_expect_eq(memory_cleared(mem[0]), 0);
    enter(2, 0);
    expect_zeros(ephemeral_at(2, 0), 3 * GRAN);
}

/* A page moves within the lane while its client has the turn. */
Test(memory, what_is_packed_is_its_owners) {
    strangers();
    cr_assert_eq(memory_unback(mem[1], ephemeral_at(1, 0), GRAN), 0);
    enter(1, 0);
    cr_assert_eq(memory_join(mem[1], lane, MEMORY_ALL), 0);
    expect_sound();
    fill(ephemeral_at(1, 1), 2 * GRAN, 2);
    enter(0, 0);
    expect_zeros(ephemeral_at(0, 0), 3 * GRAN);
}

Test(memory, a_lane_of_other_clients_is_cleared_too) {
    struct memory_lane *second;
    strangers();
    cr_assert_eq(memory_lane_create(&second, ops, dev), 0);
    cr_assert_eq(memory_join(mem[2], second, MEMORY_ALL), 0);
    enter(2, 0);
    fill(ephemeral_at(2, 0), 3 * GRAN, 3);
    cr_assert_eq(memory_join(mem[0], second, MEMORY_ALL), 0);
    enter(0, 0);
    expect_zeros(ephemeral_at(0, 0), 3 * GRAN);
    cr_assert_eq(memory_join(mem[0], NULL, MEMORY_ALL), 0);
    cr_assert_eq(memory_join(mem[2], NULL, MEMORY_ALL), 0);
    memory_lane_destroy(second);
    enter(1, 0);
    expect_zeros(ephemeral_at(1, 0), 3 * GRAN);
}

Test(memory, who_loses_the_turn_before_all_is_clear_begins_anew) {
    strangers();
    memory_enter(mem[1], 0);
    cr_assert_eq(memory_clear(mem[1], 1), 0);
    cr_expect(memory_unclear(mem[1]));
    enter(0, 0);
    cr_expect(!memory_unclear(mem[1]));
    expect_zeros(ephemeral_at(0, 0), GRAN);
    for (uint64_t i = 0; i < GRAN / 8; i++)
        cr_assert_eq(words(ephemeral_at(0, 1))[i], noise(1, GRAN / 8 + i), "its own still");
    enter(2, 0);
    expect_zeros(ephemeral_at(2, 0), 3 * GRAN);
    cr_assert_eq(memory_clear(mem[1], 8), 0, "it does no harm");
}

/* A client that is half swapped out and comes back leaves no copy older than the segment. */
Test(memory, a_segment_goes_with_the_last_who_has_it_as_he_left_it) {
    struct memory *a = mem[0], *b = mem[1];
    uint64_t moved;
    cr_assert_eq(memory_segment_make(a, 2, 3 * GRAN, 5), 0);
    cr_assert_eq(memory_segment_fetch(a, 2, MEMORY_ALL), 0);
    cr_assert_eq(memory_segment_open(b, 4, memory_segment_find(a, 2)), 0);
    cr_assert_eq(memory_segment_fetch(b, 4, MEMORY_ALL), 0);
    cr_assert_eq(memory_segment_show(a, 2, 0, persistent_at(0, 0), 3 * GRAN), 0);
    cr_assert_eq(memory_segment_show(b, 4, 0, persistent_at(1, 0), 3 * GRAN), 0);
    words(persistent_at(0, 2))[0] = 1;
    cr_assert_eq(memory_swap_out(a, MEMORY_ALL, &moved), 0);
    cr_expect_eq(moved, 0, "another has it");
    words(persistent_at(1, 2))[0] = 2;
    cr_assert_eq(memory_swap_out(b, MEMORY_ALL, &moved), 0);
    cr_expect_eq(used(), 0);
    cr_assert_eq(memory_swap_in(b, MEMORY_ALL, &moved), 0);
    cr_expect_eq(words(persistent_at(1, 2))[0], 2);
    cr_assert_eq(memory_swap_out(b, 3 + 1, &moved), 0);
    cr_expect_eq(moved, GRAN, "behind its pages the first chunk");
    cr_assert_eq(memory_swap_in(b, MEMORY_ALL, &moved), 0);
    words(persistent_at(1, 0))[0] = 3;
    cr_assert_eq(memory_swap_out(b, MEMORY_ALL, &moved), 0);
    cr_assert_eq(memory_swap_in(a, MEMORY_ALL, &moved), 0);
    cr_expect_eq(words(persistent_at(0, 0))[0], 3);
    cr_expect_eq(words(persistent_at(0, 2))[0], 2);
    expect_sound();
}

/* ---- survivors ------------------------------------------------------------------------------- */

Test(memory_fake, a_survivor_is_copied_once_and_keeps_its_address) {
    uint64_t copied = 1;
    cr_assert_eq(memory_back(mem[0], ephemeral_at(0, 0), 4 * GRAN), 0);
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 0), 4 * GRAN), 0);
    fill(ephemeral_at(0, 0), 4 * GRAN, 5);
    uint64_t addr = ephemeral_at(0, 1) + 5000, bytes = GRAN; /* touches two pages */
    cr_expect_eq(memory_keep_need(mem[0], addr, bytes), 2 * GRAN);
    cr_assert_eq(memory_keep(mem[0], addr, bytes, MEMORY_ALL, &copied), 0);
    cr_expect_eq(copied, 2 * GRAN);
    cr_expect_eq(fakedev_moves(dev), 2);
    cr_expect_eq(memory_keep_need(mem[0], addr, bytes), 0);
    cr_assert_eq(memory_keep(mem[0], addr, bytes, MEMORY_ALL, &copied), 0);
    cr_expect_eq(copied, 0);
    cr_expect_eq(fakedev_moves(dev), 2, "once");
    cr_expect_eq(memory_persistent(mem[0]), 2 * GRAN);
    cr_expect_eq(memory_ephemeral(mem[0]), 2 * GRAN);
    expect_filled(ephemeral_at(1, 0), 4 * GRAN, 5); /* the other client's pages are unchanged */
    fill(ephemeral_at(1, 0), 4 * GRAN, 6);
    for (uint64_t i = GRAN / 8; i < 3 * GRAN / 8; i++)
        cr_assert_eq(words(ephemeral_at(0, 0))[i], noise(5, i), "the other's turn is not seen");
    for (uint64_t i = 3 * GRAN / 8; i < GRAN / 2; i++)
        cr_assert_eq(words(ephemeral_at(0, 0))[i], noise(6, i), "still the lane");
    cr_assert_eq(memory_back(mem[0], ephemeral_at(0, 8), 2 * GRAN), 0);
    cr_expect_eq(memory_lane_bytes(lane), 4 * GRAN, "its places in the lane are free again");
    cr_assert_eq(memory_unback(mem[0], ephemeral_at(0, 0), 4 * GRAN), 0);
    cr_expect_eq(memory_persistent(mem[0]), 0);
    cr_expect_eq(used(), 4);
}

Test(memory, a_survivor_on_the_software_gpu) {
    uint64_t copied;
    cr_assert_eq(memory_back(mem[0], ephemeral_at(0, 0), 3 * GRAN), 0);
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 0), 3 * GRAN), 0);
    fill(ephemeral_at(0, 1), GRAN, 7);
    cr_assert_eq(memory_keep(mem[0], ephemeral_at(0, 1), 1, MEMORY_ALL, &copied), 0);
    expect_filled(ephemeral_at(1, 1), GRAN, 7);
    fill(ephemeral_at(1, 0), 3 * GRAN, 8);
    expect_filled(ephemeral_at(0, 1), GRAN, 7);
    expect_filled(ephemeral_at(0, 0), GRAN, 8);
    cr_expect_eq(memory_keep(mem[0], window(0) + ALLOC - 1, 2, MEMORY_ALL, &copied), -EINVAL);
    cr_expect_eq(memory_keep_need(mem[0], window(0) - 1, 2), 0);
    cr_expect_eq(memory_keep(mem[0], persistent_at(0, 0), ALLOC / 2, MEMORY_ALL, &copied), 0);
    cr_expect_eq(copied, 0, "nothing of it is in the lane");
}

/* ---- spilling and swapping ------------------------------------------------------------------- */

static void spill_and_restore(bool to_host) {
    uint64_t moved;
    cr_assert_eq(memory_back(mem[0], ephemeral_at(0, 2), 3 * GRAN), 0);
    cr_assert_eq(memory_back(mem[0], persistent_at(0, 2), GRAN), 0);
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 0), 5 * GRAN), 0);
    fill(ephemeral_at(0, 2), 3 * GRAN, 9);
    cr_assert_eq(memory_spill(mem[0], to_host, MEMORY_ALL, &moved), 0);
    cr_expect_eq(moved, 3 * GRAN);
    cr_expect(memory_spilled(mem[0]));
    cr_expect_eq(used(), to_host ? 6 : 9);
    cr_expect_eq(memory_persistent(mem[0]), GRAN);
    cr_expect_eq(memory_ephemeral(mem[0]), 3 * GRAN);
    fill(ephemeral_at(1, 0), 5 * GRAN, 10); /* the other client's turn */
    cr_assert_eq(memory_back(mem[0], ephemeral_at(0, 8), GRAN), 0);
    cr_assert_eq(memory_unback(mem[0], ephemeral_at(0, 3), GRAN), 0);
    cr_expect_eq(memory_lane_shrink(lane, 2 * GRAN, MEMORY_ALL), -EBUSY);
    expect_sound();
    cr_assert_eq(memory_restore(mem[0], MEMORY_ALL, &moved), 0);
    cr_expect_eq(moved, 2 * GRAN);
    cr_expect(!memory_spilled(mem[0]));
    cr_expect_eq(used(), 6);
    for (uint64_t i = 0; i < GRAN / 8; i++) {
        cr_assert_eq(words(ephemeral_at(0, 2))[i], noise(9, i));
        cr_assert_eq(words(ephemeral_at(0, 4))[i], noise(9, GRAN / 4 + i));
    }
    cr_assert_eq(memory_restore(mem[0], MEMORY_ALL, &moved), 0);
    cr_expect_eq(moved, 0);
}

Test(memory, spilled_to_chunks_and_back) {
    spill_and_restore(false);
}
Test(memory, spilled_to_the_host_and_back) {
    spill_and_restore(true);
}

/* ---- peeking --------------------------------------------------------------------------------- */

static void expect_seen(int client, uint64_t addr, uint64_t want) {
    uint64_t got = ~want;
    cr_expect_eq(memory_peek(mem[client], addr, 8, &got), 0);
    cr_expect_eq(got, want);
}
static int peek(int client, uint64_t addr) {
    uint64_t cell;
    return memory_peek(mem[client], addr, 4, &cell);
}

/* The peek works wherever the pages are: on the device, spilled while another client has the
 * lane, or swapped out. */
Test(memory, a_peek_sees_what_the_client_wrote_and_nobody_elses) {
    uint64_t moved;
    strangers();
    cr_assert_eq(memory_back(mem[0], persistent_at(0, 2), GRAN), 0);
    words(persistent_at(0, 2))[1] = 77;
    const uint64_t want = noise(1, 5);
    expect_seen(0, ephemeral_at(0, 0) + 40, want);
    expect_seen(0, persistent_at(0, 2) + 8, 77);
    cr_expect_eq(peek(1, ephemeral_at(1, 0)), -EAGAIN, "the other one has the turn");
    cr_assert_eq(memory_spill(mem[0], true, MEMORY_ALL, &moved), 0);
    expect_seen(0, ephemeral_at(0, 0) + 40, want);
    enter(1, 0);
    fill(ephemeral_at(1, 0), 3 * GRAN, 2);
    expect_seen(0, ephemeral_at(0, 0) + 40, want);
    expect_seen(1, ephemeral_at(1, 0) + 40, noise(2, 5));
    cr_assert_eq(memory_swap_out(mem[0], MEMORY_ALL, &moved), 0);
    expect_seen(0, persistent_at(0, 2) + 8, 77);
    cr_assert_eq(memory_back(mem[0], persistent_at(0, 5), GRAN), 0);
    expect_seen(0, persistent_at(0, 5), 0);
    cr_assert_eq(memory_swap_in(mem[0], MEMORY_ALL, &moved), 0);
    expect_seen(0, persistent_at(0, 2) + 8, 77);
}

Test(memory, a_peek_of_what_is_not_there_is_an_error) {
    cr_expect_eq(peek(0, persistent_at(0, 0)), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(peek(0, ephemeral_at(0, 0)), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(peek(0, window(0) + ALLOC), ERR_ILLEGAL_ADDRESS, "no variable is there");
}

/* An iteration may end while its memory is spilled. */
Test(memory, spilled_pages_can_be_kept_and_move_to_another_lane) {
    uint64_t moved, copied;
    struct memory_lane *second;
    cr_assert_eq(memory_lane_create(&second, ops, dev), 0);
    cr_assert_eq(memory_back(mem[0], ephemeral_at(0, 0), 4 * GRAN), 0);
    fill(ephemeral_at(0, 0), 4 * GRAN, 11);
    cr_assert_eq(memory_spill(mem[0], false, MEMORY_ALL, &moved), 0);
    cr_assert_eq(memory_keep(mem[0], ephemeral_at(0, 0), 2 * GRAN, MEMORY_ALL, &copied), 0);
    expect_filled(ephemeral_at(0, 0), 2 * GRAN, 11);
    cr_assert_eq(memory_join(mem[0], second, MEMORY_ALL), 0);
    cr_expect_eq(words(ephemeral_at(0, 2))[3], 0);
    cr_assert_eq(memory_restore(mem[0], MEMORY_ALL, &moved), 0);
    cr_expect_eq(moved, 2 * GRAN);
    expect_filled(ephemeral_at(0, 0), 4 * GRAN, 11);
    cr_assert_eq(memory_spill(mem[0], true, MEMORY_ALL, &moved), 0);
    cr_assert_eq(memory_keep(mem[0], ephemeral_at(0, 2), GRAN, MEMORY_ALL, &copied), 0);
    expect_filled(ephemeral_at(0, 0), 3 * GRAN, 11);
    cr_assert_eq(memory_join(mem[0], NULL, MEMORY_ALL), 0);
    cr_expect_eq(memory_restore(mem[0], MEMORY_ALL, &moved), -EINVAL, "there is no lane to go to");
    memory_lane_destroy(second);
    expect_sound();
}

Test(memory, swapped_out_and_in_at_the_same_addresses) {
    uint64_t moved, copied;
    cr_assert_eq(memory_back(mem[0], persistent_at(0, 0), 3 * GRAN), 0);
    cr_assert_eq(memory_back(mem[0], persistent_at(0, 7), GRAN), 0);
    cr_assert_eq(memory_back(mem[0], ephemeral_at(0, 0), 3 * GRAN), 0);
    fill(persistent_at(0, 0), 3 * GRAN, 12);
    fill(persistent_at(0, 7), GRAN, 13);
    fill(ephemeral_at(0, 0), 3 * GRAN, 14);
    cr_assert_eq(memory_keep(mem[0], ephemeral_at(0, 0), GRAN, MEMORY_ALL, &copied), 0);
    cr_assert_eq(memory_spill(mem[0], false, MEMORY_ALL, &moved), 0);
    cr_expect_eq(used(), 3 + 1 + 1 + 2 + 3);
    cr_assert_eq(memory_swap_out(mem[0], MEMORY_ALL, &moved), 0);
    cr_expect_eq(moved, 7 * GRAN);
    cr_expect_eq(used(), 3, "only the lane is left on the device");
    cr_expect(memory_swapped(mem[0]));
    cr_expect_eq(memory_persistent(mem[0]), 5 * GRAN);
    cr_expect(!readable(persistent_at(0, 0)) && !readable(persistent_at(0, 7)));
    cr_expect(!readable(ephemeral_at(0, 0)));
    expect_sound();
    cr_expect_eq(memory_keep(mem[0], ephemeral_at(0, 1), GRAN, MEMORY_ALL, &copied), -EBUSY);
    cr_assert_eq(memory_back(mem[0], persistent_at(0, 10), GRAN), 0);
    cr_expect_eq(used(), 3, "backed when it comes back");
    cr_assert_eq(memory_unback(mem[0], persistent_at(0, 1), GRAN), 0);
    /* now another client's memory */
    cr_assert_eq(memory_back(mem[1], persistent_at(1, 0), 8 * GRAN), 0);
    fill(persistent_at(1, 0), 8 * GRAN, 15);
    cr_assert_eq(memory_swap_in(mem[0], MEMORY_ALL, &moved), 0);
    cr_expect_eq(moved, 4 * GRAN);
    cr_expect(!memory_swapped(mem[0]));
    cr_expect_eq(used(), 3 + 8 + 5);
    expect_filled(persistent_at(0, 0), GRAN, 12);
    expect_filled(persistent_at(0, 7), GRAN, 13);
    expect_filled(ephemeral_at(0, 0), GRAN, 14);
    for (uint64_t i = 0; i < GRAN / 8; i++) {
        cr_assert_eq(words(persistent_at(0, 2))[i], noise(12, GRAN / 4 + i));
        cr_assert_eq(words(persistent_at(0, 10))[i], 0);
    }
    cr_expect(!readable(persistent_at(0, 1)));
    cr_assert_eq(memory_restore(mem[0], MEMORY_ALL, &moved), 0);
    expect_filled(ephemeral_at(0, 0), 3 * GRAN, 14);
    expect_filled(persistent_at(1, 0), 8 * GRAN, 15);
}

Test(memory, what_does_not_fit_comes_back_later) {
    uint64_t moved;
    cr_assert_eq(memory_back(mem[0], persistent_at(0, 0), 16 * GRAN), 0);
    fill(persistent_at(0, 0), 16 * GRAN, 16);
    cr_assert_eq(memory_swap_out(mem[0], MEMORY_ALL, &moved), 0);
    struct dev_chunk *c[120];
    for (int i = 0; i < 120; i++)
        cr_assert_eq(ops->chunk_create(dev, &c[i]), 0);
    cr_expect_eq(memory_swap_in(mem[0], MEMORY_ALL, &moved), ERR_NO_MEMORY);
    cr_expect(memory_swapped(mem[0]));
    cr_expect_eq(used(), 120);
    expect_sound();
    for (int i = 0; i < 120; i++)
        ops->chunk_destroy(dev, c[i]);
    cr_assert_eq(memory_swap_in(mem[0], MEMORY_ALL, &moved), 0);
    expect_filled(persistent_at(0, 0), 16 * GRAN, 16);
}

/* All device memory but seven granules is in use. */
Test(memory, host_memory_that_runs_out_changes_nothing) {
    uint64_t moved;
    uint32_t count = 0;
    static void *spares[100000];
    cr_assert_eq(memory_back(mem[0], persistent_at(0, 0), 8 * GRAN), 0);
    fill(persistent_at(0, 0), 8 * GRAN, 17);
    while ((spares[count] = dev_soft.spares->spare_make(dev)))
        cr_assert_lt(++count, 100000);
    for (int i = 0; i < 7; i++)
        dev_soft.spares->spare_free(dev, spares[--count]);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(memory_swap_out(mem[0], MEMORY_ALL, &moved), -ENOMEM,
                     "nothing was lost before, either");
        cr_expect(!memory_swapped(mem[0]));
        expect_sound();
        expect_filled(persistent_at(0, 0), 8 * GRAN, 17);
    }
    dev_soft.spares->spare_free(dev, spares[--count]);
    cr_assert_eq(memory_swap_out(mem[0], MEMORY_ALL, &moved), 0);
    cr_assert_null(dev_soft.spares->spare_make(dev));
    cr_assert_eq(memory_swap_in(mem[0], MEMORY_ALL, &moved), 0);
    expect_filled(persistent_at(0, 0), 8 * GRAN, 17);
    while (count)
        dev_soft.spares->spare_free(dev, spares[--count]);
}

/* memory_check must detect each kind of damage, made one at a time. */
Test(memory, the_check_notices) {
    uint64_t moved;
    struct memory *m = mem[0];
    cr_assert_eq(memory_back(m, persistent_at(0, 0), 2 * GRAN), 0);
    cr_assert_eq(memory_back(m, ephemeral_at(0, 0), GRAN), 0);
    cr_assert_eq(memory_spill(m, false, MEMORY_ALL, &moved), 0);
    cr_assert_eq(memory_back(m, ephemeral_at(0, 1), GRAN), 0);
    cr_assert_eq(memory_segment_make_lane(m, 3, 2 * GRAN), 0);
    cr_assert_eq(memory_segment_show(m, 3, 0, ephemeral_at(0, 2), GRAN), 0);
    cr_assert_eq(memory_segment_show(m, 3, 0, ephemeral_at(0, 3), GRAN), 0);
    struct page *p = &m->pages[0], *e = &m->pages[HALF_PAGES + 1];
#define SPOILT(place, value, text)                                           \
    do {                                                                     \
        __typeof__(place) right = (place);                                   \
        (place) = (value);                                                   \
        const char *what = memory_check(m);                                  \
        (place) = right;                                                     \
        cr_expect_str_eq(what ? what : "", text, "%s = %s", #place, #value); \
        cr_expect_null(memory_check(m));                                     \
    } while (0)
    SPOILT(m->persistent, 1, "persistent pages are miscounted");
    SPOILT(m->ephemeral, 1, "slots in use are miscounted");
    SPOILT(m->lane_held, 0, "slots of segments are miscounted");
    SPOILT(m->spilled, 0, "spilled slots are miscounted");
    SPOILT(m->kept_shown, 1, "kept pages that were mapped are miscounted");
    SPOILT(m->away, 1, "swapped pages are miscounted");
    SPOILT(p->chunk, m->pages[1].chunk, "a chunk is in two places");
    SPOILT(p->chunk, m->lane->chunks[0], "a chunk is in two places");
    SPOILT(p->chunk, NULL, "a chunk is missing");
    SPOILT(p->state, PAGE_NONE, "a page without a chunk is mapped");
    SPOILT(p->state, PAGE_LANE, "the persistent window maps memory of a lane");
    SPOILT(e->slot, 0, "a page names a slot that does not list it");
    SPOILT(e->next, HALF_PAGES, "a page names a slot that does not list it");
    SPOILT(e->shown, true, "a page of the lane has neither backing nor a mapping");
    SPOILT(m->slots[1].page, MEMORY_NO_PAGE, "a page names a slot that does not list it");
    SPOILT(m->slots[1].holding, m->slots[2].holding, "a page maps a slot of another segment");
    SPOILT(m->slots[2].index, 1, "a segment names another slot");
    SPOILT(m->slots[2].holding->slots[0], 1, "a segment's slot belongs to another");
    SPOILT(m->slots[2].holding->pages, 0, "pages of the lane's segment are miscounted");
    SPOILT(m->slots[7].page, 3, "slots in use are miscounted");
    SPOILT(m->slots[7].state, SLOT_SPILLED, "a free slot is not in the lane");
    SPOILT(m->slots[0].chunk, NULL, "a chunk is missing");
    SPOILT(m->slots[0].chunk, m->pages[1].chunk, "a chunk is in two places");
    SPOILT(m->slot_end, 5, "slots end too late");
    SPOILT(m->lane, NULL, "a page maps a lane that does not exist");
    SPOILT(m->lane->count, 1, "the lane is too short");
    SPOILT(m->lane->members, ((struct list){&m->lane->members, &m->lane->members}),
           "a client is not a member of its lane");
    cr_assert_eq(memory_swap_out(m, 1, &moved), 0);
    SPOILT(m->swapped, false, "some private pages are swapped");
    SPOILT(m->next_page, 2, "swapping skips a page");
#undef SPOILT
}

/* After each part the rest is unchanged; the client leaves the lane before the rest is freed. */
Test(memory, the_end_comes_in_parts) {
    struct memory *m = mem[0];
    cr_assert_eq(memory_back(m, persistent_at(0, 0), 4 * GRAN), 0);
    cr_assert_eq(memory_back(m, persistent_at(0, 6), GRAN), 0);
    cr_assert_eq(memory_back(m, ephemeral_at(0, 1), 3 * GRAN), 0);
    cr_assert_eq(memory_segment_make_lane(m, 3, GRAN), 0);
    memory_end(m);
    cr_expect_eq(memory_drop(m, 2), 2);
    cr_expect_null(memory_check(m));
    cr_expect(memory_in_lane(m));
    cr_expect_eq(memory_ephemeral(m), 2 * GRAN);
    cr_expect_eq(memory_drop(m, 3), 3);
    cr_expect_null(memory_check(m));
    cr_expect_not(memory_in_lane(m));
    cr_expect_eq(memory_ephemeral(m), 0);
    cr_expect_eq(memory_persistent(m), 3 * GRAN);
    cr_expect_eq(memory_drop(m, 3), 3);
    cr_expect_null(memory_check(m));
    cr_expect_eq(memory_drop(m, 3), 0, "all is gone");
    cr_expect_eq(used(), 4, "but the lane's");
}

/* ---- failures -------------------------------------------------------------------------------- */

enum { FAIL_BACK, FAIL_BACK_LANE, FAIL_KEEP, FAIL_JOIN, FAIL_SPILL, FAIL_SWAP_OUT, FAIL_KINDS };

static struct memory_lane *fail_second;
static bool fail_undone; /* makes swap_in and restore fail as well */

/* The pages are scattered on purpose, so that changes need several calls of the device. */
static void fail_prepare(void) {
    cr_assert_eq(memory_lane_create(&fail_second, ops, dev), 0);
    for (uint32_t page = 0; page < 8; page += 2) {
        cr_assert_eq(memory_back(mem[0], persistent_at(0, page), GRAN), 0);
        cr_assert_eq(memory_back(mem[0], ephemeral_at(0, page), GRAN), 0);
        words(persistent_at(0, page))[5] = 100 + page;
        words(ephemeral_at(0, page))[5] = 200 + page;
    }
    cr_assert_eq(memory_back(mem[1], ephemeral_at(1, 0), 4 * GRAN), 0);
}

/* Replaces the rig by a new one for the next case. */
static void fail_finish(void) {
    cr_assert_eq(memory_join(mem[0], NULL, MEMORY_ALL), 0);
    memory_lane_destroy(fail_second);
    rig_close();
    fake_open();
}

static int fail_do(int kind) {
    uint64_t n;
    switch (kind) {
    case FAIL_BACK: return memory_back(mem[0], persistent_at(0, 8), 5 * GRAN);
    case FAIL_BACK_LANE: return memory_back(mem[0], ephemeral_at(0, 8), 5 * GRAN);
    case FAIL_KEEP: return memory_keep(mem[0], ephemeral_at(0, 0), 8 * GRAN, MEMORY_ALL, &n);
    case FAIL_JOIN: return memory_join(mem[0], fail_second, MEMORY_ALL);
    case FAIL_SPILL:
        return fail_undone ? memory_restore(mem[0], MEMORY_ALL, &n)
                           : memory_spill(mem[0], false, MEMORY_ALL, &n);
    default:
        return fail_undone ? memory_swap_in(mem[0], MEMORY_ALL, &n)
                           : memory_swap_out(mem[0], MEMORY_ALL, &n);
    }
}

static void fail_expect_bytes(void) {
    for (uint32_t page = 0; page < 8; page += 2) {
        if (!memory_swapped(mem[0]))
            cr_assert_eq(words(persistent_at(0, page))[5], 100 + page, "page %u", page);
        cr_assert_eq(words(ephemeral_at(0, page))[5], 200 + page, "page %u", page);
    }
}

/* Makes the nth of the device's calls that can fail do so, for every n. Returns the number of
 * these calls. */
static uint32_t fail_each(int kind) {
    for (uint32_t n = 1;; n++) {
        uint64_t before = used(), persistent = memory_persistent(mem[0]);
        uint64_t ephemeral = memory_ephemeral(mem[0]);
        fakedev_fail(dev, n, false);
        int err = fail_do(kind);
        bool failed = err != 0;
        fakedev_fail(dev, 0, false);
        expect_sound();
        if (!failed) return n - 1;
        cr_assert(err == ERR_NO_MEMORY || err == -EIO, "%d", err);
        bool joined = kind == FAIL_JOIN && mem[0]->lane == fail_second;
        bool goes_on = joined || (kind == FAIL_SPILL && fail_undone); /* continues slot by slot */
        /* chunks of its own, of the lanes, and of the other client */
        uint64_t most = joined ? 4 + 4 + 4 + 4 : before;
        cr_assert(goes_on ? used() <= most : used() == before, "kind %d, call %u leaks", kind, n);
        cr_assert_eq(memory_persistent(mem[0]), persistent);
        cr_assert_eq(memory_ephemeral(mem[0]), ephemeral);
        if (!goes_on) fail_expect_bytes();
    }
}

Test(memory_fake, a_failure_in_the_middle_changes_nothing) {
    /* chunks made, pages moved, and calls to map them. Where the first of these fails, a lane
     * has been joined already, and only mapping is left for the next try */
    static const uint32_t calls[] = {5 + 1, 5 + 1, 4 + 4 + 4, 4 + 1, 4 + 4, 4};
    /* four slots come back: one before the second try fails, and two before the third */
    static const uint32_t undo_calls[] = {0, 0, 0, 0, 3, 4 + 4 + 4};
    for (int kind = 0; kind < FAIL_KINDS; kind++) {
        fail_prepare();
        fail_undone = false;
        cr_expect_eq(fail_each(kind), calls[kind], "kind %d", kind);
        if (kind != FAIL_JOIN) fail_expect_bytes();
        fail_undone = true;
        if (undo_calls[kind]) cr_expect_eq(fail_each(kind), undo_calls[kind], "kind %d", kind);
        if (kind != FAIL_JOIN) fail_expect_bytes();
        fail_finish();
    }
}

/* Even undoing fails: the bytes are kept, some pages may be unmapped until they are mapped
 * again, and nothing leaks. */
Test(memory_fake, nothing_leaks_when_all_fails) {
    for (int kind = 0; kind < FAIL_KINDS; kind++)
        for (uint32_t n = 1; n < 14; n++) {
            fail_prepare();
            fail_undone = false;
            fakedev_fail(dev, n, true);
            fail_do(kind);
            fakedev_fail(dev, 0, false);
            expect_sound();
            if (kind == FAIL_KEEP) { /* a second try repairs it */
                cr_assert_eq(fail_do(kind), 0);
                fail_expect_bytes();
            }
            memory_unback(mem[0], persistent_at(0, 0), GRAN);
            expect_sound();
            fail_finish();
        }
}
