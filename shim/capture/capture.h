/* SPDX-License-Identifier: Apache-2.0
 *
 * Capture: what is sent to a stream becomes nodes of a graph instead. A stream joins a capture by
 * waiting for an event that was recorded in it, and leaves with it. What is not permitted meanwhile
 * gives one of CUDA's errors 900 to 908, and most of it invalidates the capture: all that follows
 * in it fails, and so does its end. Any thread; several can capture at once.
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

/* `graph`: NULL for one of its own; else it gets the nodes, the first of them behind `count` of
 * its. */
CUresult capture_begin(struct stream *s, CUstreamCaptureMode mode, CUgraph graph,
                       const CUgraphNode *before, const CUgraphEdgeData *data, size_t count);
/* `out` may be NULL where the graph is the caller's. */
CUresult capture_end(struct stream *s, CUgraph *out);

/* What `nodes` and `data` point to stays until the stream's capture goes on. */
struct capture_info {
    CUstreamCaptureStatus status;
    uint64_t id; /* never 0 for an active one */
    CUgraph graph;
    const CUgraphNode *nodes; /* behind which the next one comes */
    const CUgraphEdgeData *data;
    size_t count;
    bool plain; /* the data say nothing */
};
CUresult capture_info(const struct stream *s, struct capture_info *info);

/* What the next node comes behind: these, or these as well. */
CUresult capture_depend(struct stream *s, const CUgraphNode *nodes, const CUgraphEdgeData *data,
                        size_t count, bool as_well);

/* ---- sent to a stream that stream_captured is true of ---------------------------------------- */

/* A node: takes the params over in any case. */
CUresult capture_add(struct stream *s, struct params *params);
/* What has no place in a graph: always an error. */
CUresult capture_refuse(struct stream *s);

/* ---- events ---------------------------------------------------------------------------------- */

CUresult capture_record(struct stream *s, struct event *e, bool external);
/* Behind a part of the kernel that was captured last; `data`: of the edge from it. */
CUresult capture_record_port(struct stream *s, struct event *e, CUgraphEdgeData data);
/* Waited for or asked about, which nobody may: CUDA_ERROR_CAPTURED_EVENT, and the end of a capture
 * that goes on, unless the question is about time; of one that does not, there is no such event. */
CUresult capture_refuse_event(const struct event *e, bool time) __attribute__((cold));
/* Of a stream that is captured, or an event that was. `external`: as of records outside of it. */
CUresult capture_wait(struct stream *s, const struct event *e, bool external);
/* It is recorded outside of captures again. */
void capture_forget(struct event *e);

/* ---- everything else ------------------------------------------------------------------------- */

/* Captures in which calls are not permitted that could wait for, or do, what they do not see. */
extern _Atomic uint32_t capture_careful;

/* The gate of such calls: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED when this thread must not. */
CUresult capture_forbid(void) __attribute__((cold));
static inline CUresult capture_gate(void) {
    return __builtin_expect(atom_load_relaxed(&capture_careful) != 0, 0) ? capture_forbid()
                                                                         : CUDA_SUCCESS;
}
/* The same of calls that wait for all of a context: not while this thread captures, in any mode. */
CUresult capture_forbid_waiting(void);

/* The stream goes away. */
void capture_leave(struct stream *s);
/* The context ends, with all of its captures. */
void capture_release(uint32_t owner);

#endif
