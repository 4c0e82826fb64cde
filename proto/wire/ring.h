/* SPDX-License-Identifier: Apache-2.0
 *
 * A single-producer single-consumer ring of 128-byte slots over memory from the caller (a sealed
 * memfd in production, malloc in tests), and the doorbell that wakes a sleeping consumer.
 *
 * Every slot begins with a word. It has the number of the lap in which it was written, counted from
 * 1, and in a record's first slot the record's length in bytes (0 in the slots that continue it). A
 * record takes consecutive slots, if necessary across the end of the memory: each slot's body is
 * copied separately, so nothing is padded. The first slot's word is stored last, with release, so a
 * reader sees all of a record or none. Cursors are private to each side: no value that the peer
 * writes is ever used as an index. The consumer publishes how far it has read ("credit") once every
 * quarter of the ring. It does so when it comes for the next record, and so has handled those
 * before it. A full ring is the backpressure.
 *
 * A consumer can find in the next slot: the previous lap's number (zeroed memory in the first lap),
 * which means empty; or its own lap's number with a length of 1..RING_RECORD_MAX. No honest
 * producer writes anything else.
 *
 * Owner of the memory: the caller. Threads: one producer, one consumer.
 */
#ifndef PROTO_WIRE_RING_H
#define PROTO_WIRE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_SLOTS 1024u
#define RING_SLOT_BYTES 128u
#define RING_SLOT_BODY 120u /* bytes of a record that one slot carries */
#define RING_RECORD_MAX (RING_SLOTS / 2 * RING_SLOT_BODY)

struct ring_slot {
    _Atomic uint64_t word; /* lap << 16 | bytes of the record */
    unsigned char body[RING_SLOT_BODY];
} __attribute__((aligned(128)));

struct ring_memory {
    struct ring_slot slots[RING_SLOTS];
};

/* Producer's private side. */
struct ring_tx {
    struct ring_memory *mem;
    const _Atomic uint64_t *credit; /* slots consumed so far, written by the consumer */
    uint64_t next, limit; /* slots ever written; may grow to `limit` without reading credit */
};

/* Consumer's private side. */
struct ring_rx {
    struct ring_memory *mem;
    _Atomic uint64_t *credit;
    uint64_t next, published; /* slots; `published` is the credit last given */
};

void ring_tx_init(struct ring_tx *tx, struct ring_memory *mem, const _Atomic uint64_t *credit);
void ring_rx_init(struct ring_rx *rx, struct ring_memory *mem, _Atomic uint64_t *credit);

/* Continues a ring that another consumer read up to `next`. Whatever credit that one published, at
 * most the ring's slots are left. */
void ring_rx_resume(struct ring_rx *rx, uint64_t next);

/* Publishes head||tail as one record. Returns 0; -EAGAIN when the ring is full (nothing is
 * written); -EMSGSIZE above RING_RECORD_MAX; -EINVAL for an empty record. Does not ring the
 * doorbell. */
int ring_push(struct ring_tx *tx, const void *head, uint32_t head_bytes, const void *tail,
              uint32_t tail_bytes);

/* The same in two steps, for a record that is built in place. ring_reserve returns space for up to
 * RING_SLOT_BODY bytes, or NULL when the ring is full; ring_commit publishes the record. Nothing
 * else may be pushed between. A record that is not committed does not exist. */
unsigned char *ring_reserve(struct ring_tx *tx);
void ring_commit(struct ring_tx *tx, uint32_t bytes);

/* Copies the next record into private memory. Returns its length (> 0), 0 when the ring is empty,
 * or ERR_PROTOCOL when no honest producer can have written the data (the client must then end).
 * `cap` >= RING_RECORD_MAX; up to 7 bytes after the record are overwritten. A smaller multiple of 8
 * serves a ring with shorter records: a longer one gives -EMSGSIZE and stays. Each shared byte is
 * read exactly once. */
int ring_pop(struct ring_rx *rx, void *buf, uint32_t cap);

/* Publishes all credit, for a consumer that has nothing to do, so that the next burst finds the
 * whole ring. While records come, publishing by quarters costs the producer fewer cache lines. */
void ring_publish(struct ring_rx *rx);

/* True when ring_pop would not return 0; never consumes. */
bool ring_ready(const struct ring_rx *rx);

/* Doorbell: `sleeping` lives in memory that both sides write. The producer calls doorbell_ring
 * after ring_push. The consumer calls doorbell_arm, checks all its rings again, and only then
 * sleeps. */
struct doorbell_ops {
    void (*wake)(void *arg);
};

/* Returns true when the consumer had to be woken (a system call was made). */
bool doorbell_ring(_Atomic uint32_t *sleeping, const struct doorbell_ops *ops, void *arg);
void doorbell_arm(_Atomic uint32_t *sleeping);
void doorbell_disarm(_Atomic uint32_t *sleeping);

#endif
