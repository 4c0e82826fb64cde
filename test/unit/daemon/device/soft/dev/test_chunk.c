/* SPDX-License-Identifier: Apache-2.0
 *
 * Physical memory of the software GPU: chunks and their mappings.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "daemon/device/device.h"
#include "test/lib/ptx/devmodule.h"

#define MIB (1ull << 20)
#define GRAN (2 * MIB)
#define BASE 0x210000000000ull
#define OTHER 0x220000000000ull
#define ALLOC (64 * MIB)
#define MEMORY (32 * MIB)
#define CHUNKS (MEMORY / GRAN)

static const struct dev_space_ops no_ops;
static struct dev *dev;
static struct dev_space *space, *other;
static uint64_t host;

static struct dev_space *open_space(uint64_t base, uint64_t alloc_bytes) {
    struct dev_windows w = {base, alloc_bytes, 16 * MIB, host, 4 * MIB, 2 * MIB};
    struct dev_space *s;
    cr_assert_eq(dev_soft.space_create(dev, &w, &no_ops, NULL, &s), 0);
    return s;
}

static void setup(void) {
    struct dev_config config = {.memory_bytes = MEMORY, .threads = 1};
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    host = (uint64_t)(uintptr_t)mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    space = open_space(BASE, ALLOC);
    other = open_space(OTHER, ALLOC);
}

static void teardown(void) {
    dev_soft.space_destroy(space);
    dev_soft.space_destroy(other);
    cr_expect_eq(dev_soft.mem_used(dev), 0, "memory left behind");
    dev_soft.close(dev);
}

TestSuite(chunk, .init = setup, .fini = teardown);

static void make(struct dev_chunk **chunks, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(dev_soft.chunk_create(dev, &chunks[i]), 0);
}

static void unmake(struct dev_chunk **chunks, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        dev_soft.chunk_destroy(dev, chunks[i]);
}

/* Volatile, because two addresses are one word here, which compilers assume to be impossible. */
static volatile uint32_t *word(uint64_t addr) {
    return (volatile uint32_t *)(uintptr_t)addr;
}

/* Returns whether this process can read the address, by a system call that fails instead of raising
 * a signal. */
static bool readable(uint64_t addr) {
    static int sink = -1;
    if (sink < 0) sink = memfd_create("sink", MFD_CLOEXEC);
    return pwrite(sink, (void *)(uintptr_t)addr, 4, 0) == 4;
}

/* Tests the address on the device: a memset of one word there. */
static int touch(struct dev_space *s, uint64_t addr) {
    struct dev_queue *q;
    struct dev_op op = {0};
    struct dev_memset set = {
        .dst = addr, .pitch = 4, .width_elems = 1, .height = 1, .value = 7, .elem_bytes = 4};
    cr_assert_eq(dev_soft.queue_create(s, 0, &q), 0);
    cr_assert_eq(dev_soft.memset(q, &set, &op), 0);
    while (!dev_soft.poll(dev))
        continue;
    dev_soft.queue_destroy(q);
    return op.result;
}

/* The number of readable mappings of this process that begin within [lo, hi). */
static int mappings(uint64_t lo, uint64_t hi) {
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned long from, to;
    char mode[8];
    char line[512];
    int n = 0;
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 && from < hi && to > lo)
            n += mode[0] == 'r';
    fclose(f);
    return n;
}

Test(chunk, two_spaces_see_the_same_bytes_at_their_own_addresses) {
    struct dev_chunk *c[2];
    make(c, 2);
    cr_assert_eq(dev_soft.chunk_map(space, BASE, c, 2), 0);
    struct dev_chunk *turned[] = {c[1], c[0]};
    cr_assert_eq(dev_soft.chunk_map(other, OTHER + 6 * GRAN, turned, 2), 0);
    *word(BASE) = 11;
    *word(BASE + GRAN + 4096) = 22;
    cr_expect_eq(*word(OTHER + 7 * GRAN), 11);
    cr_expect_eq(*word(OTHER + 6 * GRAN + 4096), 22);
    *word(OTHER + 6 * GRAN) = 33;
    cr_expect_eq(*word(BASE + GRAN), 33);
    cr_expect_eq(touch(other, OTHER + 7 * GRAN + 8), 0);
    cr_expect_eq(*word(BASE + 8), 7);
    cr_assert_eq(dev_soft.chunk_unmap(space, BASE, 2), 0);
    cr_expect_eq(*word(OTHER + 7 * GRAN), 11, "the other's mapping stays");
    cr_expect_eq(touch(space, BASE), ERR_ILLEGAL_ADDRESS);
    cr_expect(!readable(BASE));
    cr_assert_eq(dev_soft.chunk_unmap(other, OTHER + 6 * GRAN, 2), 0);
    unmake(c, 2);
}

Test(chunk, mapping_is_all_or_nothing) {
    struct dev_chunk *c[4];
    make(c, 4);
    cr_expect_eq(dev_soft.chunk_map(space, BASE + 4096, c, 1), -EINVAL);
    cr_expect_eq(dev_soft.chunk_map(space, BASE - GRAN, c, 1), -EINVAL);
    cr_expect_eq(dev_soft.chunk_map(space, BASE + ALLOC, c, 1), -EINVAL, "the module window");
    cr_expect_eq(dev_soft.chunk_map(space, BASE + ALLOC - GRAN, c, 2), -EINVAL);
    cr_expect_eq(dev_soft.chunk_map(space, BASE, c, 0), -EINVAL);
    cr_assert_eq(dev_soft.chunk_map(space, BASE + 2 * GRAN, c, 1), 0);
    cr_expect_eq(dev_soft.chunk_map(space, BASE, c + 1, 3), -EEXIST);
    cr_expect(!readable(BASE) && !readable(BASE + GRAN));
    cr_expect_eq(touch(space, BASE + GRAN), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(dev_soft.chunk_unmap(space, BASE + GRAN, 2), -ENOENT);
    cr_expect_eq(dev_soft.chunk_unmap(space, BASE + 2 * GRAN, 2), -ENOENT);
    cr_expect_eq(dev_soft.chunk_unmap(space, BASE + 2 * GRAN + 4096, 1), -EINVAL);
    cr_expect_eq(touch(space, BASE + 2 * GRAN), 0, "still there");
    cr_assert_eq(dev_soft.chunk_unmap(space, BASE + 2 * GRAN, 1), 0);
    cr_expect_eq(dev_soft.chunk_unmap(space, BASE + 2 * GRAN, 1), -ENOENT);
    unmake(c, 4);
}

/* A job cannot read what an earlier job left in the memory. */
Test(chunk, a_new_chunk_is_zero) {
    struct dev_chunk *c[CHUNKS];
    for (int round = 0; round < 2; round++) {
        make(c, CHUNKS);
        cr_assert_eq(dev_soft.chunk_map(space, BASE, c, CHUNKS), 0);
        for (uint64_t at = 0; at < MEMORY; at += 4096) {
            cr_assert_eq(*word(BASE + at), 0, "round %d, offset %lu", round, at);
            *word(BASE + at) = 0xdead;
        }
        cr_assert_eq(dev_soft.chunk_unmap(space, BASE, CHUNKS), 0);
        unmake(c, CHUNKS);
    }
}

static const char module_text[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
                                  ".visible .global .align 4 .b8 big[3145728];\n";

Test(chunk, the_account_counts_chunks_and_modules) {
    struct dev_chunk *c[CHUNKS + 1];
    struct dev_module *m;
    char why[256];
    cr_assert_eq(
        devmodule_load(&dev_soft, space, 0, module_text, sizeof(module_text), &m, why, sizeof(why)),
        0, "%s", why);
    uint64_t module_bytes = dev_soft.mem_used(dev), room = (MEMORY - module_bytes) / GRAN;
    cr_assert_geq(module_bytes, 2 * GRAN);
    make(c, (uint32_t)room);
    cr_expect_eq(dev_soft.mem_used(dev), MEMORY);
    struct dev_chunk *none = c[0];
    cr_expect_eq(dev_soft.chunk_create(dev, &none), ERR_NO_MEMORY);
    cr_expect_null(none);
    dev_soft.chunk_destroy(dev, NULL);
    devmodule_unload(&dev_soft, m);
    cr_expect_eq(dev_soft.mem_used(dev), MEMORY - module_bytes);
    make(c + room, (uint32_t)(module_bytes / GRAN)); /* all memory is now in chunks */
    cr_expect_eq(dev_soft.chunk_create(dev, &none), ERR_NO_MEMORY);
    cr_expect_eq(
        devmodule_load(&dev_soft, space, 0, module_text, sizeof(module_text), &m, why, sizeof(why)),
        ERR_NO_MEMORY);
    unmake(c, CHUNKS);
}

Test(chunk, chunks_in_use_are_never_given_out_again) {
    struct dev_chunk *c[CHUNKS];
    unsigned state = 5;
    make(c, CHUNKS);
    for (int round = 0; round < 200; round++) {
        uint32_t i = (state = state * 1103515245u + 12345u) >> 16;
        dev_soft.chunk_destroy(dev, c[i % CHUNKS]);
        dev_soft.chunk_destroy(dev, c[(i + 3) % CHUNKS]);
        make(&c[i % CHUNKS], 1);
        make(&c[(i + 3) % CHUNKS], 1);
        for (uint32_t a = 0; a < CHUNKS; a++)
            for (uint32_t b = 0; b < a; b++)
                cr_assert_neq(c[a], c[b], "round %d", round);
    }
    unmake(c, CHUNKS);
}

Test(chunk, chunks_made_in_a_row_are_one_mapping) {
    struct dev_chunk *c[CHUNKS];
    make(c, 4);
    dev_soft.chunk_destroy(dev, c[1]); /* a hole that the next allocations skip */
    make(c + 4, 6);
    cr_assert_eq(dev_soft.chunk_map(space, BASE, c + 4, 6), 0);
    cr_expect_eq(mappings(BASE, BASE + ALLOC), 1);
    struct dev_chunk *scattered[] = {c[0], c[2], c[9], c[8]};
    cr_assert_eq(dev_soft.chunk_map(other, OTHER, scattered, 4), 0);
    for (uint32_t i = 0; i < 6; i++)
        *word(BASE + i * GRAN) = i + 100;
    cr_expect_eq(*word(OTHER + 2 * GRAN), 105);
    cr_expect_eq(*word(OTHER + 3 * GRAN), 104);
    cr_assert_eq(dev_soft.chunk_unmap(space, BASE + 2 * GRAN, 1), 0);
    cr_expect_eq(mappings(BASE, BASE + ALLOC), 2);
    cr_expect_eq(*word(BASE + 3 * GRAN), 103);
    cr_assert_eq(dev_soft.chunk_map(space, BASE + 2 * GRAN, c + 6, 1), 0);
    cr_expect_eq(*word(BASE + 2 * GRAN), 102, "unmapping loses nothing");
    cr_assert_eq(dev_soft.chunk_unmap(space, BASE, 6), 0);
    cr_assert_eq(dev_soft.chunk_unmap(other, OTHER, 4), 0);
    dev_soft.chunk_destroy(dev, c[0]);
    unmake(c + 2, 8);
}

static uint64_t noise(uint64_t at) {
    at = (at + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    return at ^ at >> 31;
}

Test(chunk, copy_save_and_load_move_every_byte) {
    struct dev_chunk *c[3];
    uint64_t *saved = malloc(GRAN);
    volatile uint64_t *first = (volatile uint64_t *)BASE;
    make(c, 3);
    cr_assert_eq(dev_soft.chunk_map(space, BASE, c, 3), 0);
    for (uint64_t i = 0; i < GRAN / 8; i++)
        first[i] = noise(i);
    cr_assert_eq(dev_soft.chunk_save(dev, saved, c[0]), 0);
    cr_assert_eq(dev_soft.chunk_copy(dev, c[1], c[0]), 0);
    for (uint64_t i = 0; i < GRAN / 8; i++)
        first[i] = ~noise(i);
    cr_assert_eq(dev_soft.chunk_load(dev, c[2], saved), 0);
    for (uint64_t i = 0; i < GRAN / 8; i++) {
        cr_assert_eq(saved[i], noise(i));
        cr_assert_eq(first[GRAN / 8 + i], noise(i));
        cr_assert_eq(first[GRAN / 4 + i], noise(i));
        cr_assert_eq(first[i], ~noise(i));
    }
    cr_assert_eq(dev_soft.chunk_unmap(space, BASE, 3), 0);
    unmake(c, 3);
    free(saved);
}

/* When Linux's limit on mappings (vm.max_map_count) is reached, that counts as out of
 * memory, and nothing is left behind. */
Test(chunk, too_many_mappings_leave_nothing_behind, .timeout = 60) {
    long most = 65530;
    FILE *f = fopen("/proc/sys/vm/max_map_count", "r");
    if (f && fscanf(f, "%ld", &most) != 1) most = 65530;
    if (f) fclose(f);
    if (most > 200000) cr_skip_test("this machine allows %ld mappings", most);
    uint64_t wide = 0x230000000000ull;
    uint32_t count = (uint32_t)most + 10, fit = (uint32_t)most - 1000;
    struct dev_space *s = open_space(wide, count * GRAN);
    struct dev_chunk *c[4], **same = malloc(count * sizeof(*same));
    make(c, 4);
    for (uint32_t i = 0; i < count; i++)
        same[i] = c[i % 2 * 2]; /* never adjacent chunks */
    int before = mappings(wide, wide + count * GRAN);
    cr_assert_eq(dev_soft.chunk_map(s, wide, same, count), ERR_NO_MEMORY);
    cr_expect_eq(mappings(wide, wide + count * GRAN), before);
    cr_expect(!readable(wide));
    cr_expect_eq(touch(s, wide), ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(dev_soft.chunk_map(s, wide, same, fit), 0, "the same room as before");
    *word(wide) = 5;
    cr_expect_eq(*word(wide + (fit - 2) * GRAN), 5);
    cr_expect_eq(touch(s, wide + (fit - 1) * GRAN), 0);
    cr_assert_eq(dev_soft.chunk_unmap(s, wide, fit), 0);
    unmake(c, 4);
    free(same);
    dev_soft.space_destroy(s);
}

/* Accesses are checked against the range set, even where Linux cannot split a mapping any more. */
Test(chunk, unmapping_works_when_mappings_have_run_out, .timeout = 60) {
    struct dev_chunk *c[8];
    make(c, 8);
    cr_assert_eq(dev_soft.chunk_map(space, BASE, c, 8), 0);
    char *all = mmap(NULL, 1ull << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t used = 0;
    while (used + 4096 <= 1ull << 30 && !mprotect(all + used, 4096, PROT_READ))
        used += 8192;
    if (used >= 1ull << 30) cr_skip_test("this machine allows any number of mappings");
    cr_assert_eq(dev_soft.chunk_unmap(space, BASE + 3 * GRAN, 1), 0);
    int err = touch(space, BASE + 3 * GRAN), beside = touch(space, BASE + 2 * GRAN);
    munmap(all, 1ull << 30);
    cr_expect_eq(err, ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(beside, 0);
    cr_assert_eq(dev_soft.chunk_map(space, BASE + 3 * GRAN, c, 1), 0);
    *word(BASE) = 91;
    cr_expect_eq(*word(BASE + 3 * GRAN), 91, "the new one, not what lay there");
    cr_assert_eq(dev_soft.chunk_unmap(space, BASE, 8), 0);
    unmake(c, 8);
}
