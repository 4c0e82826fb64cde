/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns CUDA's operations into records.
 */
#include "shim/transfer/value.h"

#include <stdbool.h>

#include "shim/connection/refuse.h"
#include "shim/transfer/lookup.h"

static bool in_memory(uint64_t addr, uint32_t bytes, bool writes) {
    struct mem_block b;
    if (addr % bytes) return false;
    if (lookup_variable(addr, bytes)) return true;
    if (!lookup_range(addr, bytes, &b)) return false;
    if (writes) mem_written(&b);
    return true;
}

static CUresult wait_for(const CUstreamBatchMemOpParams *op, uint32_t bytes,
                         struct wire_value *out) {
    const unsigned int flush = CU_STREAM_WAIT_VALUE_FLUSH, compare = CU_STREAM_WAIT_VALUE_NOR;
    const struct CUstreamMemOpWaitValueParams_st *w = &op->waitValue;
    if (w->flags & ~(flush | compare)) return CUDA_ERROR_INVALID_VALUE;
    if (w->flags & flush)
        return CUDA_ERROR_NOT_SUPPORTED; /* the device's attributes say that it cannot flush */
    *out = (struct wire_value){.rec = {.op = WIRE_VALUE_WAIT},
                               .addr = w->address,
                               .value = bytes == 8 ? w->value64 : w->value,
                               .bytes = bytes,
                               .compare = w->flags & compare};
    return in_memory(w->address, bytes, false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult write_to(const CUstreamBatchMemOpParams *op, uint32_t bytes,
                         struct wire_value *out) {
    const struct CUstreamMemOpWriteValueParams_st *w = &op->writeValue;
    if (w->flags & ~(unsigned int)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct wire_value){.rec = {.op = WIRE_VALUE_WRITE},
                               .addr = w->address,
                               .value = bytes == 8 ? w->value64 : w->value,
                               .bytes = bytes};
    return in_memory(w->address, bytes, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult nothing_if(bool sound, struct wire_value *out) {
    *out = (struct wire_value){.rec = {.op = 0}};
    return sound ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult value_record(const CUstreamBatchMemOpParams *op, struct wire_value *out) {
    switch ((int)op->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return wait_for(op, 4, out);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return wait_for(op, 8, out);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return write_to(op, 4, out);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return write_to(op, 8, out);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_ERROR_NOT_SUPPORTED;
    case CU_STREAM_MEM_OP_BARRIER:
        return nothing_if(op->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU, out);
    case CU_STREAM_MEM_OP_ATOMIC_REDUCTION: return refuse_call("an atomic reduction of a stream");
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult value_check(unsigned int count, const CUstreamBatchMemOpParams *ops, unsigned int flags) {
    struct wire_value rec;
    CUresult r = CUDA_SUCCESS;
    if (flags || count > VALUE_BATCH || (count && !ops)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; !r && i < count; i++)
        r = value_record(&ops[i], &rec);
    return r;
}
