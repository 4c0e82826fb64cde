/* SPDX-License-Identifier: Apache-2.0
 * Graphs with conditional nodes: loops and branches with conditions that kernels set. With
 * "endless": a loop that never ends; prints a line once it runs. */
#include "common.h"

__global__ void set_value(int *p, int v) {
    *p = v;
}

__global__ void add_value(int *p, int v) {
    *p += v;
}

/* The condition is the number that is left to count. */
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

/* A loop with nodes before and after it; its body was captured. */
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

/* Chooses a body of each kind of node by the value; the chosen body adds its number to 100. */
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

/* A loop within a loop. Only the first turn of the outer loop finds the inner handle's default
 * value, which is assigned at the begin of the launch. */
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
    REQUIRE(value_of(no) == 3 && value_of(ni) == 4, "%d and %d rounds", value_of(no), value_of(ni));
    CHECK(cudaGraphDestroy(g));
}

/* Loops until the host sets `stop`. */
__global__ void until(cudaGraphConditionalHandle h, const volatile int *stop,
                      volatile int *rounds) {
    ++*rounds;
    __threadfence_system();
    cudaGraphSetConditional(h, !*stop);
}

/* Returns a loop that runs until `stop[0]` and counts its turns in stop[1]; afterwards it adds 1 to
 * `sum`. */
static cudaGraphExec_t endless(int *stop, int *sum) {
    cudaGraph_t g;
    cudaGraphExec_t e;
    cudaGraphNode_t loop;
    cudaGraphConditionalHandle h;
    int *rounds = stop + 1, one = 1;
    CHECK(cudaGraphCreate(&g, 0));
    CHECK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    cudaGraph_t *body = conditional(g, NULL, 0, h, cudaGraphCondTypeWhile, 1, &loop);
    void *ask[] = {&h, &stop, &rounds}, *add[] = {&sum, &one};
    node(body[0], NULL, 0, (void *)until, ask);
    node(g, &loop, 1, (void *)add_value, add);
    CHECK(cudaGraphInstantiate(&e, g, 0));
    CHECK(cudaGraphDestroy(g));
    return e;
}

static int *host_words(void) {
    int *w;
    CHECK(cudaHostAlloc(&w, 2 * sizeof(int), cudaHostAllocMapped));
    w[0] = w[1] = 0;
    return w;
}

/* Launches return at once; streams, events and later work in the stream wait for the loop. */
static void check_order(int *p) {
    int *stop = host_words(), *sum = p;
    cudaStream_t other;
    cudaEvent_t done;
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&done));
    set_value<<<1, 1, 0, s>>>(sum, 0);
    set_value<<<1, 1, 0, s>>>(p + 1, 0);
    cudaGraphExec_t e = endless(stop, sum);
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaEventRecord(done, s));
    CHECK(cudaStreamWaitEvent(other, done, 0));
    CHECK(cudaGraphLaunch(e, other)); /* after its earlier launches */
    add_value<<<1, 1, 0, other>>>(sum, 100);
    REQUIRE(cudaStreamQuery(s) == cudaErrorNotReady && cudaEventQuery(done) == cudaErrorNotReady,
            "a loop that goes on is complete");
    cudaStream_t free;
    CHECK(cudaStreamCreateWithFlags(&free, cudaStreamNonBlocking));
    add_value<<<1, 1, 0, free>>>(p + 1, 5);
    CHECK(cudaStreamSynchronize(free)); /* the stream runs beside the loop */
    while (*(volatile int *)(stop + 1) < 3)
        ;
    CHECK(cudaGraphExecDestroy(e)); /* destroyed during a launch */
    *(volatile int *)stop = 1;
    CHECK(cudaStreamSynchronize(other));
    REQUIRE(cudaStreamQuery(s) == cudaSuccess && cudaEventQuery(done) == cudaSuccess, "not over");
    REQUIRE(value_of(sum) == 103, "%d, not 103", value_of(sum));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaStreamDestroy(free));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaFreeHost(stop));
}

/* Returns a loop of `rounds` turns that adds `by` in each. */
static cudaGraph_t loop_of(int *left, int *count, int *sum, int rounds, int by) {
    cudaGraph_t g, inside;
    cudaGraphNode_t loop, n;
    cudaGraphConditionalHandle h;
    CHECK(cudaGraphCreate(&g, 0));
    CHECK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    void *set[] = {&left, &rounds}, *add[] = {&sum, &by}, *ask[] = {&h, &left, &count};
    cudaGraphNode_t before = node(g, NULL, 0, (void *)set_value, set);
    cudaGraph_t *body = conditional(g, &before, 1, h, cudaGraphCondTypeWhile, 1, &loop);
    CHECK(cudaGraphCreate(&inside, 0));
    node(inside, NULL, 0, (void *)add_value, add);
    CHECK(cudaGraphAddChildGraphNode(&n, body[0], NULL, 0, inside));
    node(body[0], &n, 1, (void *)count_down, ask);
    CHECK(cudaGraphDestroy(inside));
    return g;
}

/* Updates a whole executable graph, with other conditions, while a launch of it waits. */
static void check_update(int *p) {
    int *left = p, *count = p + 1, *sum = p + 2, *stop = host_words();
    cudaGraphExec_t e, gate = endless(stop, p + 3);
    cudaGraphExecUpdateResultInfo info;
    cudaGraph_t a = loop_of(left, count, sum, 4, 1), b = loop_of(left, count, sum, 2, 1000), c;
    set_value<<<1, 1, 0, s>>>(sum, 0);
    CHECK(cudaGraphInstantiate(&e, a, 0));
    CHECK(cudaGraphLaunch(gate, s));
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaGraphExecUpdate(e, b, &info));
    CHECK(cudaGraphDestroy(a));
    CHECK(cudaGraphDestroy(b));
    CHECK(cudaGraphLaunch(e, s));
    *(volatile int *)stop = 1;
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(sum) == 2004, "%d, not 2004", value_of(sum));
    cudaGraphNode_t n;
    cudaGraphConditionalHandle h;
    CHECK(cudaGraphCreate(&c, 0));
    CHECK(cudaGraphConditionalHandleCreate(&h, c, 1, 0));
    void *set[] = {&left, &stop[1]};
    cudaGraphNode_t before = node(c, NULL, 0, (void *)set_value, set);
    conditional(c, &before, 1, h, cudaGraphCondTypeIf, 1, &n);
    REQUIRE(cudaGraphExecUpdate(e, c, &info) == cudaErrorGraphExecUpdateFailure, "a loop is no if");
    cudaGetLastError();
    REQUIRE(info.result == cudaGraphExecUpdateErrorParametersChanged, "%d", (int)info.result);
    CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(value_of(sum) == 4004, "a failed update changed it: %d", value_of(sum));
    CHECK(cudaGraphDestroy(c));
    CHECK(cudaGraphExecDestroy(e));
    CHECK(cudaGraphExecDestroy(gate));
    CHECK(cudaFreeHost(stop));
}

/* Bodies with branches, copies and fills, in several streams at once. */
static void check_branches(void) {
    enum { STREAMS = 3, WIDE = 5 };
    cudaStream_t in[STREAMS];
    cudaGraphExec_t e[STREAMS];
    int *p[STREAMS];
    for (int k = 0; k < STREAMS; k++) {
        cudaGraph_t g;
        cudaGraphNode_t loop, n[WIDE + 1];
        cudaGraphConditionalHandle h;
        CHECK(cudaStreamCreate(&in[k]));
        CHECK(cudaMalloc(&p[k], (WIDE + 3) * sizeof(int)));
        CHECK(cudaMemset(p[k], 0, (WIDE + 3) * sizeof(int)));
        CHECK(cudaGraphCreate(&g, 0));
        CHECK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
        int *left = p[k] + WIDE, *count = left + 1, *copy = left + 2, rounds = 3 + k, by = k + 1;
        void *set[] = {&left, &rounds};
        n[WIDE] = node(g, NULL, 0, (void *)set_value, set);
        cudaGraph_t *body = conditional(g, &n[WIDE], 1, h, cudaGraphCondTypeWhile, 1, &loop);
        for (int i = 0; i < WIDE; i++) {
            int *cell = p[k] + i;
            void *add[] = {&cell, &by};
            n[i] = node(body[0], NULL, 0, (void *)add_value, add);
        }
        CHECK(cudaGraphAddMemcpyNode1D(&n[WIDE], body[0], n, WIDE, copy, p[k] + WIDE - 1,
                                       sizeof(int), cudaMemcpyDeviceToDevice));
        void *ask[] = {&h, &left, &count};
        node(body[0], &n[WIDE], 1, (void *)count_down, ask);
        CHECK(cudaGraphInstantiate(&e[k], g, 0));
        CHECK(cudaGraphDestroy(g));
    }
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < STREAMS; k++)
            CHECK(cudaGraphLaunch(e[k], in[k]));
    CHECK(cudaDeviceSynchronize());
    for (int k = 0; k < STREAMS; k++) {
        int got[WIDE + 3];
        CHECK(cudaMemcpy(got, p[k], sizeof(got), cudaMemcpyDeviceToHost));
        int want = 5 * (3 + k) * (k + 1);
        for (int i = 0; i < WIDE; i++)
            REQUIRE(got[i] == want, "%d of %d: %d, not %d", i, k, got[i], want);
        REQUIRE(got[WIDE + 1] == 5 * (3 + k) && got[WIDE + 2] == want, "%d turns", got[WIDE + 1]);
        CHECK(cudaGraphExecDestroy(e[k]));
        CHECK(cudaFree(p[k]));
        CHECK(cudaStreamDestroy(in[k]));
    }
}

/* An error in a body is an error of the program. */
static int stray(int *p) {
    cudaGraph_t g;
    cudaGraphNode_t loop;
    cudaGraphExec_t e;
    cudaGraphConditionalHandle h;
    int *bad = (int *)64, one = 1;
    (void)p;
    CHECK(cudaGraphCreate(&g, 0));
    CHECK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
    cudaGraph_t *body = conditional(g, NULL, 0, h, cudaGraphCondTypeWhile, 1, &loop);
    void *add[] = {&bad, &one};
    node(body[0], NULL, 0, (void *)add_value, add);
    CHECK(cudaGraphInstantiate(&e, g, 0));
    CHECK(cudaGraphLaunch(e, s));
    printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(s)));
    return 0;
}

static int run_endless(int *p) {
    int *stop = host_words();
    CHECK(cudaGraphLaunch(endless(stop, p), s));
    while (*(volatile int *)(stop + 1) < 3)
        ;
    puts("it runs");
    fflush(stdout);
    CHECK(cudaStreamSynchronize(s));
    return 1;
}

int main(int argc, char **argv) {
    int *p;
    CHECK(cudaMalloc(&p, 4 * sizeof(int)));
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    if (argc > 1 && strcmp(argv[1], "endless") == 0) return run_endless(p);
    if (argc > 1 && strcmp(argv[1], "stray") == 0) return stray(p);
    check_while(p);
    check_choice(p, cudaGraphCondTypeIf, 1, 5, 117);
    check_choice(p, cudaGraphCondTypeIf, 1, 0, 107);
    check_choice(p, cudaGraphCondTypeIf, 2, 1, 117);
    check_choice(p, cudaGraphCondTypeIf, 2, 0, 127);
    check_choice(p, cudaGraphCondTypeSwitch, 3, 0, 117);
    check_choice(p, cudaGraphCondTypeSwitch, 3, 2, 137);
    check_choice(p, cudaGraphCondTypeSwitch, 3, 3, 107);
    check_nested(p);
    check_order(p);
    check_update(p);
    check_branches();
    checksum_print("conditions", CHECKSUM_START);
    return 0;
}
