/* SPDX-License-Identifier: Apache-2.0
 *
 * Capture: operations sent to a stream become nodes of a graph instead. A stream joins a capture by
 * waiting for an event that was recorded in it, and leaves when the capture ends. A forbidden call
 * gives one of CUDA's errors 900 to 908. Most of them invalidate the capture: all later calls in it
 * fail, and so does its end. Any thread; several captures can be active at once.
 */
#ifndef SHIM_CAPTURE_CAPTURE_H
#define SHIM_CAPTURE_CAPTURE_H

#include <stdbool.h>

#include "common/atomics.h"
#include "proto/cuda/cuda_abi.h"
#include "shim/context/stream.h"
#include "shim/graph/params.h"
#include "shim/transfer/fill.h"

struct event;

/* Begins a capture. `graph`: NULL for a new graph; else the nodes go to that graph, the first ones
 * behind `count` of its nodes. */
CUresult capture_begin(struct stream *s, CUstreamCaptureMode mode, CUgraph graph,
                       const CUgraphNode *before, const CUgraphEdgeData *data, size_t count);
/* Ends the capture. `out` may be NULL when the caller gave the graph. */
CUresult capture_end(struct stream *s, CUgraph *out);

/* A description of a capture. `nodes` and `data` stay valid until the next operation of the
 * captured stream. */
struct capture_info {
    CUstreamCaptureStatus status;
    uint64_t id; /* never 0 for an active capture */
    CUgraph graph;
    const CUgraphNode *nodes; /* the nodes on which the next one depends */
    const CUgraphEdgeData *data;
    size_t count;
    bool plain; /* all edges have default data */
};
CUresult capture_info(const struct stream *s, struct capture_info *info);

/* Sets the nodes on which the next one depends; `as_well`: adds them. */
CUresult capture_depend(struct stream *s, const CUgraphNode *nodes, const CUgraphEdgeData *data,
                        size_t count, bool as_well);

/* ---- operations in a stream for which stream_captured is true -------------------------------- */

/* Adds a node. Takes the params over in any case, also on failure. */
CUresult capture_add(struct stream *s, struct params *params);
/* Refuses an operation that has no place in a graph: always an error. */
CUresult capture_refuse(struct stream *s);

/* ---- events ---------------------------------------------------------------------------------- */

/* Records an event in a captured stream. `external`: adds a node, so that each launch of the graph
 * records the event. */
CUresult capture_record(struct stream *s, struct event *e, bool external);
/* Records an event behind a part of the kernel that was captured last. `data`: the data of the edge
 * from that kernel. */
CUresult capture_record_port(struct stream *s, struct event *e, CUgraphEdgeData data);
/* Refuses a wait for, or a query of, a captured event from outside: CUDA_ERROR_CAPTURED_EVENT. That
 * invalidates an active capture, unless the query is about time (`time`). CUDA_ERROR_INVALID_VALUE
 * if the capture has ended or was invalid before. */
CUresult capture_refuse_event(const struct event *e, bool time) __attribute__((cold));
/* Makes a stream wait for an event; the stream or the event is captured. `external`: wait as for a
 * record outside of the capture. */
CUresult capture_wait(struct stream *s, const struct event *e, bool external);
/* Called when an event is recorded outside of captures again. */
void capture_forget(struct event *e);

/* ---- other calls ----------------------------------------------------------------------------- */

/* Counts the active captures that forbid calls which could wait for captured work or interfere with
 * it. */
extern _Atomic uint32_t capture_careful;

/* Called first by calls that a capture may forbid. Returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED if
 * this thread must not make them. */
CUresult capture_forbid(void) __attribute__((cold));
static inline CUresult capture_gate(void) {
    return __builtin_expect(atom_load_relaxed(&capture_careful) != 0, 0) ? capture_forbid()
                                                                         : CUDA_SUCCESS;
}
/* The same check for calls that wait for all of a context: forbidden while this thread captures, in
 * any mode. */
CUresult capture_forbid_waiting(void);

/* Called when a stream is destroyed. */
void capture_leave(struct stream *s);
/* Called when a context ends: ends the captures that began in its streams, and invalidates those
 * that its streams joined. */
void capture_release(uint32_t owner);

#endif
