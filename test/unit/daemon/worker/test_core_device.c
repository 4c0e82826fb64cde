/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker on devices that lack optional interfaces, one of them or all. Jobs that need none of
 * these run as usual on the software GPU; a job that asks for one gets an error, and the others
 * continue.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/worker/client.h"
#include "daemon/worker/front/scheduler_view.h"
#include "proto/cuda/cuda_abi.h"
#include "test/lib/patience.h"
#include "test/lib/worker/wireclient.h"

#define GRAN (2ull << 20)
#define FROM_AT 8192u /* offset in the host window */
#define TO_AT 12288u
#define STREAM 5u

static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                            /* *p = *p + 1 */
                            ".visible .entry next(.param .u64 pp) {\n"
                            ".reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1,[pp];\n"
                            "ld.global.u32 %r1,[%d1]; add.s32 %r1,%r1,1;\n"
                            "st.global.u32 [%d1],%r1; ret; }\n";

/* The software GPU without the interface at this offset, and without those that require it. */
static struct dev_ops ops_without(size_t at) {
    struct dev_ops ops = dev_soft;
    const void *none = NULL;
    memcpy((char *)&ops + at, &none, sizeof(none));
    if (!ops.recovery) ops.spares = NULL;
    if (!ops.spares) ops.variables = NULL;
    return ops;
}

static struct dev_ops ops_core(void) {
    struct dev_ops ops = dev_soft;
    size_t at = offsetof(struct dev_ops, recovery);
    memset((char *)&ops + at, 0, sizeof(ops) - at);
    return ops;
}

static struct wirebench *bench_on(const struct dev_ops *ops) {
    return wirebench_start_as(
        &(struct worker_config){.ops = ops,
                                .device = {.memory_bytes = 64ull << 20, .threads = 1},
                                .policy = {.exclusive = -1, .swap = -1},
                                .savepoint_ns = 1});
}

static bool reaches(struct wireclient *c, uint32_t stream, uint64_t seq) {
    return PATIENCE_UNTIL(wireclient_done(c, stream) >= seq || wireclient_fault(c) ||
                          (wirebench_run(c->bench), false)) &&
           !wireclient_fault(c);
}

static uint32_t *word(const struct wireclient *c, uint32_t at) {
    return (uint32_t *)(void *)(c->host + at);
}

/* Memory, both kinds of copies and a kernel, on a high-priority stream with a share. */
static void expect_job(struct wirebench *b, const char *when) {
    struct wireclient *c = wireclient_attach(b);
    uint64_t dev = c->windows.dev_base, host = (uintptr_t)c->host;
    struct wire_stream_share share = {.sms = 1};
    struct wire_mem shown = {.addr = host, .bytes = 4096};
    stream_set_level(&client_find(b->worker, c->job_id)->streams, 1);
    stream_set_still(&client_find(b->worker, c->job_id)->streams, false);
    wireclient_create_stream(c, STREAM, 0);
    wireclient_send(c, WIRE_STREAM_SHARE, STREAM, false, &share, sizeof(share), NULL, 0);
    wireclient_send(c, WIRE_HOST_SHOW, 0, false, &shown, sizeof(shown), NULL, 0);
    cr_expect_eq(wireclient_result(c, wireclient_load(c, 0, image)), 0, "%s", when);
    cr_expect_eq(wireclient_result(c, wireclient_func(c, 0, 0, "next")), 0, "%s", when);
    cr_expect_eq(wireclient_result(c, wireclient_mem(c, WIRE_MEM_BACK, 0, GRAN)), 0, "%s", when);
    *word(c, FROM_AT) = 41;
    wireclient_copy(c, STREAM, dev, host + FROM_AT, 4);
    wireclient_launch(c, STREAM, 0, dev);
    cr_expect(reaches(c, STREAM, wireclient_copy(c, STREAM, host + TO_AT, dev, 4)), "%s", when);
    cr_expect_eq(*word(c, TO_AT), 42, "%s", when);
    wireclient_detach(c);
    wireclient_free(c);
}

Test(core_device, a_job_runs_without_any_interface) {
    const struct dev_ops ops = ops_core();
    struct wirebench *b = bench_on(&ops);
    expect_job(b, "the core alone");
    scheduler_view_update(b->worker, true);
    cr_expect_eq(b->worker->board.page->whole, 1, "it has no shares");
    wirebench_stop(b);
}

Test(core_device, a_job_runs_without_any_one_interface) {
    for (size_t at = offsetof(struct dev_ops, recovery); at < sizeof(struct dev_ops);
         at += sizeof(void *)) {
        const struct dev_ops ops = ops_without(at);
        char when[64];
        snprintf(when, sizeof(when), "without the interface at %zu", at);
        struct wirebench *b = bench_on(&ops);
        expect_job(b, when);
        wirebench_stop(b);
    }
}

/* ---- missing interfaces ---------------------------------------------------------------------- */

struct world {
    struct dev_ops ops;
    struct wirebench *b;
    struct wireclient *c; /* the client that asks */
};

static struct world w;

static void begin(void) {
    w.ops = ops_core();
    w.b = bench_on(&w.ops);
    w.c = wireclient_attach(w.b);
}

/* The other clients are served as before. */
static void end(void) {
    expect_job(w.b, "afterwards");
    wireclient_detach(w.c);
    wireclient_free(w.c);
    wirebench_stop(w.b);
}

TestSuite(lacking, .init = begin, .fini = end);

Test(lacking, textures_end_the_context_as_not_supported) {
    struct wire_texture t = {.handle = 3,
                             .addr = w.c->windows.dev_base,
                             .width = 16,
                             .height = 1,
                             .depth = 1,
                             .levels = 1,
                             .format = CU_AD_FORMAT_FLOAT,
                             .channels = 1};
    cr_assert_eq(wireclient_result(w.c, wireclient_mem(w.c, WIRE_MEM_BACK, 0, GRAN)), 0);
    uint64_t ticket = wireclient_send(w.c, WIRE_TEXTURE, 0, true, &t, sizeof(t), NULL, 0);
    cr_expect_neq(wireclient_result(w.c, ticket), 0);
    cr_expect_eq(wireclient_fault(w.c), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect(strstr(w.c->com->fault.text, "does not support textures"), "%s",
              w.c->com->fault.text);
}

static void expect_expelled(const char *reason) {
    struct wire_worker_msg msg;
    cr_assert(wirebench_hear(w.b, &msg, NULL), "not expelled for: %s", reason);
    cr_expect_eq(msg.kind, WIRE_EXPELLED);
    cr_expect(strstr(msg.text, reason), "'%s' does not say '%s'", msg.text, reason);
}

Test(lacking, its_own_arrays_are_not_there_to_be_made) {
    struct wire_array a = {.addr = w.c->windows.dev_base,
                           .width = 64,
                           .height = 64,
                           .format = CU_AD_FORMAT_UNSIGNED_INT8,
                           .channels = 1};
    wireclient_send(w.c, WIRE_ARRAY_MAKE, 0, true, &a, sizeof(a), NULL, 0);
    expect_expelled("the device does not support arrays");
}

Test(lacking, its_own_tensor_maps_are_not_there_to_be_made) {
    struct wire_tensor_map t = {.ask = {.kind = TENSOR_TILED, .rank = 2, .address = 4096}};
    wireclient_send(w.c, WIRE_TENSOR_MAP, 0, true, &t, sizeof(t), NULL, 0);
    expect_expelled("the device does not support tensor maps");
}

Test(lacking, clusters_are_not_counted) {
    struct wire_clusters k = {.threads = 32, .flags = wire_cluster_flags(2, 1, 1)};
    wireclient_send(w.c, WIRE_CLUSTERS, 0, true, &k, sizeof(k), NULL, 0);
    expect_expelled("the device does not support clusters");
}

Test(lacking, files_are_refused) {
    int fd = fdutil_memfd("file", 4096, F_SEAL_SHRINK);
    struct wire_file_range r = {.addr = w.c->windows.host_base, .bytes = 4096};
    cr_expect_eq(wireclient_result(w.c, wireclient_file(w.c, 0, fd, 0)), -ENOTSUP);
    uint64_t ticket = wireclient_send(w.c, WIRE_FILE_MAP, 0, true, &r, sizeof(r), NULL, 0);
    cr_expect_eq(wireclient_result(w.c, ticket), -ENOENT, "the file was not taken");
    cr_expect_eq(wireclient_fault(w.c), 0);
}

static int attach_as(const struct wire_job *job) {
    struct wireclient wc = {.bench = w.b, .job_id = w.b->next_job++, .job = *job};
    struct wire_windows windows = wireclient_windows();
    int fds[3] = {fdutil_memfd("submission", sizeof(struct wire_submission), 0),
                  fdutil_memfd("host", WIRECLIENT_HOST_BYTES, 0), eventfd(0, EFD_CLOEXEC)};
    int err = wireclient_try(w.b, &wc, &windows, fds, 3);
    for (int i = 0; i < 3; i++)
        fdutil_close(&fds[i]);
    return err;
}

Test(lacking, null_mode_and_other_capabilities_are_refused) {
    struct wire_job null = {.flags = WIRE_JOB_RESERVED | WIRE_JOB_NULL};
    struct wire_job other = {.flags = WIRE_JOB_RESERVED, .capability = 80};
    struct wire_module_load m = {.module = 1,
                                 .capability = 80,
                                 .image = w.c->windows.host_base,
                                 .image_bytes = sizeof(image)};
    cr_expect_eq(attach_as(&null), -ENOTSUP);
    cr_expect_eq(attach_as(&other), -ENOTSUP);
    memcpy(w.c->host, image, sizeof(image));
    uint64_t ticket = wireclient_send(w.c, WIRE_MODULE_LOAD, 0, true, &m, sizeof(m), NULL, 0);
    cr_expect_eq(wireclient_result(w.c, ticket), -ENOTSUP);
}

Test(lacking, a_limit_is_the_devices) {
    const uint32_t heap = 2; /* CU_LIMIT_MALLOC_HEAP_SIZE */
    struct wire_limit l = {.limit = heap, .value = 12345};
    uint64_t ticket = wireclient_send(w.c, WIRE_LIMIT, 0, true, &l, sizeof(l), NULL, 0), force;
    cr_assert_eq(wireclient_result(w.c, ticket), 0);
    memcpy(&force, wireclient_reply(w.c, ticket)->data, sizeof(force));
    cr_expect_eq(force, w.b->worker->description.limits[heap]);
    cr_expect_neq(force, 12345);
}

Test(lacking, nothing_is_kept_for_the_next_worker) {
    const struct client *c = client_find(w.b->worker, w.c->job_id);
    cr_expect_eq(c->recovery_state.fd, -1);
    cr_expect_not(recovery_is_complete(&c->recovery_state));
}
