/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory operations of streams, one record each. The stream waits in the worker, not the calling
 * thread.
 */
#include "proto/gen/prototypes.h"
#include "shim/capture/capture_send.h"
#include "shim/connection/submit.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/transfer/value.h"

static CUresult send(const struct stream *s, const CUstreamBatchMemOpParams *op) {
    struct wire_value rec;
    CUresult r = value_record(op, &rec);
    if (r || !rec.rec.op) return r;
    rec.rec.stream = s->id;
    return submit_ordered(&rec, sizeof(rec), NULL, 0, NULL);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                               CUstreamBatchMemOpParams *paramArray, unsigned int flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct stream *s = stream_find(stream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    r = value_check(count, paramArray, flags);
    if (r) return r;
    if (stream_captured(s)) return capture_send_values(s, count, paramArray);
    for (unsigned int i = 0; !r && i < count; i++)
        r = send(s, &paramArray[i]);
    return r;
}

static CUresult send_one(CUstream stream, CUstreamBatchMemOpParams op) {
    return cuStreamBatchMemOp_v2(stream, 1, &op, 0);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, uint32_t value,
                                unsigned int flags) {
    return send_one(stream, (CUstreamBatchMemOpParams){
                                .waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                              .address = addr,
                                              .value = value,
                                              .flags = flags}});
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, uint64_t value,
                                unsigned int flags) {
    return send_one(stream, (CUstreamBatchMemOpParams){
                                .waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64,
                                              .address = addr,
                                              .value64 = value,
                                              .flags = flags}});
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, uint32_t value,
                                 unsigned int flags) {
    return send_one(stream, (CUstreamBatchMemOpParams){
                                .writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                               .address = addr,
                                               .value = value,
                                               .flags = flags}});
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, uint64_t value,
                                 unsigned int flags) {
    return send_one(stream, (CUstreamBatchMemOpParams){
                                .writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64,
                                               .address = addr,
                                               .value64 = value,
                                               .flags = flags}});
}
