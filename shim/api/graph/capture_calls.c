/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about stream capture. Queries never leave the process.
 */
#include "proto/gen/prototypes.h"
#include "shim/capture/capture.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    CUresult r = state_ready();
    if (r) return r;
    struct ctx_thread *t = ctx_thread();
    if (!t) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode old = t->capture_mode;
    t->capture_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}

static CUresult enter(CUstream handle, struct stream **s) {
    CUresult r = ctx_enter();
    if (r) return r;
    *s = stream_find(handle);
    return *s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- begin and end --------------------------------------------------------------------------- */

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                     const CUgraphNode *dependencies,
                                     const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                     CUstreamCaptureMode mode) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!hGraph || (numDependencies && !dependencies)) return CUDA_ERROR_INVALID_VALUE;
    return capture_begin(s, mode, hGraph, dependencies, dependencyData, numDependencies);
}

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    return r ? r : capture_begin(s, mode, NULL, NULL, NULL, 0);
}

CUresult cuStreamBeginCapture(CUstream hStream) {
    return cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    return capture_end(s, phGraph);
}

/* ---- queries --------------------------------------------------------------------------------- */

static CUresult ask(CUstream hStream, CUstreamCaptureStatus *status, struct capture_info *info) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    r = capture_info(s, info);
    if (!r) *status = info->status;
    return r;
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus) {
    struct capture_info info;
    return ask(hStream, captureStatus, &info);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   uint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out,
                                   const CUgraphEdgeData **edgeData_out,
                                   size_t *numDependencies_out) {
    struct capture_info info;
    CUresult r = ask(hStream, captureStatus_out, &info);
    if (r) return r;
    if (dependencies_out && !edgeData_out && !info.plain) return CUDA_ERROR_LOSSY_QUERY;
    if (id_out) *id_out = info.id;
    if (graph_out) *graph_out = info.graph;
    if (dependencies_out) *dependencies_out = info.nodes;
    if (edgeData_out) *edgeData_out = info.data;
    if (numDependencies_out) *numDependencies_out = info.count;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   uint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out,
                                   size_t *numDependencies_out) {
    return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out,
                                     dependencies_out, NULL, numDependencies_out);
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                uint64_t *id_out) {
    return cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, NULL, NULL, NULL);
}

/* ---- dependencies of the next node ----------------------------------------------------------- */

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
                                              const CUgraphEdgeData *dependencyData,
                                              size_t numDependencies, unsigned int flags) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
    return capture_depend(s, dependencies, dependencyData, numDependencies,
                          flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies,
                                           size_t numDependencies, unsigned int flags) {
    return cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, NULL, numDependencies,
                                                flags);
}
