/* SPDX-License-Identifier: Apache-2.0
 * Graphs with conditional nodes: loops and branches that kernels decide about. */
#include "common.h"

__global__ void set_value(int *p, int v) {
    *p = v;
}

__global__ void add_value(int *p, int v) {
    *p += v;
}

/* The condition is what is left to count. */
__global__ void count_down(cudaGraphConditionalHandle h, int *left, int *rounds) {
    ++*rounds;
    cudaGraphSetConditional(h, --*left > 0);
}

__global__ void choose(cudaGraphConditionalHandle h, const int *p) {
    cudaGraphSetConditional(h, *p);
}

static cudaStream_t s;

static int value_of(const int *p) {
    int v;
    CHECK(cudaMemcpy(&v, p, sizeof(v), cudaMemcpyDeviceToHost));
    return v;
}

static void launch(cudaGraph_t g) {
    cudaGraphExec_t e;
    CHECK(cudaGraphInstantiate(&e, g, 0));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaGraphExecDestroy(e));
}

static cudaGraphNode_t node(cudaGraph_t g, const cudaGraphNode_t *before, size_t count,
                            void *kernel, void **args) {
    cudaGraphNode_t n;
    cudaKernelNodeParams p = {kernel, dim3(1), dim3(1), 0, args, NULL};
    CHECK(cudaGraphAddKernelNode(&n, g, before, count, &p));
    return n;
}

static cudaGraph_t *conditional(cudaGraph_t g, const cudaGraphNode_t *before, size_t count,
                                cudaGraphConditionalHandle h, cudaGraphConditionalNodeType type,
                                unsigned bodies, cudaGraphNode_t *out) {
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h;
    p.conditional.type = type;
    p.conditional.size = bodies;
    CHECK(cudaGraphAddNode(out, g, before, NULL, count, &p));
    return p.conditional.phGraph_out;
}

/* A loop, with what is before it and what follows; in it a body that was captured. */
static void check_while(int *p) {
    cudaGraph_t g;
    cudaGraphNode_t loop;
    cudaGraphConditionalHandle h;
    int *left = p, *rounds = p + 1, *sum = p + 2, ten = 10, zero = 0, thousand = 1000;
    CHECK(cudaGraphCreate(&g, 0));
    CHECK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    void *set[] = {&left, &ten}, *clear[] = {&rounds, &zero}, *start[] = {&sum, &zero};
    cudaGraphNode_t before[] = {node(g, NULL, 0, (void *)set_value, set),
                                node(g, NULL, 0, (void *)set_value, clear),
                                node(g, NULL, 0, (void *)set_value, start)};
    cudaGraph_t *body = conditional(g, before, 3, h, cudaGraphCondTypeWhile, 1, &loop), captured;
    CHECK(cudaStreamBeginCaptureToGraph(s, body[0], NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    add_value<<<1, 1, 0, s>>>(sum, 3);
    count_down<<<1, 1, 0, s>>>(h, left, rounds);
    CHECK(cudaStreamEndCapture(s, &captured));
    REQUIRE(captured == body[0], "another body");
    void *add[] = {&sum, &thousand};
    node(g, &loop, 1, (void *)add_value, add);
    for (int i = 0; i < 3; i++) {
        launch(g);
        REQUIRE(value_of(rounds) == 10 && value_of(sum) == 1030, "%d rounds, %d", value_of(rounds),
                value_of(sum));
    }
    CHECK(cudaGraphDestroy(g));
}

/* Each of these by the value: what was chosen is added to 100. */
static void check_choice(int *p, cudaGraphConditionalNodeType type, unsigned bodies, int value,
                         int want) {
    cudaGraph_t g;
    cudaGraphNode_t chosen;
    cudaGraphConditionalHandle h;
    int *in = p, *out = p + 1, hundred = 100, seven = 7;
    CHECK(cudaGraphCreate(&g, 0));
    CHECK(cudaGraphConditionalHandleCreate(&h, g, 0, 0));
    void *set[] = {&in, &value}, *start[] = {&out, &hundred}, *ask[] = {&h, &in};
    cudaGraphNode_t before[2] = {node(g, NULL, 0, (void *)set_value, set),
                                 node(g, NULL, 0, (void *)set_value, start)};
    before[0] = node(g, &before[0], 1, (void *)choose, ask);
    cudaGraph_t *body = conditional(g, before, 2, h, type, bodies, &chosen);
    for (unsigned i = 0; i < bodies; i++) {
        int by = 10 * (int)(i + 1);
        void *add[] = {&out, &by};
        node(body[i], NULL, 0, (void *)add_value, add);
    }
    void *add[] = {&out, &seven};
    node(g, &chosen, 1, (void *)add_value, add);
    launch(g);
    REQUIRE(value_of(out) == want, "kind %d, value %d: %d, not %d", (int)type, value, value_of(out),
            want);
    CHECK(cudaGraphDestroy(g));
}

/* A loop within a loop. */
static void check_nested(int *p) {
    cudaGraph_t g;
    cudaGraphNode_t outer, inner;
    cudaGraphConditionalHandle ho, hi;
    int *lo = p, *li = p + 1, *no = p + 2, *ni = p + 3, three = 3, four = 4, zero = 0;
    CHECK(cudaGraphCreate(&g, 0));
    CHECK(cudaGraphConditionalHandleCreate(&ho, g, 1, cudaGraphCondAssignDefault));
    void *a[] = {&lo, &three}, *b[] = {&no, &zero}, *c[] = {&ni, &zero};
    cudaGraphNode_t before = node(g, NULL, 0, (void *)set_value, a);
    before = node(g, &before, 1, (void *)set_value, b);
    before = node(g, &before, 1, (void *)set_value, c);
    cudaGraph_t *body = conditional(g, &before, 1, ho, cudaGraphCondTypeWhile, 1, &outer);
    CHECK(cudaGraphConditionalHandleCreate(&hi, body[0], 1, cudaGraphCondAssignDefault));
    void *d[] = {&li, &four}, *e[] = {&hi, &li, &ni}, *f[] = {&ho, &lo, &no};
    cudaGraphNode_t first = node(body[0], NULL, 0, (void *)set_value, d);
    cudaGraph_t *deep = conditional(body[0], &first, 1, hi, cudaGraphCondTypeWhile, 1, &inner);
    node(deep[0], NULL, 0, (void *)count_down, e);
    node(body[0], &inner, 1, (void *)count_down, f);
    launch(g);
    REQUIRE(value_of(no) == 3 && value_of(ni) == 12, "%d and %d rounds", value_of(no),
            value_of(ni));
    CHECK(cudaGraphDestroy(g));
}

int main(void) {
    int *p;
    CHECK(cudaMalloc(&p, 4 * sizeof(int)));
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    check_while(p);
    check_choice(p, cudaGraphCondTypeIf, 1, 5, 117);
    check_choice(p, cudaGraphCondTypeIf, 1, 0, 107);
    check_choice(p, cudaGraphCondTypeIf, 2, 1, 117);
    check_choice(p, cudaGraphCondTypeIf, 2, 0, 127);
    check_choice(p, cudaGraphCondTypeSwitch, 3, 0, 117);
    check_choice(p, cudaGraphCondTypeSwitch, 3, 2, 137);
    check_choice(p, cudaGraphCondTypeSwitch, 3, 3, 107);
    check_nested(p);
    checksum_print("conditions", CHECKSUM_START);
    return 0;
}
