/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring used by one thread: every length, the end of the memory, a full ring, credit, and a
 * faulty producer or consumer.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "proto/wire/ring.h"

static struct ring_memory mem;
static _Atomic uint64_t credit;
static struct ring_tx tx;
static struct ring_rx rx;
static unsigned char sent[RING_RECORD_MAX + 64], got[RING_RECORD_MAX];

static uint64_t state = 88172645463325252u;
static uint64_t rnd(void) { /* xorshift64 */
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void setup(void) {
    memset(&mem, 0, sizeof(mem));
    atom_store_relaxed(&credit, 0);
    ring_tx_init(&tx, &mem, &credit);
    ring_rx_init(&rx, &mem, &credit);
    for (size_t i = 0; i < sizeof(sent); i++)
        sent[i] = (unsigned char)rnd();
}

static uint32_t slots_of(uint32_t bytes) {
    return (bytes + RING_SLOT_BODY - 1) / RING_SLOT_BODY;
}

/* Sends a record in two pieces, split at `cut`, and receives it. */
static void round_trip(uint32_t bytes, uint32_t cut, uint32_t skew) {
    const unsigned char *from = sent + skew;
    cr_assert_not(ring_ready(&rx));
    cr_assert_eq(ring_push(&tx, from, cut, from + cut, bytes - cut), 0);
    cr_assert(ring_ready(&rx));
    memset(got, 0, bytes);
    cr_assert_eq(ring_pop(&rx, got, sizeof(got)), (int)bytes);
    cr_assert_eq(memcmp(got, from, bytes), 0, "bytes=%u cut=%u", bytes, cut);
    cr_assert_eq(ring_pop(&rx, got, sizeof(got)), 0);
}

TestSuite(ring, .init = setup);

Test(ring, every_length_over_many_laps) {
    for (uint32_t bytes = 1; bytes <= 2000; bytes++) {
        round_trip(bytes, bytes, bytes % 7);
        round_trip(bytes, bytes / 3, bytes % 16);
        round_trip(bytes, 0, 0);
    }
    cr_assert_gt(tx.next, 10 * RING_SLOTS);
    cr_assert_eq(tx.next, rx.next);
}

Test(ring, made_where_it_is_sent_from) {
    for (uint32_t i = 0; i < 3 * RING_SLOTS; i++) {
        uint32_t bytes = 1 + i % RING_SLOT_BODY;
        unsigned char *body = ring_reserve(&tx);
        cr_assert_not_null(body);
        memset(body, 0xee, RING_SLOT_BODY);
        cr_assert_not(ring_ready(&rx), "nothing is there until it is published");
        body = ring_reserve(&tx);
        memcpy(body, sent + i % 7, bytes);
        ring_commit(&tx, bytes);
        cr_assert_eq(ring_pop(&rx, got, sizeof(got)), (int)bytes);
        cr_assert_arr_eq(got, sent + i % 7, bytes);
        round_trip(bytes, bytes / 2, 0);
    }
    while (ring_push(&tx, sent, 100, NULL, 0) == 0)
        continue;
    cr_assert_null(ring_reserve(&tx), "the ring is full");
}

Test(ring, every_cut_of_records_around_one_slot) {
    for (uint32_t bytes = 1; bytes <= 260; bytes++) {
        for (uint32_t cut = 0; cut <= bytes; cut++)
            round_trip(bytes, cut, cut % 9);
    }
}

Test(ring, longest_record_at_every_kind_of_position) {
    for (int i = 0; i < 50; i++) {
        round_trip(RING_RECORD_MAX, (uint32_t)(rnd() % RING_RECORD_MAX), 0);
        round_trip(RING_RECORD_MAX - 1, 64, 1);
        round_trip((uint32_t)(rnd() % 500) + 1, 0, 2);
    }
}

Test(ring, refuses_empty_and_too_long) {
    cr_assert_eq(ring_push(&tx, sent, 0, sent, 0), -EINVAL);
    cr_assert_eq(ring_push(&tx, sent, RING_RECORD_MAX, sent, 1), -EMSGSIZE);
    cr_assert_eq(ring_push(&tx, sent, UINT32_MAX, sent, UINT32_MAX), -EMSGSIZE);
    cr_assert_eq(ring_push(&tx, NULL, 0, sent, 8), 0, "no head is fine");
    cr_assert_eq(ring_push(&tx, sent, 8, NULL, 0), 0, "no tail is fine");
    cr_assert_eq(tx.next, 2);
}

Test(ring, full_ring_refuses_and_writes_nothing) {
    for (uint32_t i = 0; i < RING_SLOTS; i++) {
        cr_assert_eq(ring_push(&tx, &i, sizeof(i), NULL, 0), 0);
    }
    static struct ring_memory before;
    memcpy(&before, &mem, sizeof(mem));
    cr_assert_eq(ring_push(&tx, sent, 1, NULL, 0), -EAGAIN);
    cr_assert_eq(ring_push(&tx, sent, 1000, NULL, 0), -EAGAIN);
    cr_assert_eq(memcmp(&before, &mem, sizeof(mem)), 0);
    for (uint32_t i = 0; i < RING_SLOTS; i++) {
        uint32_t value;
        cr_assert_eq(ring_pop(&rx, got, sizeof(got)), 4);
        memcpy(&value, got, 4);
        cr_assert_eq(value, i);
    }
    cr_assert_eq(ring_pop(&rx, got, sizeof(got)), 0);
}

Test(ring, credit_comes_once_a_quarter) {
    for (uint32_t i = 0; i < RING_SLOTS; i++)
        ring_push(&tx, sent, 8, NULL, 0);
    for (uint32_t i = 1; i <= RING_SLOTS; i++) {
        ring_pop(&rx, got, sizeof(got));
        uint32_t quarter = RING_SLOTS / 4;
        /* The published credit covers the records before this one. */
        cr_assert_eq(atom_load_relaxed(&credit), (i - 1) / quarter * quarter);
        if (i == quarter) cr_assert_eq(ring_push(&tx, sent, 8, NULL, 0), -EAGAIN);
    }
    cr_assert_eq(ring_pop(&rx, got, sizeof(got)), 0);
    cr_assert_eq(atom_load_relaxed(&credit), RING_SLOTS);
    cr_assert_eq(ring_push(&tx, sent, RING_RECORD_MAX, NULL, 0), 0);
}

Test(ring, an_idle_consumer_never_withholds_the_longest_record) {
    for (uint32_t lead = 0; lead < 2 * RING_SLOTS; lead += 37) {
        setup();
        for (uint32_t i = 0; i < lead; i++)
            round_trip(8, 8, 0);
        round_trip(RING_RECORD_MAX, 0, 0);
    }
}

Test(ring, long_record_needs_all_its_slots) {
    for (uint32_t i = 0; i < RING_SLOTS - 3; i++)
        ring_push(&tx, sent, 8, NULL, 0);
    cr_assert_eq(ring_push(&tx, sent, 3 * RING_SLOT_BODY + 1, NULL, 0), -EAGAIN);
    cr_assert_eq(ring_push(&tx, sent, 3 * RING_SLOT_BODY, NULL, 0), 0);
    cr_assert_eq(ring_push(&tx, sent, 1, NULL, 0), -EAGAIN);
}

Test(ring, random_traffic_is_a_queue) {
    static uint32_t queue[4096];
    uint32_t head = 0, tail = 0, latest = 0;
    for (int step = 0; step < 200000; step++) {
        if (rnd() & 1) {
            uint32_t bytes = (uint32_t)(rnd() % 64 ? rnd() % 300 + 1 : rnd() % RING_RECORD_MAX + 1);
            uint32_t cut = (uint32_t)(rnd() % (bytes + 1));
            uint64_t used = tx.next - rx.next;
            int err = ring_push(&tx, sent, cut, sent + cut, bytes - cut);
            if (err == 0) queue[tail++ % 4096] = bytes;
            cr_assert(err == 0 || err == -EAGAIN);
            /* At most a quarter of the ring and the latest record may be without credit. */
            if (err) cr_assert_gt(used + slots_of(bytes) + latest + RING_SLOTS / 4, RING_SLOTS);
            if (!err) cr_assert_leq(used + slots_of(bytes), RING_SLOTS);
        } else {
            int n = ring_pop(&rx, got, sizeof(got));
            if (head == tail) {
                cr_assert_eq(n, 0);
                continue;
            }
            cr_assert_eq(n, (int)queue[head++ % 4096]);
            latest = slots_of((uint32_t)n);
            cr_assert_eq(memcmp(got, sent, (size_t)n), 0);
        }
    }
}

Test(ring, small_buffer_leaves_a_longer_record) {
    ring_push(&tx, sent, 500, NULL, 0);
    cr_assert_eq(ring_pop(&rx, got, 496), -EMSGSIZE);
    cr_assert(ring_ready(&rx));
    cr_assert_eq(ring_pop(&rx, got, 504), 500);
}

Test(ring, writes_at_most_seven_bytes_behind_a_record) {
    for (uint32_t bytes = 1; bytes <= 1000; bytes++) {
        ring_push(&tx, sent, bytes, NULL, 0);
        uint32_t end = (bytes + 7) & ~7u;
        memset(got + end, 0xa5, 64);
        ring_pop(&rx, got, sizeof(got));
        for (uint32_t i = 0; i < 64; i++)
            cr_assert_eq(got[end + i], 0xa5);
    }
}

/* ---- a faulty producer ----------------------------------------------------------------------- */

static void word(uint32_t slot, uint64_t lap, uint64_t bytes) {
    atom_store_relaxed(&mem.slots[slot].word, lap << 16 | bytes);
}

Test(ring, lengths_no_producer_writes) {
    uint64_t bad[] = {0, RING_RECORD_MAX + 1, 0xffff};
    for (int i = 0; i < 3; i++) {
        setup();
        word(0, 1, bad[i]);
        cr_assert(ring_ready(&rx));
        cr_assert_eq(ring_pop(&rx, got, sizeof(got)), ERR_PROTOCOL);
        cr_assert_eq(rx.next, 0);
    }
    setup();
    word(0, 0, 7);
    cr_assert_eq(ring_pop(&rx, got, sizeof(got)), ERR_PROTOCOL, "lap 0 was never written");
}

Test(ring, laps_no_producer_writes) {
    for (int i = 0; i < 3 * (int)RING_SLOTS + 5; i++)
        round_trip(8, 8, 0);
    uint32_t at = rx.next % RING_SLOTS;
    uint64_t lap = rx.next / RING_SLOTS + 1;
    uint64_t bad[] = {0, lap - 2, lap + 1, lap + 2, UINT64_MAX >> 16};
    for (int i = 0; i < 5; i++) {
        word(at, bad[i], 8);
        cr_assert_eq(ring_pop(&rx, got, sizeof(got)), ERR_PROTOCOL);
    }
    word(at, lap - 1, 8);
    cr_assert_eq(ring_pop(&rx, got, sizeof(got)), 0, "the lap before is an empty slot");
    word(at, lap, 8);
    cr_assert_eq(ring_pop(&rx, got, sizeof(got)), 8);
}

Test(ring, truncated_record_is_refused) {
    /* The first slot promises n slots; one of the others is missing. */
    for (uint32_t slots = 2; slots <= RING_SLOTS / 2; slots = slots * 3 / 2 + 1) {
        for (uint32_t gap = 1; gap < slots; gap = gap * 2) {
            setup();
            cr_assert_eq(ring_push(&tx, sent, slots * RING_SLOT_BODY, NULL, 0), 0);
            word(gap, 0, 0);
            cr_assert_eq(ring_pop(&rx, got, sizeof(got)), ERR_PROTOCOL);
            word(gap, 1, 1);
            cr_assert_eq(ring_pop(&rx, got, sizeof(got)), ERR_PROTOCOL, "a record within one");
            cr_assert_eq(rx.next, 0);
        }
    }
}

Test(ring, random_memory_never_crashes) {
    unsigned records = 0, refused = 0, empty = 0;
    for (int round = 0; round < 20000; round++) {
        uint64_t start = rnd() % (4 * RING_SLOTS);
        rx.next = rx.published = start;
        atom_store_relaxed(&credit, start);
        for (uint32_t i = 0; i < 16; i++) {
            uint64_t lap = (start + i) / RING_SLOTS + (rnd() % 8 ? 1 : rnd() % 3);
            uint64_t wild = rnd() % 4 ? lap << 16 | (rnd() % 2 ? rnd() % 400 : 0) : rnd();
            atom_store_relaxed(&mem.slots[(start + i) % RING_SLOTS].word, wild);
        }
        for (int i = 0; i < 16; i++) {
            uint64_t before = rx.next;
            int n = ring_pop(&rx, got, sizeof(got));
            if (n > 0) {
                cr_assert_leq(n, (int)RING_RECORD_MAX);
                cr_assert_eq(rx.next, before + slots_of((uint32_t)n));
                records++;
                continue;
            }
            cr_assert(n == 0 || n == ERR_PROTOCOL);
            cr_assert_eq(rx.next, before, "nothing is consumed");
            n ? refused++ : empty++;
            break;
        }
    }
    cr_assert(records > 500 && refused > 500 && empty > 500, "%u %u %u", records, refused, empty);
}

/* ---- a faulty consumer ----------------------------------------------------------------------- */

Test(ring, impossible_credit_is_a_full_ring) {
    for (uint32_t i = 0; i < RING_SLOTS; i++)
        ring_push(&tx, sent, 8, NULL, 0);
    uint64_t lies[] = {RING_SLOTS + 1, UINT64_MAX, UINT64_MAX / 2};
    for (int i = 0; i < 3; i++) {
        atom_store_relaxed(&credit, lies[i]);
        cr_assert_eq(ring_push(&tx, sent, 8, NULL, 0), -EAGAIN);
    }
    atom_store_relaxed(&credit, 1);
    cr_assert_eq(ring_push(&tx, sent, 8, NULL, 0), 0);
    cr_assert_eq(ring_push(&tx, sent, 8, NULL, 0), -EAGAIN);
}

/* ---- doorbell -------------------------------------------------------------------------------- */

static void count_wake(void *arg) {
    ++*(int *)arg;
}

Test(ring, doorbell_wakes_a_sleeper_once) {
    static const struct doorbell_ops ops = {.wake = count_wake};
    _Atomic uint32_t sleeping = 0;
    int wakes = 0;
    cr_assert_not(doorbell_ring(&sleeping, &ops, &wakes));
    cr_assert_eq(wakes, 0, "an awake consumer costs no system call");
    doorbell_arm(&sleeping);
    cr_assert(doorbell_ring(&sleeping, &ops, &wakes));
    cr_assert_not(doorbell_ring(&sleeping, &ops, &wakes));
    cr_assert_eq(wakes, 1);
    doorbell_arm(&sleeping);
    doorbell_disarm(&sleeping);
    cr_assert_not(doorbell_ring(&sleeping, &ops, &wakes));
    cr_assert_eq(wakes, 1);
}

Test(ring, an_idle_consumer_can_give_back_all_of_the_ring) {
    static unsigned char out[RING_RECORD_MAX + 8];
    for (int i = 0; i < 200; i++) { /* less than a quarter: credit is published only on request */
        cr_assert_eq(ring_push(&tx, "x", 1, NULL, 0), 0);
        cr_assert_eq(ring_pop(&rx, out, RING_RECORD_MAX), 1);
    }
    cr_assert_eq(atom_load_relaxed(&credit), 0);
    ring_publish(&rx);
    cr_assert_eq(atom_load_relaxed(&credit), 200);
    for (unsigned i = 0; i < RING_SLOTS; i++)
        cr_assert_eq(ring_push(&tx, "y", 1, NULL, 0), 0, "no room for record %u", i);
    cr_assert_eq(ring_push(&tx, "y", 1, NULL, 0), -EAGAIN);
}
