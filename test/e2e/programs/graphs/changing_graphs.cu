/* SPDX-License-Identifier: Apache-2.0
 * Kernels change kernel nodes: their parameters, their grids, and whether they run. They do so
 * from the node's own graph and from outside, and the host changes the nodes too. Each count is
 * compared with the host's. */
#include <vector>

#include "common.h"

#define EXPECT(call, want)                                                               \
    do {                                                                                 \
        cudaError_t expect_got = (call);                                                 \
        REQUIRE(expect_got == (want), "%s gave %d, expected %d", #call, (int)expect_got, \
                (int)(want));                                                            \
        cudaGetLastError();                                                              \
    } while (0)

#define CELLS 4096

/* The node's kernel: every thread of its grid adds `value` to a cell of its own. */
__global__ void add(int *cells, int value) {
    atomicAdd(&cells[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x], value);
}

/* The sum of all calls' results. */
__device__ int errors;

/* Changes each thing in each way, by turns that `turn` counts. */
__global__ void change(cudaGraphDeviceNode_t node, int *turn, cudaGraphKernelNodeUpdate *list) {
    int t = (*turn)++, value = 3 * t + 1;
    if (t % 2) {
        errors += cudaGraphKernelNodeSetParam(node, sizeof(int *), value);
        errors += cudaGraphKernelNodeSetGridDim(node, dim3(1 + t % 5, 1 + t % 3, 1));
        errors += cudaGraphKernelNodeSetEnabled(node, t % 4 != 3);
        return;
    }
    list[0].node = list[1].node = list[2].node = node;
    list[0].field = cudaGraphKernelNodeFieldParam;
    list[0].updateData.param.pValue = &value;
    list[0].updateData.param.offset = sizeof(int *);
    list[0].updateData.param.size = sizeof(value);
    list[1].field = cudaGraphKernelNodeFieldGridDim;
    list[1].updateData.gridDim = dim3(1 + t % 5, 1 + t % 3, 1);
    list[2].field = cudaGraphKernelNodeFieldEnabled;
    list[2].updateData.isEnabled = t % 4 != 3;
    errors += cudaGraphKernelNodeUpdatesApply(list, 3);
}

__global__ void set_value(cudaGraphDeviceNode_t node, int value) {
    errors += cudaGraphKernelNodeSetParam(node, sizeof(int *), value);
}

/* Makes wrong calls, and stores the result of each. */
__global__ void wrong(cudaGraphDeviceNode_t node, int *other, int *got,
                      cudaGraphKernelNodeUpdate *u) {
    int i = 0;
    long long value = 1;
    cudaGraphDeviceNode_t none = (cudaGraphDeviceNode_t)other;
    got[i++] = cudaGraphKernelNodeSetParam(node, 12, value);
    got[i++] = cudaGraphKernelNodeSetParam(node, ~0ull, &value, 2);
    got[i++] = cudaGraphKernelNodeSetParam(node, 4, &value, ~0ull - 2);
    got[i++] = cudaGraphKernelNodeSetGridDim(node, dim3(0, 1, 1));
    got[i++] = cudaGraphKernelNodeSetGridDim(node, dim3(1, 65536, 1));
    got[i++] = cudaGraphKernelNodeSetGridDim(node, dim3(1, 1, 65536));
    got[i++] = cudaGraphKernelNodeSetGridDim(node, dim3(0x80000000u, 1, 1));
    got[i++] = cudaGraphKernelNodeSetParam(none, 0, 1);
    got[i++] = cudaGraphKernelNodeSetGridDim(none, dim3(1));
    got[i++] = cudaGraphKernelNodeSetEnabled(none, false);
    u->node = node;
    u->field = cudaGraphKernelNodeFieldInvalid;
    got[i++] = cudaGraphKernelNodeUpdatesApply(u, 1);
    got[i++] = 1 - cudaGraphKernelNodeUpdatesApply(u, 0);
    got[i++] = 1 - cudaGraphKernelNodeSetParam(node, 12, &value, 0);
}

/* ---- making graphs --------------------------------------------------------------------------- */

static cudaStream_t stream;
static int *cells, *turn;
static cudaGraphKernelNodeUpdate *list;

static cudaGraphNode_t node_of(cudaGraph_t g, const cudaGraphNode_t *before, void *kernel,
                               void **args) {
    cudaGraphNode_t n;
    cudaKernelNodeParams p = {kernel, dim3(1), dim3(32), 0, args, NULL};
    if (kernel != (void *)add) p.blockDim = dim3(1);
    CHECK(cudaGraphAddKernelNode(&n, g, before, before ? 1 : 0, &p));
    return n;
}

static cudaGraphDeviceNode_t allow(cudaGraphNode_t n) {
    cudaKernelNodeAttrValue v = {};
    v.deviceUpdatableKernelNode.deviceUpdatable = 1;
    CHECK(cudaGraphKernelNodeSetAttribute(n, cudaLaunchAttributeDeviceUpdatableKernelNode, &v));
    return v.deviceUpdatableKernelNode.devNode;
}

/* Adds a node that adds `value`. */
static cudaGraphNode_t add_node(cudaGraph_t g, const cudaGraphNode_t *before, int value) {
    void *args[] = {&cells, &value};
    return node_of(g, before, (void *)add, args);
}

static cudaGraph_t graph(void) {
    cudaGraph_t g;
    CHECK(cudaGraphCreate(&g, 0));
    return g;
}

static cudaGraphExec_t executable(cudaGraph_t g) {
    cudaGraphExec_t e;
    CHECK(cudaGraphInstantiate(&e, g, 0));
    CHECK(cudaGraphUpload(e, stream));
    return e;
}

static void launch(cudaGraphExec_t e, int times) {
    for (int i = 0; i < times; i++)
        CHECK(cudaGraphLaunch(e, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static int errors_now(void) {
    int e;
    CHECK(cudaMemcpyFromSymbol(&e, errors, sizeof(e)));
    return e;
}

static std::vector<int> want;

static void expect_add(int gx, int gy, int value) {
    for (int i = 0; i < gx * gy * 32; i++)
        want[i] += value;
}

static void expect_turns(int first, int count) {
    for (int t = first; t < first + count; t++)
        if (t % 4 != 3) expect_add(1 + t % 5, 1 + t % 3, 3 * t + 1);
}

static void check(const char *what) {
    std::vector<int> got(CELLS);
    CHECK(cudaMemcpy(got.data(), cells, CELLS * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < CELLS; i++)
        REQUIRE(got[i] == want[i], "%s: cell %d is %d, not %d", what, i, got[i], want[i]);
    REQUIRE(errors_now() == 0, "%s: calls gave errors", what);
}

static void reset(void) {
    want.assign(CELLS, 0);
    CHECK(cudaMemset(cells, 0, CELLS * sizeof(int)));
    CHECK(cudaMemset(turn, 0, sizeof(int)));
    CHECK(cudaDeviceSynchronize());
}

/* ---- changes from within the graph ----------------------------------------------------------- */

static void change_args(cudaGraph_t g, cudaGraphNode_t node, cudaGraphDeviceNode_t handle) {
    void *args[] = {&handle, &turn, &list};
    cudaGraphNode_t first = node_of(g, NULL, (void *)change, args);
    CHECK(cudaGraphAddDependencies(g, &first, &node, NULL, 1));
}

/* In each launch, a node is changed by the one before it. */
static void within(void) {
    reset();
    cudaGraph_t g = graph();
    cudaGraphNode_t n = add_node(g, NULL, 1000);
    change_args(g, n, allow(n));
    cudaGraphExec_t e = executable(g);
    launch(e, 12);
    expect_turns(0, 12);
    check("within");
    CHECK(cudaGraphExecDestroy(e));
    e = executable(g); /* begins with the program's parameters */
    launch(e, 3);
    expect_turns(12, 3);
    check("once more");
    CHECK(cudaGraphExecDestroy(e));
    CHECK(cudaGraphDestroy(g));
}

/* The same with a captured graph; the handle comes with the launch. */
static void captured(void) {
    reset();
    cudaGraph_t g;
    cudaGraphNode_t nodes[1];
    size_t count = 1;
    cudaLaunchAttribute a = {};
    cudaLaunchConfig_t config = {};
    a.id = cudaLaunchAttributeDeviceUpdatableKernelNode;
    a.val.deviceUpdatableKernelNode.deviceUpdatable = 1;
    config.gridDim = 1;
    config.blockDim = 32;
    config.stream = stream;
    config.attrs = &a;
    config.numAttrs = 1;
    EXPECT(cudaLaunchKernelEx(&config, add, cells, 1000), cudaErrorInvalidValue);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaLaunchKernelEx(&config, add, cells, 1000));
    CHECK(cudaStreamEndCapture(stream, &g));
    CHECK(cudaGraphGetNodes(g, nodes, &count));
    cudaGraphDeviceNode_t handle = a.val.deviceUpdatableKernelNode.devNode;
    cudaKernelNodeAttrValue v = {};
    CHECK(cudaGraphKernelNodeGetAttribute(nodes[0], a.id, &v));
    REQUIRE(handle && v.deviceUpdatableKernelNode.devNode == handle, "the node's handle");
    change_args(g, nodes[0], handle);
    launch(executable(g), 9);
    expect_turns(0, 9);
    check("captured");
}

/* The node is in the body of a loop, which is a graph of its own. */
__global__ void count_down(cudaGraphConditionalHandle h, int *left) {
    cudaGraphSetConditional(h, --*left > 0);
}

static void looping(void) {
    reset();
    cudaGraph_t g = graph();
    cudaGraphConditionalHandle h;
    cudaGraphNodeParams p = {};
    cudaGraphNode_t loop;
    int *left, turns = 7;
    CHECK(cudaMalloc(&left, sizeof(int)));
    CHECK(cudaMemcpy(left, &turns, sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h;
    p.conditional.type = cudaGraphCondTypeWhile;
    p.conditional.size = 1;
    CHECK(cudaGraphAddNode(&loop, g, NULL, NULL, 0, &p));
    cudaGraph_t body = p.conditional.phGraph_out[0];
    cudaGraphNode_t n = add_node(body, NULL, 1000);
    change_args(body, n, allow(n));
    void *args[] = {&h, &left};
    node_of(body, &n, (void *)count_down, args);
    cudaGraphExec_t e = executable(g), other;
    EXPECT(cudaGraphInstantiate(&other, g, 0), cudaErrorNotSupported);
    launch(e, 1);
    expect_turns(0, 7);
    check("loop");
}

/* The node is in a graph that a kernel launches, and the host. */
__global__ void launch_graph(cudaGraphExec_t g) {
    errors += cudaGraphLaunch(g, cudaStreamGraphTailLaunch);
}

static void offered(void) {
    reset();
    cudaGraph_t g = graph(), outer = graph();
    cudaGraphExec_t inner;
    cudaGraphNode_t n = add_node(g, NULL, 1000);
    change_args(g, n, allow(n));
    CHECK(cudaGraphInstantiate(&inner, g, cudaGraphInstantiateFlagDeviceLaunch));
    CHECK(cudaGraphUpload(inner, stream));
    void *args[] = {&inner};
    node_of(outer, NULL, (void *)launch_graph, args);
    launch(executable(outer), 5);
    launch(inner, 2);
    expect_turns(0, 7);
    check("launched by a kernel");
}

/* ---- changes from outside the graph ---------------------------------------------------------- */

/* A kernel's changes stay until the host changes the node again; the host's changes do not affect a
 * queued launch. */
static void from_outside(void) {
    reset();
    cudaGraph_t g = graph();
    cudaGraphNode_t n = add_node(g, NULL, 1);
    cudaGraphDeviceNode_t handle = allow(n);
    cudaGraphExec_t e = executable(g);
    launch(e, 2);
    set_value<<<1, 1, 0, stream>>>(handle, 50);
    launch(e, 2);
    expect_add(1, 1, 102);
    check("from outside");
    CHECK(cudaGraphNodeSetEnabled(e, n, 0));
    launch(e, 1);
    CHECK(cudaGraphNodeSetEnabled(e, n, 1));
    launch(e, 1);
    expect_add(1, 1, 1); /* the host's setting replaces all changes of kernels */
    check("switched by the host");
    int value = 7;
    void *args[] = {&cells, &value};
    cudaKernelNodeParams p = {(void *)add, dim3(2), dim3(32), 0, args, NULL};
    for (int i = 0; i < 5; i++)
        CHECK(cudaGraphLaunch(e, stream));
    CHECK(cudaGraphExecKernelNodeSetParams(e, n, &p));
    CHECK(cudaGraphUpload(e, stream));
    launch(e, 1);
    expect_add(1, 1, 5);
    expect_add(2, 1, 7);
    check("changed by the host");
    set_value<<<1, 1, 0, stream>>>(handle, 9);
    launch(e, 1);
    expect_add(2, 1, 9);
    check("changed by both");
    p.func = (void *)set_value;
    EXPECT(cudaGraphExecKernelNodeSetParams(e, n, &p), cudaErrorNotSupported);
}

/* ---- refused calls --------------------------------------------------------------------------- */

static void refused(void) {
    reset();
    cudaGraph_t g = graph(), copy;
    cudaGraphNode_t n = add_node(g, NULL, 1), plain = add_node(g, &n, 2);
    cudaGraphDeviceNode_t handle = allow(n);
    REQUIRE(allow(n) == handle, "another handle");
    cudaKernelNodeAttrValue off = {};
    EXPECT(cudaGraphKernelNodeSetAttribute(n, cudaLaunchAttributeDeviceUpdatableKernelNode, &off),
           cudaErrorInvalidValue);
    CHECK(
        cudaGraphKernelNodeSetAttribute(plain, cudaLaunchAttributeDeviceUpdatableKernelNode, &off));
    EXPECT(cudaGraphKernelNodeCopyAttributes(plain, n), cudaErrorInvalidValue);
    EXPECT(cudaGraphKernelNodeCopyAttributes(n, plain), cudaErrorInvalidValue);
    EXPECT(cudaGraphDestroyNode(n), cudaErrorNotSupported);
    EXPECT(cudaGraphClone(&copy, g), cudaErrorNotSupported);
    cudaGraphExec_t e = executable(g), second;
    EXPECT(cudaGraphInstantiate(&second, g, 0), cudaErrorNotSupported);
    cudaGraphExecUpdateResultInfo info;
    EXPECT(cudaGraphExecUpdate(e, g, &info), cudaErrorGraphExecUpdateFailure);
    REQUIRE(info.result == cudaGraphExecUpdateErrorNotSupported, "%d", (int)info.result);
    int *got, host[13];
    CHECK(cudaMalloc(&got, sizeof(host)));
    wrong<<<1, 1, 0, stream>>>(handle, cells + 64, got, list);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, got, sizeof(host), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 13; i++)
        REQUIRE(host[i] == cudaErrorInvalidValue, "wrong call %d gave %d", i, host[i]);
    launch(e, 1);
    expect_add(1, 1, 3);
    check("refused");
}

int main(int argc, char **argv) {
    int rounds = rounds_arg(argc, argv, 3);
    uint64_t sum = CHECKSUM_START;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&cells, CELLS * sizeof(int)));
    CHECK(cudaMalloc(&turn, sizeof(int)));
    CHECK(cudaMalloc(&list, 3 * sizeof(*list)));
    for (int i = 0; i < rounds; i++) {
        within();
        sum = checksum_add(sum, want.data(), CELLS * sizeof(int));
        captured();
        looping();
        offered();
        sum = checksum_add(sum, want.data(), CELLS * sizeof(int));
        from_outside();
        refused();
        sum = checksum_add(sum, want.data(), CELLS * sizeof(int));
    }
    checksum_print("changing_graphs", sum);
    return 0;
}
