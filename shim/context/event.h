/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: a recorded event is a (stream, sequence) pair, so asking for it is a load.
 */
#ifndef SHIM_CONTEXT_EVENT_H
#define SHIM_CONTEXT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "proto/cuda_abi.h"
#include "proto/wire.h"

/* An id for records that only mark a place in a stream; no program has it. */
#define EVENT_MARKER (WIRE_EVENTS - 1)

struct capture_point;

struct event {
    CUevent handle; /* NULL while the id is free */
    uint32_t id;    /* on the wire */
    uint16_t generation;
    uint16_t owner; /* index of the context */
    unsigned int flags;
    uint32_t signal;        /* that other processes see (signal.h); 0: none */
    _Atomic uint64_t stamp; /* an event_point in one word; 0: never recorded */
    /* It was last recorded in a capture, at these nodes; one block of memory, the event's. */
    _Atomic(struct capture_point *) captured;
};

/* Where an event was last recorded; seq 0 when it never was. */
struct event_point {
    uint32_t stream;
    uint64_t seq;
};

/* NULL when there are too many. */
struct event *event_create(uint32_t owner, unsigned int flags);

/* False for what is no event. */
bool event_destroy(CUevent handle);

/* NULL for what is none. */
struct event *event_find(CUevent handle);

/* The context ended: its events end with it. */
void event_release(uint32_t owner);

/* Stream and sequence number share a word, so that a record and a query of two threads never mix.
 * 2^52 records outlast any program. */
#define EVENT_SEQ_BITS 52
_Static_assert(WIRE_STREAMS <= 1u << (64 - EVENT_SEQ_BITS), "stream ids fit into a stamp");

static inline void event_set(struct event *e, uint32_t stream, uint64_t seq) {
    atom_store_relaxed(&e->stamp, (uint64_t)stream << EVENT_SEQ_BITS | seq);
}

static inline struct event_point event_point(const struct event *e) {
    uint64_t stamp = atom_load_relaxed(&e->stamp);
    return (struct event_point){(uint32_t)(stamp >> EVENT_SEQ_BITS),
                                stamp & ((1ull << EVENT_SEQ_BITS) - 1)};
}

/* Only a graph knows when it happens. */
static inline bool event_captured(const struct event *e) {
    return __builtin_expect(atom_load_relaxed(&e->captured) != NULL, 0);
}

#endif
