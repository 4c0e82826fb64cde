/* SPDX-License-Identifier: Apache-2.0
 *
 * Null jobs in the worker: the calls that the device gets instead of launches, and that no kernel
 * profiles are learned from them.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "common/fdutil.h"
#include "daemon/device/device_null_mode.h"
#include "daemon/worker/client.h"
#include "daemon/worker/kernel/estimate.h"
#include "daemon/worker/kernel/kernels.h"
#include "daemon/worker/kernel/object.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

enum { KERN, OTHER };

static struct dev_ops ops; /* the fake device, with a null mode */
static struct wirebench *b;
static struct wireclient *null, *computed;
static struct {
    unsigned spaces, count;
    uint64_t ns;
    uint32_t sms;
} spent;

static int space_null(struct dev_space *space) {
    (void)space;
    spent.spaces++;
    return 0;
}

static int spend(struct dev_queue *q, uint32_t sms, uint64_t ns, struct dev_op *op) {
    spent.count++;
    spent.sms = sms;
    spent.ns = ns;
    int err = fakedev.memset(q, &(struct dev_memset){0}, op); /* a fill of 0 bytes */
    op->thread_insts = op->memory_bytes = 1000000; /* meaningless values, which must not count */
    return err;
}

static const struct dev_null_mode_ops null_mode = {.space_null = space_null, .spend = spend};

static void begin(void) {
    struct wire_job job = {.flags = WIRE_JOB_RESERVED | WIRE_JOB_NULL};
    ops = fakedev;
    ops.null_mode = &null_mode;
    memset(&spent, 0, sizeof(spent));
    b = wirebench_start(&ops, 16);
    null = wireclient_attach_as(b, &job, 0);
    computed = wireclient_attach(b);
    wireclient_kernels(null, "kern other");
    wireclient_kernels(computed, "kern other");
}

static void end(void) {
    struct kernels_view v;
    const char *what;
    wireclient_detach(null);
    wireclient_detach(computed);
    kernels_view(b->worker->profiles.kernels, &v);
    cr_expect_eq(v.held, 0);
    cr_expect_eq(fakedev_violations(b->worker->dev, &what), 0, "%s", what);
    wireclient_free(null);
    wireclient_free(computed);
    wirebench_stop(b);
}

TestSuite(null, .init = begin, .fini = end);

static void launch(struct wireclient *c, uint32_t func, int times) {
    for (int i = 0; i < times; i++)
        wireclient_launch(c, 0, func, 1);
    wirebench_run(b);
}

static const struct func *func_of(const struct wireclient *c, uint32_t func) {
    return client_find(b->worker, c->job_id)->objects.funcs[func];
}

static const struct kernel *kernel_of(const struct wireclient *c, uint32_t func) {
    return func_of(c, func)->shape.kernel;
}

Test(null, its_launches_take_time_and_reach_no_kernel) {
    cr_assert_eq(spent.spaces, 1, "of the two jobs one");
    launch(null, KERN, 3);
    cr_expect_eq(spent.count, 3);
    cr_expect_eq(fakedev_launches(b->worker->dev), 0);
    cr_expect_eq(wireclient_done(null, 0), 3);
    launch(computed, KERN, 2);
    cr_expect_eq(spent.count, 3);
    cr_expect_eq(fakedev_launches(b->worker->dev), 2);
}

Test(null, copies_are_made) {
    char *at = null->host;
    memset(at, 7, 64);
    wireclient_copy(null, 0, (uint64_t)(uintptr_t)at + 4096, (uint64_t)(uintptr_t)at, 64);
    wirebench_run(b);
    cr_expect(at[4096] == 7 && at[4096 + 63] == 7 && at[4096 + 64] == 0);
}

Test(null, nothing_is_learned_of_its_kernels) {
    struct kernel_profile p;
    launch(null, KERN, 50);
    cr_expect_eq(kernel_of(null, KERN)->profile.durations.count, 0);
    cr_expect_eq(kernel_of(null, KERN)->sched.class, SCHED_CLASS_UNKNOWN);
    cr_expect_not(kernels_take_dirty(b->worker->profiles.kernels, &p), "nobody is told of them");
    launch(computed, KERN, 1);
    cr_expect_neq(kernel_of(null, KERN), kernel_of(computed, KERN));
    cr_expect_eq(kernel_of(computed, KERN)->profile.durations.count, 1);
    cr_expect_eq(kernel_of(computed, KERN)->sched.mean_ns, 1000, "as it took");
}

Test(null, it_takes_what_is_plausible) {
    launch(null, KERN, 1);
    const struct func *f = func_of(null, KERN);
    cr_expect_eq(spent.ns, estimate_ns(&b->worker->info, f, &f->shape.launch));
    cr_expect_eq(kernel_of(null, KERN)->sched.mean_ns, spent.ns, "and the scheduler knows");
    cr_expect_eq(kernel_of(null, KERN)->sched.tail_ns, spent.ns);
    cr_expect_eq(spent.sms, 1);
}

Test(null, or_what_a_table_says) {
    struct kernel_profile_hint hint = {.name = "kern", .duration_ns = 123456};
    cr_assert_eq(kernels_set_hints(b->worker->profiles.kernels, &hint, 1), 0);
    launch(null, KERN, 1);
    cr_expect_eq(spent.ns, 123456);
    launch(null, OTHER, 1);
    cr_expect_neq(spent.ns, 123456);
}

Test(null, or_what_the_same_kernel_took_when_it_was_computed) {
    struct kernel_profile_hint hint = {.name = "kern", .duration_ns = 123456};
    cr_assert_eq(kernels_set_hints(b->worker->profiles.kernels, &hint, 1), 0);
    fakedev_cost(b->worker->dev, &(struct fakedev_cost){.ns = 77000});
    launch(computed, KERN, 2);
    launch(null, KERN, 1);
    cr_expect_eq(spent.ns, 77000);
}

Test(null, no_order_makes_it_compute) {
    struct wire_worker_msg msg = {.kind = WIRE_SET_JOB, .job_id = null->job_id};
    cr_assert_eq(fdutil_send(b->sock, &msg, sizeof(msg), NULL, 0), 0);
    cr_assert(wirebench_hear(b, &msg, NULL));
    cr_assert_eq(msg.result, 0);
    launch(null, KERN, 1);
    cr_expect_eq(spent.count, 1);
    cr_expect_eq(fakedev_launches(b->worker->dev), 0);
}

/* ---- attaching ------------------------------------------------------------------------------- */

/* The message to the broker about such a job. */
static struct wire_worker_msg attach(void) {
    struct wire_worker_msg msg = {.kind = WIRE_ATTACH,
                                  .job_id = 99,
                                  .windows = wireclient_windows(),
                                  .job = {.flags = WIRE_JOB_RESERVED | WIRE_JOB_NULL},
                                  .name = "j (not computed)"};
    int fds[3] = {fdutil_memfd("submission", sizeof(struct wire_submission), 0),
                  fdutil_memfd("host", WIRECLIENT_HOST_BYTES, 0), eventfd(0, EFD_CLOEXEC)};
    msg.windows.host_bytes = WIRECLIENT_HOST_BYTES;
    cr_assert_eq(fdutil_send(b->sock, &msg, sizeof(msg), fds, 3), 0);
    for (int i = 0; i < 3; i++)
        fdutil_close(&fds[i]);
    int completion = -1;
    cr_assert(wirebench_hear(b, &msg, &completion));
    fdutil_close(&completion);
    cr_assert_eq(msg.kind, WIRE_ATTACHED);
    return msg;
}

static void detach(uint32_t job_id) {
    struct wire_worker_msg msg = {.kind = WIRE_DETACH, .job_id = job_id};
    cr_assert_eq(fdutil_send(b->sock, &msg, sizeof(msg), NULL, 0), 0);
    cr_assert(wirebench_hear(b, &msg, NULL));
    cr_assert_eq(msg.kind, WIRE_DETACHED);
}

Test(null, it_is_shown_a_device_that_says_so) {
    struct wire_worker_msg msg = attach();
    struct dev_info info;
    cr_assert_eq(msg.result, 0, "%s", msg.text);
    ops.info(b->worker->dev, &info);
    char name[80];
    snprintf(name, sizeof(name), "%.48s (not computed)", info.name);
    cr_expect_str_eq(msg.device.name, name);
    cr_expect_eq(msg.device.cc_major, info.cc_major);
    detach(99);
}

Test(null, a_device_that_always_computes_refuses_it) {
    ops.null_mode = NULL;
    struct wire_worker_msg msg = attach();
    cr_expect_eq(msg.result, -ENOTSUP);
    cr_expect(strstr(msg.text, "this GPU always computes: it does not support --device-mode=null"),
              "%s", msg.text);
}

/* ---- the estimate ---------------------------------------------------------------------------- */

static const struct dev_info h100 = {.sm_count = 16,
                                     .threads_per_sm = 2048,
                                     .blocks_per_sm = 32,
                                     .regs_per_sm = 65536,
                                     .shared_per_sm_bytes = 228 << 10,
                                     .shared_reserved_bytes = 1 << 10,
                                     .shared_optin_bytes = 227 << 10};

static uint64_t estimated(uint32_t blocks, uint32_t threads, uint32_t regs) {
    struct func f = {.regs = regs};
    struct dev_launch l = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
    return estimate_ns(&h100, &f, &l);
}

Test(estimate, counts_waves_and_the_threads_of_each) {
    cr_expect_eq(estimated(1, 32, 16), 2000 + 2000 + 32);
    cr_expect_eq(estimated(16, 256, 32), 2000 + 2000 + 256, "one on each multiprocessor");
    cr_expect_eq(estimated(17, 256, 32), 2000 + 2000 + 512);
    cr_expect_eq(estimated(128, 256, 32), 2000 + 2000 + 2048, "all of them, once");
    cr_expect_eq(estimated(129, 256, 32), 2000 + 2 * (2000 + 2048));
    cr_expect_eq(estimated(128, 256, 64), 2000 + 2 * (2000 + 1024), "half, for its registers");
}

Test(estimate, no_shape_is_too_large_for_it) {
    struct func f = {.regs = 255, .shared_bytes = UINT32_MAX};
    struct dev_launch l = {.grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
                           .block = {1024, 1, 1},
                           .shared_bytes = UINT32_MAX};
    cr_expect_gt(estimate_ns(&h100, &f, &l), 1000000000ull);
    cr_expect_eq(estimate_sms(&h100, &f, &l), 0);
    f.shared_bytes = l.shared_bytes = 0;
    f.regs = 32;
    cr_expect_eq(estimate_sms(&h100, &f, &l), UINT32_MAX);
    cr_expect_gt(estimate_ns(&h100, &f, &l), 1000000000ull);
}
