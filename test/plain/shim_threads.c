/* SPDX-License-Identifier: Apache-2.0
 *
 * Several threads of one program use the library at once, with a scripted worker
 * (test/lib/shim/rig.h): they allocate, launch, load and wait while the job moves from worker to
 * worker. Runs under TSan, and compiled to abort where a thread would wait with a lock held. In the
 * end the records must be in an order that a worker can follow: memory exists before it is used,
 * and numbers of streams have no gap.
 *
 *   shim_threads [rounds]
 */
#include <stdio.h>
#include <stdlib.h>

#include "shim/connection/state.h"
#include "shim/connection/wait.h"
#include "test/lib/shim/rig.h"

#define THREADS 4
#define SLOTS 16
#define GRANULES (RIG_ALLOC_BYTES / RIG_GRANULE)

static const struct wire_param params[] = {{0, 8}};
static const struct rig_kernel kernels[] = {
    {"kernel", params, {.param_count = 1, .param_bytes = 8, .max_threads = 1024}}};
static int rounds = 2000;
static CUcontext context;
static CUmodule module;

static void check(CUresult r, const char *what) {
    if (r == CUDA_SUCCESS) return;
    fprintf(stderr, "shim_threads: %s gave %d\n", what, (int)r);
    abort();
}
#define CHECK(call) check(call, #call)

struct job {
    pthread_t thread;
    unsigned int seed;
    CUdeviceptr plain[SLOTS], pooled[SLOTS];
    CUstream stream;
    CUfunction kernel;
    CUgraph graph;
    CUgraphExec executable; /* NULL: there is none */
};

static unsigned int pick(struct job *j, unsigned int count) {
    return (unsigned int)rand_r(&j->seed) % count;
}

/* A full window is no failure. */
static void took(CUdeviceptr *slot, CUresult r) {
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        *slot = 0;
    else
        check(r, "an allocation");
}

static void pooled(struct job *j, uint64_t bytes) {
    CUdeviceptr *p = &j->pooled[pick(j, SLOTS)];
    if (!*p) {
        took(p, cuMemAllocAsync(p, bytes, j->stream));
    } else {
        CHECK(cuMemFreeAsync(*p, j->stream));
        *p = 0;
    }
}

static void plain(struct job *j, uint64_t bytes) {
    CUdeviceptr *p = &j->plain[pick(j, SLOTS)];
    unsigned int type;
    if (!*p) {
        took(p, cuMemAlloc_v2(p, bytes));
    } else {
        CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, *p));
        CHECK(cuMemFree_v2(*p));
        *p = 0;
    }
}

static void launch(struct job *j) {
    uint64_t value = j->seed;
    void *arguments[] = {&value};
    CHECK(cuLaunchKernel(j->kernel, 1, 1, 1, 1, 1, 1, 0, j->stream, arguments, NULL));
}

/* Makes a graph that allocates, launches, and frees. */
static void make_graph(struct job *j) {
    CUdeviceptr p;
    CHECK(cuStreamBeginCapture_v2(j->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(cuMemAllocAsync(&p, 1 + pick(j, 3u << 20), j->stream));
    launch(j);
    CHECK(cuMemFreeAsync(p, j->stream));
    CHECK(cuStreamEndCapture(j->stream, &j->graph));
    CHECK(cuGraphInstantiateWithFlags(&j->executable, j->graph, 0));
}

static void drop_graph(struct job *j) {
    if (!j->executable) return;
    CHECK(cuGraphExecDestroy(j->executable));
    CHECK(cuGraphDestroy(j->graph));
    j->executable = NULL;
}

static void graph(struct job *j) {
    unsigned int what = pick(j, 10);
    if (!j->executable) make_graph(j);
    CHECK(cuGraphLaunch(j->executable, j->stream));
    if (what == 0) drop_graph(j);
    if (what == 1) CHECK(cuDeviceGraphMemTrim(0));
}

static void event(struct job *j) {
    CUevent e;
    CHECK(cuEventCreate(&e, 0));
    CHECK(cuEventRecord(e, j->stream));
    CHECK(cuEventSynchronize(e));
    CHECK(cuEventDestroy_v2(e));
}

static void begin_anew(struct job *j) {
    CUmodule other;
    CUfunction f;
    drop_graph(j);
    CHECK(cuStreamDestroy_v2(j->stream));
    CHECK(cuStreamCreate(&j->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&other, rig_ptx));
    CHECK(cuModuleGetFunction(&f, other, "kernel"));
    CHECK(cuModuleUnload(other));
    CHECK(cuModuleGetFunction(&j->kernel, module, "kernel"));
}

static void step(struct job *j) {
    unsigned int what = pick(j, 100);
    uint64_t bytes = 1 + pick(j, pick(j, 4) ? 8192 : 3u << 20);
    if (what < 35)
        pooled(j, bytes);
    else if (what < 50)
        plain(j, bytes);
    else if (what < 80)
        launch(j);
    else if (what < 90)
        graph(j);
    else if (what < 99)
        event(j);
    else
        begin_anew(j);
}

static void *run(void *arg) {
    struct job *j = arg;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&j->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleGetFunction(&j->kernel, module, "kernel"));
    for (int i = 0; i < rounds; i++) {
        step(j);
        if (i % 300 == 0) rig_credit(pick(j, 40), pick(j, 40));
        if (i % 100 == 50) rig_move();
    }
    return NULL;
}

/* ---- the records that the worker saw --------------------------------------------------------- */

static int mistakes;

static void mistake(uint32_t i, const char *what) {
    if (mistakes++ < 10) fprintf(stderr, "shim_threads: record %u: %s\n", i, what);
}

/* Checks that the granules exist before or not, and marks them as existing afterwards or not. */
static void follow_granules(uint32_t i, uint64_t addr, uint64_t bytes, bool before, bool after) {
    static bool backed[GRANULES];
    uint64_t base = state.conn.windows.dev_base;
    for (uint64_t g = (addr - base) / RIG_GRANULE; g <= (addr + bytes - 1 - base) / RIG_GRANULE;
         g++) {
        if (backed[g] != before) mistake(i, "memory that is not, or is");
        backed[g] = after;
    }
}

static void follow_memory(uint32_t i, const void *record) {
    const struct wire_mem *m = record;
    const struct wire_segment *s = record;
    switch (m->rec.op) {
    case WIRE_MEM_BACK: follow_granules(i, m->addr, m->bytes, false, true); break;
    case WIRE_MEM_UNBACK: follow_granules(i, m->addr, m->bytes, true, false); break;
    case WIRE_MEM_USE: follow_granules(i, m->addr, m->bytes, true, true); break;
    case WIRE_MEM_SHOW: follow_granules(i, s->addr, s->bytes, false, true); break;
    default: break;
    }
}

static void follow_stream(uint32_t i, const struct wire_record *rec) {
    static uint64_t last[WIRE_STREAMS];
    if (rec->seq && rec->seq != ++last[rec->stream]) mistake(i, "a gap in a stream");
}

int main(int argc, char **argv) {
    static struct job jobs[THREADS];
    if (argc > 1) rounds = atoi(argv[1]);
    rig_begin();
    rig_kernels(kernels, 1);
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuModuleLoadData(&module, rig_ptx));
    for (unsigned int i = 0; i < THREADS; i++) {
        jobs[i].seed = i + 1;
        if (pthread_create(&jobs[i].thread, NULL, run, &jobs[i])) return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(jobs[i].thread, NULL);
    uint32_t count = rig_count();
    wait_follow();
    if (atom_load_acquire(&state.conn.moved) != rig_moved()) mistake(count, "a page that is old");
    for (uint32_t i = 0; i < count; i++) {
        follow_memory(i, rig_record(i, NULL));
        follow_stream(i, rig_record(i, NULL));
    }
    printf("shim_threads: %u records, %d mistakes\n", count, mistakes);
    return mistakes > 0;
}
