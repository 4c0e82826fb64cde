/* SPDX-License-Identifier: Apache-2.0
 * Graphs and stream capture, one function per topic: `graph_features TOPIC...` runs those,
 * `graph_features` runs all. Each checks what CUDA documents and prints `ok TOPIC`. */
#include <pthread.h>
#include <unistd.h>

#include "common.h"

#define EXPECT(call, want)                                                               \
    do {                                                                                 \
        cudaError_t expect_got = (call);                                                 \
        REQUIRE(expect_got == (want), "%s gave %d, expected %d", #call, (int)expect_got, \
                (int)(want));                                                            \
        cudaGetLastError();                                                              \
    } while (0)

__global__ void set_value(int *p, int v) {
    *p = v;
}

__global__ void add_value(int *p, int v) {
    *p += v;
}

__global__ void slow_set(volatile int *p, int v, int spins) {
    unsigned x = v;
    for (int i = 0; i < spins; i++)
        x = x * 1664525u + 1013904223u;
    *p = x == 12345u ? v + 1 : v;
}

/* Sets out to 1 + the sum of up to four other values, modulo a prime. */
__global__ void mix(unsigned *all, int out, int a, int b, int c, int d) {
    unsigned sum = 1 + out;
    const int in[] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        if (in[i] >= 0) sum = (sum * 31u + all[in[i]]) % 1000003u;
    all[out] = sum;
}

static cudaStream_t stream(void) {
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

static cudaEvent_t event(void) {
    cudaEvent_t e;
    CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
}

static int *ints(int n) {
    int *p;
    CHECK(cudaMalloc(&p, n * sizeof(int)));
    CHECK(cudaMemset(p, 0, n * sizeof(int)));
    return p;
}

static int value_of(const int *p) {
    int v;
    CHECK(cudaMemcpy(&v, p, sizeof(v), cudaMemcpyDeviceToHost));
    return v;
}

static cudaGraphExec_t executable(cudaGraph_t g) {
    cudaGraphExec_t e;
    CHECK(cudaGraphInstantiate(&e, g, 0));
    return e;
}

static size_t count_nodes(cudaGraph_t g) {
    size_t n = 0;
    CHECK(cudaGraphGetNodes(g, NULL, &n));
    return n;
}

/* ---- capture --------------------------------------------------------------------------------- */

static void topic_capture(void) {
    cudaStream_t s = stream();
    int *p = ints(4), host[4] = {1, 2, 3, 4}, back[4] = {0};
    cudaGraph_t g;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(p, host, sizeof(host), cudaMemcpyHostToDevice, s));
    add_value<<<1, 1, 0, s>>>(p, 10);
    CHECK(cudaMemsetAsync(p + 1, 0, sizeof(int), s));
    CHECK(cudaMemcpyAsync(back, p, sizeof(back), cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamEndCapture(s, &g));
    REQUIRE(value_of(p) == 0, "captured work has run");
    REQUIRE(count_nodes(g) == 4, "%zu nodes", count_nodes(g));
    cudaGraphExec_t e = executable(g);
    for (int i = 0; i < 3; i++) {
        host[0] = 100 * i;
        CHECK(cudaGraphLaunch(e, s));
        CHECK(cudaStreamSynchronize(s));
        REQUIRE(back[0] == 100 * i + 10 && back[1] == 0 && back[2] == 3, "launch %d gave %d %d %d",
                i, back[0], back[1], back[2]);
    }
    CHECK(cudaGraphExecDestroy(e));
    CHECK(cudaGraphDestroy(g));
}

static void topic_info(void) {
    cudaStream_t s = stream();
    cudaStreamCaptureStatus status;
    unsigned long long id = 0, other = 0;
    cudaGraph_t g, out;
    const cudaGraphNode_t *deps;
    size_t count;
    int *p = ints(1);
    CHECK(cudaStreamIsCapturing(s, &status));
    REQUIRE(status == cudaStreamCaptureStatusNone, "captured at first");
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaStreamGetCaptureInfo(s, &status, &id, &g, &deps, NULL, &count));
    REQUIRE(status == cudaStreamCaptureStatusActive && id && count == 0, "empty capture");
    set_value<<<1, 1, 0, s>>>(p, 5);
    CHECK(cudaStreamGetCaptureInfo(s, &status, &other, &g, &deps, NULL, &count));
    REQUIRE(other == id && count == 1, "%zu nodes before the next", count);
    /* Inserts a node of the program's own between captured ones. */
    cudaGraphNode_t node;
    int by = 7;
    void *args[] = {&p, &by};
    cudaKernelNodeParams params = {(void *)add_value, dim3(1), dim3(1), 0, args, NULL};
    CHECK(cudaGraphAddKernelNode(&node, g, deps, count, &params));
    CHECK(cudaStreamUpdateCaptureDependencies(s, &node, NULL, 1, cudaStreamSetCaptureDependencies));
    add_value<<<1, 1, 0, s>>>(p, 30);
    CHECK(cudaStreamEndCapture(s, &out));
    REQUIRE(out == g, "another graph than was told");
    cudaGraphExec_t e = executable(g);
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 42, "%d", value_of(p));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaStreamGetCaptureInfo(s, &status, &other, NULL, NULL, NULL, NULL));
    REQUIRE(other != id, "two captures have one id");
    CHECK(cudaStreamEndCapture(s, &out));
}

static void topic_forkjoin(void) {
    cudaStream_t a = stream(), b = stream(), c = stream();
    cudaEvent_t fork = event(), one = event(), two = event();
    int *p = ints(3);
    cudaGraph_t g;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    slow_set<<<1, 1, 0, a>>>(p, 1, 200000);
    CHECK(cudaEventRecord(fork, a));
    CHECK(cudaStreamWaitEvent(b, fork, 0));
    CHECK(cudaStreamWaitEvent(c, fork, 0));
    CHECK(cudaMemcpyAsync(p + 1, p, sizeof(int), cudaMemcpyDeviceToDevice, b));
    CHECK(cudaMemcpyAsync(p + 2, p, sizeof(int), cudaMemcpyDeviceToDevice, c));
    add_value<<<1, 1, 0, b>>>(p + 1, 10);
    add_value<<<1, 1, 0, c>>>(p + 2, 20);
    CHECK(cudaEventRecord(one, b));
    CHECK(cudaEventRecord(two, c));
    CHECK(cudaStreamWaitEvent(a, one, 0));
    CHECK(cudaStreamWaitEvent(a, two, 0));
    CHECK(cudaMemcpyAsync(p, p + 2, sizeof(int), cudaMemcpyDeviceToDevice, a));
    CHECK(cudaStreamEndCapture(a, &g));
    REQUIRE(count_nodes(g) == 6, "%zu nodes", count_nodes(g));
    cudaGraphExec_t e = executable(g);
    CHECK(cudaGraphLaunch(e, a));
    CHECK(cudaStreamSynchronize(a));
    REQUIRE(value_of(p) == 21 && value_of(p + 1) == 11, "%d %d", value_of(p), value_of(p + 1));
    /* Streams that were only forked into the capture are normal again. */
    set_value<<<1, 1, 0, b>>>(p, 77);
    CHECK(cudaStreamSynchronize(b));
    REQUIRE(value_of(p) == 77, "a forked stream did not come back");
}

static void topic_invalid(void) {
    cudaStream_t a = stream(), b = stream();
    cudaStream_t blocking;
    cudaEvent_t inside = event(), outside = event();
    cudaGraph_t g;
    int *p = ints(1);
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamCreate(&blocking));
    EXPECT(cudaStreamEndCapture(a, &g), cudaErrorIllegalState);
    EXPECT(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal),
           cudaErrorStreamCaptureUnsupported);
    /* Waits for captured work, which is an error. */
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    EXPECT(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
    EXPECT(cudaStreamSynchronize(a), cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamIsCapturing(a, &status));
    REQUIRE(status == cudaStreamCaptureStatusInvalidated, "still valid");
    set_value<<<1, 1, 0, a>>>(p, 1);
    EXPECT(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
    EXPECT(cudaStreamEndCapture(a, &g), cudaErrorStreamCaptureInvalidated);
    REQUIRE(!g, "an invalid capture gave a graph");
    CHECK(cudaStreamSynchronize(a));
    /* A branch that does not join again. */
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    CHECK(cudaEventRecord(inside, a));
    CHECK(cudaStreamWaitEvent(b, inside, 0));
    set_value<<<1, 1, 0, b>>>(p, 1);
    EXPECT(cudaStreamEndCapture(a, &g), cudaErrorStreamCaptureUnjoined);
    /* Ends the capture in another stream. */
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    CHECK(cudaEventRecord(inside, a));
    CHECK(cudaStreamWaitEvent(b, inside, 0));
    EXPECT(cudaStreamEndCapture(b, &g), cudaErrorStreamCaptureUnmatched);
    EXPECT(cudaStreamEndCapture(a, &g), cudaErrorStreamCaptureInvalidated);
    /* Waits for an event recorded outside; then uses an event that only the graph has. */
    set_value<<<1, 1, 0, b>>>(p, 1);
    CHECK(cudaEventRecord(outside, b));
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    EXPECT(cudaStreamWaitEvent(a, outside, 0), cudaErrorStreamCaptureIsolation);
    EXPECT(cudaStreamEndCapture(a, &g), cudaErrorStreamCaptureInvalidated);
    EXPECT(cudaEventQuery(inside), cudaErrorInvalidValue);
    EXPECT(cudaEventSynchronize(inside), cudaErrorInvalidValue);
    CHECK(cudaEventRecord(inside, b));
    CHECK(cudaEventSynchronize(inside));
    /* Two captures that would merge into one. */
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    CHECK(cudaStreamBeginCapture(b, cudaStreamCaptureModeRelaxed));
    CHECK(cudaEventRecord(inside, a));
    EXPECT(cudaStreamWaitEvent(b, inside, 0), cudaErrorStreamCaptureMerge);
    EXPECT(cudaStreamEndCapture(a, &g), cudaErrorStreamCaptureInvalidated);
    EXPECT(cudaStreamEndCapture(b, &g), cudaErrorStreamCaptureInvalidated);
    /* The legacy stream waits for blocking streams. */
    CHECK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
    EXPECT(cudaStreamIsCapturing(cudaStreamLegacy, &status), cudaErrorStreamCaptureImplicit);
    set_value<<<1, 1>>>(p, 1);
    EXPECT(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
    EXPECT(cudaStreamEndCapture(blocking, &g), cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    set_value<<<1, 1>>>(p, 9); /* not an error for other streams */
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(a, &g));
    REQUIRE(value_of(p) == 9 && count_nodes(g) == 0, "the legacy stream was captured");
    /* Destroying a stream ends its capture. */
    CHECK(cudaStreamBeginCapture(b, cudaStreamCaptureModeRelaxed));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaDeviceSynchronize());
}

struct elsewhere {
    cudaStream_t s;
    cudaGraph_t g;
    cudaStreamCaptureMode mode;
    cudaError_t end, unsafe;
};

static void *end_elsewhere(void *arg) {
    struct elsewhere *e = (struct elsewhere *)arg;
    e->end = cudaStreamEndCapture(e->s, &e->g);
    return NULL;
}

static void *allocate_elsewhere(void *arg) {
    struct elsewhere *e = (struct elsewhere *)arg;
    void *p;
    CHECK(cudaThreadExchangeStreamCaptureMode(&e->mode));
    e->unsafe = cudaMalloc(&p, 100);
    return NULL;
}

static void on_a_thread(void *(*what)(void *), struct elsewhere *e) {
    pthread_t t;
    pthread_create(&t, NULL, what, e);
    pthread_join(t, NULL);
}

/* Checks whether an allocation here, and one by another thread in this mode, is permitted. */
static void check_mode(cudaStreamCaptureMode mode, bool here, cudaStreamCaptureMode theirs,
                       bool there) {
    struct elsewhere e = {stream(), NULL, theirs, cudaSuccess, cudaSuccess};
    void *p;
    CHECK(cudaStreamBeginCapture(e.s, mode));
    on_a_thread(allocate_elsewhere, &e);
    REQUIRE((e.unsafe == cudaSuccess) == there, "mode %d there: %d", (int)mode, (int)e.unsafe);
    cudaError_t r = there ? cudaMalloc(&p, 100) : cudaErrorUnknown;
    if (there) REQUIRE((r == cudaSuccess) == here, "mode %d here: %d", (int)mode, (int)r);
    cudaGetLastError();
    r = cudaStreamEndCapture(e.s, &e.g);
    REQUIRE((r == cudaSuccess) == (here && there), "mode %d: the end gave %d", (int)mode, (int)r);
    cudaGetLastError();
}

static void topic_modes(void) {
    cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    struct elsewhere e = {stream(), NULL, relaxed, cudaSuccess, cudaSuccess};
    const cudaStreamCaptureMode global = cudaStreamCaptureModeGlobal,
                                local = cudaStreamCaptureModeThreadLocal;
    check_mode(global, false, global, false);
    check_mode(global, false, local, true);
    check_mode(global, false, relaxed, true);
    check_mode(local, false, global, true);
    check_mode(relaxed, true, global, true);
    /* Uses the thread's own mode. */
    void *p;
    CHECK(cudaStreamBeginCapture(e.s, global));
    CHECK(cudaThreadExchangeStreamCaptureMode(&relaxed));
    CHECK(cudaMalloc(&p, 100));
    CHECK(cudaThreadExchangeStreamCaptureMode(&relaxed));
    EXPECT(cudaEventQuery(event()), cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(e.s, &e.g), cudaErrorStreamCaptureInvalidated);
    /* Another thread ends the capture. */
    CHECK(cudaStreamBeginCapture(e.s, local));
    on_a_thread(end_elsewhere, &e);
    REQUIRE(e.end == cudaErrorStreamCaptureWrongThread, "%d", (int)e.end);
    EXPECT(cudaStreamEndCapture(e.s, &e.g), cudaErrorIllegalState);
    CHECK(cudaStreamBeginCapture(e.s, cudaStreamCaptureModeRelaxed));
    on_a_thread(end_elsewhere, &e);
    CHECK(e.end);
}

static void topic_tograph(void) {
    cudaStream_t s = stream();
    int *p = ints(1);
    cudaGraph_t g, out;
    cudaGraphNode_t first;
    cudaMemsetParams fill = {0};
    fill.dst = p;
    fill.value = 3;
    fill.elementSize = 4;
    fill.width = fill.height = 1;
    CHECK(cudaGraphCreate(&g, 0));
    CHECK(cudaGraphAddMemsetNode(&first, g, NULL, 0, &fill));
    CHECK(cudaStreamBeginCaptureToGraph(s, g, &first, NULL, 1, cudaStreamCaptureModeRelaxed));
    EXPECT(cudaGraphDestroy(g), cudaErrorIllegalState);
    add_value<<<1, 1, 0, s>>>(p, 4);
    CHECK(cudaStreamEndCapture(s, &out));
    REQUIRE(out == g && count_nodes(g) == 2, "%zu nodes", count_nodes(g));
    CHECK(cudaGraphLaunch(executable(g), s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 7, "%d", value_of(p));
    CHECK(cudaGraphDestroy(g));
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static int host_calls;
static void CUDART_CB host_call(void *arg) {
    host_calls += *(int *)arg;
}

static cudaGraphNode_t kernel_node(cudaGraph_t g, const cudaGraphNode_t *deps, size_t count,
                                   void (*k)(int *, int), int *p, int v) {
    cudaGraphNode_t n;
    void *args[] = {&p, &v};
    cudaKernelNodeParams params = {(void *)k, dim3(1), dim3(1), 0, args, NULL};
    CHECK(cudaGraphAddKernelNode(&n, g, deps, count, &params));
    return n;
}

/* Checks the nodes; their order is unspecified. */
static bool are(const cudaGraphNode_t *nodes, cudaGraphNode_t a, cudaGraphNode_t b) {
    return (nodes[0] == a && nodes[1] == b) || (nodes[0] == b && nodes[1] == a);
}

static void topic_explicit(void) {
    cudaStream_t s = stream();
    int *p = ints(64), host[16], back[16], one = 1;
    cudaGraph_t g;
    cudaGraphNode_t set, fill, in, out, add, call, empty;
    for (int i = 0; i < 16; i++)
        host[i] = i;
    CHECK(cudaGraphCreate(&g, 0));
    cudaMemsetParams m = {0};
    m.dst = p + 16;
    m.value = 0x01010101;
    m.elementSize = 4;
    m.width = 4;
    m.height = 2;
    m.pitch = 32;
    CHECK(cudaGraphAddMemsetNode(&fill, g, NULL, 0, &m));
    CHECK(cudaGraphAddMemcpyNode1D(&in, g, NULL, 0, p, host, sizeof(host), cudaMemcpyHostToDevice));
    cudaGraphNode_t both[] = {fill, in};
    CHECK(cudaGraphAddEmptyNode(&empty, g, both, 2));
    set = kernel_node(g, &empty, 1, set_value, p, 50);
    add = kernel_node(g, &set, 1, add_value, p, 5);
    CHECK(
        cudaGraphAddMemcpyNode1D(&out, g, &add, 1, back, p, sizeof(back), cudaMemcpyDeviceToHost));
    cudaHostNodeParams h = {host_call, &one};
    CHECK(cudaGraphAddHostNode(&call, g, &out, 1, &h));
    cudaGraphExec_t e = executable(g);
    host_calls = 0;
    CHECK(cudaGraphUpload(e, s));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(back[0] == 55 && back[15] == 15 && host_calls == 3, "%d %d, %d calls", back[0],
            back[15], host_calls);
    REQUIRE(value_of(p + 16) == 0x01010101 && value_of(p + 20) == 0 &&
                value_of(p + 24) == 0x01010101 && value_of(p + 28) == 0,
            "rows of a fill");
    /* Queries about a graph. */
    cudaGraphNode_t nodes[8], from[8], to[8];
    size_t count = 8;
    CHECK(cudaGraphGetRootNodes(g, nodes, &count));
    REQUIRE(count == 2 && are(nodes, fill, in) && !nodes[2], "%zu roots", count);
    count = 8;
    CHECK(cudaGraphGetEdges(g, from, to, NULL, &count));
    REQUIRE(count == 6, "%zu edges", count);
    count = 8;
    CHECK(cudaGraphNodeGetDependencies(empty, nodes, NULL, &count));
    REQUIRE(count == 2 && are(nodes, fill, in), "dependencies");
    count = 1;
    CHECK(cudaGraphNodeGetDependentNodes(in, nodes, NULL, &count));
    REQUIRE(count == 1 && nodes[0] == empty, "dependent nodes");
    cudaKernelNodeParams got;
    CHECK(cudaGraphKernelNodeGetParams(add, &got));
    REQUIRE(got.func == (void *)add_value && *(int *)got.kernelParams[1] == 5, "kernel's params");
    cudaMemcpy3DParms copy;
    CHECK(cudaGraphMemcpyNodeGetParams(in, &copy));
    REQUIRE(copy.extent.width == sizeof(host), "%zu bytes", copy.extent.width);
    /* Edges that form a cycle; removed nodes. */
    CHECK(cudaGraphAddDependencies(g, &call, &fill, NULL, 1));
    cudaGraphExec_t bad;
    EXPECT(cudaGraphInstantiate(&bad, g, 0), cudaErrorInvalidValue);
    EXPECT(cudaGraphAddDependencies(g, &call, &fill, NULL, 1), cudaErrorInvalidValue);
    CHECK(cudaGraphRemoveDependencies(g, &call, &fill, NULL, 1));
    EXPECT(cudaGraphRemoveDependencies(g, &call, &fill, NULL, 1), cudaErrorInvalidValue);
    CHECK(cudaGraphDestroyNode(set));
    EXPECT(cudaGraphDestroyNode(set), cudaErrorInvalidValue);
    REQUIRE(count_nodes(g) == 6, "%zu nodes", count_nodes(g));
    CHECK(cudaGraphExecDestroy(e));
    CHECK(cudaGraphDestroy(g));
}

static void topic_events(void) {
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t begin, end, gate = event();
    int *p = ints(2);
    float ms;
    cudaGraph_t g, w;
    cudaGraphNode_t first, second, third, wait;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaGraphCreate(&g, 0));
    CHECK(cudaGraphAddEventRecordNode(&first, g, NULL, 0, begin));
    second = kernel_node(g, &first, 1, add_value, p, 1);
    CHECK(cudaGraphAddEventRecordNode(&third, g, &second, 1, end));
    cudaGraphExec_t e = executable(g);
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(e, a));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    REQUIRE(ms >= 0 && value_of(p) == 3, "%f ms, %d", ms, value_of(p));
    /* A graph that waits for another stream's work. */
    CHECK(cudaGraphCreate(&w, 0));
    CHECK(cudaGraphAddEventWaitNode(&wait, w, NULL, 0, gate));
    int *from = p;
    cudaGraphNode_t copy;
    CHECK(cudaGraphAddMemcpyNode1D(&copy, w, &wait, 1, p + 1, from, sizeof(int),
                                   cudaMemcpyDeviceToDevice));
    cudaGraphExec_t waiting = executable(w);
    for (int i = 0; i < 4; i++) {
        slow_set<<<1, 1, 0, b>>>(p, 100 + i, 300000);
        CHECK(cudaEventRecord(gate, b));
        CHECK(cudaGraphLaunch(waiting, a));
        CHECK(cudaStreamSynchronize(a));
        REQUIRE(value_of(p + 1) == 100 + i, "round %d saw %d", i, value_of(p + 1));
    }
    /* The same by capture. */
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamWaitEvent(a, gate, cudaEventWaitExternal));
    CHECK(cudaEventRecordWithFlags(end, a, cudaEventRecordExternal));
    CHECK(cudaStreamEndCapture(a, &g));
    REQUIRE(count_nodes(g) == 2, "%zu nodes", count_nodes(g));
}

static void topic_update(void) {
    cudaStream_t s = stream();
    int *p = ints(2);
    cudaGraph_t g;
    CHECK(cudaGraphCreate(&g, 0));
    cudaGraphNode_t set = kernel_node(g, NULL, 0, set_value, p, 1);
    cudaGraphNode_t add = kernel_node(g, &set, 1, add_value, p, 10);
    cudaGraphExec_t e = executable(g);
    /* A change does not affect a queued launch. */
    slow_set<<<1, 1, 0, s>>>(p + 1, 1, 500000);
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaMemcpyAsync(p + 1, p, sizeof(int), cudaMemcpyDeviceToDevice, s));
    int v = 20;
    void *args[] = {&p, &v};
    cudaKernelNodeParams params = {(void *)add_value, dim3(1), dim3(1), 0, args, NULL};
    CHECK(cudaGraphExecKernelNodeSetParams(e, add, &params));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p + 1) == 11 && value_of(p) == 21, "%d %d", value_of(p + 1), value_of(p));
    /* The change affects neither the graph itself, nor does the graph affect the executable
     * graph. */
    cudaKernelNodeParams got;
    CHECK(cudaGraphKernelNodeGetParams(add, &got));
    REQUIRE(*(int *)got.kernelParams[1] == 10, "the graph changed");
    v = 30;
    CHECK(cudaGraphKernelNodeSetParams(add, &params));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 21, "%d", value_of(p));
    /* Updates the whole executable graph. */
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(e, g, &info));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 31 && info.result == cudaGraphExecUpdateSuccess, "%d", value_of(p));
    cudaGraphNode_t more;
    CHECK(cudaGraphAddEmptyNode(&more, g, NULL, 0));
    EXPECT(cudaGraphExecUpdate(e, g, &info), cudaErrorGraphExecUpdateFailure);
    REQUIRE(info.result == cudaGraphExecUpdateErrorTopologyChanged, "%d", (int)info.result);
    CHECK(cudaGraphDestroyNode(more));
    CHECK(cudaGraphRemoveDependencies(g, &set, &add, NULL, 1));
    EXPECT(cudaGraphExecUpdate(e, g, &info), cudaErrorGraphExecUpdateFailure);
    REQUIRE(info.result == cudaGraphExecUpdateErrorTopologyChanged, "%d", (int)info.result);
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 31, "a failed update changed something: %d", value_of(p));
    /* Disables and enables a node. */
    unsigned on = 2;
    CHECK(cudaGraphNodeSetEnabled(e, add, 0));
    CHECK(cudaGraphNodeGetEnabled(e, add, &on));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 1 && on == 0, "%d", value_of(p));
    CHECK(cudaGraphNodeSetEnabled(e, add, 1));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 31, "%d", value_of(p));
}

static void topic_clone(void) {
    cudaStream_t s = stream();
    int *p = ints(1), v = 50;
    cudaGraph_t g, copy;
    cudaGraphNode_t found;
    CHECK(cudaGraphCreate(&g, 0));
    cudaGraphNode_t set = kernel_node(g, NULL, 0, set_value, p, 1);
    kernel_node(g, &set, 1, add_value, p, 10);
    CHECK(cudaGraphClone(&copy, g));
    CHECK(cudaGraphNodeFindInClone(&found, set, copy));
    REQUIRE(found && found != set, "the copy has the same node");
    void *args[] = {&p, &v};
    cudaKernelNodeParams params = {(void *)set_value, dim3(1), dim3(1), 0, args, NULL};
    CHECK(cudaGraphKernelNodeSetParams(found, &params));
    CHECK(cudaGraphLaunch(executable(g), s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 11, "%d", value_of(p));
    CHECK(cudaGraphDestroy(g));
    CHECK(cudaGraphLaunch(executable(copy), s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 60, "%d", value_of(p));
}

static void topic_child(void) {
    cudaStream_t s = stream();
    int *p = ints(1);
    cudaGraph_t inner, outer, g;
    cudaGraphNode_t node;
    CHECK(cudaGraphCreate(&inner, 0));
    cudaGraphNode_t set = kernel_node(inner, NULL, 0, set_value, p, 3);
    kernel_node(inner, &set, 1, add_value, p, 4);
    CHECK(cudaGraphCreate(&outer, 0));
    cudaGraphNode_t before = kernel_node(outer, NULL, 0, set_value, p, 1000);
    CHECK(cudaGraphAddChildGraphNode(&node, outer, &before, 1, inner));
    kernel_node(outer, &node, 1, add_value, p, 100);
    cudaGraphExec_t e = executable(outer);
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 107, "%d", value_of(p));
    /* Updates the whole child graph. */
    cudaGraph_t other;
    CHECK(cudaGraphCreate(&other, 0));
    cudaGraphNode_t first = kernel_node(other, NULL, 0, set_value, p, 30);
    kernel_node(other, &first, 1, add_value, p, 40);
    CHECK(cudaGraphExecChildGraphNodeSetParams(e, node, other));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 170, "%d", value_of(p));
    /* A graph cannot be launched into a captured stream. */
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    EXPECT(cudaGraphLaunch(e, s), cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

#define MIXES 300

/* A random graph of any shape computes what its edges prescribe. */
static void topic_random(void) {
    cudaStream_t s = stream();
    unsigned *all, got[MIXES], want[MIXES];
    uint32_t state = 5;
    CHECK(cudaMalloc(&all, sizeof(got)));
    for (int round = 0; round < 4; round++) {
        cudaGraph_t g;
        cudaGraphNode_t nodes[MIXES];
        CHECK(cudaGraphCreate(&g, 0));
        for (int i = 0; i < MIXES; i++) {
            int in[4] = {-1, -1, -1, -1};
            cudaGraphNode_t deps[4];
            size_t count = 0;
            want[i] = 1 + i;
            for (int k = 0; k < (round + 1) % 5 && i; k++) {
                int from = round == 3 ? random_next(&state) % i
                                      : i - 1 - random_next(&state) % (i < 12 ? i : 12);
                bool again = false;
                for (int j = 0; j < k; j++)
                    again |= in[j] == from;
                if (again) continue;
                in[k] = from;
                deps[count++] = nodes[from];
            }
            for (int k = 0; k < 4; k++)
                if (in[k] >= 0) want[i] = (want[i] * 31u + want[in[k]]) % 1000003u;
            void *args[] = {&all, &i, &in[0], &in[1], &in[2], &in[3]};
            cudaKernelNodeParams params = {(void *)mix, dim3(1), dim3(1), 0, args, NULL};
            CHECK(cudaGraphAddKernelNode(&nodes[i], g, deps, count, &params));
        }
        cudaGraphExec_t e = executable(g);
        for (int launch = 0; launch < 3; launch++) {
            CHECK(cudaMemsetAsync(all, 255, sizeof(got), s));
            CHECK(cudaGraphLaunch(e, s));
            CHECK(cudaMemcpyAsync(got, all, sizeof(got), cudaMemcpyDeviceToHost, s));
            CHECK(cudaStreamSynchronize(s));
            for (int i = 0; i < MIXES; i++)
                REQUIRE(got[i] == want[i], "round %d: node %d gave %u, not %u", round, i, got[i],
                        want[i]);
        }
        CHECK(cudaGraphExecDestroy(e));
        CHECK(cudaGraphDestroy(g));
    }
}

/* Larger than one message, and than the ring. */
static void topic_large(void) {
    cudaStream_t s = stream();
    int *p = ints(1);
    cudaGraph_t g;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < 3000; i++)
        add_value<<<1, 1, 0, s>>>(p, i % 3);
    CHECK(cudaStreamEndCapture(s, &g));
    cudaGraphExec_t e = executable(g);
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(p) == 9000, "%d", value_of(p));
}

static void topic_copies(void) {
    cudaStream_t s = stream();
    enum { W = 37, H = 5, BIG = 3 << 20 };
    char *device, *pinned, *host = (char *)malloc(BIG), *back = (char *)malloc(BIG);
    char small[H][64], out[H][W];
    cudaGraph_t g;
    CHECK(cudaMalloc(&device, BIG));
    CHECK(cudaMallocHost(&pinned, BIG));
    for (int i = 0; i < BIG; i++)
        host[i] = (char)(i * 7 + i / 1000);
    memcpy(small, host, sizeof(small));
    /* Copies larger than the staging buffer; pinned to pageable; rows; pageable to pageable. */
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMemcpyAsync(device, host, BIG, cudaMemcpyHostToDevice, s));
    CHECK(cudaMemcpyAsync(pinned, device, BIG, cudaMemcpyDeviceToHost, s));
    CHECK(cudaMemcpyAsync(back, pinned, BIG, cudaMemcpyHostToHost, s));
    CHECK(cudaMemcpy2DAsync(device, 128, small, 64, W, H, cudaMemcpyHostToDevice, s));
    CHECK(cudaMemcpy2DAsync(out, W, device, 128, W, H, cudaMemcpyDeviceToHost, s));
    CHECK(cudaMemcpyAsync(host, back, 100, cudaMemcpyHostToHost, s));
    CHECK(cudaStreamEndCapture(s, &g));
    cudaGraphExec_t e = executable(g);
    for (int round = 0; round < 2; round++) {
        memset(back, 0, BIG);
        memset(out, 0, sizeof(out));
        CHECK(cudaGraphLaunch(e, s));
        CHECK(cudaStreamSynchronize(s));
        REQUIRE(memcmp(back, host, BIG) == 0, "a copy through pageable memory");
        for (int i = 0; i < H; i++)
            REQUIRE(memcmp(out[i], small[i], W) == 0, "row %d", i);
    }
    CHECK(cudaGraphExecDestroy(e));
    free(host);
    free(back);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t graph_bytes(cudaGraphMemAttributeType what) {
    unsigned long long bytes;
    CHECK(cudaDeviceGetGraphMemAttribute(0, what, &bytes));
    return bytes;
}

/* Memory allocated and freed within a graph, which can be launched at any time. */
static void allocate_inside(cudaStream_t s, int *p) {
    int *inside;
    cudaGraph_t g, copy;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&inside, 3 << 20, s));
    set_value<<<1, 1, 0, s>>>(inside + 1000, 40);
    add_value<<<1, 1, 0, s>>>(inside + 1000, 2);
    CHECK(cudaMemcpyAsync(p, inside + 1000, sizeof(int), cudaMemcpyDeviceToDevice, s));
    CHECK(cudaFreeAsync(inside, s));
    CHECK(cudaStreamEndCapture(s, &g));
    REQUIRE(count_nodes(g) == 5, "%zu nodes", count_nodes(g));
    cudaGraphExec_t e = executable(g), second;
    EXPECT(cudaGraphInstantiate(&second, g, 0), cudaErrorNotSupported);
    EXPECT(cudaGraphClone(&copy, g), cudaErrorNotSupported);
    for (int i = 0; i < 3; i++) {
        CHECK(cudaMemset(p, 0, sizeof(int)));
        CHECK(cudaGraphLaunch(e, s));
        CHECK(cudaStreamSynchronize(s));
        REQUIRE(value_of(p) == 42, "%d", value_of(p));
    }
    /* A driver may take memory in larger pieces. */
    REQUIRE(graph_bytes(cudaGraphMemAttrUsedMemCurrent) >= 4 << 20, "it is kept");
    CHECK(cudaGraphExecDestroy(e));
    CHECK(cudaGraphDestroy(g));
    CHECK(cudaDeviceSynchronize());
    REQUIRE(graph_bytes(cudaGraphMemAttrReservedMemCurrent) >= 4 << 20, "for the next graph");
    REQUIRE(graph_bytes(cudaGraphMemAttrUsedMemHigh) >= 4 << 20, "nothing ever was");
}

/* Returns a graph that leaves an allocation with the value 77 behind. */
static cudaGraph_t leaving(int **kept) {
    cudaGraph_t g;
    cudaGraphNode_t alloc;
    cudaMemAllocNodeParams a = {};
    a.poolProps.allocType = cudaMemAllocationTypePinned;
    a.poolProps.location.type = cudaMemLocationTypeDevice;
    a.bytesize = 1000;
    CHECK(cudaGraphCreate(&g, 0));
    CHECK(cudaGraphAddMemAllocNode(&alloc, g, NULL, 0, &a));
    *kept = (int *)a.dptr;
    EXPECT(cudaGraphDestroyNode(kernel_node(g, &alloc, 1, set_value, *kept, 77)),
           cudaErrorNotSupported);
    return g;
}

/* Returns a graph with links that each allocate, write, copy and free, one after the other, all at
 * one address. Several such graphs have different addresses that map the same memory. */
static cudaGraph_t chain(int *p, int links, size_t bytes, int value) {
    cudaStream_t s = stream();
    cudaGraph_t g;
    int *inside, *first = NULL;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < links; i++) {
        CHECK(cudaMallocAsync(&inside, bytes, s));
        REQUIRE(!first || inside == first, "the place of the one before");
        first = inside;
        set_value<<<1, 1, 0, s>>>(inside + bytes / 8, value + i);
        CHECK(cudaMemcpyAsync(p + i, inside + bytes / 8, sizeof(int), cudaMemcpyDeviceToDevice, s));
        CHECK(cudaFreeAsync(inside, s));
    }
    CHECK(cudaStreamEndCapture(s, &g));
    CHECK(cudaStreamDestroy(s));
    return g;
}

static void share_memory(cudaStream_t s) {
    const size_t mib = 1 << 20;
    int *p = ints(24), got[24];
    cudaGraph_t g[3];
    cudaGraphExec_t e[3];
    CHECK(cudaDeviceGraphMemTrim(0));
    for (int i = 0; i < 3; i++)
        e[i] = executable(g[i] = chain(p + 8 * i, 8, (16 * i + 16) * mib, 100 * i));
    REQUIRE(graph_bytes(cudaGraphMemAttrReservedMemCurrent) == 0, "before a launch");
    for (int round = 0; round < 3; round++) {
        CHECK(cudaMemsetAsync(p, 255, sizeof(got), s));
        for (int i = 0; i < 3; i++)
            CHECK(cudaGraphLaunch(e[i], s));
        CHECK(cudaMemcpyAsync(got, p, sizeof(got), cudaMemcpyDeviceToHost, s));
        CHECK(cudaStreamSynchronize(s));
        for (int i = 0; i < 24; i++)
            REQUIRE(got[i] == i / 8 * 100 + i % 8, "%d: %d", i, got[i]);
        unsigned long long reserved = graph_bytes(cudaGraphMemAttrReservedMemCurrent);
        REQUIRE(reserved >= 48 * mib && reserved < 96 * mib, "the largest's: %llu", reserved);
        if (round == 1) CHECK(cudaDeviceGraphMemTrim(0));
    }
    /* In streams of their own, the graphs may run at the same time. */
    cudaStream_t beside[3] = {stream(), stream(), stream()};
    for (int round = 0; round < 20; round++) {
        CHECK(cudaMemset(p, 255, sizeof(got)));
        for (int i = 0; i < 3; i++)
            CHECK(cudaGraphLaunch(e[(i + round) % 3], beside[i]));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(got, p, sizeof(got), cudaMemcpyDeviceToHost));
        for (int i = 0; i < 24; i++)
            REQUIRE(got[i] == i / 8 * 100 + i % 8, "%d: %d", i, got[i]);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(cudaGraphExecDestroy(e[i]));
        CHECK(cudaGraphDestroy(g[i]));
        CHECK(cudaStreamDestroy(beside[i]));
    }
    CHECK(cudaDeviceGraphMemTrim(0));
    REQUIRE(graph_bytes(cudaGraphMemAttrReservedMemCurrent) == 0, "reserved without a graph");
}

static void topic_memory(void) {
    cudaStream_t s = stream();
    int *p = ints(1), *kept, *pooled;
    cudaGraph_t g, k, n;
    allocate_inside(s, p);
    CHECK(cudaDeviceGraphMemTrim(0));
    REQUIRE(graph_bytes(cudaGraphMemAttrReservedMemCurrent) == 0, "reserved without a graph");
    /* The program frees the memory that is left, or the next launch does (auto-free). */
    k = leaving(&kept);
    cudaGraphExec_t e = executable(k);
    EXPECT(cudaFreeAsync(kept, s), cudaErrorInvalidValue);
    for (int i = 0; i < 2; i++) {
        CHECK(cudaGraphLaunch(e, s));
        EXPECT(cudaGraphLaunch(e, s), cudaErrorInvalidValue);
        CHECK(cudaStreamSynchronize(s));
        REQUIRE(value_of(kept) == 77, "%d", value_of(kept));
        CHECK(i ? cudaFree(kept) : cudaFreeAsync(kept, s));
    }
    CHECK(cudaGraphExecDestroy(e));
    CHECK(cudaGraphInstantiate(&e, k, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaGraphLaunch(e, s));
    /* Another graph frees it; the memory also outlives the graph that allocated it. */
    cudaGraphNode_t end;
    CHECK(cudaGraphCreate(&n, 0));
    CHECK(cudaGraphAddMemFreeNode(&end, n, NULL, 0, kept));
    cudaGraphExec_t freeing = executable(n);
    CHECK(cudaGraphLaunch(freeing, s));
    EXPECT(cudaGraphLaunch(freeing, s), cudaErrorInvalidValue);
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaGraphExecDestroy(e));
    CHECK(cudaGraphDestroy(k));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(kept) == 77, "%d", value_of(kept));
    CHECK(cudaGraphLaunch(freeing, s));
    CHECK(cudaGraphExecDestroy(freeing));
    CHECK(cudaGraphDestroy(n));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDeviceGraphMemTrim(0));
    REQUIRE(graph_bytes(cudaGraphMemAttrReservedMemCurrent) == 0, "reserved without a graph");
    /* A graph cannot free memory that no graph allocated. */
    CHECK(cudaMallocAsync(&pooled, 1000, s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    EXPECT(cudaFreeAsync(pooled, s), cudaErrorInvalidValue);
    CHECK(cudaStreamEndCapture(s, &g));
    CHECK(cudaFreeAsync(pooled, s));
    share_memory(s);
}

/* ---- objects and threads --------------------------------------------------------------------- */

static volatile int destroyed;
static void CUDART_CB destroy_object(void *arg) {
    destroyed += *(int *)arg;
}

static void topic_objects(void) {
    cudaStream_t s = stream();
    cudaUserObject_t o;
    cudaGraph_t g, copy;
    int one = 1, *p = ints(1);
    destroyed = 0;
    CHECK(cudaUserObjectCreate(&o, &one, destroy_object, 2, cudaUserObjectNoDestructorSync));
    CHECK(cudaGraphCreate(&g, 0));
    kernel_node(g, NULL, 0, set_value, p, 1);
    CHECK(cudaGraphRetainUserObject(g, o, 1, cudaGraphUserObjectMove));
    CHECK(cudaUserObjectRelease(o, 1));
    CHECK(cudaGraphClone(&copy, g));
    cudaGraphExec_t e = executable(g);
    CHECK(cudaGraphDestroy(g));
    REQUIRE(destroyed == 0, "the copies need it");
    CHECK(cudaGraphDestroy(copy));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(destroyed == 0, "the executable graph needs it");
    CHECK(cudaGraphExecDestroy(e));
    for (int i = 0; i < 1000 && !destroyed; i++)
        usleep(1000); /* the destroying thread may not be the one that calls it */
    REQUIRE(destroyed == 1, "%d", destroyed);
}

static void *capture_many(void *arg) {
    int *p = (int *)arg;
    cudaStream_t s = stream();
    for (int round = 0; round < 20; round++) {
        cudaGraph_t g;
        cudaGraphExec_t e;
        CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < 10; i++)
            add_value<<<1, 1, 0, s>>>(p, 1);
        CHECK(cudaStreamEndCapture(s, &g));
        REQUIRE(count_nodes(g) == 10, "%zu nodes", count_nodes(g));
        CHECK(cudaGraphInstantiate(&e, g, 0));
        CHECK(cudaGraphLaunch(e, s));
        CHECK(cudaGraphLaunch(e, s));
        CHECK(cudaGraphExecDestroy(e));
        CHECK(cudaGraphDestroy(g));
    }
    CHECK(cudaStreamSynchronize(s));
    return NULL;
}

static void topic_threads(void) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    int *p = ints(THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, capture_many, p + i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(value_of(p + i) == 400, "thread %d: %d", i, value_of(p + i));
}

/* For streams and the legacy stream, a launched graph is one piece of work. */
static void topic_order(void) {
    cudaStream_t a, b = stream();
    int *p = ints(2);
    cudaGraph_t g;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaGraphCreate(&g, 0));
    /* Two branches; the slow one does not run in the stream's own lane. */
    cudaGraphNode_t quick = kernel_node(g, NULL, 0, set_value, p + 1, 1), slow;
    int v = 5, spins = 500000;
    void *args[] = {&p, &v, &spins};
    cudaKernelNodeParams params = {(void *)slow_set, dim3(1), dim3(1), 0, args, NULL};
    CHECK(cudaGraphAddKernelNode(&slow, g, NULL, 0, &params));
    cudaGraphExec_t e = executable(g);
    CHECK(cudaGraphLaunch(e, a));
    add_value<<<1, 1>>>(p, 10); /* the legacy stream waits for a blocking one */
    REQUIRE(value_of(p) == 15, "%d", value_of(p));
    CHECK(cudaGraphLaunch(e, NULL));
    add_value<<<1, 1, 0, a>>>(p, 20);
    CHECK(cudaStreamSynchronize(a));
    REQUIRE(value_of(p) == 25, "%d", value_of(p));
    /* Launches of one graph in two streams run one after the other. */
    CHECK(cudaGraphLaunch(e, a));
    CHECK(cudaGraphLaunch(e, b));
    add_value<<<1, 1, 0, b>>>(p, 1);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(value_of(p) == 6, "%d", value_of(p));
    (void)quick;
}

static const struct {
    const char *name;
    void (*run)(void);
} topics[] = {
    {"capture", topic_capture},   {"info", topic_info},     {"forkjoin", topic_forkjoin},
    {"invalid", topic_invalid},   {"modes", topic_modes},   {"tograph", topic_tograph},
    {"explicit", topic_explicit}, {"events", topic_events}, {"update", topic_update},
    {"clone", topic_clone},       {"child", topic_child},   {"random", topic_random},
    {"large", topic_large},       {"copies", topic_copies}, {"objects", topic_objects},
    {"threads", topic_threads},   {"order", topic_order},   {"memory", topic_memory},
};

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        bool wanted = argc < 2;
        for (int k = 1; k < argc; k++)
            wanted |= strcmp(argv[k], topics[i].name) == 0;
        if (!wanted) continue;
        topics[i].run();
        CHECK(cudaDeviceSynchronize());
        printf("ok %s\n", topics[i].name);
    }
    return 0;
}
