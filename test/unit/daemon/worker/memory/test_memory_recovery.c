/* SPDX-License-Identifier: Apache-2.0
 *
 * The recovery state of a client's memory: it is correct at each moment, it never contains another
 * owner's data, and an invalid one is rejected as a whole.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_check.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_join.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_recovery.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/memory/memory_swap.h"
#include "test/lib/worker/fakedev.h"

#define MIB (1ull << 20)
#define GRAN (2 * MIB)
#define BASE 0x210000000000ull
#define STRIDE 0x10000000000ull
#define HALF 4u
#define PAGES (2 * HALF)
#define CLIENTS 2
#define CHUNKS 32u

static struct dev *dev;
static struct dev_space *spaces[CLIENTS];
static struct memory *mem[CLIENTS];
static struct memory_lane *lane;
static struct memory_recovery *recovery_states[CLIENTS];
static uint64_t state = 1;

static uint32_t dice(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

static uint64_t page_at(int c, uint32_t page) {
    return BASE + (uint64_t)c * STRIDE + page * GRAN;
}

static volatile uint64_t *word_at(uint64_t addr) {
    return (volatile uint64_t *)(uintptr_t)addr;
}

static struct dev_windows windows_of(int c) {
    return (struct dev_windows){page_at(c, 0), PAGES * GRAN, GRAN, 0, 0, 0};
}

static void make_client(int c) {
    struct dev_windows w = windows_of(c);
    cr_assert_eq(memory_create(&mem[c], &dev_soft, dev, spaces[c], &w, GRAN), 0);
    memory_set_owner(mem[c], (uint64_t)c + 1);
}

static void open_world(int memory_fd) {
    static const struct dev_space_ops space_ops;
    struct dev_config config = {
        .memory_bytes = CHUNKS * GRAN, .threads = 1, .memory_fd = memory_fd};
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    cr_assert_eq(memory_lane_create(&lane, &dev_soft, dev), 0);
    for (int c = 0; c < CLIENTS; c++) {
        struct dev_windows w = windows_of(c);
        cr_assert_eq(dev_soft.space_create(dev, &w, &space_ops, NULL, &spaces[c]), 0);
        make_client(c);
    }
}

static void close_world(void) {
    for (int c = 0; c < CLIENTS; c++) {
        memory_destroy(mem[c]);
        dev_soft.space_destroy(spaces[c]);
    }
    memory_lane_destroy(lane);
    cr_expect_eq(dev_soft.mem_used(dev), 0);
    dev_soft.close(dev);
}

static void setup(void) {
    open_world(-1);
    for (int c = 0; c < CLIENTS; c++) {
        recovery_states[c] = calloc(1, memory_recovery_bytes(PAGES));
        cr_assert_eq(memory_recovery_keep(mem[c], recovery_states[c]), 0);
        cr_assert_eq(memory_join(mem[c], lane, MEMORY_ALL), 0);
    }
}

static void teardown(void) {
    close_world();
    for (int c = 0; c < CLIENTS; c++)
        free(recovery_states[c]);
}

TestSuite(memory_recovery, .init = setup, .fini = teardown);

static void turn(int c) {
    memory_enter(mem[c], 0);
    while (memory_unclear(mem[c]))
        cr_assert_eq(memory_clear(mem[c], 8), 0);
}

static void expect_sound(void) {
    const char *what;
    for (int c = 0; c < CLIENTS; c++)
        cr_expect_null((what = memory_check(mem[c])), "client %d: %s", c, what);
}

/* Opens the device again on the memory that this process left, as another process would. */
static struct memory_recovery *leave(void) {
    struct memory_recovery *left = malloc(CLIENTS * memory_recovery_bytes(PAGES));
    int from = dup(dev_soft.recovery->memory_fd(dev));
    size_t room = 2 * CHUNKS * GRAN; /* the chunks, and the first spares */
    unsigned char *bytes = malloc(room);
    for (int c = 0; c < CLIENTS; c++)
        memcpy((char *)left + (size_t)c * memory_recovery_bytes(PAGES), recovery_states[c],
               memory_recovery_bytes(PAGES));
    cr_assert_eq(pread(from, bytes, room, 0), (ssize_t)room);
    close_world();
    cr_assert_eq(pwrite(from, bytes, room, 0), (ssize_t)room);
    free(bytes);
    open_world(from);
    close(from);
    return left;
}

static struct memory_recovery *left_of(struct memory_recovery *left, int c) {
    return (void *)((char *)left + (size_t)c * memory_recovery_bytes(PAGES));
}

/* ---- the recorded state ---------------------------------------------------------------------- */

Test(memory_recovery, all_kinds_of_pages_come_back) {
    cr_assert_eq(memory_back(mem[0], page_at(0, 0), 2 * GRAN), 0);
    cr_assert_eq(memory_back(mem[0], page_at(0, HALF), 3 * GRAN), 0);
    turn(0);
    for (uint32_t page = 0; page < HALF + 3; page += page == 1 ? HALF - 1 : 1)
        *word_at(page_at(0, page)) = 100 + page;
    uint64_t n;
    cr_assert_eq(memory_keep(mem[0], page_at(0, HALF + 1), GRAN, MEMORY_ALL, &n), 0);
    uint64_t persistent = memory_persistent(mem[0]), ephemeral = memory_ephemeral(mem[0]);
    uint64_t backed_p = memory_backed_p(mem[0]), backed_e = memory_backed_e(mem[0]);
    struct memory_recovery *left = leave();
    cr_assert_eq(memory_adopt(mem[0], left_of(left, 0), -1, 0), 0);
    cr_assert_eq(memory_adopt(mem[1], left_of(left, 1), -1, 0), 0);
    dev_soft.recovery->memory_settle(dev);
    expect_sound();
    cr_expect_eq(memory_persistent(mem[0]), persistent);
    cr_expect_eq(memory_ephemeral(mem[0]), ephemeral);
    cr_expect_eq(memory_backed_p(mem[0]), backed_p);
    cr_expect_eq(memory_backed_e(mem[0]), backed_e);
    cr_expect_eq(dev_soft.mem_used(dev), persistent + ephemeral);
    cr_expect(memory_spilled(mem[0]));
    cr_assert_eq(memory_join(mem[0], lane, MEMORY_ALL), 0);
    cr_assert_eq(memory_restore(mem[0], MEMORY_ALL, &n), 0);
    turn(0);
    for (uint32_t page = 0; page < HALF + 3; page += page == 1 ? HALF - 1 : 1)
        cr_expect_eq(*word_at(page_at(0, page)), 100 + page, "page %u", page);
    expect_sound();
    memory_destroy(mem[0]);
    memory_destroy(mem[1]);
    make_client(0);
    make_client(1);
    free(left);
}

/* The first client's bytes are in the lane, and the second one's entries mark some of these
 * pages as its own. */
Test(memory_recovery, what_is_not_cleared_yet_is_nobodys) {
    cr_assert_eq(memory_back(mem[0], page_at(0, HALF), 2 * GRAN), 0);
    turn(0);
    *word_at(page_at(0, HALF)) = *word_at(page_at(0, HALF + 1)) = 42;
    cr_assert_eq(memory_back(mem[1], page_at(1, HALF), 2 * GRAN), 0);
    memory_enter(mem[1], 0);
    cr_assert_eq(memory_clear(mem[1], 1), 0);
    cr_assert(memory_unclear(mem[1]));
    expect_sound();
    struct memory_recovery *left = leave();
    cr_assert_eq(memory_adopt(mem[0], left_of(left, 0), -1, 0), 0);
    cr_assert_eq(memory_adopt(mem[1], left_of(left, 1), -1, 0), 0);
    dev_soft.recovery->memory_settle(dev);
    cr_expect_eq(memory_ephemeral(mem[0]), 2 * GRAN);
    cr_expect_eq(memory_ephemeral(mem[1]), 2 * GRAN);
    cr_expect_not(memory_spilled(mem[0]), "it had lost its turn");
    cr_expect_eq(dev_soft.mem_used(dev), GRAN, "the one that was cleared for the second");
    cr_expect_eq(mem[1]->slots[0].state, SLOT_SPILLED);
    static uint64_t words[GRAN / 8];
    dev_soft.chunk_save(dev, words, mem[1]->slots[0].chunk);
    cr_expect_eq(words[0], 0);
    memory_destroy(mem[0]);
    memory_destroy(mem[1]);
    make_client(0);
    make_client(1);
    free(left);
}

/* As left by a process that ends while it backs or unbacks pages. */
Test(memory_recovery, what_changes_counts_as_a_whole) {
    cr_assert_eq(memory_back(mem[0], page_at(0, 0), GRAN), 0);
    cr_assert_eq(memory_back(mem[0], page_at(0, 1), 3 * GRAN), 0);
    struct memory_recovery *left = leave();
    left->changing = 1ull << 32 | 3;
    cr_assert_eq(memory_adopt(mem[0], left, -1, 0), 0);
    cr_expect_eq(memory_persistent(mem[0]), GRAN);
    cr_expect_eq(memory_back(mem[0], page_at(0, 0), GRAN), -EEXIST);
    dev_soft.recovery->memory_settle(dev);
    cr_expect_eq(memory_back(mem[0], page_at(0, 1), 3 * GRAN), 0, "once more");
    expect_sound();
    memory_destroy(mem[0]);
    make_client(0);
    free(left);
}

Test(memory_recovery, what_is_in_host_memory_comes_back) {
    uint64_t n;
    cr_assert_eq(memory_back(mem[0], page_at(0, HALF), GRAN), 0);
    cr_assert_eq(memory_back(mem[0], page_at(0, 0), GRAN), 0);
    turn(0);
    *word_at(page_at(0, 0)) = 41;
    *word_at(page_at(0, HALF)) = 42;
    cr_assert_eq(memory_spill(mem[0], true, MEMORY_ALL, &n), 0);
    cr_assert_eq(memory_swap_out(mem[0], MEMORY_ALL, &n), 0);
    cr_assert_eq(memory_back(mem[0], page_at(0, 1), GRAN), 0);
    cr_expect_null(memory_recovery_lacks(recovery_states[0]));
    struct memory_recovery *left = leave();
    cr_assert_eq(memory_adopt(mem[0], left, -1, 0), 0);
    cr_expect_eq(dev_soft.mem_used(dev), 0);
    dev_soft.recovery->memory_settle(dev);
    expect_sound();
    cr_expect(memory_swapped(mem[0]) && memory_spilled(mem[0]));
    cr_assert_eq(memory_join(mem[0], lane, MEMORY_ALL), 0);
    cr_assert_eq(memory_swap_in(mem[0], MEMORY_ALL, &n), 0);
    cr_assert_eq(memory_restore(mem[0], MEMORY_ALL, &n), 0);
    cr_expect_eq(*word_at(page_at(0, 0)), 41);
    cr_expect_eq(*word_at(page_at(0, 1)), 0);
    cr_expect_eq(*word_at(page_at(0, HALF)), 42);
    expect_sound();
    memory_destroy(mem[0]);
    make_client(0);
    free(left);
}

/* As left by a process that ended while it swapped. */
Test(memory_recovery, what_is_swapped_in_part_comes_back) {
    uint64_t n;
    cr_assert_eq(memory_back(mem[0], page_at(0, 0), GRAN), 0);
    cr_assert_eq(memory_back(mem[1], page_at(1, 0), GRAN), 0);
    *word_at(page_at(0, 0)) = 41;
    *word_at(page_at(1, 0)) = 42;
    cr_assert_eq(memory_swap_out(mem[1], MEMORY_ALL, &n), 0);
    struct memory_recovery *left = leave();
    left->pages[1] = left_of(left, 1)->pages[0]; /* as if it belonged to the first client */
    cr_assert_eq(memory_adopt(mem[0], left, -1, 0), 0);
    dev_soft.recovery->memory_settle(dev);
    expect_sound();
    cr_expect(memory_swapped(mem[0]));
    cr_expect_eq(*word_at(page_at(0, 0)), 41);
    cr_assert_eq(memory_swap_in(mem[0], MEMORY_ALL, &n), 0);
    cr_expect_eq(n, GRAN);
    cr_expect_eq(*word_at(page_at(0, 1)), 42);
    cr_expect_eq(dev_soft.mem_used(dev), 2 * GRAN);
    expect_sound();
    memory_destroy(mem[0]);
    make_client(0);
    free(left);
}

Test(memory_recovery, without_spares_what_is_in_host_memory_is_said_to_be_missing) {
    struct dev_ops ops = dev_soft;
    struct memory *m;
    struct dev_windows w = windows_of(0);
    uint64_t n;
    ops.spares = NULL;
    cr_assert_eq(memory_create(&m, &ops, dev, spaces[0], &w, GRAN), 0);
    struct memory_recovery *e = calloc(1, memory_recovery_bytes(PAGES));
    cr_expect_eq(memory_recovery_keep(m, e), 0);
    cr_assert_eq(memory_back(m, page_at(0, 0), GRAN), 0);
    cr_expect_null(memory_recovery_lacks(e));
    cr_assert_eq(memory_swap_out(m, MEMORY_ALL, &n), 0);
    cr_expect_not_null(memory_recovery_lacks(e));
    cr_expect_null(memory_check(m));
    cr_assert_eq(memory_swap_in(m, MEMORY_ALL, &n), 0);
    cr_expect_null(memory_recovery_lacks(e));
    cr_expect_null(memory_check(m));
    memory_destroy(m);
    free(e);
}

Test(memory_recovery, a_device_that_keeps_nothing_is_no_place_for_it) {
    struct dev_ops ops = dev_soft;
    struct memory *m;
    struct dev_windows w = windows_of(0);
    ops.recovery = NULL;
    cr_assert_eq(memory_create(&m, &ops, dev, spaces[0], &w, GRAN), 0);
    struct memory_recovery *e = calloc(1, memory_recovery_bytes(PAGES));
    cr_expect_eq(memory_recovery_keep(m, e), -ENOTSUP);
    cr_expect_eq(memory_adopt(m, e, -1, 0), -ENOTSUP);
    memory_destroy(m);
    free(e);
}

/* ---- invalid states -------------------------------------------------------------------------- */

static void expect_nothing(void) {
    cr_assert_eq(dev_soft.mem_used(dev), 0);
    for (uint32_t page = 0; page < PAGES; page++)
        cr_assert(mem[0]->pages[page].state == PAGE_NONE && !mem[0]->pages[page].mapped);
    cr_assert_null(mem[0]->recovery_state);
    cr_assert_eq(memory_persistent(mem[0]) + memory_ephemeral(mem[0]), 0);
    cr_assert_null(memory_check(mem[0]));
}

/* Changes words, mostly to nearly valid values: mostly the pages' mappings, sometimes saved
 * data. */
static void spoil(struct memory_recovery *e) {
    uint64_t *words = (uint64_t *)e;
    uint32_t count = (uint32_t)(memory_recovery_bytes(PAGES) / 8), n = 1 + dice(4);
    while (n--) {
        uint64_t *word = &words[dice(4) ? count - PAGES - 1 - dice(PAGES) : dice(count)];
        switch (dice(5)) {
        case 0: *word ^= 1ull << dice(64); break;
        case 1: *word = dice(8) | (uint64_t)dice(CHUNKS + 2) << 8; break;
        case 2: *word = words[dice(count)]; break;
        case 3: *word = (uint64_t)dice(1u << 31) << 33 | dice(1u << 31); break;
        default: *word += dice(3) - 1u; break;
        }
    }
}

Test(memory_recovery, any_other_words_are_refused_as_a_whole) {
    size_t bytes = memory_recovery_bytes(PAGES);
    uint64_t n;
    uint32_t taken = 0, refused = 0;
    cr_assert_eq(memory_back(mem[0], page_at(0, 0), 3 * GRAN), 0);
    cr_assert_eq(memory_back(mem[0], page_at(0, HALF), 3 * GRAN), 0);
    turn(0);
    cr_assert_eq(memory_keep(mem[0], page_at(0, HALF), GRAN, MEMORY_ALL, &n), 0);
    cr_assert_eq(memory_spill(mem[0], false, MEMORY_ALL, &n), 0);
    cr_assert_eq(memory_back(mem[0], page_at(0, PAGES - 1), GRAN), 0);
    struct memory_recovery *left = leave(), *e = malloc(bytes);
    for (int i = 0; i < 20000; i++) {
        memcpy(e, left, bytes);
        if (i) spoil(e);
        int err = memory_adopt(mem[0], e, -1, 0);
        cr_assert(i || !err, "as it was left: %d", err);
        refused += err != 0;
        taken += !err;
        if (err) expect_nothing();
        cr_assert(err || !memory_check(mem[0]), "%d: %s", i, memory_check(mem[0]));
        if (err) continue;
        memory_destroy(mem[0]);
        make_client(0);
    }
    cr_log_info("taken %u, refused %u", taken, refused);
    cr_expect_gt(taken, 1000);
    cr_expect_gt(refused, 5000);
    dev_soft.recovery->memory_settle(dev);
    free(left);
    free(e);
}

Test(memory_recovery, each_wrong_entry_is_refused) {
    static const struct {
        uint32_t page;
        uint64_t word;
        int err;
    } wrong[] = {
        {0, 2 | 1 << 8, -EINVAL}, /* the lower half is never in a lane */
        {0, 3 | 1 << 8, -EINVAL},
        {0, 4, -EINVAL},
        {0, 5, -EINVAL}, /* the page is lost */
        {0, 6, -EINVAL}, /* there is no such kind */
        {0, 7, -EINVAL},
        {0, 6 | 2 << 8, -EINVAL},     /* a kind that has no chunk */
        {0, 1 | 8 | 1 << 8, -EINVAL}, /* nothing is mapped there */
        {0, 1 | 16 | 1 << 8, -EINVAL},
        {0, 1ull << 8, -EINVAL}, /* a chunk without a page */
        {0, 1 | CHUNKS << 8, -EINVAL},
        {0, 1 | UINT64_MAX << 8, -EINVAL},
        {1, 1 | 0 << 8, -EEXIST}, /* the chunk that page 0 has */
        {HALF, 3 | 0 << 8, -EEXIST},
        {HALF, 4 | 1 << 8, -EINVAL},
        {HALF, 3 | 8 | 1 << 8, -EINVAL},
        {HALF, 5, -EINVAL},
    };
    struct memory_recovery *left = leave();
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        memset(left, 0, memory_recovery_bytes(PAGES));
        left->granule = GRAN;
        left->page_count = PAGES;
        left->pages[0] = 1 | 0 << 8;
        left->pages[wrong[i].page] = wrong[i].word;
        cr_expect_eq(memory_adopt(mem[0], left, -1, 0), wrong[i].err, "case %u", i);
        expect_nothing();
    }
    memset(left, 0, memory_recovery_bytes(PAGES));
    left->granule = GRAN;
    left->page_count = PAGES + 1;
    cr_expect_eq(memory_adopt(mem[0], left, -1, 0), -EINVAL);
    left->page_count = PAGES;
    left->granule = GRAN / 2;
    cr_expect_eq(memory_adopt(mem[0], left, -1, 0), -EINVAL);
    left->granule = GRAN;
    left->in_lane = 2;
    cr_expect_eq(memory_adopt(mem[0], left, -1, 0), -EINVAL);
    left->in_lane = 0;
    left->loss = 77;
    cr_expect_eq(memory_adopt(mem[0], left, -1, 0), -EPERM);
    left->loss = MEMORY_WHOLE;
    left->pages[HALF] = 2 | 1 << 8; /* the lane's chunk, which the client does not own */
    cr_expect_eq(memory_adopt(mem[0], left, -1, 0), 0);
    cr_expect_eq(dev_soft.mem_used(dev), 0);
    cr_expect_eq(memory_ephemeral(mem[0]), GRAN);
    dev_soft.recovery->memory_settle(dev);
    memory_destroy(mem[0]);
    make_client(0);
    free(left);
}

static int64_t blocks_of(int fd) {
    struct stat st;
    cr_assert_eq(fstat(fd, &st), 0);
    return st.st_blocks;
}

/* A large window, of which little was used: reads must stay within the written range, up to both
 * borders. */
Test(memory_recovery, what_was_never_written_is_not_looked_at) {
    static const uint32_t used[] = {0, 507, 508, 509, 20000, 20001, (1u << 15) - 1};
    const uint32_t pages = 1u << 16, count = sizeof(used) / sizeof(*used);
    const uint64_t at = 4096, bytes = at + memory_recovery_bytes(pages);
    static const struct dev_space_ops space_ops;
    struct dev_windows w = {page_at(CLIENTS, 0), pages * GRAN, GRAN, 0, 0, 0};
    struct memory *m;
    struct dev_space *space;
    int fd = fdutil_memfd("recovery_state", bytes, 0);
    char *file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(file, MAP_FAILED);
    struct memory_recovery *e = (void *)(file + at);
    e->granule = GRAN;
    e->page_count = pages;
    for (uint32_t i = 0; i < count; i++)
        e->pages[used[i]] = 1 | (uint64_t)i << 8;
    free(leave());
    cr_assert_eq(dev_soft.space_create(dev, &w, &space_ops, NULL, &space), 0);
    cr_assert_eq(memory_create(&m, &dev_soft, dev, space, &w, GRAN), 0);
    int64_t before = blocks_of(fd);
    cr_assert_eq(memory_adopt(m, e, fd, at), 0);
    cr_expect_eq(blocks_of(fd), before, "%ld blocks of %ld", (long)blocks_of(fd), (long)before);
    cr_expect_eq(memory_persistent(m), count * GRAN);
    dev_soft.recovery->memory_settle(dev);
    for (uint32_t i = 0; i < count; i++)
        *word_at(page_at(CLIENTS, used[i])) = i;
    cr_expect_null(memory_check(m));
    memory_destroy(m);
    dev_soft.space_destroy(space);
    munmap(file, bytes);
    close(fd);
}
