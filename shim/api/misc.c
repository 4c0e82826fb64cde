/* SPDX-License-Identifier: Apache-2.0
 *
 * Small calls that no other file is about: texts of results, the profiler's switch, and the
 * questions about stream capture, which does not exist here: every answer is "none".
 */
#include "proto/cuda_result.h"
#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"

CUresult cuGetErrorName(CUresult error, const char **pStr) {
    const struct cuda_result *found = cuda_result_find((int)error);
    if (!pStr) return CUDA_ERROR_INVALID_VALUE;
    *pStr = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **pStr) {
    const struct cuda_result *found = cuda_result_find((int)error);
    if (!pStr) return CUDA_ERROR_INVALID_VALUE;
    *pStr = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuProfilerStart(void) {
    return ctx_enter();
}

CUresult cuProfilerStop(void) {
    return ctx_enter();
}

/* ---- stream capture -------------------------------------------------------------------------- */

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

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!captureStatus) return CUDA_ERROR_INVALID_VALUE;
    if (!stream_find(hStream)) return CUDA_ERROR_INVALID_HANDLE;
    *captureStatus = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                uint64_t *id_out) {
    CUresult r = cuStreamIsCapturing(hStream, captureStatus_out);
    if (!r && id_out) *id_out = 0;
    return r;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   uint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out,
                                   size_t *numDependencies_out) {
    CUresult r = cuStreamGetCaptureInfo(hStream, captureStatus_out, id_out);
    if (r) return r;
    if (graph_out) *graph_out = NULL;
    if (dependencies_out) *dependencies_out = NULL;
    if (numDependencies_out) *numDependencies_out = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   uint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **dependencies_out,
                                   const CUgraphEdgeData **edgeData_out,
                                   size_t *numDependencies_out) {
    CUresult r = cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, graph_out,
                                           dependencies_out, numDependencies_out);
    if (!r && edgeData_out) *edgeData_out = NULL;
    return r;
}
