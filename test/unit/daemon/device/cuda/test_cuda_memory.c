/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory on the real driver's device: chunks under CUDA's rules, spaces at addresses that the
 * driver chooses, host windows that are registered piece by piece, and peeks. Calls that a driver
 * would reject are misuses, which the fake driver reports at the end.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_shares.h"
#include "test/lib/cuda/cuda_rig.h"

#define MOST 32u /* chunks that the rig's device has */
#define PIECE (8ull << 20)

static struct cuda_rig rig;

static void load(void) {
    cuda_rig_load(&rig, false);
}

static void open_with(const struct fake_options *options) {
    rig.fake->start(options);
    cr_assert_eq(cuda_rig_open(&rig), 0);
}

static void open_plain(void) {
    open_with(&(struct fake_options){.greatest = -2});
}

static void close_all(void) {
    cuda_rig_close(&rig);
    cr_assert_str_eq(cuda_rig_complaint(&rig), "");
}

static bool is_all(const void *at, uint8_t value, uint64_t bytes) {
    const uint8_t *b = at;
    return b[0] == value && !memcmp(b, b + 1, bytes - 1);
}

TestSuite(cuda_memory, .init = load);

/* ---- chunks ---------------------------------------------------------------------------------- */

Test(cuda_memory, what_the_device_says_of_itself) {
    open_plain();
    cr_assert_eq(rig.info.granularity_bytes, RIG_GRANULE);
    cr_assert_eq(rig.info.memory_bytes, MOST * RIG_GRANULE);
    cr_assert_eq(rig.info.cc_major, 9);
    cr_assert_eq(rig.info.levels, 2);
    cr_assert(rig.info.runs_code && rig.info.host_hidden);
    cr_assert_eq(rig.ops->driver->lost(rig.dev), 0);
    struct description d;
    rig.ops->describe(rig.dev, &d);
    cr_assert_eq(d.memory_bytes, rig.info.memory_bytes);
    cr_assert_eq(d.driver_version, 13000);
    close_all();
}

Test(cuda_memory, without_priorities_there_is_one_level) {
    open_with(&(struct fake_options){.greatest = 0});
    cr_assert_eq(rig.info.levels, 1);
    close_all();
}

Test(cuda_memory, a_driver_without_green_contexts_has_no_shares) {
    struct rig_space s;
    struct dev_chunk *chunk[1];
    struct dev_queue *q;
    struct rig_op op;
    open_with(&(struct fake_options){.greatest = -2, .no_green = true});
    cr_assert(rig.info.whole);
    cr_assert_eq(rig.fake->left().greens, 0);
    cr_assert_eq(cuda_rig_space(&rig, &s, 0), 0);
    cr_assert_eq(cuda_rig_map(&rig, &s, 0, 1, chunk), 0);
    cr_assert_eq(rig.ops->queue_create(s.space, 0, &q), 0);
    rig.ops->shares->queue_share(q, 24);
    cuda_rig_fill(&rig, q, &op, s.windows.dev_base, 5, 1);
    cr_assert(cuda_rig_wait(&rig, 1));
    cr_assert_eq(op.dev.result, 0);
    rig.ops->queue_destroy(q);
    cuda_rig_unmap(&rig, &s, 0, 1, chunk);
    cuda_rig_space_end(&rig, &s);
    close_all();
}

Test(cuda_memory, a_gpu_that_is_full_is_not_opened) {
    rig.fake->start(&(struct fake_options){.free_bytes = 64 << 20});
    cr_assert_eq(cuda_rig_open(&rig), ERR_NO_MEMORY);
    cr_assert_str_eq(cuda_rig_complaint(&rig), "");
}

Test(cuda_memory, chunks_are_zero_also_those_that_were_somebody_s) {
    struct rig_space s;
    struct dev_chunk *chunks[2];
    open_plain();
    cr_assert_eq(cuda_rig_space(&rig, &s, 0), 0);
    for (int round = 0; round < 3; round++) {
        cr_assert_eq(cuda_rig_map(&rig, &s, 3, 2, chunks), 0);
        uint32_t *words = cuda_rig_words(s.windows.dev_base + 3 * RIG_GRANULE);
        cr_assert(is_all(words, 0, 2 * RIG_GRANULE));
        memset(words, 0x77, 2 * RIG_GRANULE);
        cuda_rig_unmap(&rig, &s, 3, 2, chunks);
    }
    cuda_rig_space_end(&rig, &s);
    close_all();
}

Test(cuda_memory, all_chunks_and_not_one_more) {
    struct dev_chunk *chunks[MOST], *more = (void *)&rig;
    open_plain();
    for (uint32_t i = 0; i < MOST; i++) {
        cr_assert_eq(rig.ops->mem_used(rig.dev), i * RIG_GRANULE);
        cr_assert_eq(rig.ops->chunk_create(rig.dev, &chunks[i]), 0);
    }
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &more), ERR_NO_MEMORY);
    cr_assert_null(more);
    rig.ops->chunk_destroy(rig.dev, chunks[7]);
    rig.ops->chunk_destroy(rig.dev, NULL);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &more), 0);
    cr_assert_eq(rig.fake->left().memories, MOST);
    close_all();
}

Test(cuda_memory, a_chunk_is_shown_to_two) {
    struct rig_space a, b;
    struct dev_chunk *chunks[2];
    open_plain();
    cr_assert_eq(cuda_rig_space(&rig, &a, 0), 0);
    cr_assert_eq(cuda_rig_space(&rig, &b, 1), 0);
    cr_assert_eq(cuda_rig_map(&rig, &a, 0, 2, chunks), 0);
    cr_assert_eq(rig.ops->chunk_map(b.space, b.windows.dev_base, &chunks[1], 1), 0);
    cuda_rig_words(a.windows.dev_base + RIG_GRANULE)[5] = 55;
    cr_assert_eq(cuda_rig_words(b.windows.dev_base)[5], 55);
    cr_assert_eq(rig.ops->chunk_unmap(b.space, b.windows.dev_base, 1), 0);
    cuda_rig_unmap(&rig, &a, 0, 2, chunks);
    cuda_rig_space_end(&rig, &b);
    cuda_rig_space_end(&rig, &a);
    close_all();
}

Test(cuda_memory, places_that_are_taken_or_are_not) {
    struct rig_space s;
    struct dev_chunk *chunks[2], *more;
    open_plain();
    cr_assert_eq(cuda_rig_space(&rig, &s, 0), 0);
    uint64_t base = s.windows.dev_base;
    cr_assert_eq(cuda_rig_map(&rig, &s, 1, 2, chunks), 0);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &more), 0);
    struct dev_chunk *pair[] = {more, more};
    cr_assert_eq(rig.ops->chunk_map(s.space, base, pair, 2), -EEXIST);
    cr_assert_eq(rig.ops->chunk_map(s.space, base, &more, 1), 0, "nothing of it was mapped");
    cr_assert_eq(rig.ops->chunk_map(s.space, base + 5, &more, 1), -EINVAL);
    cr_assert_eq(rig.ops->chunk_map(s.space, base + RIG_ALLOC, &more, 1), -EINVAL);
    cr_assert_eq(rig.ops->chunk_unmap(s.space, base + 2 * RIG_GRANULE, 2), -ENOENT);
    cuda_rig_words(base + 2 * RIG_GRANULE)[0] = 1; /* it still exists */
    cr_assert_eq(rig.ops->chunk_unmap(s.space, base, 3), 0);
    cr_assert_eq(rig.ops->chunk_unmap(s.space, base, 1), -ENOENT);
    cuda_rig_space_end(&rig, &s);
    close_all();
}

Test(cuda_memory, a_space_that_ends_takes_its_mappings_along) {
    struct rig_space s;
    struct dev_chunk *chunks[3];
    open_plain();
    cr_assert_eq(cuda_rig_space(&rig, &s, 0), 0);
    cr_assert_eq(cuda_rig_map(&rig, &s, 0, 1, chunks), 0);
    cr_assert_eq(cuda_rig_map(&rig, &s, 62, 2, chunks + 1), 0);
    cuda_rig_space_end(&rig, &s);
    cr_assert_eq(rig.fake->left().reservations, 1, "the device's own");
    close_all();
}

Test(cuda_memory, whole_chunks_are_copied_saved_loaded_cleared) {
    struct dev_chunk *a, *b;
    static uint8_t host[RIG_GRANULE];
    open_plain();
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &a), 0);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &b), 0);
    memset(host, 0x31, sizeof(host));
    cr_assert_eq(rig.ops->chunk_load(rig.dev, a, host), 0);
    cr_assert_eq(rig.ops->chunk_copy(rig.dev, b, a), 0);
    memset(host, 0, sizeof(host));
    cr_assert_eq(rig.ops->chunk_save(rig.dev, host, b), 0);
    cr_assert(is_all(host, 0x31, sizeof(host)));
    cr_assert_eq(rig.ops->chunk_clear(rig.dev, (struct dev_chunk *[]){b, a}, 2), 0);
    for (int i = 0; i < 2; i++) {
        memset(host, 0x11, sizeof(host));
        cr_assert_eq(rig.ops->chunk_save(rig.dev, host, i ? a : b), 0);
        cr_assert(is_all(host, 0, sizeof(host)));
    }
    close_all();
}

/* The fake's streams run only when a caller waits for them, so a call that does not wait is
 * detected. */
Test(cuda_memory, whole_chunks_are_done_when_the_call_is) {
    struct dev_chunk *a;
    static uint8_t host[RIG_GRANULE];
    open_with(&(struct fake_options){.stepping = true});
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &a), 0);
    memset(host, 0x31, sizeof(host));
    cr_assert_eq(rig.ops->chunk_load(rig.dev, a, host), 0);
    memset(host, 0, sizeof(host));
    cr_assert_eq(rig.ops->chunk_save(rig.dev, host, a), 0);
    cr_assert(is_all(host, 0x31, sizeof(host)));
    close_all();
}

/* Copies of whole chunks come after the pending clear of those chunks. */
Test(cuda_memory, whole_chunks_are_zero_for_who_copies_them) {
    struct rig_space s;
    struct dev_chunk *a, *b;
    static uint8_t host[RIG_GRANULE];
    open_with(&(struct fake_options){.stepping = true});
    cr_assert_eq(cuda_rig_space(&rig, &s, 0), 0);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &a), 0);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &b), 0);
    memset(host, 0x31, sizeof(host));
    cr_assert_eq(rig.ops->chunk_save(rig.dev, host, a), 0, "that nobody has seen");
    cr_assert(is_all(host, 0, sizeof(host)));
    cr_assert_eq(rig.ops->chunk_map(s.space, s.windows.dev_base, &b, 1), 0);
    memset(host, 0x31, sizeof(host));
    cr_assert_eq(rig.ops->chunk_load(rig.dev, b, host), 0, "that is being cleared");
    rig.fake->run();
    cr_assert(is_all(cuda_rig_words(s.windows.dev_base), 0x31, RIG_GRANULE));
    cr_assert_eq(rig.ops->chunk_unmap(s.space, s.windows.dev_base, 1), 0);
    rig.ops->chunk_destroy(rig.dev, b);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &b), 0);
    cr_assert_eq(rig.ops->chunk_copy(rig.dev, a, b), 0, "of which nothing is left");
    cr_assert_eq(rig.ops->chunk_save(rig.dev, host, a), 0);
    cr_assert(is_all(host, 0, sizeof(host)));
    cuda_rig_space_end(&rig, &s);
    close_all();
}

/* A chunk that two clients map reads as zeros for both, whichever client it was cleared for. */
Test(cuda_memory, a_chunk_is_zero_for_whom_it_is_shown_to_next) {
    struct rig_space a, b;
    struct dev_chunk *chunk;
    uint64_t value = 1;
    open_with(&(struct fake_options){.stepping = true});
    cr_assert_eq(cuda_rig_space(&rig, &a, 0), 0);
    cr_assert_eq(cuda_rig_space(&rig, &b, 1), 0);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &chunk), 0);
    cr_assert_eq(rig.ops->chunk_map(a.space, a.windows.dev_base, &chunk, 1), 0);
    cr_assert_eq(rig.ops->chunk_map(b.space, b.windows.dev_base, &chunk, 1), 0);
    cr_assert_eq(rig.ops->peek(b.space, b.windows.dev_base, 4, &value), 0);
    cr_assert_eq(value, 0);
    cuda_rig_space_end(&rig, &b);
    cuda_rig_space_end(&rig, &a);
    close_all();
}

/* ---- spaces ---------------------------------------------------------------------------------- */

Test(cuda_memory, the_driver_has_a_range_elsewhere) {
    struct rig_space s;
    struct dev_chunk *chunk[1];
    open_with(&(struct fake_options){.hint_ignored = true});
    cr_assert_eq(cuda_rig_space(&rig, &s, 0), 0);
    cr_assert_neq(s.windows.dev_base, RIG_DEV_BASE);
    cr_assert_eq(cuda_rig_map(&rig, &s, 0, 1, chunk), 0);
    cuda_rig_words(s.windows.dev_base)[0] = 1;
    cr_assert_eq(rig.ops->chunk_map(s.space, RIG_DEV_BASE, chunk, 1), -EINVAL);
    cuda_rig_unmap(&rig, &s, 0, 1, chunk);
    cuda_rig_space_end(&rig, &s);
    close_all();
}

Test(cuda_memory, a_range_where_it_was_wished) {
    struct rig_space s;
    open_plain();
    cr_assert_eq(cuda_rig_space(&rig, &s, 0), 0);
    cr_assert_eq(s.windows.dev_base, RIG_DEV_BASE);
    cuda_rig_space_end(&rig, &s);
    close_all();
}

Test(cuda_memory, host_memory_at_another_address_is_refused) {
    struct rig_space s;
    open_with(&(struct fake_options){.host_elsewhere = true});
    cr_assert_eq(cuda_rig_space(&rig, &s, 0), -EEXIST);
    cr_assert_eq(rig.fake->left().registrations, 1, "the device's own");
    close_all();
}

Test(cuda_memory, the_host_window_is_shown_piece_by_piece) {
    struct rig_space s;
    struct dev_queue *q;
    struct rig_op op;
    open_plain();
    cr_assert_eq(cuda_rig_space(&rig, &s, 0), 0);
    uint64_t base = s.windows.host_base;
    cr_assert_eq(rig.ops->queue_create(s.space, 0, &q), 0);
    cr_assert_eq(rig.fake->left().registrations, 2, "its beginning, and the device's own");
    cuda_rig_fill(&rig, q, &op, base + PIECE - 4, 1, 2);
    cr_assert(cuda_rig_wait(&rig, 1));
    cr_assert_eq(op.dev.result, ERR_ILLEGAL_ADDRESS, "the second piece is not shown");
    cr_assert_eq(rig.ops->driver->host_show(s.space, base + PIECE, RIG_HOST - PIECE), 0);
    cr_assert_eq(rig.ops->driver->host_show(s.space, base + PIECE - 1, 2), 0, "again");
    cr_assert_eq(rig.fake->left().registrations, 3, "the rest at once");
    cuda_rig_fill(&rig, q, &op, base + PIECE - 4, 6, 2);
    cr_assert(cuda_rig_wait(&rig, 2));
    cr_assert_eq(op.dev.result, 0);
    cr_assert_eq(s.host[PIECE / 4], 6);
    cuda_rig_fill(&rig, q, &op, base + 2 * PIECE - 4, 7, 2);
    cr_assert(cuda_rig_wait(&rig, 3));
    cr_assert_eq(op.dev.result, 0);
    cr_assert_eq(s.host[2 * PIECE / 4], 7, "of one registration");
    cr_assert_eq(rig.ops->driver->host_show(s.space, base + RIG_HOST - 1, 2), -EINVAL);
    cr_assert_eq(rig.ops->driver->host_show(s.space, base, 0), -EINVAL);
    rig.ops->queue_destroy(q);
    cuda_rig_space_end(&rig, &s);
    close_all();
}

/* ---- peeks ----------------------------------------------------------------------------------- */

Test(cuda_memory, a_peek_reads_what_is_there) {
    struct rig_space s;
    struct dev_chunk *chunk[1];
    uint64_t value;
    open_with(&(struct fake_options){.stepping = true});
    cr_assert_eq(cuda_rig_space(&rig, &s, 0), 0);
    cr_assert_eq(cuda_rig_map(&rig, &s, 1, 1, chunk), 0);
    uint64_t at = s.windows.dev_base + RIG_GRANULE;
    cuda_rig_words(at)[0] = 0x11223344;
    cuda_rig_words(at)[1] = 0x55667788;
    cr_assert_eq(rig.ops->peek(s.space, at, 8, &value), 0);
    cr_assert_eq(value, 0x5566778811223344);
    cr_assert_eq(rig.ops->peek(s.space, at + 4, 4, &value), 0);
    cr_assert_eq(value, 0x55667788);
    cr_assert_eq(rig.ops->peek(s.space, at - 4, 4, &value), ERR_ILLEGAL_ADDRESS);
    cr_assert_eq(rig.ops->peek(s.space, at + RIG_GRANULE - 4, 8, &value), ERR_ILLEGAL_ADDRESS);
    s.host[3] = 4711;
    cr_assert_eq(rig.ops->peek(s.space, s.windows.host_base + 12, 4, &value), 0);
    cr_assert_eq(value, 4711);
    cuda_rig_unmap(&rig, &s, 1, 1, chunk);
    cuda_rig_space_end(&rig, &s);
    close_all();
}
