/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that waits for the worker delays no other thread: one waits for a reply, or for space in
 * a full ring, and the other continues with the memory that it has.
 */
#include "shim/connection/wait.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "proto/wire/ring.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/lock.h"
#include "shim/memory/pool.h"
#include "test/lib/shim/rig.h"

TestSuite(shim_waiting, .init = rig_begin, .timeout = 60);

#define LARGE (8 * RIG_GRANULE)

static CUcontext context;

/* A call of another thread. */
struct other {
    pthread_t thread;
    CUresult (*call)(struct other *o);
    CUdeviceptr addr;
    CUmodule module;
    CUstream stream;
    CUresult result;
};

static void *run(void *arg) {
    struct other *o = arg;
    cuCtxSetCurrent(context);
    o->result = o->call(o);
    return NULL;
}

static void start(struct other *o, CUresult (*call)(struct other *o)) {
    cuCtxGetCurrent(&context);
    o->call = call;
    cr_assert_eq(pthread_create(&o->thread, NULL, run, o), 0);
}

static CUresult join(struct other *o) {
    pthread_join(o->thread, NULL);
    return o->result;
}

static CUresult take_large(struct other *o) {
    return cuMemAlloc_v2(&o->addr, LARGE);
}

static CUresult take_large_pooled(struct other *o) {
    return cuMemAllocAsync(&o->addr, LARGE, CU_STREAM_LEGACY);
}

static uint64_t pool_used(void) {
    uint64_t used;
    CUmemoryPool pool;
    cr_assert_eq(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
    cr_assert_eq(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used),
                 CUDA_SUCCESS);
    return used;
}

/* Uses plain and pooled memory in granules that are backed already, and queries it. */
static void use_what_is_there(void) {
    CUdeviceptr a, b, base;
    size_t bytes, total;
    unsigned int type;
    cr_assert_eq(cuMemAlloc_v2(&a, 1000), CUDA_SUCCESS);
    cr_assert_eq(cuMemAllocAsync(&b, 1000, CU_STREAM_LEGACY), CUDA_SUCCESS);
    cr_assert_eq(cuMemGetAddressRange_v2(&base, &bytes, a + 10), CUDA_SUCCESS);
    cr_assert(base == a && bytes == 1000);
    cr_assert_eq(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, b), CUDA_SUCCESS);
    cr_assert_eq(type, CU_MEMORYTYPE_DEVICE);
    cr_assert_eq(cuMemGetInfo_v2(&bytes, &total), CUDA_SUCCESS);
    cr_assert_eq(cuMemFreeAsync(b, CU_STREAM_LEGACY), CUDA_SUCCESS);
    cr_assert_eq(cuMemFree_v2(a), CUDA_SUCCESS);
    pool_used();
}

/* Uses up the credit: one granule of each window is backed, and more needs a request. */
static void use_up_the_credit(void) {
    CUdeviceptr a, b;
    cr_assert_eq(cuMemAlloc_v2(&a, 1000), CUDA_SUCCESS);
    cr_assert_eq(cuMemAllocAsync(&b, 1000, CU_STREAM_LEGACY), CUDA_SUCCESS);
    rig_credit(1, 1);
}

Test(shim_waiting, for_memory_holds_up_nobody) {
    struct other o = {0};
    use_up_the_credit();
    rig_withhold(WIRE_MEM_BACK);
    start(&o, take_large);
    rig_await_request();
    use_what_is_there();
    rig_answer();
    cr_assert_eq(join(&o), CUDA_SUCCESS);
    cr_assert_eq(cuMemFree_v2(o.addr), CUDA_SUCCESS);
}

Test(shim_waiting, for_a_pools_memory_holds_up_nobody) {
    struct other o = {0};
    use_up_the_credit();
    uint64_t before = pool_used();
    rig_withhold(WIRE_MEM_BACK);
    start(&o, take_large_pooled);
    rig_await_request();
    use_what_is_there();
    cr_assert_eq(pool_used(), before + LARGE, "it counts already");
    rig_answer();
    cr_assert_eq(join(&o), CUDA_SUCCESS);
    cr_assert_eq(pool_used(), before + LARGE);
}

Test(shim_waiting, a_refusal_leaves_the_pools_books_as_they_were) {
    CUdeviceptr addr;
    use_up_the_credit();
    uint64_t before = pool_used();
    rig_refuse(WIRE_MEM_BACK, -12, NULL);
    cr_assert_eq(cuMemAllocAsync(&addr, LARGE, CU_STREAM_LEGACY), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(pool_used(), before);
    rig_refuse(0, 0, NULL);
    cr_assert_eq(cuMemAllocAsync(&addr, LARGE, CU_STREAM_LEGACY), CUDA_SUCCESS);
    cr_assert_eq(pool_used(), before + LARGE);
}

static CUresult reset(struct other *o) {
    return cuDevicePrimaryCtxReset(0);
}

Test(shim_waiting, a_pool_that_ended_meanwhile_is_not_charged) {
    struct other o = {0}, end = {0};
    use_up_the_credit();
    rig_withhold(WIRE_MEM_BACK);
    start(&o, take_large_pooled);
    rig_await_request();
    start(&end, reset);
    cr_assert_eq(join(&end), CUDA_SUCCESS);
    rig_answer();
    cr_assert_eq(join(&o), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    cr_assert_eq(pool_used(), 0);
}

/* ---- a full ring ----------------------------------------------------------------------------- */

static void fill(void) {
    struct wire_ping ping = {.rec = {.op = WIRE_PING}};
    uint64_t credit;
    rig_stand(true);
    while (submit_try(&ping, sizeof(ping), &credit))
        continue;
}

static void await_sleeper(void) {
    const struct timespec nap = {.tv_nsec = 100000};
    while (!atom_load_acquire(&state.conn.submission->client_sleeping))
        nanosleep(&nap, NULL);
}

static CUresult drop(struct other *o) {
    struct mem_block b;
    cr_assert(mem_find(o->addr, &b));
    return pool_give(&b, 0, 0);
}

static CUresult create_stream(struct other *o) {
    return cuStreamCreate(&o->stream, CU_STREAM_NON_BLOCKING);
}

/* The announcement of a free waits for space in the ring; a thread without announcements does
 * not wait. */
Test(shim_waiting, before_a_full_ring_holds_up_nobody) {
    struct other o = {0};
    CUdeviceptr a, b;
    size_t bytes, total;
    use_up_the_credit();
    cr_assert_eq(cuMemAllocAsync(&o.addr, 5000, CU_STREAM_LEGACY), CUDA_SUCCESS);
    cr_assert_eq(cuMemAlloc_v2(&a, 1000), CUDA_SUCCESS);
    fill();
    start(&o, drop);
    await_sleeper();
    cr_assert_eq(cuMemAlloc_v2(&b, 1000), CUDA_SUCCESS);
    cr_assert_eq(cuMemGetInfo_v2(&bytes, &total), CUDA_SUCCESS);
    cr_assert_eq(cuMemFree_v2(a), CUDA_SUCCESS);
    pool_used();
    rig_stand(false);
    cr_assert_eq(join(&o), CUDA_SUCCESS);
    const struct wire_mem *last = rig_record(rig_count() - 1, NULL);
    cr_assert_eq(last->rec.op, WIRE_MEM_DROP);
    cr_assert_eq(last->addr, o.addr);
}

Test(shim_waiting, streams_begin_and_end_without_a_lock) {
    struct other o = {0};
    CUstream mine;
    cr_assert_eq(cuStreamCreate(&mine, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    fill();
    start(&o, create_stream);
    await_sleeper();
    cr_assert_eq(cuStreamQuery(mine), CUDA_SUCCESS);
    rig_stand(false);
    cr_assert_eq(join(&o), CUDA_SUCCESS);
    cr_assert_neq(o.stream, mine);
    cr_assert_eq(cuStreamDestroy_v2(o.stream), CUDA_SUCCESS);
    cr_assert_eq(cuStreamDestroy_v2(mine), CUDA_SUCCESS);
}

/* ---- code ------------------------------------------------------------------------------------ */

static const struct rig_kernel kernels[] = {{.name = "plain", .info = {.max_threads = 1024}}};

static CUresult load(struct other *o) {
    return cuModuleLoadData(&o->module, rig_ptx);
}

Test(shim_waiting, for_a_module_holds_up_no_look_up) {
    struct other o = {0};
    CUmodule module;
    CUfunction first, again;
    CUdeviceptr variable;
    unsigned int type;
    rig_kernels(kernels, 1);
    cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetFunction(&first, module, "plain"), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetGlobal_v2(&variable, NULL, module, "variable"), CUDA_SUCCESS);
    rig_withhold(WIRE_MODULE_LOAD);
    start(&o, load);
    rig_await_request();
    cr_assert_eq(cuModuleGetFunction(&again, module, "plain"), CUDA_SUCCESS);
    cr_assert_eq(again, first);
    cr_assert_eq(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, variable),
                 CUDA_SUCCESS);
    cr_assert_eq(cuLaunchKernel(first, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
    rig_answer();
    cr_assert_eq(join(&o), CUDA_SUCCESS);
    cr_assert_neq(o.module, module);
}

/* ---- the check itself ------------------------------------------------------------------------ */

static bool at_once(const void *arg) {
    return true;
}

Test(shim_waiting, a_lock_that_is_held_is_found, .signal = SIGABRT) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    lock_enter(&lock);
    lock_leave(&lock);
    cr_assert_eq(wait_until(at_once, NULL), CUDA_SUCCESS);
    lock_enter(&lock);
    wait_until(at_once, NULL);
}

Test(shim_waiting, a_record_that_might_have_to_wait_is_found, .signal = SIGABRT) {
    static struct lock lock;
    struct wire_ping ping = {.rec = {.op = WIRE_PING}};
    lock_take(&lock);
    submit_record(&ping, sizeof(ping), NULL, 0);
}

/* ---- output of kernels ----------------------------------------------------------------------- */

/* Returns the text that the call wrote to descriptor 2. */
static const char *said_by(CUresult (*call)(void *arg), void *arg, CUresult want) {
    static char text[256];
    int before = dup(STDERR_FILENO), fd = memfd_create("said", 0);
    dup2(fd, STDERR_FILENO);
    CUresult r = call(arg);
    dup2(before, STDERR_FILENO);
    ssize_t bytes = pread(fd, text, sizeof(text) - 1, 0);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(fd);
    close(before);
    cr_expect_eq(r, want);
    return text;
}

static CUresult wait_for_stream(void *arg) {
    return cuStreamSynchronize(arg);
}

static CUresult wait_for_event(void *arg) {
    return cuEventSynchronize(arg);
}

static CUresult ask_stream(void *arg) {
    return cuStreamQuery(arg);
}

/* Waits, but not queries, print text even for a context that is known to have ended: a failed
 * assertion may have ended the context. */
Test(shim_waiting, text_is_shown_by_who_waits_in_vain) {
    CUstream s;
    CUevent e;
    cr_assert_eq(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuEventCreate(&e, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    cr_assert_eq(cuEventRecord(e, s), CUDA_SUCCESS);
    rig_text(true, "it failed\n");
    rig_fault(CUDA_ERROR_ASSERT);
    cr_expect_str_eq(said_by(ask_stream, s, CUDA_ERROR_ASSERT), "");
    cr_expect_str_eq(said_by(wait_for_stream, s, CUDA_ERROR_ASSERT), "it failed\n");
    rig_text(true, "again\n");
    cr_expect_str_eq(said_by(wait_for_event, e, CUDA_ERROR_ASSERT), "again\n");
}

/* ---- slots for replies ----------------------------------------------------------------------- */

static CUresult not_sent(void *arg, uint32_t slot, uint64_t ticket) {
    *(uint64_t *)arg |= 1ull << slot;
    return CUDA_ERROR_OPERATING_SYSTEM;
}

/* A request that was never sent has no late answer, so other requests get its slot. */
Test(shim_waiting, requests_that_are_not_sent_keep_no_slot) {
    static const char long_name[RING_RECORD_MAX];
    struct wire_func_get rec = {.rec = {.op = WIRE_FUNC_GET}};
    CUdeviceptr addr;
    uint64_t used = 0;
    for (uint32_t i = 0; i < WIRE_REPLIES / 2; i++)
        cr_assert_eq(reply_call_by(not_sent, &used, NULL), CUDA_ERROR_OPERATING_SYSTEM);
    cr_assert_eq(__builtin_popcountll(used), 1, "one slot is enough");
    for (uint32_t i = 0; i < WIRE_REPLIES + 1; i++)
        cr_assert_eq(reply_call(&rec, sizeof(rec), long_name, sizeof(long_name), NULL),
                     CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuMemAlloc_v2(&addr, LARGE), CUDA_SUCCESS);
}
