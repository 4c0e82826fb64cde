/* SPDX-License-Identifier: Apache-2.0
 *
 * Random graphs that allocate, use and free memory, launched in random order in several streams:
 * blocks are large and small, and are freed in the graph, by a call, or by the next launch. Each
 * block is filled with a pattern of its own and checked before it is freed, so that memory in two
 * blocks at once is an error, not only another checksum.
 *   graph_memory [steps [seed]]
 * Before that, a capture over three streams like NVIDIA's sample graphMemoryNodes: a helper makes
 * two streams, forks to them, joins them, and destroys them during the capture.
 */
#include "common.h"

#define GRAPHS 8
#define STREAMS 3
#define BLOCKS_MOST 8
#define KEPT_MOST 2
#define LARGEST 3000000 /* words */

__host__ __device__ static uint32_t pattern(uint32_t value, size_t i) {
    return value * 2654435761u + (uint32_t)i;
}

__global__ void fill(uint32_t *data, size_t n, uint32_t value) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        data[i] = pattern(value, i);
}

__global__ void look(const uint32_t *data, size_t n, uint32_t value, uint32_t *wrong,
                     uint32_t *sum) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (data[i] != pattern(value, i)) atomicAdd(wrong, 1);
    if (blockIdx.x == 0 && threadIdx.x == 0) atomicAdd(sum, data[n / 2]);
}

struct block {
    uint32_t *data, value;
    size_t n;
    cudaGraphNode_t last; /* the last node that used it */
    bool freed;
};

struct work {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    struct block kept[KEPT_MOST];
    int kept_count;
    bool live;    /* the kept memory is allocated */
    bool freshly; /* a launch frees the memory that the one before left */
    int stream;   /* stream of its latest launch */
};

static uint32_t seed, *wrong, *sum;
static cudaStream_t streams[STREAMS];
static struct work works[GRAPHS];

static uint32_t dice(uint32_t below) {
    return random_next(&seed) % below;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static cudaGraphNode_t add_kernel(struct work *w, void *kernel, void **args,
                                  const cudaGraphNode_t *after, size_t count) {
    cudaGraphNode_t n;
    cudaKernelNodeParams p = {};
    p.func = kernel;
    p.gridDim = dim3(8);
    p.blockDim = dim3(128);
    p.kernelParams = args;
    CHECK(cudaGraphAddKernelNode(&n, w->graph, after, count, &p));
    return n;
}

static struct block add_block(struct work *w, const cudaGraphNode_t *after) {
    struct block b = {};
    cudaMemAllocNodeParams p = {};
    cudaGraphNode_t n;
    b.n = 1 + dice(dice(3) ? LARGEST / 15 : LARGEST);
    b.value = dice(1 << 24);
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = b.n * sizeof(*b.data);
    CHECK(cudaGraphAddMemAllocNode(&n, w->graph, after, after != NULL, &p));
    b.data = (uint32_t *)p.dptr;
    void *args[] = {&b.data, &b.n, &b.value};
    b.last = add_kernel(w, (void *)fill, args, &n, 1);
    return b;
}

static void add_look(struct work *w, struct block *b, cudaGraphNode_t after) {
    const cudaGraphNode_t both[] = {b->last, after};
    void *args[] = {&b->data, &b->n, &b->value, &wrong, &sum};
    b->last = add_kernel(w, (void *)look, args, both, b->last == after ? 1 : 2);
}

static cudaGraphNode_t add_free(struct work *w, struct block *b) {
    cudaGraphNode_t n;
    CHECK(cudaGraphAddMemFreeNode(&n, w->graph, &b->last, 1, b->data));
    b->freed = true;
    return n;
}

static int add_blocks(struct work *w, struct block *blocks) {
    cudaGraphNode_t tail = NULL;
    int count = 0;
    for (uint32_t steps = 2 + dice(8); steps; steps--) {
        const uint32_t what = dice(3);
        if (!count || (what == 0 && count < BLOCKS_MOST)) {
            blocks[count] = add_block(w, tail && dice(4) ? &tail : NULL);
            tail = blocks[count++].last;
            continue;
        }
        struct block *b = &blocks[dice(count)];
        if (b->freed) continue;
        add_look(w, b, tail);
        tail = b->last;
        if (what == 2 && dice(2)) tail = add_free(w, b);
    }
    return count;
}

static void begin(struct work *w) {
    struct block blocks[BLOCKS_MOST];
    memset(w, 0, sizeof(*w));
    CHECK(cudaGraphCreate(&w->graph, 0));
    const int count = add_blocks(w, blocks);
    for (int i = 0; i < count; i++) {
        if (blocks[i].freed) continue;
        if (w->kept_count < KEPT_MOST && !dice(3))
            w->kept[w->kept_count++] = blocks[i];
        else
            add_free(w, &blocks[i]);
    }
    w->freshly = w->kept_count && dice(2);
    CHECK(cudaGraphInstantiateWithFlags(&w->exec, w->graph,
                                        w->freshly ? cudaGraphInstantiateFlagAutoFreeOnLaunch : 0));
}

/* ---- use of the graphs ----------------------------------------------------------------------- */

static void look_at_kept(const struct work *w) {
    for (int i = 0; i < w->kept_count; i++)
        look<<<8, 128, 0, streams[w->stream]>>>(w->kept[i].data, w->kept[i].n, w->kept[i].value,
                                                wrong, sum);
}

static void free_kept(struct work *w) {
    if (!w->live) return;
    look_at_kept(w);
    for (int i = 0; i < w->kept_count; i++)
        CHECK(cudaFreeAsync(w->kept[i].data, streams[w->stream]));
    w->live = false;
}

static void launch(struct work *w) {
    const int stream = (int)dice(STREAMS);
    if (!w->freshly || dice(2)) free_kept(w);
    if (stream != w->stream) CHECK(cudaStreamSynchronize(streams[w->stream]));
    w->stream = stream;
    CHECK(cudaGraphLaunch(w->exec, streams[stream]));
    w->live = w->kept_count > 0;
    if (dice(2)) look_at_kept(w);
}

static void end(struct work *w) {
    free_kept(w);
    CHECK(cudaStreamSynchronize(streams[w->stream]));
    CHECK(cudaGraphExecDestroy(w->exec));
    CHECK(cudaGraphDestroy(w->graph));
}

static void use_pool(uint32_t value) {
    const size_t n = 10000;
    uint32_t *data;
    CHECK(cudaMallocAsync((void **)&data, n * sizeof(*data), streams[0]));
    fill<<<8, 128, 0, streams[0]>>>(data, n, value);
    look<<<8, 128, 0, streams[0]>>>(data, n, value, wrong, sum);
    CHECK(cudaFreeAsync(data, streams[0]));
}

static void step(void) {
    struct work *w = &works[dice(GRAPHS)];
    const uint32_t what = dice(20);
    if (what < 14) {
        launch(w);
    } else if (what < 16) {
        end(w);
        begin(w);
    } else if (what == 16) {
        CHECK(cudaDeviceGraphMemTrim(0));
    } else if (what == 17) {
        use_pool(dice(1 << 24));
    } else {
        CHECK(cudaDeviceSynchronize());
    }
}

/* ---- captured over several streams ----------------------------------------------------------- */

#define SQUARES 100000

struct arrays {
    float *input, *square, *negative; /* pageable */
};

__global__ void square(const float *in, float *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i] * in[i];
}

__global__ void negate(const float *in, float *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = -in[i];
}

/* Squares are left in *kept and not freed; with NULL they are freed. */
static void square_in(cudaStream_t first, struct arrays *a, float **kept) {
    const size_t bytes = SQUARES * sizeof(float);
    float *input, *squares, *negatives;
    cudaStream_t second, third;
    cudaEvent_t squared, copied, negated, freed;
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
    for (cudaEvent_t *e : {&squared, &copied, &negated, &freed})
        CHECK(cudaEventCreate(e));
    CHECK(cudaMallocAsync(&input, bytes, first));
    CHECK(cudaMemcpyAsync(input, a->input, bytes, cudaMemcpyHostToDevice, first));
    CHECK(cudaMallocAsync(&squares, bytes, first));
    square<<<16, 256, 0, first>>>(input, squares, SQUARES);
    CHECK(cudaEventRecord(squared, first));
    CHECK(cudaStreamWaitEvent(second, squared, 0));
    CHECK(cudaMemcpyAsync(a->square, squares, bytes, cudaMemcpyDeviceToHost, second));
    CHECK(cudaEventRecord(copied, second));
    CHECK(cudaFreeAsync(input, first));
    CHECK(cudaMallocAsync(&negatives, bytes, first));
    negate<<<16, 256, 0, first>>>(squares, negatives, SQUARES);
    CHECK(cudaEventRecord(negated, first));
    CHECK(cudaStreamWaitEvent(third, negated, 0));
    CHECK(cudaMemcpyAsync(a->negative, negatives, bytes, cudaMemcpyDeviceToHost, third));
    CHECK(cudaFreeAsync(negatives, third));
    CHECK(cudaEventRecord(freed, third));
    CHECK(cudaStreamWaitEvent(first, copied, 0));
    CHECK(cudaStreamWaitEvent(first, freed, 0));
    if (kept)
        *kept = squares;
    else
        CHECK(cudaFreeAsync(squares, first));
    for (cudaEvent_t e : {squared, copied, negated, freed})
        CHECK(cudaEventDestroy(e));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaStreamDestroy(third));
}

static cudaGraphExec_t capture_squares(struct arrays *a, float **kept) {
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    square_in(s, a, kept);
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

/* Returns a graph that frees the memory that another graph left. */
static cudaGraphExec_t free_graph(float *data) {
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemFreeNode(&node, graph, NULL, 0, data));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

static void check_squares(struct arrays *a, cudaGraphExec_t exec, cudaGraphExec_t freeing) {
    for (int round = 0; round < 3; round++) {
        memset(a->square, 0, SQUARES * sizeof(float));
        memset(a->negative, 0, SQUARES * sizeof(float));
        CHECK(cudaGraphLaunch(exec, streams[0]));
        if (freeing) CHECK(cudaGraphLaunch(freeing, streams[0]));
        CHECK(cudaStreamSynchronize(streams[0]));
        for (int i = 0; i < SQUARES; i++) {
            float want = a->input[i] * a->input[i];
            REQUIRE(a->square[i] == want && a->negative[i] == -want, "%d of round %d", i, round);
        }
    }
    CHECK(cudaGraphExecDestroy(exec));
    if (freeing) CHECK(cudaGraphExecDestroy(freeing));
}

static void capture_over_streams(void) {
    struct arrays a;
    float *kept;
    for (float **array : {&a.input, &a.square, &a.negative})
        *array = (float *)malloc(SQUARES * sizeof(float));
    for (int i = 0; i < SQUARES; i++)
        a.input[i] = (float)(i % 4093) / 7;
    check_squares(&a, capture_squares(&a, NULL), NULL);
    cudaGraphExec_t exec = capture_squares(&a, &kept);
    check_squares(&a, exec, free_graph(kept));
    for (float *array : {a.input, a.square, a.negative})
        free(array);
}

int main(int argc, char **argv) {
    const int steps = rounds_arg(argc, argv, 60);
    uint32_t got[2];
    seed = argc > 2 ? atoi(argv[2]) : 1;
    for (int i = 0; i < STREAMS; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    capture_over_streams();
    CHECK(cudaMalloc(&wrong, sizeof(got)));
    CHECK(cudaMemset(wrong, 0, sizeof(got)));
    sum = wrong + 1;
    for (int i = 0; i < GRAPHS; i++)
        begin(&works[i]);
    for (int i = 0; i < steps; i++) {
        if (i % 10 == 0) {
            CHECK(cudaDeviceSynchronize());
            mark();
        }
        step();
    }
    for (int i = 0; i < GRAPHS; i++)
        end(&works[i]);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got, wrong, sizeof(got), cudaMemcpyDeviceToHost));
    REQUIRE(got[0] == 0, "%u words", got[0]);
    checksum_print("graph_memory", checksum_add(CHECKSUM_START, &got[1], sizeof(got[1])));
    return 0;
}
