/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's learning of kernel profiles from launches, and the life of its table's entries.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "daemon/sched/core/view.h"
#include "daemon/worker/client.h"
#include "daemon/worker/kernel/kernels.h"
#include "daemon/worker/kernel/launch_profile.h"
#include "daemon/worker/kernel/object.h"
#include "daemon/worker/scheduling/sched_link.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

enum { KERN, OTHER, FAULT };

struct world {
    struct wirebench *b;
    struct wireclient *c;
    struct dev *dev;
};

static struct world begin(void) {
    struct policy_config policy = {.kernel = "orion",
                                   .lane = "pack",
                                   .exclusive = -1,
                                   .swap = -1,
                                   .priorities = -1,
                                   .by_class = -1,
                                   .by_size = -1};
    struct world w = {
        .b = wirebench_start_as(&(struct worker_config){.ops = &fakedev, .policy = policy})};
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    wireclient_kernels(w.c, "kern other fault");
    return w;
}

static void end(struct world *w) {
    struct kernels_view v;
    const char *what;
    wireclient_detach(w->c);
    kernels_view(w->b->worker->profiles.kernels, &v);
    cr_expect_eq(v.held, 0, "%u entries are held by nobody who is there", v.held);
    cr_expect_eq(fakedev_violations(w->dev, &what), 0, "%s", what);
    wireclient_free(w->c);
    wirebench_stop(w->b);
}

static struct client *the_client(const struct world *w) {
    return client_find(w->b->worker, w->c->job_id);
}

static const struct kernel *kernel_of(const struct world *w, uint32_t func) {
    return the_client(w)->objects.funcs[func]->shape.kernel;
}

/* The kernel to which such a launch of the function belongs. */
static const struct kernel *shaped(struct client *c, uint32_t func, const struct wire_launch *l) {
    struct func *f = c->objects.funcs[func];
    launch_profile_shape(&c->profiling, f, l);
    return f->shape.kernel;
}

static void launch(struct world *w, uint32_t func, int times) {
    for (int i = 0; i < times; i++)
        wireclient_launch(w->c, 0, func, 1);
    wirebench_run(w->b);
}

Test(profiling, durations_and_class_are_learnt_from_launches) {
    struct world w = begin();
    fakedev_cost(w.dev, &(struct fakedev_cost){50000, 100, 40000 * 500});
    launch(&w, KERN, 20);
    const struct kernel *k = kernel_of(&w, KERN);
    cr_assert_not_null(k);
    cr_expect_str_eq(k->profile.name, "kern");
    cr_expect_eq(k->profile.durations.count, 20);
    cr_expect_eq(k->sched.mean_ns, 50000);
    cr_expect_eq(k->sched.class, SCHED_CLASS_MEMORY);
    cr_expect_eq(k->profile.lone, 1);
    fakedev_cost(w.dev, &(struct fakedev_cost){50000, 40000 * 1000, 100});
    launch(&w, OTHER, 3);
    cr_expect_eq(kernel_of(&w, OTHER)->sched.class, SCHED_CLASS_COMPUTE);
    end(&w);
}

/* On devices where exact times cost something and approximate times are free. */
Test(profiling, some_launches_are_asked_how_long_they_took) {
    struct world w = begin();
    w.b->worker->info.coarse = true;
    for (int i = 0; i < 32; i++)
        launch(&w, KERN, 1);
    cr_expect_eq(fakedev_asked(w.dev), 32, "the first ones");
    for (int i = 0; i < 128; i++)
        launch(&w, KERN, 1);
    cr_expect_eq(fakedev_asked(w.dev), 32 + 128 / 64);
    cr_expect_eq(kernel_of(&w, KERN)->profile.durations.count, 32 + 128 / 64);
    end(&w);
}

static void choose(struct world *w, const char *kernel_policy) {
    struct policy_config policy = *sched_policy_config(w->b->worker->scheduling.sched);
    snprintf(policy.kernel, sizeof(policy.kernel), "%s", kernel_policy);
    sched_link_policy(w->b->worker, &policy);
}

/* A device that batches completions must notice each at once only where a policy that decides by
 * class chooses between several jobs. */
Test(profiling, a_device_learns_what_it_needs_for_batches) {
    struct world w = begin();
    w.b->worker->info.coarse = true;
    fakedev_cost(w.dev, &(struct fakedev_cost){.ns = 7000});
    launch(&w, KERN, 2);
    cr_expect_eq(fakedev_expected_ns(w.dev), 0, "nothing is known of a first launch");
    launch(&w, KERN, 1);
    cr_expect_eq(fakedev_expected_ns(w.dev), 7000);
    choose(&w, "orion");
    launch(&w, KERN, 1);
    cr_expect_eq(fakedev_exact(w.dev), 0, "the job is alone");
    struct wireclient *other = wireclient_attach(w.b);
    launch(&w, KERN, 3);
    cr_expect_eq(fakedev_exact(w.dev), 3);
    choose(&w, "streams");
    launch(&w, KERN, 1);
    cr_expect_eq(fakedev_exact(w.dev), 3);
    wireclient_detach(other);
    wireclient_free(other);
    end(&w);
}

Test(profiling, what_failed_says_nothing) {
    struct world w = begin();
    struct wire_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    struct kernel *k = (struct kernel *)shaped(the_client(&w), FAULT, &l);
    kernels_hold(w.b->worker->profiles.kernels, k);
    launch(&w, FAULT, 1);
    cr_expect_eq(k->profile.durations.count, 0);
    kernels_drop(w.b->worker->profiles.kernels, k);
    end(&w);
}

Test(profiling, another_job_beside_it_makes_a_sample_provisional) {
    struct world w = begin();
    struct wireclient *other = wireclient_attach(w.b);
    wireclient_kernels(other, "kern");
    fakedev_hold(w.dev, true);
    wireclient_launch(other, 0, KERN, 2);
    launch(&w, KERN, 1);
    fakedev_finish(w.dev, 0);
    fakedev_finish(w.dev, 0);
    wirebench_run(w.b);
    const struct kernel *k = w.b->worker->clients.list.next
                                 ? list_entry(w.b->worker->clients.list.next, struct client, link)
                                       ->objects.funcs[KERN]
                                       ->shape.kernel
                                 : NULL;
    cr_assert_not_null(k);
    cr_expect_eq(k->profile.lone, 0);
    cr_expect_gt(k->profile.durations.count, 0);
    fakedev_hold(w.dev, false);
    wireclient_detach(other);
    wireclient_free(other);
    end(&w);
}

Test(profiling, each_shape_is_a_kernel_of_its_own) {
    struct world w = begin();
    struct wire_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    struct client *c = the_client(&w);
    launch(&w, KERN, 1);
    const struct kernel *first = shaped(c, KERN, &l);
    l.grid[0] = 2;
    const struct kernel *second = shaped(c, KERN, &l);
    cr_expect_neq(first, second);
    l.shared_bytes = 1024;
    const struct kernel *third = shaped(c, KERN, &l);
    cr_expect_neq(second, third);
    l.shared_bytes = 0;
    l.grid[0] = 1;
    cr_expect_eq(first, shaped(c, KERN, &l));
    end(&w);
}

/* Any difference from the function's latest launch is detected. */
Test(profiling, a_launch_is_the_same_again_only_if_all_of_it_is) {
    struct world w = begin();
    const struct wire_launch l = {.func = KERN, .grid = {4, 2, 1}, .block = {32, 1, 1}};
    struct client *c = the_client(&w);
    const struct func *f = c->objects.funcs[KERN];
    shaped(c, KERN, &l);
    cr_expect(object_again(f, &l));
    struct wire_launch other[] = {l, l, l, l, l, l, l, l, l};
    for (int i = 0; i < 3; i++) {
        other[i].grid[i]++;
        other[3 + i].block[i]++;
    }
    other[6].flags = WIRE_LAUNCH_COOPERATIVE;
    other[7].shared_bytes = 16;
    other[8].param_bytes = 8;
    for (int i = 0; i < 9; i++)
        cr_expect_not(object_again(f, &other[i]), "%d", i);
    end(&w);
}

Test(profiling, sms_needed_come_from_occupancy) {
    struct world w = begin();
    struct wire_launch l = {.grid = {1, 1, 1}, .block = {1024, 1, 1}};
    launch(&w, KERN, 1);
    uint32_t per_sm = w.b->worker->info.threads_per_sm / 1024;
    l.grid[0] = 10 * per_sm + 1;
    cr_expect_eq(shaped(the_client(&w), KERN, &l)->sched.sms, 11);
    end(&w);
}

/* A kernel that does not fit into the table can still run: its class is unknown, and it counts
 * as large. */
Test(profiling, a_kernel_without_profile_runs) {
    struct world w = begin();
    the_client(&w)->profiling.created = KERNELS_PER_JOB;
    launch(&w, KERN, 2);
    cr_expect_null(kernel_of(&w, KERN));
    cr_expect_eq(fakedev_launches(w.dev), 2);
    struct op op = {.kind = WIRE_LAUNCH};
    cr_expect_eq(launch_profile_sched(&op)->class, SCHED_CLASS_UNKNOWN);
    cr_expect_gt(launch_profile_sched(&op)->sms, w.b->worker->info.sm_count);
    op.kind = WIRE_COPY;
    cr_expect_eq(launch_profile_sched(&op)->class, SCHED_CLASS_COPY);
    end(&w);
}

/* Under orion, a high-priority job has the device's high priority, with the streams that it
 * opens later. */
Test(profiling, streams_have_the_level_of_their_job) {
    struct world w = begin();
    struct client *c = the_client(&w);
    launch(&w, KERN, 1);
    cr_expect_eq(fakedev_level(w.dev, 0), 0);
    sched_link_set(c, &(struct sched_spec){.priority = 5});
    launch(&w, KERN, 1);
    cr_expect_eq(fakedev_level(w.dev, 1), 1);
    wireclient_create_stream(w.c, 3, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 3, KERN, 7);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_level(w.dev, 2), 1);
    sched_link_set(c, &(struct sched_spec){.priority = 0});
    launch(&w, KERN, 1);
    cr_expect_eq(fakedev_level(w.dev, 3), 0);
    end(&w);
}

/* Orion, 5.1.3: copies are not held, but a copy does not overtake a held kernel in its stream. */
Test(profiling, a_copy_behind_a_held_kernel_waits_for_it_and_one_of_another_stream_does_not) {
    struct world w = begin();
    struct wireclient *high = wireclient_attach(w.b);
    wireclient_kernels(high, "kern");
    struct client *h = client_find(w.b->worker, high->job_id);
    sched_link_set(h, &(struct sched_spec){.priority = 1});
    fakedev_hold(w.dev, true);
    wireclient_launch(high, 0, KERN, 50);
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(w.c, 2, WIRE_STREAM_NONBLOCKING);
    /* now the kernel counts as too large to run concurrently */
    the_client(&w)->profiling.created = KERNELS_PER_JOB;
    wireclient_launch(w.c, 1, KERN, 60);
    wireclient_copy(w.c, 1, w.c->windows.host_base, w.c->windows.host_base + 64, 16);
    wireclient_copy(w.c, 2, w.c->windows.host_base, w.c->windows.host_base + 64, 16);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_launches(w.dev), 1, "the kernel is held");
    cr_expect_eq(fakedev_busy(w.dev), 2, "the high-priority kernel and one copy");
    fakedev_finish_all(w.dev);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_launches(w.dev), 2, "it goes when nothing of high priority is there");
    fakedev_hold(w.dev, false);
    wirebench_run(w.b);
    wireclient_detach(high);
    wireclient_free(high);
    end(&w);
}
