/* SPDX-License-Identifier: Apache-2.0
 *
 * Activities as a profiler gets them: the records, their contents, and their buffers. A buffer with
 * arbitrary contents is never read beyond its end.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "shim/connection/state.h"
#include "shim/context/trace.h"
#include "shim/cupti/buffers.h"
#include "shim/cupti/clock.h"
#include "shim/cupti/external.h"
#include "shim/cupti/library.h"
#include "shim/cupti/names.h"
#include "test/lib/shim/rig.h"

#define BUFFER_BYTES 4096u
#define RECORDS_MAX 8192u
#define CUSTOM0 3u

static const struct rig_kernel kernels[] = {
    {"wave", NULL, {.max_threads = 1024, .regs = 24, .shared_bytes = 512, .local_bytes = 16}},
};

static CUfunction wave;
static CUmodule module;

static void begin(void) {
    rig_begin();
    state.conn.minor = TRACE_MINOR;
    rig_kernels(kernels, 1);
    cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetFunction(&wave, module, "wave"), CUDA_SUCCESS);
    rig_forget();
}

TestSuite(shim_cupti, .init = begin, .timeout = 60);

/* ---- the profiler ---------------------------------------------------------------------------- */

static union {
    uint32_t kind;
    struct cupti_kernel kernel;
    struct cupti_copy copy;
    struct cupti_fill fill;
    struct cupti_call call;
    struct cupti_external external;
} records[RECORDS_MAX];
static uint32_t record_count, buffers_out;
static size_t buffer_bytes = BUFFER_BYTES, most;

static void requested(uint8_t **buffer, size_t *bytes, size_t *count) {
    *buffer = buffer_bytes ? aligned_alloc(8, buffer_bytes) : NULL;
    *bytes = buffer_bytes;
    *count = most;
    buffers_out += *buffer != NULL;
}

static size_t bytes_of(uint32_t kind) {
    if (kind == CUPTI_KIND_MEMCPY) return sizeof(struct cupti_copy);
    if (kind == CUPTI_KIND_MEMSET) return sizeof(struct cupti_fill);
    if (kind == CUPTI_KIND_DRIVER) return sizeof(struct cupti_call);
    return kind == CUPTI_KIND_EXTERNAL_CORRELATION ? sizeof(struct cupti_external)
                                                   : sizeof(struct cupti_kernel);
}

static void completed(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid) {
    void *record = NULL;
    enum cupti_result r;
    cr_assert_eq(bytes, buffer_bytes);
    while ((r = cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS) {
        cr_assert_lt(record_count, RECORDS_MAX);
        memcpy(&records[record_count++], record, bytes_of(*(uint32_t *)record));
    }
    cr_assert_eq(r, CUPTI_ERROR_MAX_LIMIT_REACHED);
    free(buffer);
    buffers_out--;
}

static void profile(const uint32_t *kinds, int count) {
    cr_assert_eq(cuptiActivityRegisterCallbacks(requested, completed), CUPTI_SUCCESS);
    for (int i = 0; i < count; i++)
        cr_assert_eq(cuptiActivityEnable(kinds[i]), CUPTI_SUCCESS);
}

#define PROFILE(...)                         \
    profile((const uint32_t[]){__VA_ARGS__}, \
            (int)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))

static void flush(void) {
    cr_assert_eq(cuCtxSynchronize(), CUDA_SUCCESS);
    cr_assert_eq(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
}

static void launch(void) {
    cr_assert_eq(cuLaunchKernel(wave, 3, 2, 1, 32, 4, 2, 256, NULL, NULL, NULL), CUDA_SUCCESS);
}

static size_t dropped(void) {
    size_t n;
    cr_assert_eq(cuptiActivityGetNumDroppedRecords(NULL, 0, &n), CUPTI_SUCCESS);
    return n;
}

/* ---- records --------------------------------------------------------------------------------- */

Test(shim_cupti, a_kernel_has_its_name_its_shape_and_its_times) {
    PROFILE(CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_DRIVER);
    launch();
    flush();
    cr_assert_eq(record_count, 2);
    cr_expect_eq(records[0].kind, CUPTI_KIND_DRIVER);
    cr_expect_eq(records[0].call.cbid, CUPTI_CBID_LAUNCH_KERNEL);
    cr_expect_leq(records[0].call.start, records[0].call.end);
    const struct cupti_kernel *k = &records[1].kernel;
    cr_expect_eq(k->kind, CUPTI_KIND_CONCURRENT_KERNEL);
    cr_expect_str_eq(k->name, "wave");
    cr_expect(k->grid[0] == 3 && k->grid[1] == 2 && k->grid[2] == 1);
    cr_expect(k->block[0] == 32 && k->block[1] == 4 && k->block[2] == 2);
    cr_expect(k->registers == 24 && k->shared_bytes == 512 && k->dynamic_bytes == 256);
    cr_expect_eq(k->local_per_thread, 16);
    cr_expect_eq(k->correlation, records[0].call.correlation);
    cr_expect_eq(k->stream, 7, "CUPTI's number of the default stream");
    /* The worker counts a millisecond for each record: the events are the second and the third. */
    cr_expect_eq(k->end - k->start, 1000000);
}

Test(shim_cupti, an_operation_is_known_by_what_its_thread_did) {
    uint64_t last;
    PROFILE(CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_EXTERNAL_CORRELATION);
    cr_assert_eq(cuptiActivityPushExternalCorrelationId(CUSTOM0, 41), CUPTI_SUCCESS);
    cr_assert_eq(cuptiActivityPushExternalCorrelationId(CUSTOM0, 42), CUPTI_SUCCESS);
    launch();
    cr_assert_eq(cuptiActivityPopExternalCorrelationId(CUSTOM0, &last), CUPTI_SUCCESS);
    cr_assert_eq(last, 42);
    cr_assert_eq(cuptiActivityPopExternalCorrelationId(CUSTOM0, NULL), CUPTI_SUCCESS);
    cr_assert_eq(cuptiActivityPopExternalCorrelationId(CUSTOM0, &last), CUPTI_ERROR_QUEUE_EMPTY);
    launch();
    flush();
    cr_assert_eq(record_count, 3, "none for the second");
    cr_expect_eq(records[0].kind, CUPTI_KIND_EXTERNAL_CORRELATION);
    cr_expect(records[0].external.external == 42 && records[0].external.external_kind == CUSTOM0);
    cr_expect_eq(records[0].external.correlation, records[1].kernel.correlation);
    cr_expect_neq(records[1].kernel.correlation, records[2].kernel.correlation);
}

Test(shim_cupti, copies_and_fills_have_their_bytes_and_their_direction) {
    char *host;
    CUdeviceptr a, b;
    cr_assert_eq(cuMemHostAlloc((void **)&host, 4096, 0), CUDA_SUCCESS);
    cr_assert_eq(cuMemAlloc_v2(&a, 4096), CUDA_SUCCESS);
    cr_assert_eq(cuMemAlloc_v2(&b, 4096), CUDA_SUCCESS);
    PROFILE(CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMSET);
    cr_assert_eq(cuMemcpyHtoDAsync_v2(a, host, 4096, NULL), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyDtoDAsync_v2(b, a, 1024, NULL), CUDA_SUCCESS);
    cr_assert_eq(cuMemcpyDtoHAsync_v2(host, b, 512, NULL), CUDA_SUCCESS);
    cr_assert_eq(cuMemsetD32Async(a, 7, 100, NULL), CUDA_SUCCESS);
    launch();
    flush();
    cr_assert_eq(record_count, 4, "and no kernel");
    cr_expect(records[0].copy.copy_kind == CUPTI_COPY_HTOD && records[0].copy.bytes == 4096);
    cr_expect(records[1].copy.copy_kind == CUPTI_COPY_DTOD && records[1].copy.bytes == 1024);
    cr_expect(records[2].copy.copy_kind == CUPTI_COPY_DTOH && records[2].copy.bytes == 512);
    cr_expect_eq(records[2].copy.src_kind, CUPTI_MEMORY_DEVICE);
    cr_expect(records[3].fill.bytes == 400 && records[3].fill.value == 7);
}

/* Profilers stop first, and then take the records. */
Test(shim_cupti, what_was_sent_before_the_end_is_recorded) {
    PROFILE(CUPTI_KIND_CONCURRENT_KERNEL);
    rig_hold_streams(true);
    launch();
    cr_assert_eq(cuptiActivityFlushAll(0), CUPTI_SUCCESS, "it waits for nothing");
    cr_assert_eq(record_count, 0);
    cr_assert_eq(cuptiActivityDisable(CUPTI_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    launch();
    cr_assert_eq(cuModuleUnload(module), CUDA_SUCCESS);
    rig_hold_streams(false);
    flush();
    cr_assert_eq(record_count, 1);
    cr_assert_str_eq(records[0].kernel.name, "wave", "also when its module is gone");
}

Test(shim_cupti, who_profiles_nothing_sends_nothing_more) {
    launch();
    rig_only(WIRE_LAUNCH);
    PROFILE(CUPTI_KIND_CONCURRENT_KERNEL);
    rig_forget();
    launch();
    cr_assert_eq(rig_count(), 3, "two events behind it");
    cr_assert_eq(cuptiFinalize(), CUPTI_SUCCESS);
    rig_forget();
    launch();
    cr_assert_eq(rig_count(), 1);
}

Test(shim_cupti, a_worker_that_knows_no_such_events_is_not_asked) {
    state.conn.minor = TRACE_MINOR - 1;
    PROFILE(CUPTI_KIND_CONCURRENT_KERNEL);
    launch();
    rig_only(WIRE_LAUNCH);
    flush();
    cr_assert_eq(record_count, 0);
}

Test(shim_cupti, only_what_there_is_can_be_asked_for) {
    cr_expect_eq(cuptiActivityEnable(CUPTI_KIND_RUNTIME), CUPTI_ERROR_INVALID_KIND);
    cr_expect_eq(cuptiActivityEnable(CUPTI_KINDS), CUPTI_ERROR_INVALID_KIND);
    cr_expect_eq(cuptiActivityEnable(UINT32_MAX), CUPTI_ERROR_INVALID_KIND);
    cr_expect_eq(cuptiActivityPushExternalCorrelationId(0, 1), CUPTI_ERROR_INVALID_PARAMETER);
    cr_expect_eq(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_KINDS, 1),
                 CUPTI_ERROR_INVALID_PARAMETER);
    cr_expect_eq(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_PARAMETER, "into no buffers");
    cr_expect_eq(cuptiActivityRegisterCallbacks(requested, NULL), CUPTI_ERROR_INVALID_PARAMETER);
    cr_expect_eq(cuptiActivityEnableRuntimeApi(1, 0), CUPTI_SUCCESS);
    cr_expect_eq(cuptiActivityEnableRuntimeApi(1, 1), CUPTI_ERROR_NOT_SUPPORTED);
}

/* ---- buffers --------------------------------------------------------------------------------- */

Test(shim_cupti, records_fill_buffer_after_buffer) {
    most = 5;
    PROFILE(CUPTI_KIND_CONCURRENT_KERNEL);
    for (int i = 0; i < 23; i++)
        launch();
    flush();
    cr_assert_eq(record_count, 23);
    cr_assert_eq(buffers_out, 0, "all came back");
    cr_assert_eq(dropped(), 0);
}

Test(shim_cupti, records_without_a_buffer_are_counted) {
    PROFILE(CUPTI_KIND_CONCURRENT_KERNEL);
    buffer_bytes = 0;
    launch();
    flush();
    buffer_bytes = sizeof(struct cupti_kernel) - 8;
    launch();
    launch();
    flush();
    cr_assert_eq(record_count, 0);
    cr_assert_eq(dropped(), 3);
    cr_assert_eq(dropped(), 0, "since the last time");
    cr_assert_eq(buffers_out, 0);
}

Test(shim_cupti, more_operations_than_can_be_pending_are_counted) {
    PROFILE(CUPTI_KIND_CONCURRENT_KERNEL);
    rig_hold_streams(true);
    for (int i = 0; i < TRACE_PENDING + 3; i++)
        launch();
    rig_hold_streams(false);
    flush();
    cr_assert_eq(record_count, TRACE_PENDING);
    cr_assert_eq(dropped(), 3);
    launch();
    flush();
    cr_assert_eq(dropped(), 0);
}

/* Buffers of random words, and readers that begin outside of them. */
Test(shim_cupti, a_hostile_buffer_is_read_no_further_than_it_goes) {
    enum { BYTES = 256 };
    for (uint32_t seed = 0; seed < 20000; seed++) {
        size_t valid = seed % (BYTES + 1);
        uint8_t *buffer = malloc(valid + 1),
                *at = NULL; /* the sanitizer's guard bytes follow the buffer */
        uint32_t x = seed * 2654435761u + 1;
        for (size_t i = 0; i < valid; i++) {
            x = x * 1664525u + 1013904223u;
            buffer[i] = (uint8_t)(i % 4 ? 0 : (x >> 24) % 41);
        }
        for (int steps = 0; buffers_next(buffer, valid, &at); steps++) {
            uint32_t kind;
            memcpy(&kind, at, sizeof(kind));
            cr_assert(at >= buffer && at + bytes_of(kind) <= buffer + valid);
            cr_assert_lt(steps, BYTES);
        }
        at = buffer + valid;
        cr_assert_not(buffers_next(buffer, valid, &at), "behind its end");
        at = buffer - 1;
        cr_assert_not(buffers_next(buffer, valid, &at), "before it");
        free(buffer);
    }
}

/* ---- clocks, ids, names ---------------------------------------------------------------------- */

Test(shim_cupti, times_are_those_of_the_programs_clock) {
    const struct clock_line twice = {{1000, 2000}, {50000, 52000}};
    cr_expect_eq(clock_on_line(&twice, 1000), 50000);
    cr_expect_eq(clock_on_line(&twice, 1500), 51000);
    cr_expect_eq(clock_on_line(&twice, 2000), 52000);
    cr_expect_eq(clock_on_line(&twice, 500), 49000, "what began before");
    const struct clock_line moment = {{1000, 1000}, {7, 7}};
    cr_expect_eq(clock_on_line(&moment, 4000), 7);
}

static uint64_t always(void) {
    return 1234;
}

Test(shim_cupti, a_program_may_bring_its_clock) {
    uint64_t now;
    cr_assert_eq(cuptiActivityRegisterTimestampCallback(always), CUPTI_SUCCESS);
    cr_assert_eq(cuptiGetTimestamp(&now), CUPTI_SUCCESS);
    cr_assert_eq(now, 1234);
    PROFILE(CUPTI_KIND_CONCURRENT_KERNEL);
    launch();
    flush();
    cr_assert_eq(records[0].kernel.start, 1234);
    cr_assert_eq(cuptiActivityRegisterTimestampCallback(NULL), CUPTI_SUCCESS);
    cr_assert_eq(cuptiGetTimestamp(&now), CUPTI_SUCCESS);
    cr_assert_gt(now, 1234);
}

Test(shim_cupti, ids_nest_as_deep_as_they_like) {
    uint64_t id;
    for (uint64_t i = 0; i < 1000; i++)
        cr_assert(external_push(CUSTOM0, i));
    cr_assert_not(external_top(CUSTOM0 + 1, &id), "another kind");
    for (uint64_t i = 1000; i-- > 0;)
        cr_assert(external_pop(CUSTOM0, &id) && id == i);
    cr_assert_not(external_pop(CUSTOM0, &id));
}

Test(shim_cupti, a_name_is_kept_once) {
    char text[] = "kernel";
    const char *kept = names_keep(text);
    text[0] = 'x';
    cr_assert_str_eq(kept, "kernel");
    cr_assert_eq(names_keep("kernel"), kept);
    cr_assert_neq(names_keep("xernel"), kept);
}
