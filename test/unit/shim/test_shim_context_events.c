/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of whole contexts: the streams that they wait for, and the streams that wait for them,
 * including later ones. Also contexts whose users are counted.
 */
#include <criterion/criterion.h>

#include "shim/connection/submit.h"
#include "shim/context/event.h"
#include "shim/context/stream.h"
#include "test/lib/shim/rig.h"

static const struct rig_kernel kernels[] = {{"plain", NULL, {.max_threads = 1024}}};
static CUfunction plain;
static CUcontext primary;
static CUevent event;

static void begin(void) {
    CUmodule module;
    rig_begin();
    rig_kernels(kernels, 1);
    cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetFunction(&plain, module, "plain"), CUDA_SUCCESS);
    cr_assert_eq(cuCtxGetCurrent(&primary), CUDA_SUCCESS);
    cr_assert_eq(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    rig_hold_streams(true);
}

static void end(void) {
    rig_hold_streams(false);
}

TestSuite(shim_context_events, .init = begin, .fini = end, .timeout = 60);

static CUstream busy_stream(void) {
    CUstream s;
    cr_assert_eq(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuLaunchKernel(plain, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL), CUDA_SUCCESS);
    return s;
}

static uint32_t id_of(CUstream s) {
    return stream_find(s)->id;
}

/* Counts the records since rig_forget by which a stream waits for another; `stream` or `on` may be
 * -1 for any. */
static uint32_t waits(int64_t stream, int64_t on) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < rig_count(); i++) {
        const struct wire_stream_wait *w = rig_record(i, NULL);
        found += w->rec.op == WIRE_STREAM_WAIT && (stream < 0 || w->rec.stream == stream) &&
                 (on < 0 || w->on == on);
    }
    return found;
}

Test(shim_context_events, it_is_behind_all_that_was_sent) {
    CUstream a = busy_stream(), b = busy_stream();
    cr_assert_eq(cuLaunchKernel(plain, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuCtxRecordEvent(primary, event), CUDA_SUCCESS);
    uint32_t join = event_point(event_find(event)).stream;
    cr_expect_eq(waits(join, id_of(a)), 1);
    cr_expect_eq(waits(join, id_of(b)), 1);
    cr_expect_eq(waits(join, STREAM_LEGACY), 1);
    cr_expect_eq(waits(-1, -1), 3);
    cr_expect_eq(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    rig_hold_streams(false);
    cr_expect_eq(cuEventSynchronize(event), CUDA_SUCCESS);
}

Test(shim_context_events, all_that_is_sent_later_waits) {
    CUstream a = busy_stream(), b = busy_stream(), late;
    cr_assert_eq(cuEventRecord(event, a), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuCtxWaitEvent(primary, event), CUDA_SUCCESS);
    cr_assert_eq(waits(-1, id_of(a)), 1);
    const struct wire_stream_wait *first = rig_record(1, NULL);
    int64_t gate = first->rec.stream;
    cr_expect_eq(waits(id_of(a), gate), 1);
    cr_expect_eq(waits(id_of(b), gate), 1);
    cr_expect_eq(waits(STREAM_LEGACY, gate), 1);
    rig_forget();
    cr_assert_eq(cuStreamCreate(&late, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    cr_expect_eq(waits(id_of(late), gate), 1, "a stream that was made later");
    rig_hold_streams(false);
    cr_assert_eq(cuCtxSynchronize(), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuStreamCreate(&late, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    rig_only(WIRE_STREAM_CREATE);
}

/* The second gate waits for the first, which belongs to another event. */
Test(shim_context_events, gates_are_one_behind_the_other) {
    CUstream a = busy_stream(), b = busy_stream(), late;
    CUevent second;
    cr_assert_eq(cuEventCreate(&second, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    cr_assert_eq(cuEventRecord(event, a), CUDA_SUCCESS);
    cr_assert_eq(cuEventRecord(second, b), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuCtxWaitEvent(primary, event), CUDA_SUCCESS);
    int64_t gate = ((const struct wire_stream_wait *)rig_record(1, NULL))->rec.stream;
    rig_forget();
    cr_assert_eq(cuCtxWaitEvent(primary, second), CUDA_SUCCESS);
    int64_t behind = ((const struct wire_stream_wait *)rig_record(1, NULL))->rec.stream;
    cr_expect_eq(waits(behind, gate), 1);
    cr_assert_eq(cuStreamCreate(&late, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    cr_expect_eq(waits(id_of(late), behind), 1);
}

Test(shim_context_events, of_another_context_only_its_own) {
    CUcontext other;
    CUevent its;
    CUstream a = busy_stream();
    cr_assert_eq(cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
    CUstream b = busy_stream();
    cr_assert_eq(cuEventCreate(&its, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    rig_forget();
    cr_expect_eq(cuCtxRecordEvent(other, event), CUDA_ERROR_INVALID_HANDLE, "another's event");
    cr_expect_eq(cuCtxRecordEvent(NULL, its), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuCtxRecordEvent(other, NULL), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuCtxRecordEvent(other, its), CUDA_SUCCESS);
    cr_expect(waits(-1, id_of(b)) == 1 && waits(-1, id_of(a)) == 0);
}

Test(shim_context_events, captures_are_refused) {
    CUstream a = busy_stream();
    CUgraph graph;
    cr_assert_eq(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    cr_expect_eq(cuCtxWaitEvent(primary, event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    cr_expect_neq(cuStreamEndCapture(a, &graph), CUDA_SUCCESS, "the capture is valid still");
}

Test(shim_context_events, users_are_counted) {
    CUcontext c, again, current;
    CUexecAffinityParam affinity;
    cr_assert_eq(cuCtxCreate_v2(&c, 0, 0), CUDA_SUCCESS);
    cr_assert_eq(cuCtxAttach(&again, 0), CUDA_SUCCESS);
    cr_expect_eq(again, c);
    cr_expect_eq(cuCtxAttach(&again, 1), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuCtxDetach(primary), CUDA_ERROR_INVALID_CONTEXT, "it is not current");
    cr_expect_eq(cuCtxDetach(c), CUDA_SUCCESS);
    cr_expect_eq(cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT), CUDA_SUCCESS);
    cr_expect_eq(cuCtxGetExecAffinity(&affinity, 7), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    rig_hold_streams(false);
    cr_expect_eq(cuCtxDetach(c), CUDA_SUCCESS);
    cr_expect_eq(cuCtxDetach(c), CUDA_ERROR_INVALID_CONTEXT, "it ended");
    cr_expect(cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == primary);
    cr_assert_eq(cuCtxAttach(&again, 0), CUDA_SUCCESS);
    cr_expect(again == primary && cuCtxDetach(primary) == CUDA_SUCCESS);
    cr_expect_eq(cuCtxSynchronize(), CUDA_SUCCESS);
}
