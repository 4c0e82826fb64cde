/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams. Stream 0 of the wire is the legacy default stream and always exists; the others are made
 * on demand, the per-thread default stream of a thread when it is first used. Ids are used again
 * with continuing sequence numbers, so that an event of a destroyed stream stays meaningful.
 */
#ifndef SHIM_CONTEXT_STREAM_H
#define SHIM_CONTEXT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "common/list.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/context/stream_hint.h"

#define STREAM_PRIORITY_LEAST 0 /* on every device, and what streams have that nobody gave one */
#define STREAM_LEGACY 0u

struct capture_lane;
struct context;

struct stream {
    CUstream handle; /* NULL while the id is free */
    /* What is sent becomes a graph's node, or is refused: the graph room's (capture.h). */
    _Atomic(struct capture_lane *) capture;
    bool busy;          /* without one: the worker is being told of its beginning or its end */
    uint32_t id;        /* on the wire */
    struct list unused; /* link of those whose ids were given back */
    uint16_t generation;
    uint64_t serial; /* never another stream's */
    uint32_t owner;  /* index of the context */
    CUcontext green; /* that has it, and so many multiprocessors for it; NULL and 0: none */
    uint32_t sms;
    unsigned int flags;
    int priority;
    struct stream_hint hint;
    CUstream lanes[WIRE_GRAPH_LANES - 1]; /* of graphs that are launched in it; made when needed */
};

CUresult stream_create(uint32_t owner, unsigned int flags, int priority, CUstream *out);

/* It is a green context's. */
CUresult stream_share(struct stream *s, CUcontext green, uint32_t sms);
/* Clamped to what the device has. */
CUresult stream_prioritize(struct stream *s, int priority);
/* All of a context, the legacy stream of one that is not green among them, and of the primary one
 * those of green ones; one after the other: NULL after the last; begins with NULL. */
struct stream *stream_of_context(const struct context *c, const struct stream *after);

/* What is sent to it from now on waits for what another had been sent up to `seq`. */
CUresult stream_await(const struct stream *s, uint32_t on, uint64_t seq);

/* What a program means by `handle`; NULL when it is not a stream. A NULL handle is the legacy
 * stream: entry points for per-thread defaults have replaced it before. */
struct stream *stream_find(CUstream handle);

/* The streams in which the lanes of a graph run that is launched here: `count` wire ids, the
 * stream's own first. */
CUresult stream_lanes(struct stream *s, uint32_t count, uint32_t *ids);

/* Whether what is sent to it now is captured, or would be in the way of what is. */
static inline bool stream_captured(const struct stream *s) {
    return __builtin_expect(atom_load_relaxed(&s->capture) != NULL, 0);
}

/* Until all that was sent to the stream before is complete; the legacy stream waits for every
 * stream that synchronises with it. Shows the text of kernels. */
CUresult stream_wait(const struct stream *s);

/* Until everything sent before is complete, in all streams. */
CUresult stream_drain(void);

/* True when the stream has completed all that was sent to it; NULL: all streams. */
bool stream_idle(const struct stream *s);

/* Destroys one; unknown handles are ignored. */
void stream_close(CUstream handle);

/* The context ended: its streams end with it. */
void stream_release(uint32_t owner);

#endif
