/* SPDX-License-Identifier: Apache-2.0
 *
 * Order: streams and their numbers, events as positions in streams, and host functions between
 * other operations.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/err.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/context/event.h"
#include "shim/context/stream.h"
#include "test/lib/shim/rig.h"

static const struct rig_kernel kernels[] = {
    {"plain", NULL, {.max_threads = 1024}},
    {"printing", NULL, {.max_threads = 1024, .launches = WIRE_CALLS_PRINTF}},
};
static CUfunction plain, printing;
static CUstream own;

static void begin(void) {
    CUmodule module;
    rig_begin();
    state.conn.minor = WIRE_MINOR;
    rig_kernels(kernels, 2);
    cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetFunction(&plain, module, "plain"), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetFunction(&printing, module, "printing"), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    rig_forget();
}

TestSuite(shim_order, .init = begin, .timeout = 60);

static void launch(CUstream s) {
    cr_assert_eq(cuLaunchKernel(plain, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL), CUDA_SUCCESS);
}

static CUevent make(unsigned int flags) {
    CUevent e;
    cr_assert_eq(cuEventCreate(&e, flags), CUDA_SUCCESS);
    return e;
}

static uint32_t id_of(CUstream s) {
    return stream_find(s)->id;
}

/* ---- streams --------------------------------------------------------------------------------- */

Test(shim_order, a_stream_is_told_as_it_was_asked_for) {
    CUstream s;
    int priority;
    cr_assert_eq(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -3), CUDA_SUCCESS);
    const struct wire_stream_create *c = rig_only(WIRE_STREAM_CREATE);
    cr_assert(c->flags == WIRE_STREAM_NONBLOCKING && c->priority == -3 && c->first_seq == 1);
    rig_forget();
    cr_assert_eq(cuStreamCreateWithPriority(&s, CU_STREAM_DEFAULT, -100), CUDA_SUCCESS);
    c = rig_only(WIRE_STREAM_CREATE);
    cr_assert(c->flags == 0 && c->priority == state.conn.description.greatest_priority);
    cr_assert_eq(cuStreamGetPriority(s, &priority), CUDA_SUCCESS);
    cr_assert_eq(priority, state.conn.description.greatest_priority);
}

Test(shim_order, a_priority_that_is_set_is_told) {
    const int greatest = state.conn.description.greatest_priority;
    CUstreamAttrValue v = {.priority = greatest - 7};
    int priority;
    CUstream other;
    cr_assert_eq(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuStreamSetAttribute(own, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v), CUDA_SUCCESS);
    const struct wire_stream_priority *p = rig_only(WIRE_STREAM_PRIORITY);
    cr_expect(p->rec.stream == id_of(own) && p->priority == greatest);
    cr_assert_eq(cuStreamGetPriority(own, &priority), CUDA_SUCCESS);
    cr_expect_eq(priority, greatest);
    rig_forget();
    cr_assert_eq(cuStreamCopyAttributes(other, own), CUDA_SUCCESS);
    p = rig_only(WIRE_STREAM_PRIORITY);
    cr_expect(p->rec.stream == id_of(other) && p->priority == greatest);
}

Test(shim_order, no_two_streams_have_one_id) {
    unsigned long long id, first, latest = 0;
    CUstream s;
    cr_assert_eq(cuStreamGetId(NULL, &first), CUDA_SUCCESS);
    for (int i = 0; i < 70000; i++) {
        cr_assert_eq(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        cr_assert_eq(cuStreamGetId(s, &id), CUDA_SUCCESS);
        cr_assert(id > latest && id != first, "stream %d: %llu after %llu", i, id, latest);
        latest = id;
        cr_assert_eq(cuStreamDestroy_v2(s), CUDA_SUCCESS);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static size_t limit(CUlimit which) {
    size_t value = 0;
    cr_assert_eq(cuCtxGetLimit(&value, which), CUDA_SUCCESS);
    return value;
}

/* Returns the limit that the worker got last. */
static uint64_t told_limit(void) {
    const struct wire_limit *l = rig_record(rig_count() - 1, NULL);
    cr_assert_eq(l->rec.op, WIRE_LIMIT);
    return l->value;
}

/* A program can push as many contexts as it makes: neither a thread's stack nor the table has a
 * practical limit. */
Test(shim_order, contexts_on_a_stack_are_as_many_as_a_program_makes) {
    static CUcontext made[2000];
    CUcontext now, before;
    uint32_t many = sizeof(made) / sizeof(made[0]);
    cr_assert_eq(cuCtxGetCurrent(&before), CUDA_SUCCESS);
    for (uint32_t k = 0; k < many; k++)
        cr_assert_eq(cuCtxCreate_v2(&made[k], 0, 0), CUDA_SUCCESS, "%u", k);
    for (uint32_t k = many; k-- > 0;) {
        cr_assert_eq(cuCtxGetCurrent(&now), CUDA_SUCCESS);
        cr_assert_eq(now, made[k], "%u", k);
        cr_assert_eq(cuCtxDestroy_v2(made[k]), CUDA_SUCCESS);
    }
    cr_assert_eq(cuCtxGetCurrent(&now), CUDA_SUCCESS);
    cr_assert_eq(now, before);
}

Test(shim_order, places_of_contexts_come_again_once) {
    CUcontext c[4], old;
    for (int k = 0; k < 4; k++)
        cr_assert_eq(cuCtxCreate_v2(&c[k], 0, 0), CUDA_SUCCESS);
    old = c[1];
    cr_assert_eq(cuCtxDestroy_v2(c[1]), CUDA_SUCCESS);
    cr_assert_eq(cuCtxDestroy_v2(c[2]), CUDA_SUCCESS);
    cr_assert_eq(cuCtxCreate_v2(&c[1], 0, 0), CUDA_SUCCESS);
    cr_assert_eq(cuCtxCreate_v2(&c[2], 0, 0), CUDA_SUCCESS);
    for (int k = 0; k < 4; k++) {
        cr_expect_neq(c[k], old);
        for (int i = 0; i < k; i++)
            cr_expect_neq(c[k], c[i]);
    }
    for (int k = 0; k < 4; k++)
        cr_expect_eq(cuCtxDestroy_v2(c[k]), CUDA_SUCCESS, "each is one");
}

Test(shim_order, the_largest_limit_of_living_contexts_is_in_force) {
    const CUlimit which = CU_LIMIT_STACK_SIZE;
    CUcontext other;
    cr_assert_eq(cuCtxSetLimit(which, 8000), CUDA_SUCCESS);
    cr_expect(limit(which) == 8000 && told_limit() == 8000);
    cr_assert_eq(cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
    cr_expect_eq(limit(which), 8000);
    cr_assert_eq(cuCtxSetLimit(which, 16001), CUDA_SUCCESS);
    cr_expect(limit(which) == 16016 && told_limit() == 16016, "in units of 16");
    cr_assert_eq(cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
    cr_expect_eq(limit(which), 16016);
    rig_forget();
    cr_assert_eq(cuCtxSetLimit(which, 9600), CUDA_SUCCESS);
    cr_expect(limit(which) == 16016 && rig_count() == 0, "the worker need not be told");
    cr_assert_eq(cuCtxDestroy_v2(other), CUDA_SUCCESS);
    cr_expect(limit(which) == 9600 && told_limit() == 9600);
}

Test(shim_order, a_device_that_keeps_its_own_limit_is_told_of) {
    rig_limit(2048);
    cr_assert_eq(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 65536), CUDA_SUCCESS);
    cr_expect_eq(limit(CU_LIMIT_STACK_SIZE), 2048);
    rig_limit(0);
    cr_assert_eq(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 65536), CUDA_SUCCESS);
    cr_expect_eq(limit(CU_LIMIT_STACK_SIZE), 65536);
}

Test(shim_order, the_fifo_is_made_before_the_first_kernel_that_prints) {
    cr_assert_eq(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 3 << 20), CUDA_SUCCESS);
    cr_expect_eq(told_limit(), 3 << 20);
    const struct wire_mem *ring = rig_record(rig_count() - 2, NULL);
    cr_assert_eq(ring->rec.op, WIRE_TEXT);
    cr_expect(ring->bytes >= 3 << 20 && ring->addr >= state.conn.windows.host_base);
    launch(own);
    cr_expect_eq(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuLaunchKernel(printing, 1, 1, 1, 1, 1, 1, 0, own, NULL, NULL), CUDA_SUCCESS);
    cr_assert_eq(rig_only(WIRE_LAUNCH) != NULL, 1, "it is there already");
    cr_expect_eq(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 4 << 20), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(limit(CU_LIMIT_PRINTF_FIFO_SIZE), 2 << 20);
    cr_expect_eq(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 << 20), CUDA_SUCCESS);
}

Test(shim_order, the_first_kernel_that_prints_makes_the_fifo) {
    cr_assert_eq(cuLaunchKernel(printing, 1, 1, 1, 1, 1, 1, 0, own, NULL, NULL), CUDA_SUCCESS);
    const struct wire_mem *ring = rig_record(0, NULL);
    cr_assert_eq(ring->rec.op, WIRE_TEXT);
    cr_expect_geq(ring->bytes, limit(CU_LIMIT_PRINTF_FIFO_SIZE));
    rig_forget();
    cr_assert_eq(cuLaunchKernel(printing, 1, 1, 1, 1, 1, 1, 0, own, NULL, NULL), CUDA_SUCCESS);
    cr_assert_neq(rig_only(WIRE_LAUNCH), NULL);
}

Test(shim_order, limits_that_nobody_can_set_are_refused) {
    cr_expect_eq(cuCtxSetLimit(CU_LIMIT_SHMEM_SIZE, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
    cr_expect_eq(cuCtxSetLimit(CU_LIMIT_CIG_ENABLED, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
    cr_expect_eq(cuCtxSetLimit((CUlimit)99, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
    cr_expect_eq(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1 << 20), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 500), CUDA_SUCCESS);
    cr_expect_eq(limit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY), 128);
    rig_refuse(WIRE_LIMIT, ERR_NO_MEMORY, "");
    cr_expect_eq(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096), CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_eq(limit(CU_LIMIT_STACK_SIZE), state.conn.description.limits[0]);
}

static CUresult set_window(CUstream s, CUaccessPolicyWindow window) {
    CUstreamAttrValue v = {.accessPolicyWindow = window};
    return cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v);
}

static CUstreamAttrValue told_of(CUstream s, CUstreamAttrID attribute) {
    CUstreamAttrValue v;
    memset(&v, 0xff, sizeof(v));
    cr_assert_eq(cuStreamGetAttribute(s, attribute, &v), CUDA_SUCCESS);
    return v;
}

Test(shim_order, what_is_said_of_a_stream_is_told_again) {
    const CUaccessPolicyWindow window = {.base_ptr = &rig_forget,
                                         .num_bytes = 4096,
                                         .hitRatio = 0.5f,
                                         .hitProp = CU_ACCESS_PROPERTY_PERSISTING,
                                         .missProp = CU_ACCESS_PROPERTY_STREAMING};
    CUstreamAttrValue v = {.memSyncDomainMap = {.default_ = 2, .remote = 3}};
    CUstream other;
    cr_assert_eq(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(told_of(own, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP).memSyncDomainMap.remote, 1);
    cr_assert_eq(set_window(own, window), CUDA_SUCCESS);
    cr_assert_eq(cuStreamSetAttribute(own, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v),
                 CUDA_SUCCESS);
    v.syncPolicy = CU_SYNC_POLICY_YIELD;
    cr_assert_eq(cuStreamSetAttribute(own, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v),
                 CUDA_SUCCESS);
    cr_assert_eq(
        told_of(other, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow.base_ptr, NULL);
    cr_assert_eq(told_of(other, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy,
                 CU_SYNC_POLICY_AUTO);
    cr_assert_eq(cuStreamCopyAttributes(other, own), CUDA_SUCCESS);
    CUaccessPolicyWindow told =
        told_of(other, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow;
    cr_assert(told.base_ptr == window.base_ptr && told.num_bytes == 4096 && told.hitRatio == 0.5f);
    cr_assert(told.hitProp == window.hitProp && told.missProp == window.missProp);
    cr_assert_eq(told_of(other, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP).memSyncDomainMap.remote,
                 3);
    cr_assert_eq(told_of(other, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy,
                 CU_SYNC_POLICY_YIELD);
}

Test(shim_order, what_cannot_be_said_of_a_stream_is_refused) {
    int most = 0;
    cr_assert_eq(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 0),
                 CUDA_SUCCESS);
    const CUaccessPolicyWindow good = {.num_bytes = (size_t)most, .hitRatio = 1};
    CUaccessPolicyWindow bad = good;
    CUstreamAttrValue v = {.cooperative = 1};
    cr_expect_eq(set_window(own, good), CUDA_SUCCESS);
    bad.num_bytes++;
    cr_expect_eq(set_window(own, bad), CUDA_ERROR_INVALID_VALUE);
    bad = good, bad.hitRatio = 1.5f;
    cr_expect_eq(set_window(own, bad), CUDA_ERROR_INVALID_VALUE);
    bad = good, bad.missProp = CU_ACCESS_PROPERTY_PERSISTING;
    cr_expect_eq(set_window(own, bad), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamSetAttribute(own, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuStreamGetAttribute(own, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v),
                 CUDA_ERROR_INVALID_VALUE);
    v.syncPolicy = 0;
    cr_expect_eq(cuStreamSetAttribute(own, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(told_of(own, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy,
                 CU_SYNC_POLICY_AUTO);
}

Test(shim_order, no_more_of_the_cache_is_set_aside_than_there_is) {
    size_t bytes;
    int most;
    cr_assert_eq(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 0),
                 CUDA_SUCCESS);
    cr_assert_eq(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, (size_t)most / 2), CUDA_SUCCESS);
    cr_assert_eq(cuCtxGetLimit(&bytes, CU_LIMIT_PERSISTING_L2_CACHE_SIZE), CUDA_SUCCESS);
    cr_assert_eq(bytes, (size_t)most / 2);
    cr_assert_eq(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, SIZE_MAX), CUDA_SUCCESS);
    cr_assert_eq(cuCtxGetLimit(&bytes, CU_LIMIT_PERSISTING_L2_CACHE_SIZE), CUDA_SUCCESS);
    cr_assert_eq(bytes, (size_t)most);
}

Test(shim_order, numbers_go_on_where_they_ended) {
    CUstream next, other;
    uint32_t id = id_of(own);
    rig_hold_streams(true);
    launch(own);
    launch(own);
    cr_assert_eq(cuStreamDestroy_v2(own), CUDA_SUCCESS);
    const struct wire_stream_destroy *d = rig_record(2, NULL);
    cr_assert(d->rec.op == WIRE_STREAM_DESTROY && d->rec.stream == id);
    cr_assert_eq(cuStreamQuery(own), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_neq(id_of(other), id, "its work is under way");
    rig_hold_streams(false);
    rig_forget();
    cr_assert_eq(cuStreamCreate(&next, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    const struct wire_stream_create *c = rig_only(WIRE_STREAM_CREATE);
    cr_assert(c->rec.stream == id && c->first_seq == 3);
    cr_assert_neq(next, own);
}

/* Daemons since 1.9 accept more streams; the completion page has their progress in another
 * place. */
Test(shim_order, streams_go_on_behind_the_first) {
    static CUstream s[WIRE_STREAMS_FIRST + 8];
    uint32_t n = 0;
    state.conn.minor = 8;
    while (cuStreamCreate(&s[n], CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS)
        n++;
    cr_assert_eq(n, WIRE_STREAMS_FIRST - 2, "the legacy stream and our own are two");
    state.conn.minor = 9;
    for (uint32_t i = 0; i < 8; i++)
        cr_assert_eq(cuStreamCreate(&s[n + i], CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CUstream last = s[n + 7];
    cr_expect_eq(id_of(last), WIRE_STREAMS_FIRST + 7);
    rig_hold_streams(true);
    launch(last);
    cr_expect_eq(cuStreamQuery(last), CUDA_ERROR_NOT_READY);
    rig_hold_streams(false);
    cr_expect_eq(cuStreamSynchronize(last), CUDA_SUCCESS);
    cr_expect_eq(cuStreamQuery(last), CUDA_SUCCESS);
}

Test(shim_order, events_go_on_behind_the_first) {
    static CUevent e[WIRE_EVENTS_FIRST + 8];
    uint32_t n = 0;
    state.conn.minor = 8;
    while (cuEventCreate(&e[n], 0) == CUDA_SUCCESS)
        n++;
    cr_assert_eq(n, EVENT_MARKER);
    state.conn.minor = 9;
    for (uint32_t i = 0; i < 8; i++)
        cr_assert_eq(cuEventCreate(&e[n + i], 0), CUDA_SUCCESS);
    cr_expect_eq(event_find(e[n])->id, WIRE_EVENTS_FIRST, "the mark's number is nobody's");
    float ms = -1;
    cr_assert_eq(cuEventRecord(e[n + 1], own), CUDA_SUCCESS);
    launch(own);
    cr_assert_eq(cuEventRecord(e[n + 2], own), CUDA_SUCCESS);
    cr_assert_eq(cuEventSynchronize(e[n + 2]), CUDA_SUCCESS);
    cr_assert_eq(cuEventElapsedTime(&ms, e[n + 1], e[n + 2]), CUDA_SUCCESS);
    cr_expect_gt(ms, 0);
}

/* No other stream gets the number before the worker has the record of the stream's end: the two
 * records could be exchanged. */
Test(shim_order, a_number_is_free_once_its_end_was_told) {
    CUstream next;
    struct stream *s = stream_find(own);
    cr_assert_eq(cuStreamDestroy_v2(own), CUDA_SUCCESS);
    s->busy = true; /* as in tell_end */
    cr_assert_eq(cuStreamCreate(&next, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    cr_assert_neq(stream_find(next), s);
    s->busy = false;
    cr_assert_eq(cuStreamCreate(&next, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    cr_assert_eq(stream_find(next), s);
}

Test(shim_order, a_query_tells_what_is_complete) {
    CUstream blocking;
    cr_assert_eq(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    rig_hold_streams(true);
    launch(own);
    cr_assert_eq(cuStreamQuery(own), CUDA_ERROR_NOT_READY);
    cr_assert_eq(cuStreamQuery(NULL), CUDA_SUCCESS, "it does not wait for the legacy stream");
    launch(blocking);
    cr_assert_eq(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY, "that one does");
    rig_hold_streams(false);
    cr_assert_eq(cuCtxSynchronize(), CUDA_SUCCESS);
    cr_assert_eq(cuStreamQuery(own), CUDA_SUCCESS);
}

/* ---- events ---------------------------------------------------------------------------------- */

Test(shim_order, an_event_without_timing_is_a_place) {
    CUevent e = make(CU_EVENT_DISABLE_TIMING);
    cr_assert_eq(cuEventQuery(e), CUDA_SUCCESS, "never recorded");
    rig_hold_streams(true);
    launch(own);
    rig_forget();
    cr_assert_eq(cuEventRecord(e, own), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 0, "it sends nothing");
    cr_assert_eq(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    launch(own);
    struct stamp_point at = event_point(event_find(e));
    cr_assert(at.stream == id_of(own) && at.seq == 1, "what comes later is not its business");
    rig_hold_streams(false);
    cr_assert_eq(cuEventSynchronize(e), CUDA_SUCCESS);
    cr_assert_eq(cuEventQuery(e), CUDA_SUCCESS);
}

Test(shim_order, in_the_legacy_stream_it_is_a_record) {
    CUevent e = make(CU_EVENT_DISABLE_TIMING);
    cr_assert_eq(cuEventRecord(e, NULL), CUDA_SUCCESS);
    const struct wire_event_record *r = rig_only(WIRE_EVENT_RECORD);
    cr_assert(r->rec.stream == STREAM_LEGACY && r->rec.seq == 1);
    cr_assert_eq(r->event, event_find(e)->id);
}

Test(shim_order, time_between_two) {
    CUevent start = make(0), end = make(0), plain_event = make(CU_EVENT_DISABLE_TIMING);
    float ms;
    cr_assert_eq(cuEventElapsedTime_v2(&ms, start, end), CUDA_ERROR_INVALID_HANDLE, "no records");
    cr_assert_eq(cuEventRecord(start, own), CUDA_SUCCESS);
    launch(own);
    launch(own);
    rig_hold_streams(true);
    cr_assert_eq(cuEventRecord(end, own), CUDA_SUCCESS);
    cr_assert_eq(cuEventElapsedTime_v2(&ms, start, end), CUDA_ERROR_NOT_READY);
    rig_hold_streams(false);
    cr_assert_eq(cuEventElapsedTime_v2(&ms, start, end), CUDA_SUCCESS);
    cr_assert_eq(ms, 3.0f, "the worker counts a millisecond a record");
    cr_assert_eq(cuEventRecord(plain_event, own), CUDA_SUCCESS);
    cr_assert_eq(cuEventElapsedTime_v2(&ms, start, plain_event), CUDA_ERROR_INVALID_HANDLE);
}

Test(shim_order, an_id_waits_for_its_record) {
    static CUevent all[EVENT_MARKER];
    CUevent last;
    state.conn.minor = 8;
    for (uint32_t i = 0; i < EVENT_MARKER; i++)
        all[i] = make(0);
    cr_assert_eq(cuEventCreate(&last, 0), CUDA_ERROR_OUT_OF_MEMORY);
    rig_hold_streams(true);
    cr_assert_eq(cuEventRecord(all[7], own), CUDA_SUCCESS);
    cr_assert_eq(cuEventDestroy_v2(all[7]), CUDA_SUCCESS);
    cr_assert_eq(cuEventDestroy_v2(all[7]), CUDA_ERROR_INVALID_HANDLE);
    rig_hold_streams(false);
    cr_assert_eq(cuEventCreate(&last, 0), CUDA_SUCCESS);
    cr_assert_eq(event_find(last)->id, 7);
    cr_assert_neq(last, all[7]);
}

Test(shim_order, a_record_under_way_keeps_its_id) {
    CUevent e = make(0), next;
    uint32_t id = event_find(e)->id;
    rig_hold_streams(true);
    cr_assert_eq(cuEventRecord(e, own), CUDA_SUCCESS);
    cr_assert_eq(cuEventDestroy_v2(e), CUDA_SUCCESS);
    next = make(0);
    cr_assert_neq(event_find(next)->id, id, "the worker would write its time over ours");
    rig_hold_streams(false);
    cr_assert_eq(cuEventDestroy_v2(next), CUDA_SUCCESS);
    cr_assert_eq(event_find(make(0))->id, id);
}

Test(shim_order, a_stream_waits_for_what_is_not_complete) {
    CUevent e = make(CU_EVENT_DISABLE_TIMING);
    CUstream other;
    cr_assert_eq(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    rig_hold_streams(true);
    launch(own);
    cr_assert_eq(cuEventRecord(e, own), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuStreamWaitEvent(own, e, 0), CUDA_SUCCESS, "its own");
    cr_assert_eq(rig_count(), 0);
    cr_assert_eq(cuStreamWaitEvent(other, e, 0), CUDA_SUCCESS);
    const struct wire_stream_wait *w = rig_only(WIRE_STREAM_WAIT);
    cr_assert(w->rec.stream == id_of(other) && w->on == id_of(own) && w->on_seq == 1);
    rig_hold_streams(false);
    rig_count();
    rig_forget();
    cr_assert_eq(cuStreamWaitEvent(other, e, 0), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 0, "it is complete");
}

/* ---- host functions -------------------------------------------------------------------------- */

static int ran[8], ran_count;
static CUresult inside, told;

static void function(void *arg) {
    CUdeviceptr addr;
    ran[ran_count++] = (int)(intptr_t)arg;
    inside = cuMemAlloc_v2(&addr, 10);
}

static void callback(CUstream s, CUresult status, void *arg) {
    cr_assert_eq(s, own);
    told = status;
    ran[ran_count++] = (int)(intptr_t)arg;
}

Test(shim_order, host_functions_run_in_their_place) {
    cr_assert_eq(cuLaunchHostFunc(own, function, (void *)1), CUDA_SUCCESS);
    launch(own);
    cr_assert_eq(cuStreamAddCallback(own, callback, (void *)2, 0), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 3);
    const struct wire_host_func *a = rig_record(0, NULL), *b = rig_record(2, NULL);
    cr_assert(a->rec.op == WIRE_HOST_FUNC && a->rec.stream == id_of(own) && a->rec.seq == 1);
    cr_assert(b->rec.op == WIRE_HOST_FUNC && b->rec.seq == 3);
    cr_assert_neq(a->token, b->token);
    cr_assert_eq(cuStreamQuery(own), CUDA_ERROR_NOT_READY, "the stream stands");
    rig_callback();
    cr_assert(ran_count == 1 && ran[0] == 1);
    cr_assert_eq(inside, CUDA_ERROR_NOT_PERMITTED);
    rig_callback();
    cr_assert(ran_count == 2 && ran[1] == 2 && told == CUDA_SUCCESS);
    cr_assert_eq(cuStreamSynchronize(own), CUDA_SUCCESS);
}

Test(shim_order, a_host_function_that_cannot_be_sent_does_not_run) {
    CUstream gone;
    cr_assert_eq(cuStreamCreate(&gone, 0), CUDA_SUCCESS);
    cr_assert_eq(cuStreamDestroy_v2(gone), CUDA_SUCCESS);
    cr_assert_eq(cuLaunchHostFunc(gone, function, (void *)1), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuLaunchHostFunc(own, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuLaunchHostFunc_v2(own, function, (void *)3, 2), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuLaunchHostFunc(own, function, (void *)2), CUDA_SUCCESS);
    rig_callback();
    cr_assert(ran_count == 1 && ran[0] == 2);
}
