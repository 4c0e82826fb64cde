/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that put a host function into a stream.
 */
#include "proto/gen/prototypes.h"
#include "proto/wire/wire.h"
#include "shim/capture/capture_send.h"
#include "shim/connection/submit.h"
#include "shim/context/ctx.h"
#include "shim/context/hostfunc.h"
#include "shim/context/stream.h"

static CUresult enqueue(const struct stream *s, const struct hostfunc *what) {
    struct wire_host_func rec = {.rec = {.op = WIRE_HOST_FUNC, .stream = s->id}};
    CUresult r = hostfunc_expect(what, 1, &rec.token);
    if (r) return r;
    r = submit_ordered(&rec, sizeof(rec), NULL, 0, NULL);
    if (r) hostfunc_forget(rec.token, 1);
    return r;
}

/* The result is the same in every mode: the thread that runs the host functions sleeps until then.
 */
CUresult cuLaunchHostFunc_v2(CUstream hStream, CUhostFn fn, void *userData, unsigned int syncMode) {
    if (!fn || syncMode > CU_HOST_TASK_SPINWAIT) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = ctx_enter();
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (stream_captured(s))
        return capture_send_host(s, &(CUDA_HOST_NODE_PARAMS){.fn = fn, .userData = userData});
    return enqueue(s, &(struct hostfunc){.function = fn, .arg = userData});
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData) {
    return cuLaunchHostFunc_v2(hStream, fn, userData, CU_HOST_TASK_BLOCKING);
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                             unsigned int flags) {
    if (!callback || flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = ctx_enter();
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (stream_captured(s)) return capture_refuse(s);
    return enqueue(s, &(struct hostfunc){.callback = callback, .stream = hStream, .arg = userData});
}
