/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory operations of streams: the record of each, the refusals before anything is sent, and the
 * same operations in graphs.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "shim/connection/state.h"
#include "shim/context/stream.h"
#include "test/lib/shim/rig.h"

static CUstream own;
static CUdeviceptr cell; /* 64 bytes of device memory */

static void begin(void) {
    rig_begin();
    cr_assert_eq(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuMemAlloc_v2(&cell, 64), CUDA_SUCCESS);
    rig_forget();
}

TestSuite(shim_values, .init = begin, .timeout = 60);

static void expect_value(const void *rec, uint16_t op, uint64_t addr, uint64_t value,
                         uint32_t bytes, uint32_t compare) {
    const struct wire_value *v = rec;
    cr_expect_eq(v->rec.op, op);
    cr_expect(v->addr == addr && v->value == value && v->bytes == bytes && v->compare == compare,
              "0x%lx %lu %u %u", v->addr, v->value, v->bytes, v->compare);
}

static void sent(uint16_t op, uint64_t addr, uint64_t value, uint32_t bytes, uint32_t compare) {
    const struct wire_value *v = rig_only(op);
    expect_value(v, op, addr, value, bytes, compare);
    cr_expect_eq(v->rec.stream, stream_find(own)->id);
    cr_expect_neq(v->rec.seq, 0);
    rig_forget();
}

Test(shim_values, one_record_each) {
    cr_expect_eq(cuStreamWaitValue32_v2(own, cell, 5, 0), CUDA_SUCCESS);
    sent(WIRE_VALUE_WAIT, cell, 5, 4, WIRE_VALUE_GEQ);
    cr_expect_eq(cuStreamWaitValue32_v2(own, cell + 4, 5, CU_STREAM_WAIT_VALUE_NOR), CUDA_SUCCESS);
    sent(WIRE_VALUE_WAIT, cell + 4, 5, 4, WIRE_VALUE_NOR);
    cr_expect_eq(cuStreamWaitValue64_v2(own, cell + 8, 1ull << 40, CU_STREAM_WAIT_VALUE_EQ),
                 CUDA_SUCCESS);
    sent(WIRE_VALUE_WAIT, cell + 8, 1ull << 40, 8, WIRE_VALUE_EQ);
    cr_expect_eq(cuStreamWriteValue32_v2(own, cell, 9, 0), CUDA_SUCCESS);
    sent(WIRE_VALUE_WRITE, cell, 9, 4, 0);
    cr_expect_eq(
        cuStreamWriteValue64_v2(own, cell, 9ull << 33, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER),
        CUDA_SUCCESS);
    sent(WIRE_VALUE_WRITE, cell, 9ull << 33, 8, 0);
    void *pinned;
    cr_assert_eq(cuMemHostAlloc(&pinned, 64, 0), CUDA_SUCCESS);
    rig_forget();
    cr_expect_eq(cuStreamWaitValue32(own, (CUdeviceptr)(uintptr_t)pinned, 5, 2), CUDA_SUCCESS,
                 "until 11.7");
    sent(WIRE_VALUE_WAIT, (CUdeviceptr)(uintptr_t)pinned, 5, 4, WIRE_VALUE_AND);
}

Test(shim_values, of_a_thread_of_its_own_stream) {
    cr_expect_eq(cuStreamWriteValue32_v2_ptsz(NULL, cell, 9, 0), CUDA_SUCCESS);
    const struct wire_value *v = rig_record(rig_count() - 1, NULL);
    cr_expect_eq(v->rec.op, WIRE_VALUE_WRITE);
    cr_expect_neq(v->rec.stream, STREAM_LEGACY);
}

Test(shim_values, what_is_no_cell_of_the_program_is_refused) {
    uint32_t pageable[2];
    cr_expect_eq(cuStreamWaitValue32_v2(own, cell + 2, 5, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamWaitValue64_v2(own, cell + 4, 5, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamWaitValue32_v2(own, cell, 5, 4), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamWaitValue32_v2(own, cell, 5, CU_STREAM_WAIT_VALUE_FLUSH),
                 CUDA_ERROR_NOT_SUPPORTED, "nothing to flush");
    cr_expect_eq(cuStreamWriteValue32_v2(own, cell, 5, 2), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamWriteValue32_v2(own, (CUdeviceptr)(uintptr_t)pageable, 5, 0),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamWriteValue32_v2(own, 0, 5, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamWaitValue32_v2((CUstream)pageable, cell, 5, 0), CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(rig_count(), 0);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void make_batch(CUstreamBatchMemOpParams *ops) {
    memset(ops, 0, 4 * sizeof(*ops));
    ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    ops[0].writeValue.address = cell;
    ops[0].writeValue.value = 7;
    ops[1].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    ops[1].memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_GPU;
    ops[2].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
    ops[2].waitValue.address = cell + 8;
    ops[2].waitValue.value64 = 8;
    ops[3].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
}

Test(shim_values, a_batch_is_sent_in_its_order_or_not_at_all) {
    CUstreamBatchMemOpParams ops[4];
    make_batch(ops);
    cr_expect_eq(cuStreamBatchMemOp_v2(own, 4, ops, 0), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 2, "what a stream did is visible to all who come after");
    expect_value(rig_record(0, NULL), WIRE_VALUE_WRITE, cell, 7, 4, 0);
    expect_value(rig_record(1, NULL), WIRE_VALUE_WAIT, cell + 8, 8, 8, 0);
    rig_forget();
    ops[3].flushRemoteWrites.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    cr_expect_eq(cuStreamBatchMemOp_v2(own, 4, ops, 0), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(cuStreamBatchMemOp_v2(own, 3, ops, 1), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamBatchMemOp_v2(own, 256, ops, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamBatchMemOp_v2(own, 1, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    *(int *)&ops[1] = 99;
    cr_expect_eq(cuStreamBatchMemOp_v2(own, 3, ops, 0), CUDA_ERROR_INVALID_VALUE);
    *(int *)&ops[1] = CU_STREAM_MEM_OP_ATOMIC_REDUCTION;
    cr_expect_eq(cuStreamBatchMemOp_v2(own, 3, ops, 0), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(rig_count(), 0);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static const void *nth(uint16_t op, uint32_t n) {
    uint32_t count = rig_count();
    for (uint32_t i = 0; i < count; i++) {
        const struct wire_record *r = rig_record(i, NULL);
        if (r->op == op && n-- == 0) return r;
    }
    cr_assert(false, "there is none");
    return NULL;
}

static void launch(CUgraphExec e) {
    rig_forget();
    cr_assert_eq(cuGraphLaunch(e, own), CUDA_SUCCESS);
}

Test(shim_values, captured_they_are_nodes) {
    CUgraph g;
    CUgraphNode nodes[2];
    CUgraphExec e;
    CUgraphNodeType type;
    CUDA_BATCH_MEM_OP_NODE_PARAMS p;
    size_t count = 2;
    cr_assert_eq(cuStreamBeginCapture_v2(own, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    cr_expect_eq(cuStreamWriteValue32_v2(own, cell, 3, 0), CUDA_SUCCESS);
    cr_expect_eq(cuStreamWaitValue32_v2(own, cell, 4, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
    cr_assert_eq(cuStreamEndCapture(own, &g), CUDA_SUCCESS);
    cr_expect_eq(rig_count(), 0);
    cr_assert_eq(cuGraphGetNodes(g, nodes, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 2);
    cr_expect_eq(cuGraphNodeGetType(nodes[1], &type), CUDA_SUCCESS);
    cr_expect_eq(type, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    cr_assert_eq(cuGraphBatchMemOpNodeGetParams(nodes[1], &p), CUDA_SUCCESS);
    cr_expect(p.count == 1 && p.paramArray[0].waitValue.value == 4);
    cr_assert_eq(cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    launch(e);
    expect_value(nth(WIRE_VALUE_WRITE, 0), WIRE_VALUE_WRITE, cell, 3, 4, 0);
    expect_value(nth(WIRE_VALUE_WAIT, 0), WIRE_VALUE_WAIT, cell, 4, 4, WIRE_VALUE_EQ);
}

Test(shim_values, a_node_is_added_asked_about_and_changed) {
    CUgraph g;
    CUgraphNode n, again;
    CUgraphExec e;
    CUstreamBatchMemOpParams ops[4];
    CUDA_BATCH_MEM_OP_NODE_PARAMS p = {.count = 4, .paramArray = ops}, got;
    make_batch(ops);
    cr_assert_eq(cuGraphCreate(&g, 0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddBatchMemOpNode(&n, g, NULL, 0, &p), CUDA_SUCCESS);
    ops[0].writeValue.value = 70; /* the node has a copy */
    cr_assert_eq(cuGraphBatchMemOpNodeGetParams(n, &got), CUDA_SUCCESS);
    cr_expect(got.count == 4 && got.paramArray != ops && got.paramArray[0].writeValue.value == 7);
    cr_assert_eq(cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    cr_expect_eq(cuGraphBatchMemOpNodeSetParams(n, &p), CUDA_SUCCESS);
    launch(e);
    expect_value(nth(WIRE_VALUE_WRITE, 0), WIRE_VALUE_WRITE, cell, 7, 4, 0);
    expect_value(nth(WIRE_VALUE_WAIT, 0), WIRE_VALUE_WAIT, cell + 8, 8, 8, 0);
    ops[0].writeValue.value = 700;
    cr_expect_eq(cuGraphExecBatchMemOpNodeSetParams(e, n, &p), CUDA_SUCCESS);
    launch(e);
    expect_value(nth(WIRE_VALUE_WRITE, 0), WIRE_VALUE_WRITE, cell, 700, 4, 0);
    cr_expect_eq(cuGraphExecUpdate_v2(e, g, &(CUgraphExecUpdateResultInfo){0}), CUDA_SUCCESS);
    launch(e);
    expect_value(nth(WIRE_VALUE_WRITE, 0), WIRE_VALUE_WRITE, cell, 70, 4, 0);

    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .memOp = p};
    cr_expect_eq(cuGraphAddNode(&again, g, &n, 1, &any), CUDA_SUCCESS);
    p.flags = 1;
    cr_expect_eq(cuGraphAddBatchMemOpNode(&again, g, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    p.flags = 0;
    ops[0].writeValue.address = 4;
    cr_expect_eq(cuGraphBatchMemOpNodeSetParams(n, &p), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphExecDestroy(e), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(g), CUDA_SUCCESS);
}
