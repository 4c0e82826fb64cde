/* SPDX-License-Identifier: Apache-2.0
 *
 * When a savepoint counts, the copied host data that it stores, and the rejection of invalid ones.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/worker/recovery/savepoint.h"

#define GUARD 4096u

static struct savepoint_header *header;
static struct wire_completion *page;
static struct wire_savepoint shown;
static unsigned char *data; /* memory followed by an inaccessible page */
static struct savepoint point;
static uint64_t state = 1;

static uint32_t dice(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

static void setup(void) {
    header = calloc(1, sizeof(*header));
    page = aligned_alloc(64, sizeof(*page));
    memset(page, 0, sizeof(*page));
    data = mmap(NULL, SAVEPOINT_DATA_BYTES + GUARD, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(data, MAP_FAILED);
    cr_assert_eq(mprotect(data, SAVEPOINT_DATA_BYTES, PROT_READ | PROT_WRITE), 0);
    shown = (struct wire_savepoint){.reason = SAVEPOINT_CHANGED};
    savepoint_attach(&point, header, data, &shown);
}

static void teardown(void) {
    savepoint_finish(&point);
    munmap(data, SAVEPOINT_DATA_BYTES + GUARD);
    free(header);
    free(page);
}

TestSuite(savepoint, .init = setup, .fini = teardown);

/* Opens it as the next worker does. */
static bool open_again(void) {
    savepoint_finish(&point);
    savepoint_attach(&point, header, data, &shown);
    return savepoint_open(&point, page);
}

static void take(void) {
    cr_assert(savepoint_commit(&point, page, savepoint_begin(&point), 9));
    cr_assert(shown.reason == SAVEPOINT_NONE && shown.taken_ns && shown.bytes == 9);
}

static void keep(uint32_t stream, uint64_t seq, const char *text, uint64_t bytes) {
    void *room = savepoint_room(&point, bytes);
    cr_assert_not_null(room);
    memcpy(room, text, bytes);
    savepoint_keep(&point, stream, seq, bytes);
}

/* ---- when it counts -------------------------------------------------------------------------- */

Test(savepoint, of_who_did_not_ask_there_is_none) {
    struct savepoint none = {0};
    savepoint_void(&none, SAVEPOINT_CHANGED);
    savepoint_never(&none, SAVEPOINT_HOST);
    cr_expect_not(savepoint_whole(&none));
    cr_expect_not(savepoint_possible(&none));
    savepoint_finish(&none);
}

Test(savepoint, it_counts_from_commit_on) {
    atomic_store(&page->stream_done[0], 5);
    atomic_store(WIRE_DONE(page, WIRE_STREAMS - 1), 7);
    atomic_store(&page->streams_end, WIRE_STREAMS);
    cr_expect_not(savepoint_whole(&point));
    cr_expect(savepoint_possible(&point));
    uint32_t voids = savepoint_begin(&point);
    cr_expect_not(savepoint_whole(&point));
    cr_expect(savepoint_commit(&point, page, voids, 9));
    cr_expect(savepoint_whole(&point));
    cr_expect(savepoint_past(&point, 0, 5) && !savepoint_past(&point, 0, 6));
    cr_expect(savepoint_past(&point, WIRE_STREAMS - 1, 7));
    cr_expect_not(savepoint_past(&point, 1, 1));
    savepoint_begin(&point);
    cr_expect_not(savepoint_whole(&point), "its memory is being written over");
}

Test(savepoint, void_until_the_next_is_taken) {
    take();
    savepoint_void(&point, SAVEPOINT_CHANGED);
    cr_expect_not(savepoint_whole(&point));
    cr_expect_eq(atomic_load(&shown.reason), SAVEPOINT_CHANGED);
    cr_expect_eq(atomic_load(&shown.taken_ns), 0);
    savepoint_void(&point, SAVEPOINT_ONCE);
    cr_expect_eq(atomic_load(&shown.reason), SAVEPOINT_CHANGED, "that is why there is none");
    cr_expect(savepoint_possible(&point));
    take();
    cr_expect(savepoint_whole(&point));
}

Test(savepoint, void_between_begin_and_commit_is_none) {
    uint32_t voids = savepoint_begin(&point);
    savepoint_void(&point, SAVEPOINT_CHANGED);
    cr_expect_not(savepoint_commit(&point, page, voids, 9));
    cr_expect_not(savepoint_whole(&point));
    take();
    voids = savepoint_begin(&point); /* voids a savepoint that counted before */
    savepoint_void(&point, SAVEPOINT_ONCE);
    cr_expect_eq(atomic_load(&shown.reason), SAVEPOINT_ONCE);
    cr_expect_not(savepoint_commit(&point, page, voids, 9));
    cr_expect_not(savepoint_whole(&point));
}

Test(savepoint, never_is_for_good) {
    take();
    uint32_t voids = savepoint_begin(&point);
    savepoint_never(&point, SAVEPOINT_HOST);
    cr_expect_not(savepoint_commit(&point, page, voids, 9));
    cr_expect_not(savepoint_possible(&point));
    savepoint_never(&point, SAVEPOINT_LACK);
    cr_expect_eq(atomic_load(&shown.reason), SAVEPOINT_HOST, "the first reason stays");
    cr_expect_not(open_again());
    cr_expect_not(savepoint_possible(&point), "of the next worker, too");
}

/* ---- data of copies from the host ------------------------------------------------------------ */

Test(savepoint, what_copies_brought_is_found) {
    take();
    keep(1, 9, "nine", 5);
    keep(1, 10, "tenth copy", 11);
    keep(2, 9, "other", 6);
    atomic_store(&page->stream_done[1], 10);
    cr_assert(open_again());
    cr_expect_str_eq(savepoint_find(&point, 1, 9, 5), "nine");
    cr_expect_str_eq(savepoint_find(&point, 1, 10, 11), "tenth copy");
    cr_expect_str_eq(savepoint_find(&point, 2, 9, 6), "other");
    cr_expect_null(savepoint_find(&point, 1, 11, 5));
    cr_expect_null(savepoint_find(&point, 1, 9, 6), "another length is another copy");
    cr_expect_null(savepoint_find(&point, 3, 9, 5));
    cr_expect_null(savepoint_find(&point, 1, UINT64_MAX, 0));
}

/* One worker gave the copy to the device, and the next one gave it again, with the host memory's
 * contents at that time. */
Test(savepoint, the_later_one_of_two_counts) {
    take();
    for (uint32_t i = 0; i < 40; i++) {
        keep(3, 1 + i % 4, (const char *)&(uint64_t){i}, 8);
    }
    cr_assert(open_again());
    for (uint32_t i = 36; i < 40; i++) {
        const uint64_t *number = savepoint_find(&point, 3, 1 + i % 4, 8);
        cr_assert_not_null(number);
        cr_expect_eq(*number, i);
    }
}

Test(savepoint, what_was_kept_goes_with_the_next) {
    take();
    keep(0, 1, "old", 4);
    take();
    cr_assert(open_again());
    cr_expect_null(savepoint_find(&point, 0, 1, 4));
}

Test(savepoint, without_room_it_is_void) {
    take();
    uint64_t most = SAVEPOINT_DATA_BYTES - sizeof(struct savepoint_data);
    cr_expect_not_null(savepoint_room(&point, most));
    cr_expect(savepoint_whole(&point));
    cr_expect_null(savepoint_room(&point, most + 1));
    cr_expect_not(savepoint_whole(&point));
    cr_expect_eq(atomic_load(&shown.reason), SAVEPOINT_ROOM);
    take();
    cr_expect_null(savepoint_room(&point, UINT64_MAX));
    take();
    atomic_store(&header->data_end, SAVEPOINT_DATA_BYTES - 8);
    cr_expect_null(savepoint_room(&point, 0), "not even for what says whose it is");
    take();
    savepoint_room(&point, most);
    savepoint_keep(&point, 0, 1, most);
    cr_assert(open_again());
    cr_expect_eq(savepoint_find(&point, 0, 1, most), data + sizeof(struct savepoint_data));
    cr_expect_null(savepoint_room(&point, 0));
}

/* ---- invalid savepoints ---------------------------------------------------------------------- */

Test(savepoint, one_that_does_not_count_is_not_opened) {
    cr_expect_not(open_again());
    take();
    cr_expect(open_again());
    savepoint_void(&point, SAVEPOINT_CHANGED);
    cr_expect_not(open_again());
    savepoint_begin(&point);
    cr_expect_not(open_again());
}

Test(savepoint, wrong_headers_are_refused) {
    atomic_store(&page->stream_done[4], 2);
    atomic_store(&page->streams_end, 5);
    take();
    cr_expect(open_again());
    atomic_store(&page->stream_done[4], 1); /* a number that the stream never reached */
    cr_expect_not(open_again());
    atomic_store(&page->stream_done[4], 3);
    cr_expect(open_again());
    header->granule_count = SAVEPOINT_GRANULES;
    cr_expect(open_again());
    header->granule_count = SAVEPOINT_GRANULES + 1;
    cr_expect_not(open_again());
    header->granule_count = 0;
    atomic_store(&header->data_end, SAVEPOINT_DATA_BYTES + 8);
    cr_expect_not(open_again());
    atomic_store(&header->data_end, UINT64_MAX - 7);
    cr_expect_not(open_again());
    atomic_store(&header->data_end, 12);
    cr_expect_not(open_again());
}

Test(savepoint, wrong_data_is_refused) {
    struct savepoint_data *first = (void *)data, *second = (void *)(data + sizeof(*first) + 8);
    take();
    keep(1, 1, "first", 6);
    keep(1, 2, "second", 7);
    cr_expect(open_again());
    first->stream = WIRE_STREAMS;
    cr_expect_not(open_again());
    first->stream = 1;
    first->bytes = 17; /* the next entry begins inside this one */
    cr_expect_not(open_again());
    first->bytes = UINT64_MAX - 3; /* a length that wraps around to the entry's own start */
    cr_expect_not(open_again());
    first->bytes = 6;
    second->bytes = 9;
    cr_expect_not(open_again());
    second->bytes = 8;
    cr_expect(open_again());
}

/* Changes words, mostly to nearly valid values. */
static void spoil(uint64_t *words, uint32_t count) {
    uint64_t *word = &words[dice(count)];
    switch (dice(5)) {
    case 0: *word ^= 1ull << dice(64); break;
    case 1: *word = dice(64); break;
    case 2: *word = words[dice(count)]; break;
    case 3: *word = (uint64_t)dice(1u << 31) << 33 | dice(1u << 31); break;
    default: *word += dice(17) - 8u; break;
    }
}

/* All data that it finds lies within the stored data. */
static void find_all(uint64_t end) {
    for (uint32_t stream = 0; stream < 5; stream++)
        for (uint32_t i = 0; i < 40; i++) {
            uint64_t bytes = i % 8 * 5;
            const unsigned char *at = savepoint_find(&point, stream, i / 8, bytes);
            cr_assert(!at ||
                          (at >= data + sizeof(struct savepoint_data) && at + bytes <= data + end),
                      "%zd of %lu", at - data, end);
        }
}

Test(savepoint, any_other_words_are_refused_or_harmless, .timeout = 120) {
    enum { KEPT = 12 };
    const uint32_t head = offsetof(struct savepoint_header, granules) / 8;
    uint32_t taken = 0, refused = 0;
    take();
    for (uint32_t i = 0; i < KEPT; i++)
        keep(i % 4, i / 4, "what a copy brought, which is of any length", i % 8 * 5);
    uint64_t end = atomic_load(&header->data_end);
    struct savepoint_header *was = malloc(sizeof(*was));
    unsigned char *kept = malloc(end);
    memcpy(was, header, sizeof(*was));
    memcpy(kept, data, end);
    for (uint32_t i = 0; i < 20000; i++) {
        memcpy(header, was, sizeof(*was));
        memcpy(data, kept, end);
        for (uint32_t n = i ? 1 + dice(4) : 0; n; n--) {
            if (dice(3))
                spoil((uint64_t *)(void *)data, (uint32_t)(end / 8));
            else if (dice(2))
                spoil((uint64_t *)(void *)header, head);
            else
                atomic_store(&header->done[dice(8)], dice(2));
        }
        bool ok = open_again();
        cr_assert(i || ok, "as it was left");
        taken += ok;
        refused += !ok;
        if (ok) find_all(atomic_load(&header->data_end));
    }
    cr_log_info("taken %u, refused %u", taken, refused);
    cr_expect_gt(taken, 1000);
    cr_expect_gt(refused, 1000);
    free(was);
    free(kept);
}
