/* SPDX-License-Identifier: Apache-2.0
 * Rounds that verify themselves: copy in, kernels on several streams that wait for each other, copy
 * out, compare with the host. The kind of memory and the way of waiting change with each round.
 *     verify [ROUNDS [SEED [THREADS [WHAT ROUND]]]]    ROUNDS 0: until standard input ends
 * WHAT it does once, in the middle of a round: `fault` on a stream of its own, `endless`
 * likewise, `grow` until the device is full, `leave`, or `deaf`: close all descriptors, as
 * daemons do. `load`: in each round from ROUND on, a module so large that loading takes a good
 * part of the round. Prints WRONG, with exit status 3, for a wrong result although every call
 * succeeded. For a CUDA error, prints the call and the number of rounds, with exit status 4; the
 * test judges it. */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "common.h"

#define COUNT 8192
#define BYTES (COUNT * sizeof(uint32_t))
#define BLOCK 128
#define STREAMS 3
#define STEPS 3
#define TURNS 16
#define FRESH 6 /* rounds after which all objects are made anew */
#define UNTOUCHED 0xeeeeeeeeu

enum kind { PAGEABLE, PINNED, MAPPED, MANAGED, KINDS };
enum wait { SYNC_STREAM, SYNC_DEVICE, SYNC_EVENT, POLL_STREAM, POLL_EVENT, COPY_BLOCKING, WAITS };

struct lane {
    cudaStream_t stream;
    cudaEvent_t begun, done;
    uint32_t *in[KINDS], *out[KINDS], *a, *b;
    uint32_t want[COUNT];
    volatile uint64_t seen; /* set by the host function */
    const uint32_t *shown;
};

struct job {
    pthread_t thread;
    uint32_t seed;
    int rounds; /* 0: until standard input ends */
    uint64_t sum;
    struct lane lanes[STREAMS];
};

static std::atomic<int> rounds_verified;
static int threads = 1, offence_round;
static const char *offence;
static bool loads;

static void fail(const char *call, cudaError_t err) {
    fprintf(stderr, "ERROR %s: %s (%d) after %d rounds\n", call, cudaGetErrorName(err), (int)err,
            (int)rounds_verified);
    /* exit() would end the CUDA runtime while other threads use it, and they would crash. */
    if (threads > 1) _exit(4);
    exit(4);
}

#define TRY(call)                                         \
    do {                                                  \
        cudaError_t try_err = (call);                     \
        if (try_err != cudaSuccess) fail(#call, try_err); \
    } while (0)

#define WRONG(...)                    \
    do {                              \
        printf("WRONG " __VA_ARGS__); \
        fflush(stdout);               \
        _exit(3);                     \
    } while (0)

__host__ __device__ static uint32_t turn(uint32_t v, uint32_t key) {
    for (int k = 0; k < TURNS; k++)
        v = v * 1664525u + (key ^ v >> 15);
    return v;
}

/* The result includes that of the stream before, so that an error there shows here. */
__global__ void step(const uint32_t *in, const uint32_t *before, uint32_t *out, uint32_t key) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t v = turn(in[i], key);
    out[i] = before ? v ^ before[i] : v;
}

/* Writes in place to host memory that the device reaches. */
__global__ void hand_over(const uint32_t *from, uint32_t *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}

__global__ void read_far(uint32_t *p, uint64_t at) {
    p[threadIdx.x] = p[at + threadIdx.x];
}

__global__ void endless(volatile uint32_t *p) {
    for (;;)
        (void)p[0];
}

static uint64_t total(const uint32_t *values) {
    uint64_t sum = 1;
    for (int i = 0; i < COUNT; i++)
        sum += values[i];
    return sum;
}

static void look(void *arg) {
    struct lane *l = (struct lane *)arg;
    l->seen = total(l->shown);
}

static void lane_make(struct lane *l) {
    TRY(cudaStreamCreate(&l->stream));
    TRY(cudaEventCreate(&l->begun));
    TRY(cudaEventCreate(&l->done));
    TRY(cudaMalloc(&l->a, BYTES));
    TRY(cudaMalloc(&l->b, BYTES));
    l->in[PAGEABLE] = (uint32_t *)malloc(BYTES);
    l->out[PAGEABLE] = (uint32_t *)malloc(BYTES);
    for (int k = PINNED; k <= MAPPED; k++) {
        TRY(cudaHostAlloc(&l->in[k], BYTES, cudaHostAllocMapped));
        TRY(cudaHostAlloc(&l->out[k], BYTES, cudaHostAllocMapped));
    }
    TRY(cudaMallocManaged(&l->in[MANAGED], BYTES));
    TRY(cudaMallocManaged(&l->out[MANAGED], BYTES));
}

static void lane_free(struct lane *l) {
    free(l->in[PAGEABLE]);
    free(l->out[PAGEABLE]);
    for (int k = PINNED; k <= MAPPED; k++) {
        TRY(cudaFreeHost(l->in[k]));
        TRY(cudaFreeHost(l->out[k]));
    }
    TRY(cudaFree(l->in[MANAGED]));
    TRY(cudaFree(l->out[MANAGED]));
    TRY(cudaFree(l->a));
    TRY(cudaFree(l->b));
    TRY(cudaEventDestroy(l->begun));
    TRY(cudaEventDestroy(l->done));
    TRY(cudaStreamDestroy(l->stream));
}

/* Computes the expected result on the host; `before` is the stream before, or NULL. */
static void lane_expect(struct lane *l, const struct lane *before, enum kind kind, uint32_t key) {
    uint32_t seed = key;
    for (int i = 0; i < COUNT; i++) {
        uint32_t v = random_next(&seed);
        l->in[kind][i] = v;
        for (int k = 0; k < STEPS; k++)
            v = turn(v, key + k);
        l->want[i] = before ? v ^ before->want[i] : v;
        l->out[kind][i] = UNTOUCHED;
    }
    l->seen = 0;
    l->shown = l->out[kind];
}

/* The last step leaves its result in b, where the next stream reads it, whatever other place it
 * goes to. */
static void lane_send(struct lane *l, const struct lane *before, enum kind kind, bool copy_back,
                      uint32_t key) {
    const bool in_place = kind == MAPPED || kind == MANAGED;
    TRY(cudaEventRecord(l->begun, l->stream));
    if (!in_place)
        TRY(cudaMemcpyAsync(l->a, l->in[kind], BYTES, cudaMemcpyHostToDevice, l->stream));
    for (int k = 0; k < STEPS; k++) {
        const bool last = k == STEPS - 1;
        if (last && before) TRY(cudaStreamWaitEvent(l->stream, before->done, 0));
        step<<<COUNT / BLOCK, BLOCK, 0, l->stream>>>(k == 0 && in_place ? l->in[kind] : l->a,
                                                     last && before ? before->b : NULL,
                                                     last ? l->b : l->a, key + k);
        TRY(cudaGetLastError());
    }
    TRY(cudaEventRecord(l->done, l->stream));
    if (copy_back) {
        if (in_place)
            hand_over<<<COUNT / BLOCK, BLOCK, 0, l->stream>>>(l->b, l->out[kind]);
        else
            TRY(cudaMemcpyAsync(l->out[kind], l->b, BYTES, cudaMemcpyDeviceToHost, l->stream));
        TRY(cudaGetLastError());
        TRY(cudaLaunchHostFunc(l->stream, look, l));
        TRY(cudaEventRecord(l->done, l->stream));
    }
}

static void lane_wait(struct lane *l, enum kind kind, enum wait how) {
    cudaError_t r = cudaSuccess;
    switch (how) {
    case SYNC_STREAM: TRY(cudaStreamSynchronize(l->stream)); break;
    case SYNC_DEVICE: TRY(cudaDeviceSynchronize()); break;
    case SYNC_EVENT: TRY(cudaEventSynchronize(l->done)); break;
    case POLL_STREAM:
        while ((r = cudaStreamQuery(l->stream)) == cudaErrorNotReady)
            sched_yield();
        TRY(r);
        break;
    case POLL_EVENT:
        while ((r = cudaEventQuery(l->done)) == cudaErrorNotReady)
            sched_yield();
        TRY(r);
        break;
    default: TRY(cudaMemcpy(l->out[kind], l->b, BYTES, cudaMemcpyDefault));
    }
}

static void lane_check(struct lane *l, enum kind kind, enum wait how, int round) {
    float ms = -1;
    for (int i = 0; i < COUNT; i++)
        if (l->out[kind][i] != l->want[i])
            WRONG("round %d memory %d wait %d: [%d] is %08x, not %08x\n", round, kind, how, i,
                  l->out[kind][i], l->want[i]);
    if (how != COPY_BLOCKING && l->seen != total(l->want))
        WRONG("round %d memory %d wait %d: the host function saw another sum\n", round, kind, how);
    TRY(cudaEventElapsedTime(&ms, l->begun, l->done));
    if (ms < 0) WRONG("round %d wait %d: the events are %g ms apart\n", round, how, ms);
}

/* Allocates all free memory, and frees it again. */
static void grow(cudaStream_t stream) {
    const size_t piece = 16u << 20;
    void *held[256];
    int count = 0;
    while (count < 256 && cudaMalloc(&held[count], piece) == cudaSuccess)
        TRY(cudaMemsetAsync(held[count++], 0x55, piece, stream));
    cudaError_t err = cudaGetLastError();
    if (err != cudaErrorMemoryAllocation) fail("grow", err);
    while (count--)
        TRY(cudaFree(held[count]));
}

#define LOADED 400 /* the functions of a module, with this many instructions each */
#define LOADED_INSTS 50

static char *module_text(uint32_t value) {
    const size_t room = 4096 + LOADED * (200 + LOADED_INSTS * 40);
    char *text = (char *)malloc(room);
    size_t n = (size_t)snprintf(text, room, ".version 7.5\n.target sm_75\n.address_size 64\n");
    for (int f = 0; f < LOADED; f++) {
        n += (size_t)snprintf(text + n, room - n, ".func f%d()\n{\n.reg .b32 %%r<40>;\n", f);
        for (int i = 0; i < LOADED_INSTS; i++)
            n += (size_t)snprintf(text + n, room - n, "mad.lo.s32 %%r%d, %%r%d, 7, %%r%d;\n",
                                  i % 38, i % 37, i % 31);
        n += (size_t)snprintf(text + n, room - n, "ret;\n}\n");
    }
    snprintf(text + n, room - n,
             ".global .u32 held = %u;\n.visible .entry put(.param .u64 p)\n{\n"
             ".reg .b64 %%rd<2>;\n.reg .b32 %%r<2>;\nld.param.u64 %%rd1, [p];\n"
             "ld.global.u32 %%r1, [held];\nst.global.u32 [%%rd1], %%r1;\nret;\n}\n",
             value);
    return text;
}

/* Loads a module with a value that no other module has. */
static void load(int round, uint32_t value) {
    char *text = module_text(value);
    cudaLibrary_t library;
    cudaKernel_t put;
    uint32_t *out, got = UNTOUCHED;
    void *params[] = {&out};
    TRY(cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    TRY(cudaLibraryGetKernel(&put, library, "put"));
    TRY(cudaMalloc(&out, sizeof(*out)));
    TRY(cudaLaunchKernel((const void *)put, 1, 1, params, 0, 0));
    TRY(cudaMemcpy(&got, out, sizeof(got), cudaMemcpyDeviceToHost));
    if (got != value) WRONG("round %d: a module's variable is %08x, not %08x\n", round, got, value);
    TRY(cudaFree(out));
    TRY(cudaLibraryUnload(library));
    free(text);
}

/* Misbehaves while the round's work is in flight. */
static void misbehave(const char *what, uint32_t *data) {
    cudaStream_t apart;
    if (!strcmp(what, "leave")) exit(0);
    if (!strcmp(what, "deaf"))
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
    TRY(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    if (!strcmp(what, "fault")) read_far<<<1, 32, 0, apart>>>(data, 1ull << 40);
    if (!strcmp(what, "endless")) endless<<<1, 32, 0, apart>>>(data);
    TRY(cudaGetLastError());
    if (!strcmp(what, "grow")) grow(apart);
}

static void verify(struct job *j, int round) {
    const enum kind kind = (enum kind)(random_next(&j->seed) % KINDS);
    const enum wait how = (enum wait)(random_next(&j->seed) % WAITS);
    uint32_t keys[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        keys[s] = random_next(&j->seed);
        lane_expect(&j->lanes[s], s ? &j->lanes[s - 1] : NULL, kind, keys[s]);
    }
    for (int s = 0; s < STREAMS; s++)
        lane_send(&j->lanes[s], s ? &j->lanes[s - 1] : NULL, kind, how != COPY_BLOCKING, keys[s]);
    if (loads && round >= offence_round) load(round, keys[0]);
    if (offence && !loads && round == offence_round) misbehave(offence, j->lanes[0].a);
    for (int s = 0; s < STREAMS; s++) {
        lane_wait(&j->lanes[s], kind, how);
        lane_check(&j->lanes[s], kind, how, round);
        j->sum = checksum_add(j->sum, j->lanes[s].out[kind], BYTES);
    }
    rounds_verified++;
}

static bool over(const struct job *j, int round) {
    struct pollfd p = {STDIN_FILENO, POLLIN, 0};
    return j->rounds ? round == j->rounds : poll(&p, 1, 0) > 0;
}

static void *run(void *arg) {
    struct job *j = (struct job *)arg;
    j->sum = CHECKSUM_START;
    for (int round = 0; !over(j, round); round++) {
        if (round % FRESH == 0)
            for (int s = 0; s < STREAMS; s++) {
                if (round) lane_free(&j->lanes[s]);
                lane_make(&j->lanes[s]);
            }
        verify(j, round);
    }
    return NULL;
}

int main(int argc, char **argv) {
    static struct job jobs[8];
    const int rounds = rounds_arg(argc, argv, 4);
    uint64_t sum = 0;
    if (argc > 3) threads = atoi(argv[3]);
    if (argc > 5) {
        offence = argv[4];
        loads = !strcmp(offence, "load");
        offence_round = atoi(argv[5]);
    }
    for (int t = 0; t < threads; t++) {
        jobs[t].rounds = rounds;
        jobs[t].seed = (argc > 2 ? (uint32_t)atoi(argv[2]) : 1) * 8 + t;
        if (t) pthread_create(&jobs[t].thread, NULL, run, &jobs[t]);
    }
    run(&jobs[0]);
    for (int t = 0; t < threads; t++) {
        if (t) pthread_join(jobs[t].thread, NULL);
        sum += jobs[t].sum;
    }
    printf("rounds %d\n", (int)rounds_verified);
    checksum_print("verify", sum);
    return 0;
}
