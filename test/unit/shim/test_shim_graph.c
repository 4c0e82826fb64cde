/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of executable graphs: a graph is sent once and launched by one record; changes are
 * sent, and unneeded graphs are dropped. The rig's worker checks and reads graphs with the real
 * worker's code.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/context/event.h"
#include "shim/context/stream.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"
#include "test/lib/shim/rig.h"

static const struct wire_param word_param[] = {{0, 4}};
static const struct rig_kernel kernels[] = {
    {"plain", NULL, {.max_threads = 1024}},
    {"word", word_param, {.param_count = 1, .param_bytes = 4, .max_threads = 1024}},
    {"starts", NULL, {.max_threads = 1024, .launches = WIRE_LAUNCHES_GRAPHS}},
    {"nests", NULL, {.max_threads = 1024, .launches = WIRE_LAUNCHES_KERNELS}},
};
static CUmodule module;
static CUfunction plain, word;
static CUstream own, other;

static void begin(void) {
    rig_begin();
    rig_kernels(kernels, 4);
    cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetFunction(&plain, module, "plain"), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetFunction(&word, module, "word"), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    rig_forget();
}

TestSuite(shim_graph, .init = begin, .timeout = 60);

static CUgraph make(void) {
    CUgraph g;
    cr_assert_eq(cuGraphCreate(&g, 0), CUDA_SUCCESS);
    return g;
}

/* A launch of `word` with this value. */
static CUDA_KERNEL_NODE_PARAMS_v2 launch_of(uint32_t *value, void **values) {
    values[0] = value;
    return (CUDA_KERNEL_NODE_PARAMS_v2){.func = word,
                                        .gridDimX = 1,
                                        .gridDimY = 1,
                                        .gridDimZ = 1,
                                        .blockDimX = 32,
                                        .blockDimY = 1,
                                        .blockDimZ = 1,
                                        .kernelParams = values};
}

static CUgraphNode add(CUgraph g, const CUgraphNode *before, size_t count, uint32_t value) {
    CUgraphNode n;
    void *values[1];
    CUDA_KERNEL_NODE_PARAMS_v2 p = launch_of(&value, values);
    cr_assert_eq(cuGraphAddKernelNode_v2(&n, g, before, count, &p), CUDA_SUCCESS);
    return n;
}

static CUgraphExec executable(CUgraph g) {
    CUgraphExec e;
    cr_assert_eq(cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    return e;
}

static void launch(CUgraphExec e, CUstream s) {
    cr_assert_eq(cuGraphLaunch(e, s), CUDA_SUCCESS);
}

static uint32_t count_of(uint16_t op) {
    uint32_t n = 0, count = rig_count();
    for (uint32_t i = 0; i < count; i++)
        n += ((const struct wire_record *)rig_record(i, NULL))->op == op;
    return n;
}

/* The nth record with this op that arrived since rig_forget. */
static const void *nth(uint16_t op, uint32_t n) {
    uint32_t count = rig_count();
    for (uint32_t i = 0; i < count; i++) {
        const struct wire_record *r = rig_record(i, NULL);
        if (r->op == op && n-- == 0) return r;
    }
    cr_assert(false, "there is none");
    return NULL;
}

static uint32_t value_of(uint32_t n) {
    uint32_t value;
    memcpy(&value, (const struct wire_launch *)nth(WIRE_LAUNCH, n) + 1, sizeof(value));
    return value;
}

/* ---- sending and launching ------------------------------------------------------------------- */

Test(shim_graph, is_said_once_and_launched_by_one_record) {
    CUgraph g = make();
    CUgraphNode first = add(g, NULL, 0, 10);
    add(g, &first, 1, 11);
    CUgraphExec e = executable(g);
    const struct wire_graph_data *d = rig_only(WIRE_GRAPH_DATA);
    cr_assert_eq(d->rec.ticket, 0, "nobody waits for an answer");
    for (int i = 0; i < 3; i++) {
        rig_forget();
        launch(e, own);
        uint32_t bytes;
        const struct wire_graph_launch *l = rig_record(0, &bytes);
        cr_assert(l->rec.op == WIRE_GRAPH_LAUNCH && l->graph == d->graph && l->lanes == 1);
        cr_assert_leq(bytes, RING_SLOT_BODY, "one slot of the ring");
        /* The following records belong to the graph. */
        cr_assert_eq(rig_count(), 1 + 3);
        cr_assert(value_of(0) == 10 && value_of(1) == 11);
        cr_assert_eq(((const struct wire_launch *)nth(WIRE_LAUNCH, 1))->rec.seq, 3u * (i + 1));
        cr_assert_eq(submit_last(stream_find(own)->id), 3u * (i + 1));
    }
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
}

Test(shim_graph, branches_run_in_lanes_of_the_stream) {
    CUgraph g = make();
    CUgraphNode root = add(g, NULL, 0, 1), sides[2] = {add(g, &root, 1, 2), add(g, &root, 1, 3)};
    add(g, sides, 2, 4);
    CUgraphExec e = executable(g);
    rig_forget();
    launch(e, own);
    cr_assert_eq(count_of(WIRE_STREAM_CREATE), 1);
    const struct wire_stream_create *c = nth(WIRE_STREAM_CREATE, 0);
    cr_assert_eq(c->flags, WIRE_STREAM_NONBLOCKING);
    uint32_t stream = stream_find(own)->id, lane = c->rec.stream;
    const struct wire_launch *a = nth(WIRE_LAUNCH, 1), *b = nth(WIRE_LAUNCH, 2);
    cr_assert(a->rec.stream == stream && b->rec.stream == lane);
    cr_assert_eq(((const struct wire_launch *)nth(WIRE_LAUNCH, 3))->rec.stream, stream);
    const struct wire_stream_wait *fork = nth(WIRE_STREAM_WAIT, 1),
                                  *join = nth(WIRE_STREAM_WAIT, 2);
    cr_assert(fork->rec.stream == lane && fork->on == stream && fork->on_seq == 2);
    cr_assert(join->rec.stream == stream && join->on == lane && join->on_seq == b->rec.seq);
    rig_forget();
    launch(e, own);
    cr_assert_eq(count_of(WIRE_STREAM_CREATE), 0, "they are kept");
    rig_forget();
    cr_assert_eq(cuStreamDestroy_v2(own), CUDA_SUCCESS);
    cr_assert_eq(count_of(WIRE_STREAM_DESTROY), 2, "and go with it");
}

Test(shim_graph, the_stream_ends_behind_all_lanes) {
    CUgraph g = make();
    add(g, NULL, 0, 1);
    add(g, NULL, 0, 2);
    CUgraphExec e = executable(g);
    rig_forget();
    launch(e, own);
    uint32_t count = rig_count();
    const struct wire_stream_wait *last = rig_record(count - 1, NULL);
    const struct wire_launch *side = nth(WIRE_LAUNCH, 1);
    cr_assert(last->rec.op == WIRE_STREAM_WAIT && last->rec.stream == stream_find(own)->id);
    cr_assert(last->on == side->rec.stream && last->on_seq == side->rec.seq);
}

Test(shim_graph, launches_of_one_run_one_behind_the_other) {
    CUgraph g = make();
    add(g, NULL, 0, 1);
    CUgraphExec e = executable(g);
    rig_hold_streams(true);
    launch(e, own);
    uint64_t end = submit_last(stream_find(own)->id);
    rig_forget();
    launch(e, other);
    const struct wire_stream_wait *w = nth(WIRE_STREAM_WAIT, 0);
    cr_assert(w->rec.stream == stream_find(other)->id && w->on == stream_find(own)->id &&
              w->on_seq == end);
    rig_hold_streams(false);
    rig_count();
    rig_forget();
    launch(e, own);
    w = nth(WIRE_STREAM_WAIT, 0);
    cr_assert_eq(w->on_seq, 0, "what is complete is not waited for");
}

Test(shim_graph, a_full_ring_holds_a_launch_up_with_no_lock_held) {
    CUgraph g = make();
    for (int i = 0; i < 900; i++)
        add(g, NULL, 0, 1);
    CUgraphExec e = executable(g); /* larger than half of the ring */
    for (int i = 0; i < 50; i++)
        launch(e, own);
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void change(CUgraphExec e, CUgraphNode n, uint32_t value) {
    void *values[1];
    CUDA_KERNEL_NODE_PARAMS_v2 p = launch_of(&value, values);
    cr_assert_eq(cuGraphExecKernelNodeSetParams_v2(e, n, &p), CUDA_SUCCESS);
}

Test(shim_graph, a_change_says_another_and_drops_the_old_one) {
    CUgraph g = make();
    CUgraphNode n = add(g, NULL, 0, 10);
    CUgraphExec e = executable(g);
    rig_hold_streams(true);
    launch(e, own);
    uint32_t old = ((const struct wire_graph_launch *)nth(WIRE_GRAPH_LAUNCH, 0))->graph;
    rig_forget();
    change(e, n, 20);
    cr_assert_eq(rig_count(), 0, "not before it is launched");
    launch(e, own);
    cr_assert_eq(count_of(WIRE_GRAPH_DATA), 1);
    cr_assert_neq(((const struct wire_graph_launch *)nth(WIRE_GRAPH_LAUNCH, 0))->graph, old);
    cr_assert_eq(value_of(0), 20);
    cr_assert_eq(count_of(WIRE_GRAPH_DROP), 0, "the first launch may be under way");
    rig_hold_streams(false);
    rig_count();
    launch(e, own);
    cr_assert_eq(((const struct wire_graph_drop *)nth(WIRE_GRAPH_DROP, 0))->graph, old);
}

Test(shim_graph, an_ended_one_is_dropped_when_its_work_is_done) {
    CUgraph g = make();
    add(g, NULL, 0, 10);
    CUgraphExec e = executable(g);
    rig_hold_streams(true);
    launch(e, own);
    rig_forget();
    cr_assert_eq(cuGraphExecDestroy(e), CUDA_SUCCESS);
    cr_assert_eq(cuGraphExecDestroy(e), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphLaunch(e, own), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(rig_count(), 0);
    rig_hold_streams(false);
    rig_count();
    cr_assert_eq(cuGraphExecDestroy(executable(g)), CUDA_SUCCESS);
    cr_assert_eq(count_of(WIRE_GRAPH_DROP), 2);
}

Test(shim_graph, kernels_that_are_gone_are_not_launched) {
    CUgraph g = make();
    add(g, NULL, 0, 10);
    CUgraphExec e = executable(g);
    cr_assert_eq(cuModuleUnload(module), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuGraphLaunch(e, own), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(count_of(WIRE_GRAPH_LAUNCH), 0);
}

/* ---- events and host functions ----------------------------------------------------------------
 */

Test(shim_graph, a_recorded_event_is_a_place_in_the_launch) {
    CUgraph g = make();
    CUevent e;
    CUgraphNode n, first = add(g, NULL, 0, 1);
    cr_assert_eq(cuEventCreate(&e, 0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddEventRecordNode(&n, g, &first, 1, e), CUDA_SUCCESS);
    add(g, &n, 1, 2);
    CUgraphExec x = executable(g);
    rig_hold_streams(true);
    launch(x, own);
    struct stamp_point at = event_point(event_find(e));
    cr_assert(at.stream == stream_find(own)->id && at.seq == 3);
    cr_assert_eq(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    rig_hold_streams(false);
    cr_assert_eq(cuEventSynchronize(e), CUDA_SUCCESS);
    cr_assert_eq(cuEventDestroy_v2(e), CUDA_SUCCESS);
    cr_assert_eq(cuGraphLaunch(x, own), CUDA_ERROR_INVALID_HANDLE, "its id may be another's");
}

Test(shim_graph, a_wait_is_for_the_record_before_the_launch) {
    CUgraph g = make();
    CUevent e;
    CUgraphNode n;
    cr_assert_eq(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddEventWaitNode(&n, g, NULL, 0, e), CUDA_SUCCESS);
    add(g, &n, 1, 2);
    CUgraphExec x = executable(g);
    rig_hold_streams(true);
    for (uint64_t i = 1; i <= 3; i++) {
        cr_assert_eq(cuLaunchKernel(plain, 1, 1, 1, 1, 1, 1, 0, other, NULL, NULL), CUDA_SUCCESS);
        cr_assert_eq(cuEventRecord(e, other), CUDA_SUCCESS);
        rig_forget();
        launch(x, own);
        const struct wire_stream_wait *w = nth(WIRE_STREAM_WAIT, 1);
        cr_assert(w->on == stream_find(other)->id && w->on_seq == i);
    }
    rig_hold_streams(false);
}

static int ran;
static void function(void *arg) {
    ran += *(int *)arg;
}

Test(shim_graph, host_functions_run_once_a_launch) {
    CUgraph g = make();
    CUgraphNode n, last;
    int one = 1, ten = 10;
    CUDA_HOST_NODE_PARAMS first = {function, &one}, second = {function, &ten};
    cr_assert_eq(cuGraphAddHostNode(&n, g, NULL, 0, &first), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddHostNode(&last, g, &n, 1, &second), CUDA_SUCCESS);
    CUgraphExec e = executable(g);
    launch(e, own);
    launch(e, own);
    cr_assert_eq(cuStreamQuery(own), CUDA_ERROR_NOT_READY);
    rig_callback();
    cr_assert_eq(ran, 1);
    for (int i = 0; i < 3; i++)
        rig_callback();
    cr_assert_eq(ran, 22);
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
}

/* ---- pageable memory ---------------------------------------------------------------------------
 */

static CUDA_MEMCPY3D upload_of(CUdeviceptr device, const void *source, size_t bytes) {
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = source,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = device,
                           .WidthInBytes = bytes,
                           .Height = 1,
                           .Depth = 1};
}

static CUDA_MEMCPY3D download_of(void *target, CUdeviceptr device, size_t bytes) {
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = device,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = target,
                           .WidthInBytes = bytes,
                           .Height = 1,
                           .Depth = 1};
}

/* Each launch has the memory's contents at the time when it was sent, whatever runs first. */
Test(shim_graph, pageable_memory_is_read_when_a_graph_is_launched) {
    CUgraph g = make();
    CUgraphNode in;
    CUdeviceptr device;
    char source[100] = "before";
    cr_assert_eq(cuMemAlloc_v2(&device, sizeof(source)), CUDA_SUCCESS);
    CUDA_MEMCPY3D c = upload_of(device, source, sizeof(source));
    cr_assert_eq(cuGraphAddMemcpyNode(&in, g, NULL, 0, &c, NULL), CUDA_SUCCESS);
    CUgraphExec e = executable(g);
    launch(e, own);
    strcpy(source, "after");
    launch(e, own);
    strcpy(source, "never");
    rig_count();
    rig_callback();
    cr_assert_str_eq((const char *)(uintptr_t)device, "before");
    rig_callback();
    cr_assert_str_eq((const char *)(uintptr_t)device, "after");
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
}

struct launching {
    CUcontext context;
    CUgraphExec exec;
    _Atomic int returned;
};

static void *launch_elsewhere(void *arg) {
    struct launching *l = arg;
    cuCtxSetCurrent(l->context);
    CUresult r = cuGraphLaunch(l->exec, own);
    l->returned = 1;
    return (void *)(uintptr_t)r;
}

/* A launch returns when its output is in pageable memory; later nodes that read the memory see the
 * output. */
Test(shim_graph, a_launch_returns_when_pageable_memory_is_written) {
    CUgraph g = make();
    CUgraphNode out, in;
    CUdeviceptr device;
    char target[100] = "";
    struct launching l = {.context = NULL};
    pthread_t thread;
    void *r;
    cr_assert_eq(cuMemAlloc_v2(&device, 2 * sizeof(target)), CUDA_SUCCESS);
    strcpy((char *)(uintptr_t)device, "there");
    CUDA_MEMCPY3D c = download_of(target, device, sizeof(target));
    cr_assert_eq(cuGraphAddMemcpyNode(&out, g, NULL, 0, &c, NULL), CUDA_SUCCESS);
    c = upload_of(device + sizeof(target), target, sizeof(target));
    cr_assert_eq(cuGraphAddMemcpyNode(&in, g, &out, 1, &c, NULL), CUDA_SUCCESS);
    l.exec = executable(g);
    cr_assert_eq(cuCtxGetCurrent(&l.context), CUDA_SUCCESS);
    rig_forget();
    pthread_create(&thread, NULL, launch_elsewhere, &l);
    while (rig_count() == 0)
        usleep(1000);
    cr_assert_not(l.returned);
    rig_callback();
    cr_assert_str_eq(target, "there");
    cr_assert_not(l.returned);
    rig_callback();
    pthread_join(thread, &r);
    cr_assert_eq((CUresult)(uintptr_t)r, CUDA_SUCCESS);
    cr_assert_str_eq((const char *)(uintptr_t)device + sizeof(target), "there");
}

/* ---- memory -----------------------------------------------------------------------------------
 */

#define MIB (1ull << 20)

static CUdeviceptr allocate_behind(CUgraph g, const CUgraphNode *before, size_t count,
                                   uint64_t bytes, CUgraphNode *n) {
    CUDA_MEM_ALLOC_NODE_PARAMS a = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                    .bytesize = bytes};
    cr_assert_eq(cuGraphAddMemAllocNode(n, g, before, count, &a), CUDA_SUCCESS);
    return a.dptr;
}

static CUdeviceptr allocate(CUgraph g, CUgraphNode *n) {
    return allocate_behind(g, NULL, 0, 5000, n);
}

static CUgraphNode release(CUgraph g, CUgraphNode before, CUdeviceptr addr) {
    CUgraphNode n;
    cr_assert_eq(cuGraphAddMemFreeNode(&n, g, &before, 1, addr), CUDA_SUCCESS);
    return n;
}

static uint64_t graph_bytes(CUgraphMem_attribute attr) {
    uint64_t bytes;
    cr_assert_eq(cuDeviceGetGraphMemAttribute(0, attr, &bytes), CUDA_SUCCESS);
    return bytes;
}

static uint64_t reserved(void) {
    return graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
}

static uint64_t used(void) {
    return graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT);
}

static void trim(void) {
    cr_assert_eq(cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
}

/* Makes an executable graph that allocates memory, uses it, and frees it unless `kept`. */
static CUgraphExec allocating(uint64_t bytes, bool kept, CUdeviceptr *addr) {
    CUgraph g = make();
    CUgraphNode a;
    *addr = allocate_behind(g, NULL, 0, bytes, &a);
    CUgraphNode n = add(g, &a, 1, 1);
    if (!kept) release(g, n, *addr);
    return executable(g);
}

Test(shim_graph, its_memory_is_there_from_the_first_launch_on) {
    CUgraph g = make();
    CUgraphNode a;
    rig_forget();
    CUdeviceptr addr = allocate(g, &a);
    release(g, add(g, &a, 1, 1), addr);
    CUgraphExec e = executable(g);
    cr_assert_eq(count_of(WIRE_MEM_MAKE), 0, "not before it is launched");
    cr_assert(reserved() == 0 && used() == 0);
    for (uint32_t i = 0; i < 3; i++) {
        rig_forget();
        launch(e, own);
        cr_assert_eq(count_of(WIRE_MEM_MAKE), i == 0);
        cr_assert_eq(count_of(WIRE_MEM_SHOW), i == 0);
        cr_assert(reserved() == RIG_GRANULE && used() == RIG_GRANULE);
    }
    cr_assert_eq(cuMemFreeAsync(addr, own), CUDA_ERROR_INVALID_VALUE, "the graph did");
    rig_forget();
    cr_assert_eq(cuGraphExecDestroy(e), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(g), CUDA_SUCCESS);
    const struct wire_mem *hidden = nth(WIRE_MEM_UNBACK, 0);
    cr_assert(hidden->addr == addr && hidden->bytes == RIG_GRANULE);
    cr_assert(reserved() == RIG_GRANULE && used() == 0, "kept for the next graph");
    trim();
    cr_assert_eq(count_of(WIRE_MEM_CLOSE), 1);
    cr_assert_eq(reserved(), 0);
    cr_assert_eq(graph_bytes(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), RIG_GRANULE);
    cr_assert_eq(graph_bytes(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), RIG_GRANULE);
}

/* The worker hears of each allocation and each free of a launch, in order, so that it knows which
 * memory is alive at the end of an iteration. */
Test(shim_graph, the_worker_hears_what_is_allocated_when) {
    CUgraph g = make();
    CUgraphNode a, b;
    CUdeviceptr addr = allocate_behind(g, NULL, 0, 8 * MIB, &a);
    CUgraphNode freed = release(g, add(g, &a, 1, 1), addr);
    cr_assert_eq(allocate_behind(g, &freed, 1, 7 * MIB, &b), addr);
    release(g, add(g, &b, 1, 2), addr);
    CUgraphExec e = executable(g);
    cr_assert_eq(count_of(WIRE_MEM_USE), 0, "not before it is launched");
    for (int i = 0; i < 2; i++) {
        static const uint16_t order[] = {WIRE_MEM_USE, WIRE_MEM_DROP, WIRE_MEM_USE, WIRE_MEM_DROP};
        rig_forget();
        launch(e, own);
        uint32_t found = 0;
        for (uint64_t n = 0; n < rig_count(); n++) {
            const struct wire_mem *rec = (const struct wire_mem *)rig_record(n, NULL);
            if (rec->rec.op != WIRE_MEM_USE && rec->rec.op != WIRE_MEM_DROP) continue;
            cr_assert_lt(found, 4);
            cr_expect_eq(rec->rec.op, order[found], "%u", found);
            cr_expect(rec->addr == addr && rec->bytes == (found < 2 ? 8 : 7) * MIB);
            found++;
        }
        cr_expect_eq(found, 4);
    }
    const struct wire_windows *w = &state.conn.windows;
    cr_expect_geq(addr - w->dev_base, WIRE_EPHEMERAL_OFFSET(w->alloc_bytes));
}

/* The worker trusts the records: none may come twice, or too early. */
Test(shim_graph, a_launch_that_failed_allocated_nothing) {
    CUgraph g = make();
    CUgraphNode a, n;
    CUevent never;
    CUdeviceptr addr = allocate(g, &a);
    cr_assert_eq(cuEventCreate(&never, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddEventWaitNode(&n, g, NULL, 0, never), CUDA_SUCCESS);
    CUgraphExec e = executable(g);
    launch(e, own);
    cr_assert_eq(cuMemFreeAsync(addr, own), CUDA_SUCCESS);
    cr_assert_eq(cuEventDestroy_v2(never), CUDA_SUCCESS);
    rig_forget();
    cr_assert_neq(cuGraphLaunch(e, own), CUDA_SUCCESS);
    cr_expect_eq(cuMemFreeAsync(addr, own), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(count_of(WIRE_MEM_USE) + count_of(WIRE_MEM_DROP), 0);
}

/* While the launch that allocates memory is being sent, neither a call nor another launch may free
 * the memory: the order would be undefined. */
Test(shim_graph, memory_that_a_launch_allocates_is_not_freed_beside_it) {
    CUgraph frees = make();
    CUgraphNode n;
    CUgraphExec allocates, e;
    CUdeviceptr addr;
    allocates = allocating(MIB, true, &addr);
    cr_assert_eq(cuGraphAddMemFreeNode(&n, frees, NULL, 0, addr), CUDA_SUCCESS);
    e = executable(frees);
    launch(allocates, own);
    lock_enter(&graph_lock);
    struct graph_memory *m = graph_memory_find(addr);
    cr_expect(!m->changing, "it was sent");
    m->changing = true;
    lock_leave(&graph_lock);
    cr_expect_eq(cuMemFreeAsync(addr, own), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuGraphLaunch(e, own), CUDA_ERROR_INVALID_VALUE);
    lock_enter(&graph_lock);
    m->changing = false;
    lock_leave(&graph_lock);
    launch(e, own);
    cr_expect_eq(cuMemFreeAsync(addr, own), CUDA_ERROR_INVALID_VALUE, "the graph did");
}

Test(shim_graph, what_is_freed_gives_its_place_to_what_comes_behind) {
    CUgraph g = make();
    CUgraphNode a, b, c, d, e;
    CUdeviceptr first = allocate_behind(g, NULL, 0, 8 * MIB, &a);
    CUgraphNode freed = release(g, add(g, &a, 1, 1), first);
    CUgraphNode far = add(g, &freed, 1, 2);
    CUdeviceptr beside = allocate_behind(g, &a, 1, 8 * MIB, &b);
    CUdeviceptr larger = allocate_behind(g, &far, 1, 9 * MIB, &c);
    CUdeviceptr behind = allocate_behind(g, &far, 1, 7 * MIB, &d);
    CUdeviceptr late = allocate_behind(g, &far, 1, 7 * MIB, &e);
    cr_expect_neq(beside, first, "not behind the node that frees it");
    cr_expect_neq(larger, first, "it has no room there");
    cr_expect_eq(behind, first);
    cr_expect_neq(late, first, "another has it");
    release(g, b, beside);
    release(g, d, behind);
    cr_expect_eq(cuGraphRemoveDependencies(g, &a, &b, 1), CUDA_ERROR_NOT_SUPPORTED);
}

Test(shim_graph, small_allocations_share_a_granule) {
    CUgraph g = make();
    CUgraphNode n[3];
    CUdeviceptr at[3], base;
    size_t bytes;
    for (int i = 0; i < 3; i++)
        at[i] = allocate(g, &n[i]);
    cr_expect_eq(at[1], at[0] + 5120);
    cr_expect_eq(at[2], at[1] + 5120);
    cr_assert_eq(cuMemGetAddressRange_v2(&base, &bytes, at[1] + 100), CUDA_SUCCESS);
    cr_expect(base == at[1] && bytes == 5000);
    launch(executable(g), own);
    cr_expect_eq(reserved(), RIG_GRANULE);
    cr_expect_eq(cuMemFreeAsync(at[1] + 512, own), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuMemFreeAsync(at[1], own), CUDA_SUCCESS);
    trim();
    cr_expect_eq(reserved(), RIG_GRANULE, "the others are allocated");
}

Test(shim_graph, graphs_one_behind_the_other_share_memory) {
    CUdeviceptr addr[3];
    CUgraphExec e[3];
    for (uint32_t i = 0; i < 3; i++)
        e[i] = allocating((i + 1) * 10 * MIB, false, &addr[i]);
    cr_assert(addr[0] != addr[1] && addr[1] != addr[2] && addr[0] != addr[2]);
    rig_hold_streams(true);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 3; i++)
            launch(e[i], own);
    cr_expect_eq(reserved(), 30 * MIB, "that of the largest");
    cr_expect_eq(count_of(WIRE_MEM_UNBACK), 0, "each has it at addresses of its own");
    trim();
    cr_expect_eq(reserved(), 30 * MIB, "they run");
    rig_hold_streams(false);
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
    trim();
    cr_expect(reserved() == 0 && used() == 0, "though they could be launched again");
    launch(e[1], own);
    cr_expect_eq(reserved(), 20 * MIB);
}

Test(shim_graph, what_stays_takes_no_larger_memory_from_others) {
    CUdeviceptr addr[2];
    CUgraphExec pass = allocating(30 * MIB, false, &addr[0]);
    CUgraphExec loss = allocating(2 * MIB, true, &addr[1]);
    launch(pass, own);
    launch(loss, own);
    launch(pass, own);
    cr_expect_eq(reserved(), 32 * MIB);
}

Test(shim_graph, graphs_that_may_run_at_once_share_none) {
    CUdeviceptr addr;
    CUgraphExec first = allocating(10 * MIB, false, &addr),
                second = allocating(10 * MIB, false, &addr);
    launch(first, own);
    launch(second, own);
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
    cr_expect_eq(reserved(), 10 * MIB);
    rig_hold_streams(true);
    launch(first, other);
    rig_forget();
    launch(second, own);
    cr_expect_eq(reserved(), 20 * MIB);
    const struct wire_mem *hidden = nth(WIRE_MEM_UNBACK, 0);
    cr_expect_eq(hidden->addr, addr, "it shows what the other one uses now");
    rig_hold_streams(false);
}

Test(shim_graph, what_is_not_freed_is_nobody_elses) {
    CUdeviceptr addr[2], third;
    CUgraphExec e[2] = {allocating(10 * MIB, true, &addr[0]), allocating(10 * MIB, true, &addr[1])};
    launch(e[0], own);
    launch(e[1], own);
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
    cr_expect_eq(reserved(), 20 * MIB);
    trim();
    cr_expect_eq(reserved(), 20 * MIB);
    rig_hold_streams(true);
    add(make(), NULL, 0, 1);
    launch(allocating(MIB, false, &third), other);
    cr_expect_eq(reserved(), 22 * MIB);
    cr_expect_eq(cuMemFreeAsync(addr[0], own), CUDA_SUCCESS);
    cr_expect_eq(cuMemFreeAsync(addr[1], own), CUDA_SUCCESS);
    rig_hold_streams(false);
    cr_assert_eq(cuCtxSynchronize(), CUDA_SUCCESS);
    cr_expect_eq(reserved(), 22 * MIB, "kept");
    trim();
    cr_expect_eq(reserved(), 0);
}

Test(shim_graph, memory_that_there_is_not) {
    CUdeviceptr addr;
    CUgraphExec e = allocating(10 * MIB, true, &addr);
    rig_refuse(WIRE_MEM_MAKE, ERR_NO_MEMORY, NULL);
    cr_expect_eq(cuGraphLaunch(e, own), CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_eq(cuMemFreeAsync(addr, own), CUDA_ERROR_INVALID_VALUE, "nothing was allocated");
    rig_refuse(0, 0, NULL);
    cr_expect_eq(reserved(), 0);
    launch(e, own);
    cr_expect_eq(cuMemFreeAsync(addr, own), CUDA_SUCCESS);
}

Test(shim_graph, memory_that_is_left_is_freed_before_the_next_launch) {
    CUgraph g = make();
    CUgraphNode a;
    CUgraphExec e;
    CUdeviceptr addr = allocate(g, &a);
    cr_assert_eq(
        cuGraphInstantiateWithFlags(&e, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH),
        CUDA_SUCCESS);
    launch(e, own);
    rig_forget();
    launch(e, own);
    const struct wire_record *first = rig_record(0, NULL);
    cr_assert_eq(first->op, WIRE_MEM_DROP, "one that is alive cannot come to be");
    cr_assert_eq(count_of(WIRE_MEM_USE), 1);
    cr_assert_eq(used(), RIG_GRANULE);
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
    /* The memory outlives its graph, and ends with the call that frees it. */
    cr_assert_eq(cuGraphExecDestroy(e), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(g), CUDA_SUCCESS);
    cr_assert_eq(used(), RIG_GRANULE);
    rig_count();
    rig_forget();
    cr_assert_eq(cuMemFreeAsync(addr, own), CUDA_SUCCESS);
    cr_assert_eq(((const struct wire_mem *)nth(WIRE_MEM_DROP, 0))->addr, addr);
    cr_assert_eq(((const struct wire_mem *)nth(WIRE_MEM_UNBACK, 0))->addr, addr);
    cr_assert_eq(cuMemFreeAsync(addr, own), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(used(), 0);
}

/* Expects that the memory is host memory: the worker gets no record, and the graphs' device
 * memory does not grow. */
static void is_of_the_host(CUdeviceptr addr) {
    uint32_t type;
    cr_assert_eq(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addr),
                 CUDA_SUCCESS);
    cr_expect_eq(type, CU_MEMORYTYPE_HOST);
    cr_expect_eq(reserved(), 0);
    cr_expect_eq(count_of(WIRE_MEM_MAKE) + count_of(WIRE_MEM_SHOW), 0);
}

Test(shim_graph, its_memory_may_be_the_hosts) {
    CUDA_MEM_ALLOC_NODE_PARAMS got, p = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                       .location = {CU_MEM_LOCATION_TYPE_HOST, 0}},
                                         .bytesize = 5000};
    CUgraph g = make();
    CUgraphNode a, f;
    rig_forget();
    cr_assert_eq(cuGraphAddMemAllocNode(&a, g, NULL, 0, &p), CUDA_SUCCESS);
    cr_assert_eq(cuGraphMemAllocNodeGetParams(a, &got), CUDA_SUCCESS);
    cr_expect(got.poolProps.location.type == CU_MEM_LOCATION_TYPE_HOST && got.dptr == p.dptr);
    *(volatile int *)(uintptr_t)p.dptr = 7;
    CUgraphNode n = add(g, &a, 1, 1);
    cr_assert_eq(cuGraphAddMemFreeNode(&f, g, &n, 1, p.dptr), CUDA_SUCCESS);
    CUgraphExec e = executable(g);
    for (int i = 0; i < 2; i++)
        launch(e, own);
    is_of_the_host(p.dptr);
    cr_expect_eq(cuMemFreeAsync(p.dptr, own), CUDA_ERROR_INVALID_VALUE, "the graph did");
    cr_assert_eq(cuGraphExecDestroy(e), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(g), CUDA_SUCCESS);
    p.poolProps.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, -1};
    cr_expect_eq(cuGraphAddMemAllocNode(&a, g, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_graph, a_captured_pool_may_be_the_hosts) {
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {CU_MEM_LOCATION_TYPE_HOST, 0}};
    CUmemPoolProps managed = {.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED};
    CUmemoryPool pool, shared;
    CUdeviceptr addr, none;
    CUgraph g;
    cr_assert_eq(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
    cr_assert_eq(cuMemPoolCreate(&shared, &managed), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuStreamBeginCapture_v2(own, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    cr_assert_eq(cuMemAllocFromPoolAsync(&addr, 5000, pool, own), CUDA_SUCCESS);
    cr_expect_eq(cuMemAllocFromPoolAsync(&none, 5000, shared, own), CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(cuStreamEndCapture(own, &g), CUDA_SUCCESS);
    CUgraphExec e = executable(g);
    launch(e, own);
    is_of_the_host(addr);
    cr_expect_eq(cuMemFreeAsync(addr, own), CUDA_SUCCESS);
    launch(e, own);
    cr_expect_eq(cuMemFree_v2(addr), CUDA_SUCCESS);
    is_of_the_host(addr);
}

Test(shim_graph, memory_ends_with_its_context) {
    CUgraph g = make();
    CUgraphNode a;
    CUdeviceptr addr = allocate(g, &a);
    CUgraphExec e = executable(g);
    launch(e, own);
    rig_forget();
    cr_assert_eq(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    cr_assert_eq(((const struct wire_mem *)nth(WIRE_MEM_DROP, 0))->addr, addr);
    cr_assert_eq(((const struct wire_mem *)nth(WIRE_MEM_UNBACK, 0))->addr, addr);
    cr_assert_eq(count_of(WIRE_MEM_CLOSE), 1);
    cr_assert(reserved() == 0 && used() == 0);
    CUcontext again;
    CUstream s;
    cr_assert_eq(cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuGraphLaunch(e, s), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuGraphExecDestroy(e), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(g), CUDA_SUCCESS);
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Returns the drawing of `g`, which the caller frees. */
static char *drawn(CUgraph g, unsigned int flags) {
    char *text = calloc(1, 4096), path[] = "/tmp/salus-dot-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(text && fd >= 0);
    cr_assert_eq(cuGraphDebugDotPrint(g, path, flags), CUDA_SUCCESS);
    cr_assert_gt(read(fd, text, 4095), 0);
    close(fd);
    unlink(path);
    return text;
}

Test(shim_graph, a_drawing_shows_nodes_and_edges) {
    CUgraph inner = make(), g = make();
    CUgraphNode child, first = add(g, NULL, 0, 1);
    add(inner, NULL, 0, 2);
    cr_assert_eq(cuGraphAddChildGraphNode(&child, g, &first, 1, inner), CUDA_SUCCESS);
    char *text = drawn(g, 1);
    cr_assert(strstr(text, "digraph") && strstr(text, "kernel\\nword") &&
              strstr(text, "subgraph") && strstr(text, " -> "));
    free(text);
    cr_assert_eq(cuGraphDebugDotPrint(g, "/nonexistent/graph.dot", 0), CUDA_ERROR_OPERATING_SYSTEM);
}

Test(shim_graph, a_drawing_says_more_of_kernels_than_their_names_when_asked) {
    CUgraph g = make();
    add(g, NULL, 0, 1);
    char *brief = drawn(g, 0), *in_runtime_types = drawn(g, 2), *verbose = drawn(g, 1);
    cr_expect(strstr(brief, "kernel\\nword") && !strstr(brief, "<<<"), "%s", brief);
    cr_expect_str_eq(in_runtime_types, brief);
    cr_expect(strstr(verbose, "kernel\\nword\\n<<<"), "%s", verbose);
    free(brief);
    free(in_runtime_types);
    free(verbose);
}

Test(shim_graph, a_drawing_names_nodes_by_their_numbers) {
    char want[64];
    CUgraph g = make(), inner = make(), got;
    unsigned int graph, node, another, executable_graph;
    unsigned long long tools, first_tools;
    CUgraphNode first = add(g, NULL, 0, 1), second = add(g, &first, 1, 2);
    CUgraphNode foreign = add(inner, NULL, 0, 3);
    cr_assert_eq(cuGraphDestroyNode(first), CUDA_SUCCESS);
    CUgraphNode third = add(g, &second, 1, 4);
    cr_assert_eq(cuGraphGetId(g, &graph), CUDA_SUCCESS);
    cr_assert_eq(cuGraphGetId(inner, &another), CUDA_SUCCESS);
    cr_assert_eq(cuGraphExecGetId(executable(g), &executable_graph), CUDA_SUCCESS);
    cr_expect(graph != another && graph != executable_graph && another != executable_graph);
    cr_assert_eq(cuGraphNodeGetLocalId(third, &node), CUDA_SUCCESS);
    cr_assert_eq(cuGraphNodeGetLocalId(second, &another), CUDA_SUCCESS);
    cr_expect_neq(node, another, "a number is not used again");
    snprintf(want, sizeof(want), "\"graph_%u_node_%u\" -> \"graph_%u_node_%u\"", graph, another,
             graph, node);
    char *text = drawn(g, 0);
    cr_expect(strstr(text, want), "%s in %s", want, text);
    free(text);
    cr_assert_eq(cuGraphNodeGetToolsId(third, &tools), CUDA_SUCCESS);
    cr_assert_eq(cuGraphNodeGetToolsId(foreign, &first_tools), CUDA_SUCCESS);
    cr_expect_neq(tools, first_tools);
    cr_assert_eq(cuGraphNodeGetContainingGraph(foreign, &got), CUDA_SUCCESS);
    cr_expect_eq(got, inner);
    cr_expect_eq(cuGraphNodeGetContainingGraph(first, &got), CUDA_ERROR_INVALID_VALUE,
                 "it is gone");
    cr_expect_eq(cuGraphGetId((CUgraph)third, &graph), CUDA_ERROR_INVALID_VALUE);
}

/* ---- nodes of any kind -------------------------------------------------------------------------
 */

static CUgraphNodeParams told(CUgraphNode n) {
    CUgraphNodeParams p;
    memset(&p, 0xff, sizeof(p));
    cr_assert_eq(cuGraphNodeGetParams(n, &p), CUDA_SUCCESS);
    return p;
}

Test(shim_graph, any_node_says_what_it_does) {
    CUgraph g = make(), inner = make();
    CUgraphNode n;
    CUevent e;
    CUgraphNodeParams p = told(add(g, NULL, 0, 77));
    cr_expect(p.type == CU_GRAPH_NODE_TYPE_KERNEL && p.kernel.func == word && !p.reserved2);
    cr_expect_eq(*(uint32_t *)p.kernel.kernelParams[0], 77);
    CUDA_HOST_NODE_PARAMS host = {.fn = (CUhostFn)abort, .userData = &e};
    cr_assert_eq(cuGraphAddHostNode(&n, g, NULL, 0, &host), CUDA_SUCCESS);
    p = told(n);
    cr_expect(p.type == CU_GRAPH_NODE_TYPE_HOST && p.host.fn == host.fn && p.host.userData == &e);
    cr_assert_eq(cuEventCreate(&e, 0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddEventRecordNode(&n, g, NULL, 0, e), CUDA_SUCCESS);
    p = told(n);
    cr_expect(p.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD && p.eventRecord.event == e);
    cr_assert_eq(cuGraphAddChildGraphNode(&n, g, NULL, 0, inner), CUDA_SUCCESS);
    p = told(n);
    cr_expect(p.type == CU_GRAPH_NODE_TYPE_GRAPH && p.graph.graph && p.graph.graph != inner);
    cr_expect_eq(p.graph.ownership, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID);
    CUdeviceptr memory = allocate(g, &n);
    p = told(n);
    cr_expect(p.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && p.alloc.dptr == memory);
    CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = memory, .value = 5, .elementSize = 4, .width = 6, .height = 1};
    cr_assert_eq(cuGraphAddMemsetNode(&n, g, NULL, 0, &fill, NULL), CUDA_SUCCESS);
    p = told(n);
    cr_expect(p.type == CU_GRAPH_NODE_TYPE_MEMSET && p.memset.dst == memory && !p.memset.ctx);
    cr_expect(p.memset.value == 5 && p.memset.elementSize == 4 && p.memset.width == 6);
    cr_expect_eq(cuGraphNodeGetParams((CUgraphNode)g, &p), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuGraphNodeGetParams(n, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* Only cuGraphAddNode_v3 and cuGraphNodeSetParams_v2 read the context at the end of a node's
 * params: the structures of older calls lack it. */
Test(shim_graph, contexts_of_nodes_are_looked_at_since_there_are_some) {
    CUgraph g = make();
    CUgraphNode n;
    CUcontext current;
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_HOST,
                           .host = {.fn = (CUhostFn)abort, .ctx = (CUcontext)g}};
    cr_expect_eq(cuGraphAddNode_v3(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p), CUDA_SUCCESS);
    cr_expect_eq(cuGraphNodeSetParams_v2(n, &p), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(cuGraphNodeSetParams(n, &p), CUDA_SUCCESS);
    cr_assert_eq(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    p.host.ctx = current;
    cr_expect_eq(cuGraphAddNode_v3(&n, g, NULL, NULL, 0, &p), CUDA_SUCCESS);
    p.host.syncMode = 2;
    cr_expect_eq(cuGraphNodeSetParams_v2(n, &p), CUDA_ERROR_INVALID_VALUE);
    p = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};
    cr_assert_eq(cuEventCreate(&p.eventRecord.event, 0), CUDA_SUCCESS);
    p.eventRecord.ctx = (CUcontext)g;
    cr_expect_eq(cuGraphAddNode_v3(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_CONTEXT);
    p.eventRecord.ctx = NULL;
    cr_expect_eq(cuGraphAddNode_v3(&n, g, NULL, NULL, 0, &p), CUDA_SUCCESS);
    p.type = CU_GRAPH_NODE_TYPE_MEMCPY_BATCH;
    cr_expect_eq(cuGraphAddNode_v3(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_NOT_SUPPORTED);
}

/* ---- conditions -------------------------------------------------------------------------------
 */

/* Makes a graph of a launch of 1, a conditional node with a launch of 100 + i in its i-th body, and
 * a launch of 200, in this order. Sets *decides to the word of the condition. */
static CUgraph make_choice(CUgraphConditionalNodeType type, unsigned int bodies,
                           uint32_t **decides) {
    CUgraph g = make();
    CUgraphNode n, first = add(g, NULL, 0, 1);
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                           .conditional = {.type = type, .size = bodies}};
    cr_assert_eq(cuGraphConditionalHandleCreate(&p.conditional.handle, g, NULL, 0, 0),
                 CUDA_SUCCESS);
    *decides = (uint32_t *)(uintptr_t)p.conditional.handle;
    cr_assert_eq(cuGraphAddNode_v2(&n, g, &first, NULL, 1, &p), CUDA_SUCCESS);
    for (unsigned int i = 0; i < bodies; i++)
        add(p.conditional.phGraph_out[i], NULL, 0, 100 + i);
    add(g, &n, 1, 200);
    return g;
}

Test(shim_graph, a_condition_chooses) {
    static const struct {
        CUgraphConditionalNodeType type;
        uint32_t bodies, value, chosen; /* 0: none */
    } cases[] = {
        {CU_GRAPH_COND_TYPE_IF, 1, 3, 100},     {CU_GRAPH_COND_TYPE_IF, 1, 0, 0},
        {CU_GRAPH_COND_TYPE_IF, 2, 1, 100},     {CU_GRAPH_COND_TYPE_IF, 2, 0, 101},
        {CU_GRAPH_COND_TYPE_SWITCH, 3, 2, 102}, {CU_GRAPH_COND_TYPE_SWITCH, 3, 3, 0},
        {CU_GRAPH_COND_TYPE_WHILE, 1, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t *decides;
        CUgraphExec e = executable(make_choice(cases[i].type, cases[i].bodies, &decides));
        *decides = cases[i].value;
        rig_forget();
        launch(e, own);
        uint32_t n = cases[i].chosen ? 3 : 2;
        cr_assert_eq(count_of(WIRE_LAUNCH), n, "case %zu", i);
        cr_assert_eq(value_of(0), 1);
        if (cases[i].chosen) cr_assert_eq(value_of(1), cases[i].chosen, "case %zu", i);
        cr_assert_eq(value_of(n - 1), 200);
        cr_assert_eq(cuGraphExecDestroy(e), CUDA_SUCCESS);
    }
}

Test(shim_graph, one_with_conditions_is_launched_by_one_record) {
    uint32_t *decides;
    CUgraphExec e = executable(make_choice(CU_GRAPH_COND_TYPE_IF, 2, &decides));
    *decides = 1;
    cr_assert_eq(count_of(WIRE_GRAPH_DATA), 3, "two bodies, and what they are bodies of");
    rig_hold_streams(true);
    rig_forget();
    for (int i = 0; i < 3; i++)
        launch(e, own);
    cr_assert_eq(count_of(WIRE_GRAPH_LAUNCH), 3, "nobody waits for what decides");
    cr_assert_eq(cuStreamQuery(own), CUDA_ERROR_NOT_READY);
    cr_assert_eq(cuGraphExecDestroy(e), CUDA_SUCCESS);
    cr_assert_eq(count_of(WIRE_GRAPH_DROP), 0, "it is launched");
    rig_hold_streams(false);
    rig_forget();
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
    cr_assert_eq(cuGraphExecDestroy(executable(make())), CUDA_SUCCESS);
    cr_assert_geq(count_of(WIRE_GRAPH_DROP), 3);
}

/* Nodes parallel to a conditional node do not wait for it. */
Test(shim_graph, branches_run_beside_a_condition) {
    uint32_t *decides;
    CUgraph g = make_choice(CU_GRAPH_COND_TYPE_IF, 1, &decides);
    add(g, NULL, 0, 300);
    CUgraphExec e = executable(g);
    rig_forget();
    launch(e, own);
    const struct wire_choice *c = nth(WIRE_GRAPH_CHOICE, 0);
    const struct wire_record *beside = NULL;
    for (uint32_t i = 0; i < count_of(WIRE_LAUNCH); i++)
        if (value_of(i) == 300) beside = nth(WIRE_LAUNCH, i);
    cr_assert(beside && beside->stream != c->rec.stream);
}

Test(shim_graph, an_update_takes_conditions_over) {
    uint32_t *decides, *others, *third;
    CUgraphExecUpdateResultInfo info;
    CUgraph a = make_choice(CU_GRAPH_COND_TYPE_IF, 2, &decides);
    CUgraph b = make_choice(CU_GRAPH_COND_TYPE_IF, 2, &others);
    CUgraph c = make_choice(CU_GRAPH_COND_TYPE_IF, 1, &third);
    CUgraphExec e = executable(a);
    rig_hold_streams(true);
    launch(e, own);
    cr_assert_eq(cuGraphExecUpdate_v2(e, b, &info), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(a), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(b), CUDA_SUCCESS);
    *decides = 0;
    *others = 1;
    rig_forget();
    launch(e, own);
    const struct wire_choice *choice = nth(WIRE_GRAPH_CHOICE, 0);
    cr_assert_eq(choice->value, (uint64_t)(uintptr_t)others);
    cr_assert_eq(value_of(1), 100);
    cr_assert_eq(cuGraphExecUpdate_v2(e, c, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    cr_assert_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
    rig_hold_streams(false);
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
}

/* A word gets another owner only when no launch that reads it is in flight. */
Test(shim_graph, words_last_as_long_as_what_reads_them) {
    uint32_t *decides, *others, *third;
    CUgraphExecUpdateResultInfo info;
    CUgraph a = make_choice(CU_GRAPH_COND_TYPE_IF, 1, &decides);
    CUgraph b = make_choice(CU_GRAPH_COND_TYPE_IF, 1, &others);
    CUgraphExec e = executable(a);
    rig_hold_streams(true);
    launch(e, own);
    cr_assert_eq(cuGraphExecUpdate_v2(e, b, &info), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(a), CUDA_SUCCESS);
    make_choice(CU_GRAPH_COND_TYPE_IF, 1, &third);
    cr_assert_neq(third, decides, "it is launched");
    rig_hold_streams(false);
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
    launch(e, own); /* frees graphs that are no longer launched */
    make_choice(CU_GRAPH_COND_TYPE_IF, 1, &third);
    cr_assert_eq(third, decides);
}

/* ---- nodes that kernels change --------------------------------------------------------------- */

static struct wire_node *let_change(CUgraphNode n) {
    CUlaunchAttributeValue v = {.deviceUpdatableKernelNode = {.deviceUpdatable = 1}};
    cr_assert_eq(
        cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &v),
        CUDA_SUCCESS);
    return (struct wire_node *)v.deviceUpdatableKernelNode.devNode;
}

Test(shim_graph, a_node_that_kernels_change_is_where_they_write_it) {
    CUgraph g;
    cr_assert_eq(cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CUgraphNode n = add(g, NULL, 0, 5);
    struct wire_node *node = let_change(n);
    cr_assert_eq(let_change(n), node);
    CUgraphExec e = executable(g);
    cr_expect_eq(node->enabled, 1);
    cr_expect_eq(node->kind, WIRE_NODE_KIND);
    cr_expect_eq(node->grid[0], 1);
    uint32_t value;
    memcpy(&value, node->params, sizeof(value));
    cr_expect_eq(value, 5);
    node->grid[0] = 7; /* changes it as a kernel would */
    rig_forget();
    launch(e, own);
    const struct wire_choice *c = nth(WIRE_GRAPH_CHOICE, 0);
    cr_expect_eq(c->kind, WIRE_CHOICE_LAUNCH);
    cr_expect_eq(c->value, (uintptr_t)node);
    cr_expect_eq(node->grid[0], 7, "it stays");
    cr_assert_eq(cuGraphNodeSetEnabled(e, n, 0), CUDA_SUCCESS);
    cr_expect_eq(node->enabled, 1, "before the next launch");
    launch(e, own);
    cr_expect_eq(node->enabled, 0);
    cr_expect_eq(node->grid[0], 1, "as the program says it");
}

Test(shim_graph, what_is_written_waits_for_the_launch_before) {
    CUgraph g;
    cr_assert_eq(cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CUgraphNode n = add(g, NULL, 0, 5), idle = add(g, NULL, 0, 6);
    struct wire_node *node = let_change(n);
    CUgraphExec e = executable(g);
    launch(e, own);
    node->grid[0] = 7;
    cr_assert_eq(cuGraphNodeSetEnabled(e, idle, 0), CUDA_SUCCESS);
    launch(e, own);
    cr_expect_eq(node->grid[0], 7, "another was changed");
}

Test(shim_graph, a_node_that_kernels_change_is_one) {
    CUgraph g, copy;
    CUgraphExec second;
    CUgraphExecUpdateResultInfo info;
    CUlaunchAttributeValue off = {.cooperative = 0};
    cr_assert_eq(cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CUgraphNode n = add(g, NULL, 0, 5), idle = add(g, NULL, 0, 6);
    let_change(n);
    cr_expect_eq(
        cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &off),
        CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuGraphKernelNodeCopyAttributes(idle, n), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuGraphKernelNodeCopyAttributes(n, idle), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuGraphClone(&copy, g), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(cuGraphDestroyNode(n), CUDA_ERROR_NOT_SUPPORTED);
    CUgraphExec e = executable(g);
    cr_expect_eq(cuGraphInstantiateWithFlags(&second, g, 0), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(cuGraphExecUpdate_v2(e, g, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    cr_expect_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
    cr_assert_eq(cuGraphExecDestroy(e), CUDA_SUCCESS);
    cr_expect_eq(cuGraphInstantiateWithFlags(&second, g, 0), CUDA_SUCCESS);
}

Test(shim_graph, an_empty_body_is_none) {
    CUgraph g = make();
    CUgraphNode n;
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                           .conditional = {.type = CU_GRAPH_COND_TYPE_SWITCH, .size = 3}};
    cr_assert_eq(cuGraphConditionalHandleCreate(&p.conditional.handle, g, NULL, 1,
                                                CU_GRAPH_COND_ASSIGN_DEFAULT),
                 CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p), CUDA_SUCCESS);
    add(p.conditional.phGraph_out[2], NULL, 0, 102);
    CUgraphExec e = executable(g);
    cr_assert_eq(count_of(WIRE_GRAPH_DATA), 2);
    rig_forget();
    launch(e, own);
    const struct wire_choice *c = nth(WIRE_GRAPH_CHOICE, 0);
    const uint32_t *bodies = (const uint32_t *)(c + 1);
    cr_assert_eq(bodies[0], WIRE_GRAPH_NONE);
    cr_assert_eq(bodies[1], WIRE_GRAPH_NONE);
    cr_assert_lt(bodies[2], WIRE_GRAPHS);
    const struct wire_memset *m = nth(WIRE_MEMSET, 0);
    cr_assert_eq(m->dst, p.conditional.handle, "its default, at each launch");
    cr_assert_eq(m->value, 1);
}

Test(shim_graph, a_body_holds_what_can_run_any_number_of_times) {
    static char pageable[64];
    CUgraph g = make();
    CUgraphNode n;
    CUgraphExec e;
    CUdeviceptr device;
    cr_assert_eq(cuMemAlloc_v2(&device, 4096), CUDA_SUCCESS);
    CUDA_HOST_NODE_PARAMS host = {.fn = (CUhostFn)abort};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = pageable,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = device,
                          .WidthInBytes = sizeof(pageable),
                          .Height = 1,
                          .Depth = 1};
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                           .conditional = {.type = CU_GRAPH_COND_TYPE_IF, .size = 1}};
    cr_assert_eq(cuGraphConditionalHandleCreate(&p.conditional.handle, g, NULL, 0, 0),
                 CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p), CUDA_SUCCESS);
    CUgraph body = p.conditional.phGraph_out[0];
    cr_assert_eq(cuGraphAddHostNode(&n, body, NULL, 0, &host), CUDA_SUCCESS);
    cr_assert_eq(cuGraphInstantiateWithFlags(&e, g, 0), CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(cuGraphDestroyNode(n), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddMemcpyNode(&n, body, NULL, 0, &copy, NULL), CUDA_SUCCESS);
    cr_assert_eq(cuGraphInstantiateWithFlags(&e, g, 0), CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(cuGraphDestroyNode(n), CUDA_SUCCESS);
    cr_assert_eq(cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
}

/* A condition inside a loop gets its default once in a launch, not in each round of the loop. */
Test(shim_graph, defaults_are_assigned_where_the_launch_begins) {
    CUgraph g = make();
    CUgraphNode outer, inner;
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                           .conditional = {.type = CU_GRAPH_COND_TYPE_WHILE, .size = 1}};
    cr_assert_eq(cuGraphConditionalHandleCreate(&p.conditional.handle, g, NULL, 0, 0),
                 CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddNode_v2(&outer, g, NULL, NULL, 0, &p), CUDA_SUCCESS);
    CUgraph body = p.conditional.phGraph_out[0];
    cr_assert_eq(cuGraphConditionalHandleCreate(&p.conditional.handle, body, NULL, 7,
                                                CU_GRAPH_COND_ASSIGN_DEFAULT),
                 CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddNode_v2(&inner, body, NULL, NULL, 0, &p), CUDA_SUCCESS);
    add(p.conditional.phGraph_out[0], NULL, 0, 1);
    CUgraphExec e = executable(g);
    rig_forget();
    launch(e, own);
    cr_assert_eq(count_of(WIRE_MEMSET), 1);
    const struct wire_memset *m = nth(WIRE_MEMSET, 0);
    cr_assert_eq(m->dst, p.conditional.handle);
    cr_assert_eq(m->value, 7);
}

Test(shim_graph, a_condition_is_its_graphs) {
    CUgraph g = make(), another = make(), copy;
    CUgraphNode n;
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                           .conditional = {.type = CU_GRAPH_COND_TYPE_WHILE, .size = 1}};
    cr_assert_eq(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE,
                 "no handle");
    cr_assert_eq(cuGraphConditionalHandleCreate(&p.conditional.handle, g, NULL, 1, 0),
                 CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddNode_v2(&n, another, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    p.conditional.size = 2;
    cr_assert_eq(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
    p.conditional.size = 1;
    cr_assert_eq(cuGraphAddNode_v2(&n, g, NULL, NULL, 0, &p), CUDA_SUCCESS);
    cr_assert_eq(cuGraphDestroy(p.conditional.phGraph_out[0]), CUDA_ERROR_INVALID_VALUE,
                 "it is the node's");
    cr_assert_eq(cuGraphClone(&copy, g), CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(cuGraphDestroy(g), CUDA_SUCCESS);
}

/* ---- launched by kernels --------------------------------------------------------------------- */

static CUgraphNode add_named(CUgraph g, const char *name) {
    CUDA_KERNEL_NODE_PARAMS_v2 p = {.gridDimX = 1,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 1,
                                    .blockDimY = 1,
                                    .blockDimZ = 1};
    CUgraphNode n;
    cr_assert_eq(cuModuleGetFunction(&p.func, module, name), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddKernelNode_v2(&n, g, NULL, 0, &p), CUDA_SUCCESS);
    return n;
}

static CUresult offer(CUgraph g, CUgraphExec *e) {
    return cuGraphInstantiateWithFlags(e, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
}

Test(shim_graph, kernels_may_launch_one_under_its_handle) {
    CUgraph g = make();
    CUgraphExec e;
    add(g, NULL, 0, 1);
    rig_forget();
    cr_assert_eq(offer(g, &e), CUDA_SUCCESS);
    const struct wire_graph_offer *o = nth(WIRE_GRAPH_OFFER, 0);
    cr_expect_eq(o->handle, (uint64_t)(uintptr_t)e);
    cr_expect_eq(count_of(WIRE_GRAPH_DATA), 2, "for the host, and for kernels");
    cr_expect_eq(o->graph, ((const struct wire_graph_data *)nth(WIRE_GRAPH_DATA, 0))->graph,
                 "what is launched by the host comes last");
    launch(e, own);
    const struct wire_graph_settle *s = nth(WIRE_GRAPH_SETTLE, 0);
    cr_expect_eq(s->handle, o->handle);
    rig_forget();
    cr_assert_eq(cuGraphExecDestroy(e), CUDA_SUCCESS);
    o = nth(WIRE_GRAPH_OFFER, 0);
    cr_expect(o->handle == (uint64_t)(uintptr_t)e && o->graph == WIRE_GRAPH_NONE);
}

Test(shim_graph, it_settles_where_kernels_launch_graphs) {
    CUgraph g = make(), none = make();
    add_named(g, "starts");
    add_named(none, "plain");
    CUgraphExec e = executable(g), plainly = executable(none);
    rig_forget();
    launch(e, own);
    launch(plainly, own);
    cr_expect_eq(count_of(WIRE_GRAPH_SETTLE), 1);
    cr_expect_eq(((const struct wire_graph_settle *)nth(WIRE_GRAPH_SETTLE, 0))->handle, 0);
    cr_expect_eq(count_of(WIRE_GRAPH_OFFER), 0);
}

Test(shim_graph, kernels_launch_no_graph_of_every_kind) {
    CUgraph g = make(), nests = make(), host = make(), memory = make(), good = make();
    CUgraphExec e;
    CUgraphNode n;
    CUDA_HOST_NODE_PARAMS h = {.fn = (CUhostFn)begin};
    add_named(g, "starts");
    cr_expect_eq(offer(g, &e), CUDA_SUCCESS, "others in turn");
    add_named(nests, "nests");
    cr_expect_eq(offer(nests, &e), CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(cuGraphAddHostNode(&n, host, NULL, 0, &h), CUDA_SUCCESS);
    cr_expect_eq(offer(host, &e), CUDA_ERROR_NOT_SUPPORTED);
    allocate(memory, &n);
    cr_expect_eq(offer(memory, &e), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(cuGraphInstantiateWithFlags(&e, good,
                                             CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                                 CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH),
                 CUDA_ERROR_INVALID_VALUE);
}
