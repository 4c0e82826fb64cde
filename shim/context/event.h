/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: a recorded event is a (stream, sequence) pair, so asking for it is a load.
 */
#ifndef SHIM_CONTEXT_EVENT_H
#define SHIM_CONTEXT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "common/list.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/context/stamp.h"

/* An id for records that only mark a place in a stream; no program has it. */
#define EVENT_MARKER (WIRE_EVENTS_FIRST - 1)

struct capture_point;

struct event {
    CUevent handle;     /* NULL while the id is free */
    uint32_t id;        /* on the wire */
    struct list unused; /* link of those whose ids were given back */
    uint32_t owner;     /* index of the context */
    uint16_t generation;
    unsigned int flags;
    uint32_t signal;        /* that other processes see (signal.h); 0: none */
    _Atomic uint64_t stamp; /* 0: never recorded */
    /* It was last recorded in a capture, at these nodes; one block of memory, the event's. */
    _Atomic(struct capture_point *) captured;
};

/* NULL when there are too many. */
struct event *event_create(uint32_t owner, unsigned int flags);

/* False for what is no event. */
bool event_destroy(CUevent handle);

/* NULL for what is none. */
struct event *event_find(CUevent handle);

/* The context ended: its events end with it. */
void event_release(uint32_t owner);

static inline void event_set(struct event *e, uint32_t stream, uint64_t seq) {
    atom_store_relaxed(&e->stamp, stamp_make(stream, seq));
}

/* Where it was last recorded; seq 0 when it never was. */
static inline struct stamp_point event_point(const struct event *e) {
    return stamp_point(atom_load_relaxed(&e->stamp));
}

/* Only a graph knows when it happens. */
static inline bool event_captured(const struct event *e) {
    return __builtin_expect(atom_load_relaxed(&e->captured) != NULL, 0);
}

#endif
