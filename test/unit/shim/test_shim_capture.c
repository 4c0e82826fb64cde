/* SPDX-License-Identifier: Apache-2.0
 *
 * Capture: captured operations are not sent, each becomes the right node, and forbidden calls fail
 * meanwhile.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "shim/context/stream.h"
#include "test/lib/shim/rig.h"

static const struct rig_kernel kernels[] = {{"plain", NULL, {.max_threads = 1024}}};
static CUfunction plain;
static CUstream own, other, blocking;
static CUevent event;
static CUdeviceptr device;

static void begin(void) {
    CUmodule module;
    rig_begin();
    rig_kernels(kernels, 1);
    cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetFunction(&plain, module, "plain"), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    cr_assert_eq(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    cr_assert_eq(cuMemAlloc_v2(&device, 1000), CUDA_SUCCESS);
    rig_forget();
}

TestSuite(shim_capture, .init = begin, .timeout = 60);

static CUresult launch(CUstream s) {
    return cuLaunchKernel(plain, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
}

static void start(CUstream s, CUstreamCaptureMode mode) {
    cr_assert_eq(cuStreamBeginCapture_v2(s, mode), CUDA_SUCCESS);
}

static CUgraph finish(CUstream s) {
    CUgraph g = NULL;
    cr_assert_eq(cuStreamEndCapture(s, &g), CUDA_SUCCESS);
    return g;
}

/* Returns the kinds of the graph's nodes, in order, a letter each. */
static const char *kinds(CUgraph g) {
    static char text[32];
    static const char letters[] = "kcfhgewr";
    CUgraphNode nodes[31];
    size_t count = 31;
    memset(text, 0, sizeof(text));
    cr_assert_eq(cuGraphGetNodes(g, nodes, &count), CUDA_SUCCESS);
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType type;
        cr_assert_eq(cuGraphNodeGetType(nodes[i], &type), CUDA_SUCCESS);
        text[i] = letters[type];
    }
    return text;
}

static void function(void *arg) {}
static void callback(CUstream s, CUresult status, void *arg) {}

Test(shim_capture, nothing_is_sent) {
    char host[100];
    start(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(launch(own), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyHtoDAsync_v2(device, host, 100, own), CUDA_SUCCESS);
    cr_assert_eq(cuMemsetD8Async(device, 1, 100, own), CUDA_SUCCESS);
    cr_assert_eq(cuLaunchHostFunc(own, function, NULL), CUDA_SUCCESS);
    cr_assert_eq(cuEventRecord(event, own), CUDA_SUCCESS);
    cr_assert_eq(cuStreamWaitEvent(own, event, CU_EVENT_WAIT_EXTERNAL), CUDA_SUCCESS);
    cr_assert_eq(cuEventRecordWithFlags(event, own, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyDtoHAsync_v2(host, device, 100, own), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 0);
    CUgraph g = finish(own);
    cr_assert_eq(rig_count(), 0);
    cr_assert_str_eq(kinds(g), "kcfhwrc");
    size_t edges = 0;
    cr_assert_eq(cuGraphGetEdges_v2(g, NULL, NULL, NULL, &edges), CUDA_SUCCESS);
    cr_assert_eq(edges, 6, "each behind the one before");
    cr_assert_eq(launch(own), CUDA_SUCCESS);
    rig_only(WIRE_LAUNCH);
}

static CUresult launch_early(CUstream s, int allowed) {
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value = {.programmaticStreamSerializationAllowed = allowed}};
    const CUlaunchConfig c = {1, 1, 1, 1, 1, 1, 0, s, &early, 1};
    return cuLaunchKernelEx(&c, plain, NULL, NULL);
}

/* Only kernels allow a dependent node to begin before they end. */
Test(shim_capture, a_kernel_that_may_begin_early_has_such_an_edge) {
    CUgraphNode from[4], to[4];
    CUgraphEdgeData data[4];
    size_t count = 4;
    start(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(launch(own), CUDA_SUCCESS);
    cr_assert_eq(launch_early(own, 1), CUDA_SUCCESS);
    cr_assert_eq(cuMemsetD8Async(device, 1, 100, own), CUDA_SUCCESS);
    cr_assert_eq(launch_early(own, 1), CUDA_SUCCESS);
    cr_assert_eq(launch_early(own, 0), CUDA_SUCCESS);
    CUgraph g = finish(own);
    cr_expect_eq(cuGraphGetEdges(g, from, to, &count), CUDA_ERROR_LOSSY_QUERY);
    cr_assert_eq(cuGraphGetEdges_v2(g, from, to, data, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 4);
    for (size_t i = 0; i < count; i++) {
        cr_expect_eq(data[i].type, i == 0, "%zu", i);
        cr_expect_eq(data[i].from_port, i == 0 ? CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC : 0);
    }
}

static CUresult launch_recording(CUstream s, CUlaunchAttributeID id, int at_start) {
    CUlaunchAttribute a = {.id = id};
    CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, s, &a, 1};
    a.value.programmaticEvent.event = event;
    if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
        a.value.programmaticEvent.triggerAtBlockStart = at_start;
    return cuLaunchKernelEx(&config, plain, NULL, NULL);
}

/* Checks the edge to another stream's work after an event of a kernel. */
static void check_port(CUlaunchAttributeID id, int at_start, bool kernel, unsigned port,
                       unsigned type) {
    CUgraphNode from[2], to[2];
    CUgraphEdgeData data[2];
    CUgraph g;
    size_t count = 2;
    start(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(launch_recording(own, id, at_start), CUDA_SUCCESS);
    cr_assert_eq(cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
    cr_assert_eq(kernel ? launch(other) : cuMemsetD8Async(device, 1, 100, other), CUDA_SUCCESS);
    cr_assert_eq(cuEventRecord(event, other), CUDA_SUCCESS);
    cr_assert_eq(cuStreamWaitEvent(own, event, 0), CUDA_SUCCESS);
    cr_assert_eq(cuStreamEndCapture(own, &g), CUDA_SUCCESS);
    cr_assert_eq(cuGraphGetEdges_v2(g, from, to, data, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 1);
    cr_expect_eq(data[0].from_port, port, "%u", data[0].from_port);
    cr_expect_eq(data[0].type, type, "%u", data[0].type);
}

Test(shim_capture, events_of_a_part_of_a_kernel_are_ports) {
    const CUlaunchAttributeID early = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
    const CUlaunchAttributeID begun = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    check_port(early, 0, true, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 1);
    check_port(early, 1, true, CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER, 1);
    check_port(early, 0, false, 0, 0); /* only kernels may trigger dependents early */
    check_port(begun, 0, true, CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER, 0);
}

/* A stream that waits both for an event within the kernel and for the whole kernel waits for the
 * whole kernel. */
Test(shim_capture, of_two_edges_the_plain_one_stays) {
    CUgraphNode from[2], to[2];
    CUevent whole;
    size_t count = 2;
    cr_assert_eq(cuEventCreate(&whole, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    start(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(launch_recording(own, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 0), CUDA_SUCCESS);
    cr_assert_eq(cuEventRecord(whole, own), CUDA_SUCCESS);
    cr_assert_eq(cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
    cr_assert_eq(cuStreamWaitEvent(other, whole, 0), CUDA_SUCCESS);
    cr_assert_eq(launch(other), CUDA_SUCCESS);
    cr_assert_eq(cuEventRecord(event, other), CUDA_SUCCESS);
    cr_assert_eq(cuStreamWaitEvent(own, event, 0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphGetEdges(finish(own), from, to, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 1);
}

Test(shim_capture, other_streams_go_on) {
    start(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(launch(other), CUDA_SUCCESS);
    cr_assert_eq(launch(NULL), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 2);
    cr_assert_str_eq(kinds(finish(own)), "");
}

Test(shim_capture, a_launch_that_cuda_refuses_is_not_captured) {
    CUgraph g;
    start(own, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(cuLaunchKernel(plain, 1, 1, 1, 2048, 1, 1, 0, own, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemsetD8Async(device, 1, 5000, own), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuStreamEndCapture(own, &g), CUDA_SUCCESS);
    cr_assert_str_eq(kinds(g), "");
}

Test(shim_capture, what_has_no_place_in_a_graph_invalidates_it) {
    CUgraph g = (CUgraph)1;
    start(own, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(cuStreamAddCallback(own, callback, NULL, 0),
                 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    cr_assert_eq(launch(own), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    cr_assert_eq(cuEventRecord(event, own), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    cr_assert_eq(cuStreamEndCapture(own, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    cr_assert_null(g);
    cr_assert_eq(launch(own), CUDA_SUCCESS, "it is as any other again");
    rig_only(WIRE_LAUNCH);
}

Test(shim_capture, a_capture_into_a_graph_need_not_name_it_at_its_end) {
    CUgraph g;
    cr_assert_eq(cuGraphCreate(&g, 0), CUDA_SUCCESS);
    cr_assert_eq(cuStreamBeginCaptureToGraph(own, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED),
                 CUDA_SUCCESS);
    cr_assert_eq(launch(own), CUDA_SUCCESS);
    cr_assert_eq(cuStreamEndCapture(own, NULL), CUDA_SUCCESS);
    cr_assert_str_eq(kinds(g), "k");
    start(own, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(cuStreamEndCapture(own, NULL), CUDA_ERROR_INVALID_VALUE, "it would be lost");
    cr_assert_str_eq(kinds(finish(own)), "");
}

Test(shim_capture, a_stream_joins_by_an_event_and_must_come_back) {
    CUgraph g;
    CUevent back;
    cr_assert_eq(cuEventCreate(&back, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    for (int joined = 0; joined < 2; joined++) {
        start(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
        cr_assert_eq(launch(own), CUDA_SUCCESS);
        cr_assert_eq(cuEventRecord(event, own), CUDA_SUCCESS);
        cr_assert_eq(cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
        cr_assert_eq(launch(other), CUDA_SUCCESS);
        cr_assert_eq(cuEventRecord(back, other), CUDA_SUCCESS);
        if (joined) cr_assert_eq(cuStreamWaitEvent(own, back, 0), CUDA_SUCCESS);
        cr_assert_eq(cuStreamEndCapture(own, &g),
                     joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    }
    cr_assert_str_eq(kinds(g), "kk");
    cr_assert_eq(rig_count(), 0);
    cr_assert_eq(cuEventQuery(event), CUDA_ERROR_INVALID_VALUE, "its capture is over");
    cr_assert_eq(cuStreamWaitEvent(own, event, 0), CUDA_ERROR_INVALID_VALUE);
    start(own, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(cuStreamWaitEvent(own, event, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuStreamEndCapture(own, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    cr_assert_eq(cuEventRecord(event, own), CUDA_SUCCESS);
    cr_assert_eq(cuEventQuery(event), CUDA_SUCCESS);
}

/* CUDA's sample graphMemoryNodes destroys helper streams after it has joined them. */
Test(shim_capture, a_stream_that_was_joined_may_be_destroyed) {
    CUgraph g;
    CUstream helper;
    CUevent back;
    for (int joined = 0; joined < 2; joined++) {
        start(own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        cr_assert_eq(launch(own), CUDA_SUCCESS);
        cr_assert_eq(cuStreamCreate(&helper, CU_STREAM_DEFAULT), CUDA_SUCCESS);
        cr_assert_eq(cuEventCreate(&back, CU_EVENT_DEFAULT), CUDA_SUCCESS);
        cr_assert_eq(cuEventRecord(event, own), CUDA_SUCCESS);
        cr_assert_eq(cuStreamWaitEvent(helper, event, 0), CUDA_SUCCESS);
        cr_assert_eq(launch(helper), CUDA_SUCCESS);
        cr_assert_eq(cuEventRecord(back, helper), CUDA_SUCCESS);
        if (joined) cr_assert_eq(cuStreamWaitEvent(own, back, 0), CUDA_SUCCESS);
        cr_assert_eq(cuEventDestroy_v2(back), CUDA_SUCCESS);
        cr_assert_eq(cuStreamDestroy_v2(helper), CUDA_SUCCESS);
        CUstream next; /* the new stream has the old one's id, and is not captured */
        CUstreamCaptureStatus status;
        cr_assert_eq(cuStreamCreate(&next, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        cr_assert_eq(cuStreamIsCapturing(next, &status), CUDA_SUCCESS);
        cr_expect_eq(status, CU_STREAM_CAPTURE_STATUS_NONE);
        cr_assert_eq(launch(own), CUDA_SUCCESS);
        cr_expect_eq(cuStreamEndCapture(own, &g),
                     joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        cr_assert_eq(cuStreamDestroy_v2(next), CUDA_SUCCESS);
    }
    cr_assert_str_eq(kinds(g), "kkk");
}

/* A stream that waited and has no work need not be joined. */
Test(shim_capture, a_stream_that_did_nothing_need_not_come_back) {
    start(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(launch(own), CUDA_SUCCESS);
    cr_assert_eq(cuEventRecord(event, own), CUDA_SUCCESS);
    cr_assert_eq(cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
    cr_assert_str_eq(kinds(finish(own)), "k");
}

Test(shim_capture, the_legacy_stream_is_not_used_beside_a_blocking_one) {
    CUgraph g;
    CUstreamCaptureStatus status;
    start(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    cr_assert_eq(cuStreamIsCapturing(blocking, &status), CUDA_SUCCESS);
    cr_assert_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE, "to ask does no harm");
    cr_assert_eq(cuMemsetD8_v2(device, 1, 10), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    cr_assert_eq(cuStreamEndCapture(blocking, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    cr_assert_eq(cuMemsetD8_v2(device, 1, 10), CUDA_SUCCESS);
    rig_only(WIRE_MEMSET);
}

static void *allocate(void *result) {
    CUcontext primary;
    CUdeviceptr addr;
    cuDevicePrimaryCtxRetain(&primary, 0);
    cuCtxSetCurrent(primary);
    *(CUresult *)result = cuMemAlloc_v2(&addr, 100);
    cuDevicePrimaryCtxRelease_v2(0);
    return NULL;
}

static CUresult elsewhere(void) {
    pthread_t t;
    CUresult r;
    pthread_create(&t, NULL, allocate, &r);
    pthread_join(t, NULL);
    return r;
}

Test(shim_capture, unsafe_calls_by_the_rule_of_the_capture) {
    static const struct {
        CUstreamCaptureMode mode;
        bool here, there;
    } rules[] = {{CU_STREAM_CAPTURE_MODE_GLOBAL, false, false},
                 {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, false, true},
                 {CU_STREAM_CAPTURE_MODE_RELAXED, true, true}};
    const CUresult no = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CUdeviceptr addr;
    CUgraph g;
    for (int i = 0; i < 3; i++) {
        start(own, rules[i].mode);
        cr_assert_eq(elsewhere(), rules[i].there ? CUDA_SUCCESS : no);
        CUresult r = cuStreamEndCapture(own, &g);
        cr_assert_eq(r, rules[i].there ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        start(own, rules[i].mode);
        cr_assert_eq(cuMemAlloc_v2(&addr, 100), rules[i].here ? CUDA_SUCCESS : no);
        r = cuStreamEndCapture(own, &g);
        cr_assert_eq(r, rules[i].here ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    cr_assert_eq(cuMemAlloc_v2(&addr, 100), CUDA_SUCCESS, "all is over");
}

Test(shim_capture, all_calls_that_wait_are_unsafe) {
    CUresult (*const calls[])(void) = {cuCtxSynchronize};
    CUgraph g;
    char host[8];
    void *p;
    for (int i = 0; i < 6; i++) {
        start(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
        CUresult r = i == 0   ? calls[0]()
                     : i == 1 ? cuStreamSynchronize(other)
                     : i == 2 ? cuEventSynchronize(event)
                     : i == 3 ? cuMemFree_v2(device)
                     : i == 4 ? cuMemHostAlloc(&p, 100, 0)
                              : cuMemcpyDtoH_v2(host, device, sizeof(host));
        cr_assert_eq(r, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "call %d", i);
        cr_assert_eq(cuStreamEndCapture(own, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}

static void *end_elsewhere(void *graph) {
    CUcontext primary;
    cuDevicePrimaryCtxRetain(&primary, 0);
    cuCtxSetCurrent(primary);
    cuDevicePrimaryCtxRelease_v2(0);
    return (void *)(uintptr_t)cuStreamEndCapture(own, graph);
}

/* The call fails in the other thread, and still ends the capture. */
Test(shim_capture, another_thread_ends_it_in_vain) {
    CUgraph g = (CUgraph)1;
    pthread_t thread;
    void *r;
    start(own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    cr_assert_eq(launch(own), CUDA_SUCCESS);
    pthread_create(&thread, NULL, end_elsewhere, &g);
    pthread_join(thread, &r);
    cr_assert_eq((CUresult)(uintptr_t)r, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    cr_assert_null(g);
    cr_assert_eq(cuStreamEndCapture(own, &g), CUDA_ERROR_ILLEGAL_STATE);
    cr_assert_eq(launch(own), CUDA_SUCCESS);
    rig_only(WIRE_LAUNCH);
}

/* Only cuGraphAddChildGraphNode makes a graph a node of another one. */
Test(shim_capture, graphs_are_not_launched_in_one) {
    CUgraph g, more;
    CUgraphExec e;
    start(own, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(launch(own), CUDA_SUCCESS);
    g = finish(own);
    cr_assert_eq(cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) {
        start(own, CU_STREAM_CAPTURE_MODE_RELAXED);
        cr_expect_eq(i ? cuGraphUpload(e, own) : cuGraphLaunch(e, own),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        cr_expect_eq(cuStreamEndCapture(own, &more), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}

Test(shim_capture, a_graph_that_is_captured_into_is_not_destroyed) {
    CUgraph g;
    cr_assert_eq(cuGraphCreate(&g, 0), CUDA_SUCCESS);
    cr_assert_eq(cuStreamBeginCaptureToGraph(own, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED),
                 CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(g), CUDA_ERROR_ILLEGAL_STATE);
    cr_assert_eq(cuStreamEndCapture(own, NULL), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(g), CUDA_SUCCESS);
}

/* A query of a captured event, or a wait for it, fails and invalidates the capture. A query about
 * its time only fails. */
Test(shim_capture, a_question_about_its_event_invalidates_it) {
    CUevent later;
    CUgraph g;
    float ms;
    cr_assert_eq(cuEventCreate(&later, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    for (int i = 0; i < 3; i++) {
        start(own, CU_STREAM_CAPTURE_MODE_RELAXED);
        start(other, CU_STREAM_CAPTURE_MODE_RELAXED);
        cr_assert_eq(cuEventRecord(later, own), CUDA_SUCCESS);
        cr_expect_eq(i == 0   ? cuEventQuery(later)
                     : i == 1 ? cuEventSynchronize(later)
                              : cuEventElapsedTime_v2(&ms, event, later),
                     CUDA_ERROR_CAPTURED_EVENT);
        if (i < 2) cr_expect_eq(cuEventQuery(later), CUDA_ERROR_INVALID_VALUE);
        cr_expect_eq(cuStreamEndCapture(own, &g),
                     i < 2 ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
        cr_expect_eq(cuEventQuery(later), CUDA_ERROR_INVALID_VALUE);
        cr_expect_eq(cuStreamEndCapture(other, &g), CUDA_SUCCESS);
    }
}

static void *wait_for_all(void *arg) {
    cuCtxSetCurrent(arg);
    return (void *)(uintptr_t)cuCtxSynchronize();
}

/* The captured streams are in the context that the thread would wait for. */
Test(shim_capture, who_captures_does_not_wait_for_its_context) {
    CUcontext context;
    pthread_t thread;
    CUgraph g;
    void *r;
    cr_assert_eq(cuCtxGetCurrent(&context), CUDA_SUCCESS);
    start(own, CU_STREAM_CAPTURE_MODE_RELAXED);
    pthread_create(&thread, NULL, wait_for_all, context);
    pthread_join(thread, &r);
    cr_expect_eq((CUresult)(uintptr_t)r, CUDA_SUCCESS, "another may");
    cr_expect_eq(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    cr_expect_eq(cuStreamEndCapture(own, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    cr_expect_eq(cuCtxSynchronize(), CUDA_SUCCESS);
}

Test(shim_capture, what_the_program_adds_stands_in_its_place) {
    CUstreamCaptureStatus status;
    const CUgraphNode *before;
    size_t count;
    uint64_t id;
    CUgraph g;
    CUgraphNode empty;
    start(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(launch(own), CUDA_SUCCESS);
    cr_assert_eq(cuStreamGetCaptureInfo_v2(own, &status, &id, &g, &before, &count), CUDA_SUCCESS);
    cr_assert(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id && count == 1);
    cr_assert_eq(cuGraphAddEmptyNode(&empty, g, before, count), CUDA_SUCCESS);
    cr_assert_eq(
        cuStreamUpdateCaptureDependencies(own, &empty, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
        CUDA_SUCCESS);
    cr_assert_eq(launch(own), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(g), CUDA_ERROR_ILLEGAL_STATE, "it is not the program's yet");
    cr_assert_eq(finish(own), g);
    cr_assert_str_eq(kinds(g), "kek");
    CUgraphNode after[2];
    count = 2;
    cr_assert_eq(cuGraphNodeGetDependentNodes(empty, after, &count), CUDA_SUCCESS);
    cr_assert_eq(count, 1);
    cr_assert_eq(cuGraphDestroy(g), CUDA_SUCCESS);
}

Test(shim_capture, ends_with_its_context) {
    CUcontext made;
    CUstream s;
    CUdeviceptr addr;
    cr_assert_eq(cuCtxCreate_v2(&made, 0, 0), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&s, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    start(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(cuCtxDestroy_v2(made), CUDA_SUCCESS);
    cr_assert_eq(cuMemAlloc_v2(&addr, 100), CUDA_SUCCESS, "nothing is captured any more");
    cr_assert_eq(cuMemsetD8_v2(device, 1, 10), CUDA_SUCCESS);
}
