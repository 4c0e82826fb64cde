/* SPDX-License-Identifier: Apache-2.0
 * Graphs that are launched many times: two branches that join, pinned memory and a host function
 * between, pageable memory that changes as soon as a launch has returned, a parameter that
 * changes before some launches, and a child graph. */
#include "common.h"

#define N 20000

__global__ void scale(float *out, const float *in, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * by + (float)(i % 7);
}

__global__ void add(float *out, const float *a, const float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] - 0.5f * b[i];
}

#define BYTES (N * sizeof(float))

static float *host_in, *host_out, host_more[N]; /* the last is pageable */
static uint64_t host_sum = CHECKSUM_START;
static uint32_t seed = 1;

/* Runs within the graph: before the copy in, and after the copy out. */
static void CUDART_CB fill_input(void *arg) {
    for (int i = 0; i < N; i++)
        host_in[i] = random_unit(&seed);
}

static void CUDART_CB add_output(void *arg) {
    host_sum = checksum_add(host_sum, host_out, BYTES);
}

static void fill_more(int round) {
    for (int i = 0; i < N; i++)
        host_more[i] = (float)(i % 11 + round);
}

int main(int argc, char **argv) {
    int rounds = rounds_arg(argc, argv, 40);
    cudaStream_t first, second;
    cudaEvent_t fork, join;
    cudaGraph_t graph, outer;
    cudaGraphExec_t step;
    float *in, *a, *b, *out, *more;
    dim3 grid((N + 255) / 256);
    CHECK(cudaMalloc(&in, BYTES));
    CHECK(cudaMalloc(&a, BYTES));
    CHECK(cudaMalloc(&b, BYTES));
    CHECK(cudaMalloc(&out, BYTES));
    CHECK(cudaMalloc(&more, BYTES));
    CHECK(cudaMallocHost(&host_in, BYTES));
    CHECK(cudaMallocHost(&host_out, BYTES));
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CHECK(cudaLaunchHostFunc(first, fill_input, NULL));
    CHECK(cudaMemcpyAsync(in, host_in, BYTES, cudaMemcpyHostToDevice, first));
    CHECK(cudaEventRecord(fork, first));
    CHECK(cudaStreamWaitEvent(second, fork, 0));
    scale<<<grid, 256, 0, first>>>(a, in, 1.5f, N);
    scale<<<grid, 256, 0, second>>>(b, in, -0.25f, N);
    scale<<<grid, 256, 0, second>>>(b, b, 3.0f, N);
    CHECK(cudaEventRecord(join, second));
    CHECK(cudaStreamWaitEvent(first, join, 0));
    add<<<grid, 256, 0, first>>>(out, a, b, N);
    CHECK(cudaMemcpyAsync(more, host_more, BYTES, cudaMemcpyHostToDevice, first));
    add<<<grid, 256, 0, first>>>(out, out, more, N);
    CHECK(cudaMemcpyAsync(host_out, out, BYTES, cudaMemcpyDeviceToHost, first));
    CHECK(cudaLaunchHostFunc(first, add_output, NULL));
    CHECK(cudaStreamEndCapture(first, &graph));

    /* The captured step twice, one after the other, within a larger graph. */
    cudaGraphNode_t one, two;
    CHECK(cudaGraphCreate(&outer, 0));
    CHECK(cudaGraphAddChildGraphNode(&one, outer, NULL, 0, graph));
    CHECK(cudaGraphAddChildGraphNode(&two, outer, &one, 1, graph));
    CHECK(cudaGraphInstantiate(&step, outer, 0));

    /* The first child's last launch changes every third round. */
    cudaGraph_t child;
    cudaGraphNode_t nodes[16];
    size_t count = 16;
    CHECK(cudaGraphChildGraphNodeGetGraph(one, &child));
    CHECK(cudaGraphGetNodes(child, nodes, &count));
    cudaGraphNode_t changed = NULL;
    cudaKernelNodeParams params;
    for (size_t i = 0; i < count; i++) {
        cudaGraphNodeType type;
        CHECK(cudaGraphNodeGetType(nodes[i], &type));
        if (type != cudaGraphNodeTypeKernel) continue;
        CHECK(cudaGraphKernelNodeGetParams(nodes[i], &params));
        if (params.func == (void *)scale && *(float *)params.kernelParams[2] == 3.0f)
            changed = nodes[i];
    }
    REQUIRE(changed, "no node multiplies by 3");
    for (int i = 0; i < rounds; i++) {
        if (i % 3 == 2) {
            float by = 0.5f + (float)i;
            int n = N;
            void *args[] = {&b, &b, &by, &n};
            cudaKernelNodeParams changes = {(void *)scale, grid, dim3(256), 0, args, NULL};
            CHECK(cudaGraphExecKernelNodeSetParams(step, changed, &changes));
        }
        fill_more(i);
        CHECK(cudaGraphLaunch(step, i % 2 ? first : second));
        fill_more(-1);
    }
    CHECK(cudaDeviceSynchronize());

    /* The same work, one call at a time. */
    uint64_t want = CHECKSUM_START;
    float by = 3.0f;
    seed = 1;
    for (int i = 0; i < rounds; i++)
        for (int part = 0; part < 2; part++) {
            if (i % 3 == 2) by = 0.5f + (float)i;
            fill_input(NULL);
            fill_more(i);
            CHECK(cudaMemcpyAsync(in, host_in, BYTES, cudaMemcpyHostToDevice, first));
            scale<<<grid, 256, 0, first>>>(a, in, 1.5f, N);
            scale<<<grid, 256, 0, first>>>(b, in, -0.25f, N);
            scale<<<grid, 256, 0, first>>>(b, b, part ? 3.0f : by, N);
            add<<<grid, 256, 0, first>>>(out, a, b, N);
            CHECK(cudaMemcpyAsync(more, host_more, BYTES, cudaMemcpyHostToDevice, first));
            add<<<grid, 256, 0, first>>>(out, out, more, N);
            CHECK(cudaMemcpyAsync(host_out, out, BYTES, cudaMemcpyDeviceToHost, first));
            CHECK(cudaStreamSynchronize(first));
            want = checksum_add(want, host_out, BYTES);
        }
    REQUIRE(host_sum == want, "the graph gave %llx, single calls %llx",
            (unsigned long long)host_sum, (unsigned long long)want);
    CHECK(cudaGraphExecDestroy(step));
    CHECK(cudaGraphDestroy(outer));
    CHECK(cudaGraphDestroy(graph));
    checksum_print("graphs", host_sum);
    return 0;
}
