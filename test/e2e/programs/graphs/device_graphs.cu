/* SPDX-License-Identifier: Apache-2.0
 * Graphs that kernels launch, one function per topic: the order in which they run, the result of
 * each launch call, and that a graph with kernels, copies, fills and child graphs computes the
 * same as when the host launches it. */
#include "common.h"

#define LOG_ROOM 4096

/* The numbers of kernels in the order in which they began. */
__device__ int log_count, logged[LOG_ROOM];
__device__ cudaError_t got[512];
__device__ int turns;

__device__ void note(int number) {
    int at = atomicAdd(&log_count, 1);
    if (at < LOG_ROOM) logged[at] = number;
}

__global__ void mark(int number) {
    note(number);
}

/* Spins for so long that any kernel which may overtake it does. */
__global__ void slow_mark(int number, int spins) {
    unsigned x = number;
    for (int i = 0; i < spins; i++)
        x = x * 1664525u + 1013904223u;
    note(x == 12345u ? number + 1 : number);
}

__global__ void start(cudaGraphExec_t graph, int how, int number, int at) {
    note(number);
    cudaStream_t stream = how == 1   ? cudaStreamGraphTailLaunch
                          : how == 2 ? cudaStreamGraphFireAndForget
                                     : cudaStreamGraphFireAndForgetAsSibling;
    got[at] = cudaGraphLaunch(graph, stream);
}

enum { TAIL = 1, FORGET, SIBLING };

/* ---- making graphs --------------------------------------------------------------------------- */

static cudaStream_t stream;

static void begin(void) {
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
}

static cudaGraphExec_t end(unsigned long long flags) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, flags));
    if (flags) CHECK(cudaGraphUpload(exec, stream));
    return exec;
}

static cudaGraphExec_t offered(void) {
    return end(cudaGraphInstantiateFlagDeviceLaunch);
}

/* Returns a graph that notes a number. */
static cudaGraphExec_t marking(int number, int spins) {
    begin();
    slow_mark<<<1, 1, 0, stream>>>(number, spins);
    return offered();
}

static void reset(void) {
    int zero = 0;
    CHECK(cudaMemcpyToSymbol(log_count, &zero, sizeof(zero)));
    CHECK(cudaDeviceSynchronize()); /* the stream waits for no other stream */
}

static void expect_log(const char *what, const int *want, int count) {
    static int have[LOG_ROOM];
    int n;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpyFromSymbol(&n, log_count, sizeof(n)));
    CHECK(cudaMemcpyFromSymbol(have, logged, sizeof(have)));
    for (int i = 0; i < n || i < count; i++)
        REQUIRE(i < n && i < count && have[i] == want[i], "%s: %d of %d is %d, not %d of %d", what,
                i, n, i < n ? have[i] : -1, i < count ? want[i] : -1, count);
}

static cudaError_t result(int at) {
    cudaError_t r;
    CHECK(cudaMemcpyFromSymbol(&r, got, sizeof(r), at * sizeof(r)));
    return r;
}

#define EXPECT_LOG(what, ...)                                        \
    do {                                                             \
        const int want[] = {__VA_ARGS__};                            \
        expect_log(what, want, (int)(sizeof(want) / sizeof(*want))); \
    } while (0)

/* ---- orders ---------------------------------------------------------------------------------- */

/* Tail launches run one after the other once the graph and all that it launched are complete. A
 * tail launch made within a tail launch precedes those that were queued before. */
static void tails(void) {
    cudaGraphExec_t one = marking(10, 100), two = marking(20, 100), slow = marking(30, 200000);
    begin();
    start<<<1, 1, 0, stream>>>(one, TAIL, 40, 3);
    mark<<<1, 1, 0, stream>>>(41);
    cudaGraphExec_t nested = offered();
    begin();
    start<<<1, 1, 0, stream>>>(nested, TAIL, 1, 0);
    start<<<1, 1, 0, stream>>>(two, TAIL, 2, 1);
    start<<<1, 1, 0, stream>>>(slow, FORGET, 3, 2);
    mark<<<1, 1, 0, stream>>>(4);
    cudaGraphExec_t all = end(0);
    for (int i = 0; i < 2; i++) {
        reset();
        CHECK(cudaGraphLaunch(all, stream));
        mark<<<1, 1, 0, stream>>>(99);
        CHECK(cudaStreamSynchronize(stream));
        int n;
        static int have[LOG_ROOM];
        CHECK(cudaMemcpyFromSymbol(&n, log_count, sizeof(n)));
        CHECK(cudaMemcpyFromSymbol(have, logged, sizeof(have)));
        const int want[] = {1, 2, 3, 4, 40, 41, 10, 20, 99};
        /* 30 is anywhere between 3 and 40. */
        int k = 0, seen = 0;
        for (int j = 0; j < n; j++) {
            if (have[j] == 30) {
                REQUIRE(k >= 3 && k <= 4, "30 came at %d", j);
                seen++;
                continue;
            }
            REQUIRE(k < 9 && have[j] == want[k], "%d at %d, not %d", have[j], j, want[k]);
            k++;
        }
        REQUIRE(k == 9 && seen == 1, "%d of 9", k);
        for (int j = 0; j < 4; j++)
            REQUIRE(result(j) == cudaSuccess, "launch %d: %d", j, (int)result(j));
    }
}

/* The graph continues by launching itself. */
__global__ void go_on(int until) {
    note(turns);
    if (++turns < until)
        got[0] = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}

__global__ void go_on_twice(void) {
    got[1] = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
    got[2] = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}

static void itself(void) {
    int zero = 0, n;
    begin();
    go_on<<<1, 1, 0, stream>>>(500);
    cudaGraphExec_t loop = offered();
    for (int from = 0; from < 2; from++) { /* once launched by the host, once by a kernel */
        CHECK(cudaMemcpyToSymbol(turns, &zero, sizeof(zero)));
        reset();
        if (from) {
            begin();
            start<<<1, 1, 0, stream>>>(loop, FORGET, -1, 3);
            loop = end(0);
        }
        CHECK(cudaGraphLaunch(loop, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpyFromSymbol(&n, turns, sizeof(n)));
        REQUIRE(n == 500, "%d turns", n);
        REQUIRE(result(0) == cudaSuccess, "%d", (int)result(0));
    }
}

/* A sibling launch does not delay the tail; a fire-and-forget launch does. */
__global__ void wait_for_flag(volatile int *flag, int number) {
    while (!*flag)
        ;
    note(number);
}

__global__ void raise_flag(volatile int *flag, int number) {
    note(number);
    __threadfence();
    *flag = 1;
}

static void siblings(void) {
    int *flag;
    CHECK(cudaMalloc(&flag, sizeof(*flag)));
    CHECK(cudaMemset(flag, 0, sizeof(*flag)));
    begin();
    wait_for_flag<<<1, 1, 0, stream>>>(flag, 10);
    cudaGraphExec_t waits = offered();
    begin();
    raise_flag<<<1, 1, 0, stream>>>(flag, 20);
    cudaGraphExec_t raises = offered();
    begin();
    start<<<1, 1, 0, stream>>>(waits, SIBLING, 1, 0);
    start<<<1, 1, 0, stream>>>(raises, TAIL, 2, 1);
    cudaGraphExec_t all = end(0);
    reset();
    CHECK(cudaGraphLaunch(all, stream));
    mark<<<1, 1, 0, stream>>>(99);
    EXPECT_LOG("siblings", 1, 2, 20, 10, 99);
    /* A fire-and-forget graph begins while the launching kernel still runs. */
    CHECK(cudaMemset(flag, 0, sizeof(*flag)));
    begin();
    start<<<1, 1, 0, stream>>>(raises, FORGET, 1, 0);
    wait_for_flag<<<1, 1, 0, stream>>>(flag, 2);
    all = end(0);
    reset();
    CHECK(cudaGraphLaunch(all, stream));
    EXPECT_LOG("forgotten", 1, 20, 2);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Each thread launches a graph of its own. */
__global__ void start_all(cudaGraphExec_t *graphs, int how) {
    int i = threadIdx.x;
    got[i] = cudaGraphLaunch(graphs[i], how == TAIL ? cudaStreamGraphTailLaunch
                                                    : cudaStreamGraphFireAndForget);
}

static void bounds(void) {
    const int count = 300;
    static cudaGraphExec_t graphs[300];
    cudaGraphExec_t *there;
    for (int i = 0; i < count; i++)
        graphs[i] = marking(i, 1);
    CHECK(cudaMalloc(&there, sizeof(graphs)));
    CHECK(cudaMemcpy(there, graphs, sizeof(graphs), cudaMemcpyHostToDevice));
    for (int how = TAIL; how <= FORGET; how++) {
        int good = 0, n, most = how == TAIL ? 255 : 120;
        begin();
        start_all<<<1, count, 0, stream>>>(there, how);
        cudaGraphExec_t all = end(0);
        for (int again = 0; again < 2; again++) {
            reset();
            CHECK(cudaGraphLaunch(all, stream));
            CHECK(cudaStreamSynchronize(stream));
            CHECK(cudaMemcpyFromSymbol(&n, log_count, sizeof(n)));
            good = 0;
            for (int i = 0; i < count; i++)
                good += result(i) == cudaSuccess;
            REQUIRE(good == most && n == most, "%d launches, %d ran", good, n);
        }
    }
}

/* ---- refused launches ------------------------------------------------------------------------ */

__global__ void launch_any(cudaGraphExec_t graph, cudaStream_t in, int at) {
    got[at] = cudaGraphLaunch(graph, in);
}

__global__ void current(cudaGraphExec_t *out) {
    *out = cudaGetCurrentGraphExec();
}

static void refused(void) {
    cudaGraphExec_t good = marking(1, 1), slow = marking(2, 400000), gone = marking(3, 1);
    CHECK(cudaGraphExecDestroy(gone));
    begin();
    mark<<<1, 1, 0, stream>>>(5);
    cudaGraphExec_t plain = end(0);
    begin();
    launch_any<<<1, 1, 0, stream>>>((cudaGraphExec_t)0x1234, cudaStreamGraphFireAndForget, 0);
    launch_any<<<1, 1, 0, stream>>>(NULL, cudaStreamGraphTailLaunch, 1);
    launch_any<<<1, 1, 0, stream>>>(plain, cudaStreamGraphFireAndForget, 2);
    launch_any<<<1, 1, 0, stream>>>(gone, cudaStreamGraphFireAndForget, 3);
    launch_any<<<1, 1, 0, stream>>>(good, (cudaStream_t)0, 4);
    launch_any<<<1, 1, 0, stream>>>(good, (cudaStream_t)0x0400000000000000, 5);
    launch_any<<<1, 1, 0, stream>>>(good, (cudaStream_t)0x0200000000000001, 6);
    launch_any<<<1, 1, 0, stream>>>(slow, cudaStreamGraphFireAndForget, 7);
    launch_any<<<1, 1, 0, stream>>>(slow, cudaStreamGraphTailLaunch, 8); /* the graph is running */
    cudaGraphExec_t all = end(0);
    reset();
    CHECK(cudaGraphLaunch(all, stream));
    EXPECT_LOG("refused", 2);
    for (int i = 0; i < 9; i++)
        REQUIRE(result(i) == (i == 7 ? cudaSuccess : cudaErrorInvalidValue), "launch %d: %d", i,
                (int)result(i));
    /* A kernel outside any graph cannot launch one. */
    launch_any<<<1, 1, 0, stream>>>(good, cudaStreamGraphFireAndForget, 0);
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(result(0) == cudaErrorInvalidValue, "%d", (int)result(0));
    /* A graph may have one pending launch of itself. */
    begin();
    go_on_twice<<<1, 1, 0, stream>>>();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(result(1) == cudaErrorInvalidValue, "no device graph: %d", (int)result(1));
    /* A kernel can ask which graph it is part of. */
    cudaGraphExec_t *there, told;
    CHECK(cudaMalloc(&there, sizeof(*there)));
    begin();
    current<<<1, 1, 0, stream>>>(there);
    cudaGraphExec_t tells = offered();
    CHECK(cudaGraphLaunch(tells, stream));
    CHECK(cudaMemcpyAsync(&told, there, sizeof(told), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(told == tells, "not itself");
    current<<<1, 1, 0, stream>>>(there);
    CHECK(cudaMemcpyAsync(&told, there, sizeof(told), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(told == NULL, "something");
    /* Nodes that such a graph cannot have. */
    begin();
    CHECK(cudaLaunchHostFunc(
        stream, [](void *) {}, NULL));
    CHECK(cudaStreamEndCapture(stream, &graph));
    REQUIRE(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch) !=
                cudaSuccess,
            "a host function");
    cudaGetLastError();
}

/* ---- results --------------------------------------------------------------------------------- */

__global__ void scale(unsigned *v, int n, unsigned by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = v[i] * by + i;
}

__global__ void add(unsigned *v, const unsigned *a, const unsigned *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = a[i] + b[i];
}

/* Adds a child graph after the captured work. */
static void add_child(cudaGraph_t child) {
    cudaStreamCaptureStatus status;
    const cudaGraphNode_t *before;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    size_t count;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &before, NULL, &count));
    CHECK(cudaGraphAddChildGraphNode(&node, graph, before, count, child));
    CHECK(cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                              cudaStreamSetCaptureDependencies));
}

/* Two branches that join, with fills, copies and a child graph. */
static void work(unsigned *v, int n, cudaStream_t other, cudaGraph_t child) {
    cudaEvent_t fork, join;
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaMemsetAsync(v, 3, n * sizeof(*v), stream));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork));
    CHECK(cudaMemcpyAsync(v + n, v, n * sizeof(*v), cudaMemcpyDeviceToDevice, other));
    scale<<<n / 128, 128, 0, other>>>(v + n, n, 5);
    scale<<<n / 128, 128, 0, stream>>>(v, n, 7);
    CHECK(cudaEventRecord(join, other));
    CHECK(cudaStreamWaitEvent(stream, join));
    add_child(child);
    add<<<n / 128, 128, 0, stream>>>(v + 2 * n, v, v + n, n);
}

static uint64_t computes(void) {
    const int n = 1 << 14;
    unsigned *v;
    static unsigned host[1 << 14], want[1 << 14];
    cudaStream_t other;
    CHECK(cudaMalloc(&v, 3 * n * sizeof(*v)));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    begin();
    scale<<<n / 128, 128, 0, stream>>>(v, n, 11);
    cudaGraph_t child;
    CHECK(cudaStreamEndCapture(stream, &child));
    begin();
    work(v, n, other, child);
    cudaGraphExec_t all = offered();
    CHECK(cudaGraphLaunch(all, stream));
    CHECK(cudaMemcpyAsync(want, v + 2 * n, sizeof(want), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int how = TAIL; how <= SIBLING; how++) {
        CHECK(cudaMemsetAsync(v, 0, 3 * n * sizeof(*v), stream));
        begin();
        start<<<1, 1, 0, stream>>>(all, how, 0, 0);
        cudaGraphExec_t by = end(0);
        CHECK(cudaGraphLaunch(by, stream));
        CHECK(cudaMemcpyAsync(host, v + 2 * n, sizeof(host), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        REQUIRE(!memcmp(host, want, sizeof(host)), "launched in way %d", how);
    }
    for (int i = 0; i < n; i++) {
        unsigned a = (0x03030303u * 7 + i) * 11 + i, b = 0x03030303u * 5 + i;
        REQUIRE(want[i] == a + b, "%d: %u", i, want[i]);
    }
    return checksum_add(CHECKSUM_START, want, sizeof(want));
}

/* A fault in a graph that a kernel launched ends the job, and the error names the faulting
 * kernel. */
__global__ void stray(int *p) {
    *p = 1;
}

static int run_stray(void) {
    begin();
    stray<<<1, 1, 0, stream>>>((int *)8);
    cudaGraphExec_t bad = offered();
    begin();
    start<<<1, 1, 0, stream>>>(bad, TAIL, 1, 0);
    CHECK(cudaGraphLaunch(end(0), stream));
    puts(cudaGetErrorName(cudaStreamSynchronize(stream)));
    return 0;
}

int main(int argc, char **argv) {
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (argc > 1 && !strcmp(argv[1], "stray")) return run_stray();
    tails();
    itself();
    siblings();
    bounds();
    refused();
    checksum_print("device_graphs", computes());
    return 0;
}
