/* SPDX-License-Identifier: Apache-2.0
 *
 * Freed blocks of a stream-ordered pool: which streams may reuse them, and when.
 */
#include "shim/memory/bins.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define STREAMS 4

static uint64_t reached[STREAMS]; /* progress of each stream */

static bool done(uint32_t stream, uint64_t seq) {
    return reached[stream] >= seq;
}

static void put(struct bins *b, uint64_t addr, uint64_t capacity, uint32_t stream, uint64_t seq) {
    struct bins_block block = {addr, capacity, seq, stream};
    cr_assert_eq(bins_put(b, &block), 0);
}

static void begin(void) {
    for (int i = 0; i < STREAMS; i++)
        reached[i] = 0;
}

TestSuite(bins, .init = begin);

Test(bins, the_same_stream_has_it_at_once) {
    struct bins b = {0};
    uint64_t addr;
    put(&b, 0x1000, 512, 1, 7);
    cr_assert(bins_take(&b, 512, 1, done, &addr));
    cr_assert_eq(addr, 0x1000);
    cr_assert_not(bins_take(&b, 512, 1, done, &addr), "only once");
    cr_assert_eq(b.bytes, 0);
    bins_finish(&b);
}

Test(bins, another_stream_waits_until_it_is_complete) {
    struct bins b = {0};
    uint64_t addr;
    put(&b, 0x1000, 512, 1, 7);
    reached[1] = 6;
    cr_assert_not(bins_take(&b, 512, 2, done, &addr));
    reached[1] = 7;
    cr_assert(bins_take(&b, 512, 2, done, &addr));
    bins_finish(&b);
}

Test(bins, capacities_do_not_mix) {
    struct bins b = {0};
    uint64_t addr;
    put(&b, 0x1000, 512, 1, 0);
    cr_assert_not(bins_take(&b, 1024, 1, done, &addr));
    cr_assert_not(bins_take(&b, 256, 1, done, &addr));
    cr_assert_eq(b.bytes, 512);
    bins_finish(&b);
}

Test(bins, only_complete_blocks_give_their_memory_back) {
    struct bins b = {0};
    struct bins_block out;
    put(&b, 0x1000, 512, 1, 7);
    put(&b, 0x2000, 1024, 2, 3);
    cr_assert_not(bins_reclaim(&b, done, &out));
    reached[2] = 3;
    cr_assert(bins_reclaim(&b, done, &out));
    cr_assert_eq(out.addr, 0x2000);
    cr_assert_eq(out.capacity, 1024);
    cr_assert_not(bins_reclaim(&b, done, &out));
    cr_assert_eq(b.bytes, 512);
    bins_finish(&b);
}

/* The model stores, for each block, the stream that uses it, and until when. No block may be
 * given to a stream that could run ahead of its last use, and none twice. */
#define BLOCKS 64

struct model {
    bool kept;
    uint64_t capacity, seq;
    uint32_t stream;
};

static void check_taken(struct model *m, uint64_t addr, uint64_t capacity, uint32_t stream) {
    cr_assert(m[addr].kept, "handed out twice");
    cr_assert_eq(m[addr].capacity, capacity);
    cr_assert(m[addr].stream == stream || reached[m[addr].stream] >= m[addr].seq, "too early");
    m[addr].kept = false;
}

static bool model_has(const struct model *m, uint64_t capacity, uint32_t stream) {
    for (int i = 0; i < BLOCKS; i++) {
        if (m[i].kept && m[i].capacity == capacity &&
            (m[i].stream == stream || reached[m[i].stream] >= m[i].seq))
            return true;
    }
    return false;
}

Test(bins, random_walk_against_a_model) {
    srand(1);
    struct bins b = {0};
    struct model m[BLOCKS] = {{0}};
    uint64_t sent[STREAMS] = {0};
    for (int i = 0; i < 20000; i++) {
        uint32_t stream = (uint32_t)rand() % STREAMS;
        uint64_t addr = (uint64_t)rand() % BLOCKS, capacity = 512ull << rand() % 3;
        switch (rand() % 4) {
        case 0: sent[stream]++; break;
        case 1:
            if (reached[stream] < sent[stream]) reached[stream]++;
            break;
        case 2:
            if (m[addr].kept) break;
            m[addr] = (struct model){true, capacity, sent[stream], stream};
            put(&b, addr, capacity, stream, sent[stream]);
            break;
        case 3: {
            bool expected = model_has(m, capacity, stream);
            cr_assert_eq(bins_take(&b, capacity, stream, done, &addr), expected);
            if (expected) check_taken(m, addr, capacity, stream);
        }
        }
    }
    bins_finish(&b);
}
