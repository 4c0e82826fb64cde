/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams. Stream 0 of the wire is the legacy default stream and always exists. The others are
 * created on demand, the default stream of a thread when it is first used. Ids are reused with
 * continuing sequence numbers, so an event of a destroyed stream stays meaningful.
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

#define STREAM_PRIORITY_LEAST 0 /* least priority of every device, and the default of streams */
#define STREAM_LEGACY 0u

struct capture_lane;
struct context;

struct stream {
    CUstream handle; /* NULL while the id is free */
    /* Not NULL: operations sent to the stream become nodes of a graph, or are refused (capture.h).
     */
    _Atomic(struct capture_lane *) capture;
    bool busy;          /* no handle, and the worker is being told that the stream begins or ends */
    uint32_t id;        /* id on the wire */
    struct list unused; /* link in the list of unused ids */
    uint16_t generation;
    uint64_t serial; /* never the same for two streams */
    uint32_t owner;  /* index of the context */
    CUcontext
        green; /* green context that has the stream, and its multiprocessors; NULL and 0: none */
    uint32_t sms;
    unsigned int flags;
    int priority;
    struct stream_hint hint;
    CUstream lanes[WIRE_GRAPH_LANES -
                   1]; /* lanes of graphs that are launched in the stream, created when needed */
};

CUresult stream_create(uint32_t owner, unsigned int flags, int priority, CUstream *out);

/* Gives the stream to a green context with `sms` multiprocessors. */
CUresult stream_share(struct stream *s, CUcontext green, uint32_t sms);
/* Sets the priority, clamped to the device's range. */
CUresult stream_prioritize(struct stream *s, int priority);
/* Iterates over the streams of a context; `after` NULL starts, NULL ends. A context that is not
 * green includes the legacy stream. The primary context includes the streams of green ones. */
struct stream *stream_of_context(const struct context *c, const struct stream *after);

/* Makes later work of the stream wait for the work sent to stream `on` up to `seq`. */
CUresult stream_await(const struct stream *s, uint32_t on, uint64_t seq);

/* Returns the stream that a program means by `handle`; NULL when it is not a stream. A NULL handle
 * is the legacy stream: entry points for per-thread defaults have replaced it before. */
struct stream *stream_find(CUstream handle);

/* Returns the streams in which the lanes of a graph run that is launched in `s`: `count` wire ids,
 * the stream's own first. */
CUresult stream_lanes(struct stream *s, uint32_t count, uint32_t *ids);

/* True when an operation sent to the stream now is captured, or would conflict with a capture. */
static inline bool stream_captured(const struct stream *s) {
    return __builtin_expect(atom_load_relaxed(&s->capture) != NULL, 0);
}

/* Waits until all that was sent to the stream before is complete. For the legacy stream that
 * includes every stream that synchronises with it. Prints the kernels' text. */
CUresult stream_wait(const struct stream *s);

/* Waits until everything sent before is complete, in all streams. */
CUresult stream_drain(void);

/* True when the stream has completed all that was sent to it. The legacy stream includes every
 * stream that synchronises with it; NULL: all streams. */
bool stream_idle(const struct stream *s);

/* Destroys a stream; unknown handles are ignored. */
void stream_close(CUstream handle);

/* Destroys all streams of a context that ended. */
void stream_release(uint32_t owner);

#endif
