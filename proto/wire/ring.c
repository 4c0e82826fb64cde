/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring and its doorbell. A launch costs one short copy and one release store, and for the
 * doorbell one fence and one load. Records longer than a slot take the slow path below it.
 */
#include "proto/wire/ring.h"

#include <errno.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"

#define LENGTH_BITS 16
#define LENGTH_MASK ((1u << LENGTH_BITS) - 1)
#define QUARTER (RING_SLOTS / 4)
#define AHEAD 4 /* slots; measured: 1 gains half as much, 8 no more */

_Static_assert((RING_SLOTS & (RING_SLOTS - 1)) == 0, "positions are reduced with a mask");
_Static_assert(RING_RECORD_MAX <= LENGTH_MASK, "a length fits its field");
_Static_assert(RING_RECORD_MAX / RING_SLOT_BODY + QUARTER <= RING_SLOTS,
               "the longest record fits what an idle consumer may leave unpublished");
_Static_assert(RING_SLOT_BODY % 8 == 0 && RING_RECORD_MAX % 8 == 0, "copy_out rounds up to 8");
_Static_assert(sizeof(struct ring_slot) == RING_SLOT_BYTES, "a slot is two cache lines");

/* Laps are counted from 1. Zeroed memory has lap 0, which never exists, so it reads as empty. */
static inline uint64_t lap_of(uint64_t position) {
    return position / RING_SLOTS + 1;
}

static inline uint64_t word_of(uint64_t position, uint32_t length) {
    return lap_of(position) << LENGTH_BITS | length;
}

static inline struct ring_slot *slot_at(struct ring_memory *mem, uint64_t position) {
    return &mem->slots[position & (RING_SLOTS - 1)];
}

static inline uint32_t slots_for(uint32_t bytes) {
    return (bytes + RING_SLOT_BODY - 1) / RING_SLOT_BODY;
}

void ring_tx_init(struct ring_tx *tx, struct ring_memory *mem, const _Atomic uint64_t *credit) {
    *tx = (struct ring_tx){.mem = mem, .credit = credit, .limit = RING_SLOTS};
}

void ring_rx_init(struct ring_rx *rx, struct ring_memory *mem, _Atomic uint64_t *credit) {
    *rx = (struct ring_rx){.mem = mem, .credit = credit};
}

void ring_rx_resume(struct ring_rx *rx, uint64_t next) {
    rx->next = next;
    rx->published = atom_load_relaxed(rx->credit);
}

/* Copies at most a slot's body, without a call. The last piece overlaps the one before it. */
static inline void copy_in(unsigned char *to, const unsigned char *from, uint32_t bytes) {
    if (bytes >= 16) {
        for (uint32_t at = 0; at + 16 < bytes; at += 16)
            memcpy(to + at, from + at, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes >= 8) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes >= 4) {
        memcpy(to, from, 4);
        memcpy(to + bytes - 4, from + bytes - 4, 4);
    } else {
        for (uint32_t at = 0; at < bytes; at++)
            to[at] = from[at];
    }
}

/* Copies from shared memory, rounded up to 8 bytes. No byte is read twice, so pieces do not
 * overlap. */
static inline void copy_out(unsigned char *to, const unsigned char *from, uint32_t bytes) {
    uint32_t at = 0;
    for (; at + 8 < bytes; at += 16)
        memcpy(to + at, from + at, 16);
    if (at < bytes) memcpy(to + at, from + at, 8);
}

/* Reads the credit again. The value from the consumer is only compared: a credit that no honest
 * consumer could have given counts as a full ring. */
static __attribute__((noinline)) bool refresh_limit(struct ring_tx *tx, uint32_t slots) {
    uint64_t used = tx->next - atom_load_acquire(tx->credit);
    if (used > RING_SLOTS || RING_SLOTS - used < slots) return false;
    tx->limit = tx->next + (RING_SLOTS - used);
    return true;
}

static inline bool has_room(struct ring_tx *tx, uint32_t slots) {
    return tx->limit - tx->next >= slots || refresh_limit(tx, slots);
}

/* Advances after a record. The consumer last read the lines of a slot some way ahead. Requesting
 * them now keeps their transfer out of a later push, whose fence would wait for it. */
static inline void advance(struct ring_tx *tx, uint32_t slots) {
    tx->next += slots;
    const struct ring_slot *ahead = slot_at(tx->mem, tx->next + AHEAD - 1);
    atom_prefetch_write(ahead);
    atom_prefetch_write(&ahead->body[RING_SLOT_BODY - 1]);
}

/* The words of the slots after the first need no order of their own: a reader reads them only after
 * the first one's, which is released last. */
static __attribute__((noinline)) int push_long(struct ring_tx *tx, const unsigned char *head,
                                               uint32_t head_bytes, const unsigned char *tail,
                                               uint32_t tail_bytes) {
    static const unsigned char nothing;
    if (!head) head = &nothing; /* a null pointer may not even be advanced by 0 */
    if (!tail) tail = &nothing;
    uint32_t bytes = head_bytes + tail_bytes, slots = slots_for(bytes);
    if (!has_room(tx, slots)) return -EAGAIN;
    for (uint32_t i = 0; i < slots; i++) {
        struct ring_slot *slot = slot_at(tx->mem, tx->next + i);
        uint32_t first = head_bytes < RING_SLOT_BODY ? head_bytes : RING_SLOT_BODY;
        uint32_t room = RING_SLOT_BODY - first;
        uint32_t second = tail_bytes < room ? tail_bytes : room;
        copy_in(slot->body, head, first);
        copy_in(slot->body + first, tail, second);
        head += first, head_bytes -= first;
        tail += second, tail_bytes -= second;
        if (i > 0) atom_store_relaxed(&slot->word, word_of(tx->next + i, 0));
    }
    atom_store_release(&slot_at(tx->mem, tx->next)->word, word_of(tx->next, bytes));
    advance(tx, slots);
    return 0;
}

unsigned char *ring_reserve(struct ring_tx *tx) {
    return has_room(tx, 1) ? slot_at(tx->mem, tx->next)->body : NULL;
}

void ring_commit(struct ring_tx *tx, uint32_t bytes) {
    atom_store_release(&slot_at(tx->mem, tx->next)->word, word_of(tx->next, bytes));
    advance(tx, 1);
}

int ring_push(struct ring_tx *tx, const void *head, uint32_t head_bytes, const void *tail,
              uint32_t tail_bytes) {
    uint64_t bytes = (uint64_t)head_bytes + tail_bytes;
    if (bytes == 0) return -EINVAL;
    if (bytes > RING_RECORD_MAX) return -EMSGSIZE;
    if (bytes > RING_SLOT_BODY) return push_long(tx, head, head_bytes, tail, tail_bytes);
    unsigned char *body = ring_reserve(tx);
    if (!body) return -EAGAIN;
    copy_in(body, head, head_bytes);
    copy_in(body + head_bytes, tail, tail_bytes);
    ring_commit(tx, (uint32_t)bytes);
    return 0;
}

void ring_publish(struct ring_rx *rx) {
    if (rx->published == rx->next) return;
    rx->published = rx->next;
    atom_store_release(rx->credit, rx->next);
}

bool ring_ready(const struct ring_rx *rx) {
    uint64_t word = atom_load_acquire(&slot_at(rx->mem, rx->next)->word);
    /* An invalid word counts as ready: pop reports it. */
    return word >> LENGTH_BITS != lap_of(rx->next) - 1;
}

/* Reads the slots of a long record after its first. Returns 0 or ERR_PROTOCOL. */
static int read_slots(struct ring_rx *rx, unsigned char *buf, uint32_t bytes) {
    uint64_t position = rx->next + 1;
    for (uint32_t at = RING_SLOT_BODY; at < bytes; at += RING_SLOT_BODY, position++) {
        struct ring_slot *slot = slot_at(rx->mem, position);
        if (atom_load_relaxed(&slot->word) != word_of(position, 0)) return ERR_PROTOCOL;
        uint32_t left = bytes - at;
        copy_out(buf + at, slot->body, left < RING_SLOT_BODY ? left : RING_SLOT_BODY);
    }
    return 0;
}

int ring_pop(struct ring_rx *rx, void *buf, uint32_t cap) {
    if (rx->next - rx->published >= QUARTER) {
        rx->published = rx->next;
        atom_store_release(rx->credit, rx->next);
    }
    struct ring_slot *first = slot_at(rx->mem, rx->next);
    uint64_t word = atom_load_acquire(&first->word);
    uint64_t lap = word >> LENGTH_BITS, wanted = lap_of(rx->next);
    uint32_t bytes = (uint32_t)(word & LENGTH_MASK);
    if (lap == wanted - 1) return lap == 0 && bytes ? ERR_PROTOCOL : 0;
    if (lap != wanted || bytes == 0 || bytes > RING_RECORD_MAX) return ERR_PROTOCOL;
    if (bytes > cap) return -EMSGSIZE;
    if (bytes <= RING_SLOT_BODY) {
        copy_out(buf, first->body, bytes);
        rx->next++;
    } else {
        copy_out(buf, first->body, RING_SLOT_BODY);
        int err = read_slots(rx, buf, bytes);
        if (err) return err;
        rx->next += slots_for(bytes);
    }
    /* The caller validates the copy; the compiler must not read a field from shared memory again.
     */
    atom_compiler_fence();
    return (int)bytes;
}

bool doorbell_ring(_Atomic uint32_t *sleeping, const struct doorbell_ops *ops, void *arg) {
    atom_fence(); /* the record is visible before this checks whether its reader sleeps */
    if (!atom_load_relaxed(sleeping)) return false;
    if (!atom_exchange(sleeping, 0)) return false; /* another producer wakes it */
    ops->wake(arg);
    return true;
}

void doorbell_arm(_Atomic uint32_t *sleeping) {
    atom_store_relaxed(sleeping, 1);
    atom_fence(); /* the flag is visible before the caller checks its rings again */
}

void doorbell_disarm(_Atomic uint32_t *sleeping) {
    atom_store_relaxed(sleeping, 0);
}
