/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: a recorded event is a (stream, sequence) pair, so a query is one load.
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

/* An id for records that only mark a position in a stream; no program has it. */
#define EVENT_MARKER (WIRE_EVENTS_FIRST - 1)

struct capture_point;

struct event {
    CUevent handle;     /* NULL while the id is free */
    uint32_t id;        /* id on the wire */
    struct list unused; /* link in the list of unused ids */
    uint32_t owner;     /* index of the context */
    uint16_t generation;
    unsigned int flags;
    uint32_t signal;        /* signal that other processes see (signal.h); 0: none */
    _Atomic uint64_t stamp; /* position of the last record; 0: never recorded */
    /* Set when the last record was in a capture: the nodes at that point, in one block of memory
     * that the event owns. */
    _Atomic(struct capture_point *) captured;
};

/* Returns NULL, with a log line, when there are too many events or memory is short. */
struct event *event_create(uint32_t owner, unsigned int flags);

/* Returns false for an invalid handle. */
bool event_destroy(CUevent handle);

/* Returns NULL for an invalid handle. */
struct event *event_find(CUevent handle);

/* Destroys all events of a context that ended. */
void event_release(uint32_t owner);

static inline void event_set(struct event *e, uint32_t stream, uint64_t seq) {
    atom_store_relaxed(&e->stamp, stamp_make(stream, seq));
}

/* The position of the last record; seq 0 when there was none. */
static inline struct stamp_point event_point(const struct event *e) {
    return stamp_point(atom_load_relaxed(&e->stamp));
}

/* True when the last record was in a capture: only a graph knows when such an event happens. */
static inline bool event_captured(const struct event *e) {
    return __builtin_expect(atom_load_relaxed(&e->captured) != NULL, 0);
}

#endif
