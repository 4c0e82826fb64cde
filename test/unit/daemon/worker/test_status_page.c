/* SPDX-License-Identifier: Apache-2.0
 *
 * The display of long-running operations: a client's oldest one, its start, its name and its time
 * so far, until it ends.
 */
#include "daemon/worker/operations/status_page.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

static struct wirebench *bench;
static struct wireclient *client;

static void begin(void) {
    bench = wirebench_start(&fakedev, 0);
    client = wireclient_attach(bench);
    wireclient_kernels(client, "_Z4spinPf kern");
    wireclient_create_stream(client, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(client, 2, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(client, 3, WIRE_STREAM_NONBLOCKING);
    fakedev_hold(bench->worker->dev, true);
}

static void end(void) {
    fakedev_hold(bench->worker->dev, false);
    wireclient_detach(client);
    wireclient_free(client);
    wirebench_stop(bench);
}

TestSuite(running, .init = begin, .fini = end);

/* The displayed operation `ns` from now. */
static const struct wire_running *shown_after(uint64_t ns) {
    const struct wire_running *r = &client->com->running;

    wirebench_run(bench);
    bench->worker->now_ns = fdutil_now_ns() + ns;
    bench->worker->loop.status_ns = bench->worker->now_ns + STATUS_PAGE_EVERY_NS;
    status_page_update(bench->worker);
    cr_assert_eq(atom_load_relaxed(&r->seq) % 2, 0);
    return r;
}

static uint64_t busy(void) {
    return atom_load_relaxed(&client->com->stats.busy_ns);
}

#define S 1000000000ull

/* A young operation is displayed only if it becomes old between two updates. */
Test(running, what_is_young_is_not_shown) {
    for (uint64_t before = 0;; before = atom_load_relaxed(&client->com->running.seq)) {
        uint64_t begun = fdutil_now_ns();
        wireclient_launch(client, 1, 0, 1);
        uint64_t since = shown_after(0)->since_ns;
        uint64_t seq = atom_load_relaxed(&client->com->running.seq);
        if (fdutil_now_ns() - begun < STATUS_PAGE_LEAST_NS) {
            cr_assert_eq(since, 0);
            cr_assert_eq(seq, before, "nor written");
            break;
        }
        fakedev_finish(bench->worker->dev, 0);
        wirebench_run(bench);
    }
}

Test(running, a_kernel_has_its_name_and_its_time) {
    uint64_t before = fdutil_now_ns();
    const struct wire_running *r;

    wireclient_launch(client, 1, 0, 1);
    r = shown_after(42 * S);
    cr_assert_str_eq(r->what, "kernel spin");
    cr_assert_eq(r->launch, 1);
    cr_assert(r->since_ns >= before && r->since_ns <= fdutil_now_ns());
    cr_assert_geq(r->busy_ns, 42 * S, "this device cannot say; so all of it");
    cr_assert_eq(busy(), 0);
    fakedev_finish(bench->worker->dev, 0);
    wirebench_run(bench);
    cr_assert(r->since_ns == 0 && r->busy_ns == 0, "it is over");
    cr_assert_eq(busy(), 1000, "and its time is what the device says");
}

/* An operation starts when the one before it ended, not when it was submitted. The device's
 * clock, which advances by the operations' times, determines that. */
Test(running, the_next_one_of_the_stream_is_as_old_as_the_end_of_the_one_before) {
    uint64_t end_ns = fdutil_now_ns() + 600 * S; /* it was submitted before that time */

    fakedev_cost(bench->worker->dev, &(struct fakedev_cost){.ns = end_ns});
    wireclient_launch(client, 1, 0, 1);
    wireclient_launch(client, 1, 1, 2);
    cr_assert_lt(shown_after(S)->since_ns, end_ns);
    fakedev_finish(bench->worker->dev, 0);
    const struct wire_running *r = shown_after(1200 * S);
    cr_assert_str_eq(r->what, "kernel kern");
    cr_assert_eq(r->launch, 2);
    cr_assert_geq(r->since_ns, end_ns);
}

/* Three streams: another stream's operation is displayed when the first has ended, with its own
 * age. */
Test(running, the_oldest_is_shown) {
    uint64_t first;

    wireclient_launch(client, 2, 0, 1);
    wirebench_run(bench);
    wireclient_launch(client, 1, 1, 2);
    wireclient_launch(client, 3, 1, 3);
    const struct wire_running *r = shown_after(S);
    cr_assert_str_eq(r->what, "kernel spin");
    first = r->since_ns;
    for (uint32_t i = 0; i < fakedev_busy(bench->worker->dev); i++)
        if (fakedev_head(bench->worker->dev, i) == 1) fakedev_finish(bench->worker->dev, i);
    r = shown_after(S);
    cr_assert_str_eq(r->what, "kernel kern");
    cr_assert_gt(r->since_ns, first);
}

/* An operation that is not displayed ends: the displayed one stays. */
Test(running, others_that_end_do_not_disturb_it) {
    wireclient_launch(client, 1, 0, 1);
    wirebench_run(bench);
    wireclient_launch(client, 2, 1, 2);
    uint64_t since = shown_after(S)->since_ns;
    for (uint32_t i = 0; i < fakedev_busy(bench->worker->dev); i++)
        if (fakedev_head(bench->worker->dev, i) == 2) fakedev_finish(bench->worker->dev, i);
    wirebench_run(bench);
    cr_assert_eq(client->com->running.since_ns, since);
    cr_assert_eq(busy(), 1000);
    cr_assert_eq(shown_after(S)->since_ns, since);
}

Test(running, it_is_looked_at_only_while_something_is_in_flight) {
    cr_assert_eq(status_page_next_ns(bench->worker), UINT64_MAX);
    wireclient_launch(client, 1, 0, 1);
    wirebench_run(bench);
    cr_assert_lt(status_page_next_ns(bench->worker), UINT64_MAX);
    fakedev_finish(bench->worker->dev, 0);
    wirebench_run(bench);
    cr_assert_eq(status_page_next_ns(bench->worker), UINT64_MAX);
}
