/* SPDX-License-Identifier: Apache-2.0
 * Memory operations of streams, one function per topic: `values TOPIC...` runs those, `values`
 * runs all. Each checks the behaviour that CUDA documents and prints `ok TOPIC`. `values forever`
 * waits for a value that never comes, until it is killed. */
#include <cuda.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static void expect(CUresult got, CUresult want, const char *what, int line) {
    REQUIRE(got == want, "line %d: %s gave %d, expected %d", line, what, (int)got, (int)want);
}

#define GIVES(want, call) expect(call, want, #call, __LINE__)
#define WORKS(call) GIVES(CUDA_SUCCESS, call)

__global__ void set_word(volatile unsigned *p, unsigned v) {
    *p = v;
}

/* Reads a value that another stream must have written before. */
__global__ void add_to(unsigned *sum, const volatile unsigned *p, unsigned factor) {
    *sum += *p * factor;
}

__global__ void bump(volatile unsigned *flag) {
    __threadfence_system();
    *flag += 1;
}

static cudaStream_t stream(void) {
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

static unsigned *words(int n) {
    unsigned *p;
    CHECK(cudaMalloc(&p, n * sizeof(*p)));
    CHECK(cudaMemset(p, 0, n * sizeof(*p)));
    CHECK(cudaDeviceSynchronize()); /* needed by streams that do not wait for the legacy one */
    return p;
}

static unsigned word_of(const unsigned *p) {
    unsigned v;
    CHECK(cudaMemcpy(&v, p, sizeof(v), cudaMemcpyDeviceToHost));
    return v;
}

static CUdeviceptr at(const void *p) {
    return (CUdeviceptr)(uintptr_t)p;
}

/* ---- two streams that wait for each other in turn -------------------------------------------- */

static void topic_ping_pong(void) {
    const int rounds = 200;
    cudaStream_t a = stream(), b = stream();
    unsigned *flags = words(2), *sums = words(2), *data = words(2);
    for (int i = 1; i <= rounds; i++) {
        set_word<<<1, 1, 0, a>>>(data, i);
        WORKS(cuStreamWriteValue32(a, at(flags), i, 0));
        WORKS(cuStreamWaitValue32(b, at(flags), i, CU_STREAM_WAIT_VALUE_GEQ));
        add_to<<<1, 1, 0, b>>>(sums, data, 3);
        bump<<<1, 1, 0, b>>>(flags + 1);
        WORKS(cuStreamWaitValue32(a, at(flags + 1), i, CU_STREAM_WAIT_VALUE_EQ));
    }
    CHECK(cudaDeviceSynchronize());
    unsigned want = 3u * rounds * (rounds + 1) / 2;
    REQUIRE(word_of(sums) == want, "the sum is %u, not %u", word_of(sums), want);
}

/* ---- the host writes, and reads -------------------------------------------------------------- */

/* Loads all kernels now: a kernel that is loaded at its first launch would be loaded behind a wait,
 * and the driver would wait for that. */
static void load_kernels(void) {
    unsigned *p = words(3);
    set_word<<<1, 1>>>(p, 0);
    add_to<<<1, 1>>>(p, p + 1, 1);
    bump<<<1, 1>>>(p + 2);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(p));
}

static void topic_host(void) {
    volatile unsigned *word;
    load_kernels();
    cudaStream_t s = stream(), free_one = stream();
    unsigned *data = words(2);
    CHECK(cudaHostAlloc((void **)&word, 64, cudaHostAllocDefault));
    word[0] = word[1] = 0;
    for (unsigned i = 1; i <= 20; i++) {
        WORKS(cuStreamWaitValue32(s, at((void *)word), i, CU_STREAM_WAIT_VALUE_EQ));
        set_word<<<1, 1, 0, s>>>(data, i);
        WORKS(cuStreamWriteValue32(s, at((void *)(word + 1)), i, 0));
        GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
        set_word<<<1, 1, 0, free_one>>>(data + 1, i);
        CHECK(cudaStreamSynchronize(free_one));
        REQUIRE(word[1] == i - 1, "the stream did not wait");
        if (i % 5 == 0) usleep(30000);
        word[0] = i;
        while (word[1] != i)
            usleep(100);
        REQUIRE(word_of(data) == i, "what comes before the write is not complete");
    }
    CHECK(cudaStreamSynchronize(s));
    unsigned char *own = (unsigned char *)aligned_alloc(4096, 4096);
    memset(own, 0, 4096);
    if (cudaHostRegister(own, 4096, cudaHostRegisterMapped) == cudaSuccess) {
        void *seen;
        CHECK(cudaHostGetDevicePointer(&seen, own, 0));
        WORKS(cuStreamWriteValue64(s, at(seen), 0x123456789abcull, 0));
        CHECK(cudaStreamSynchronize(s));
        REQUIRE(*(uint64_t *)own == 0x123456789abcull, "registered memory was not written");
    }
    cudaGetLastError();
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static void waits(const unsigned *cell, uint64_t value, unsigned flags, uint64_t not_yet,
                  uint64_t then, bool wide) {
    static cudaStream_t s, other;
    if (!s) s = stream();
    if (!other) other = stream();
    WORKS(cuStreamWriteValue64(other, at(cell), not_yet, 0));
    CHECK(cudaStreamSynchronize(other));
    if (wide)
        WORKS(cuStreamWaitValue64(s, at(cell), value, flags));
    else
        WORKS(cuStreamWaitValue32(s, at(cell), (unsigned)value, flags));
    CHECK(cudaStreamSynchronize(other));
    GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
    WORKS(cuStreamWriteValue64(other, at(cell), then, 0));
    CHECK(cudaStreamSynchronize(s));
}

static void topic_comparisons(void) {
    unsigned *cell = words(2);
    waits(cell, 5, CU_STREAM_WAIT_VALUE_GEQ, 4, 6, false);
    waits(cell, 0xfffffff0u, CU_STREAM_WAIT_VALUE_GEQ, 0xffffff00u, 3, false);
    waits(cell, 5, CU_STREAM_WAIT_VALUE_EQ, 6, 5, false);
    waits(cell, 0x30, CU_STREAM_WAIT_VALUE_AND, 0xf0f, 0x10, false);
    waits(cell, 0xffff0000u, CU_STREAM_WAIT_VALUE_NOR, 0xffff, 0xfffe, false);
    waits(cell, 5ull << 32, CU_STREAM_WAIT_VALUE_GEQ, 5, 6ull << 32, true);
    waits(cell, 1ull << 40, CU_STREAM_WAIT_VALUE_AND, 1, 3ull << 40, true);
    int can = 1;
    WORKS(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0));
    GIVES(can ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED,
          cuStreamWaitValue32(stream(), at(cell), 0, CU_STREAM_WAIT_VALUE_FLUSH));
}

/* ---- copies, variables, batches -------------------------------------------------------------- */

__device__ unsigned variable;

static void topic_batches(void) {
    cudaStream_t s = stream(), other = stream();
    unsigned *cell = words(4);
    unsigned *flag, host = 9;
    CHECK(cudaGetSymbolAddress((void **)&flag, variable));
    CUstreamBatchMemOpParams ops[4];
    memset(ops, 0, sizeof(ops));
    ops[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    ops[0].waitValue.address = at(flag);
    ops[0].waitValue.value = 9;
    ops[0].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    ops[1].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    ops[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    ops[2].writeValue.address = at(cell);
    ops[2].writeValue.value64 = 0x500000003ull;
    ops[3].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    WORKS(cuStreamBatchMemOp(s, 4, ops, 0));
    CHECK(cudaStreamSynchronize(other));
    GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
    CHECK(cudaMemcpyAsync(flag, &host, sizeof(host), cudaMemcpyHostToDevice, other));
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(word_of(cell) == 3 && word_of(cell + 1) == 5, "eight bytes were not written");
    GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32(s, at(cell) + 2, 0, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(s, at(&host), 0, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp(s, 1, ops, 1));
    int can = 0;
    WORKS(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
    REQUIRE(can == 1, "the device says that it cannot");
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void topic_graphs(void) {
    load_kernels();
    cudaStream_t s = stream(), other = stream();
    unsigned *flags = words(2), *sum = words(1), *data = words(1);
    cudaGraph_t g;
    cudaGraphExec_t e;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    WORKS(cuStreamWaitValue32(s, at(flags), 1, CU_STREAM_WAIT_VALUE_EQ));
    add_to<<<1, 1, 0, s>>>(sum, data, 1);
    WORKS(cuStreamWriteValue32(s, at(flags), 0, 0));
    CHECK(cudaStreamEndCapture(s, &g));
    CHECK(cudaGraphInstantiate(&e, g, 0));
    for (unsigned i = 1; i <= 10; i++)
        CHECK(cudaGraphLaunch(e, s));
    for (unsigned i = 1; i <= 10; i++) {
        set_word<<<1, 1, 0, other>>>(data, i);
        WORKS(cuStreamWriteValue32(other, at(flags), 1, 0));
        WORKS(cuStreamWaitValue32(other, at(flags), 0, CU_STREAM_WAIT_VALUE_EQ));
    }
    CHECK(cudaDeviceSynchronize());
    REQUIRE(word_of(sum) == 55, "the sum is %u", word_of(sum));
    CHECK(cudaGraphExecDestroy(e));
    CHECK(cudaGraphDestroy(g));
}

/* ---- another process, with shared memory ----------------------------------------------------- */

static void child(int peer) {
    cudaIpcMemHandle_t handle;
    unsigned *p;
    REQUIRE(recv(peer, &handle, sizeof(handle), MSG_WAITALL) == sizeof(handle), "no handle");
    CHECK(cudaIpcOpenMemHandle((void **)&p, handle, cudaIpcMemLazyEnablePeerAccess));
    cudaStream_t s = stream();
    for (unsigned i = 1; i <= 10; i++) {
        WORKS(cuStreamWaitValue32(s, at(p), i, CU_STREAM_WAIT_VALUE_EQ));
        add_to<<<1, 1, 0, s>>>(p + 2, p, 1);
        WORKS(cuStreamWriteValue32(s, at(p + 1), i, 0));
    }
    CHECK(cudaStreamSynchronize(s));
    char done = 1;
    REQUIRE(send(peer, &done, 1, 0) == 1, "the other one is gone");
    exit(0);
}

/* Forks before this process has a context of its own. */
static void topic_processes(void) {
    int peers[2], status;
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, peers) == 0, "no sockets");
    pid_t pid = fork();
    if (pid == 0) child(peers[1]);
    unsigned *p = words(1024);
    cudaIpcMemHandle_t handle;
    cudaStream_t s = stream();
    CHECK(cudaIpcGetMemHandle(&handle, p));
    REQUIRE(send(peers[0], &handle, sizeof(handle), 0) == sizeof(handle), "no child");
    for (unsigned i = 1; i <= 10; i++) {
        WORKS(cuStreamWriteValue32(s, at(p), i, 0));
        WORKS(cuStreamWaitValue32(s, at(p + 1), i, CU_STREAM_WAIT_VALUE_EQ));
    }
    CHECK(cudaStreamSynchronize(s));
    char done;
    REQUIRE(recv(peers[0], &done, 1, 0) == 1, "no child");
    REQUIRE(word_of(p + 2) == 55, "the sum is %u", word_of(p + 2));
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0, "the child failed");
}

/* ---- an endless wait ------------------------------------------------------------------------- */

static void wait_for_ever(void) {
    load_kernels();
    unsigned *cell = words(1);
    cudaStream_t s = stream();
    WORKS(cuStreamWaitValue32(s, at(cell), 1, CU_STREAM_WAIT_VALUE_EQ));
    set_word<<<1, 1, 0, s>>>(cell, 2);
    printf("waits\n");
    fflush(stdout);
    CHECK(cudaStreamSynchronize(s));
    REQUIRE(false, "nobody wrote it");
}

static const struct {
    const char *name;
    void (*run)(void);
} topics[] = {
    {"processes", topic_processes},     {"ping_pong", topic_ping_pong}, {"host", topic_host},
    {"comparisons", topic_comparisons}, {"batches", topic_batches},     {"graphs", topic_graphs},
};

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "forever")) wait_for_ever();
    for (const auto &t : topics) {
        bool asked = argc == 1;
        for (int i = 1; i < argc; i++)
            asked |= !strcmp(argv[i], t.name);
        if (!asked) continue;
        t.run();
        printf("ok %s\n", t.name);
        fflush(stdout);
    }
    return 0;
}
