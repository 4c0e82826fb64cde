/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine: the limit of operations in flight, event times, faults and their effect on queued
 * operations, clients that leave while operations are in flight, waking and parking.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/sched/record/notation.h"
#include "daemon/worker/loop.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

enum { KERN, FAULT, HANG, REFUSE };

struct world {
    struct wirebench *b;
    struct wireclient *c;
    struct dev *dev;
};

static struct world begin(uint32_t cap, bool held) {
    struct world w = {.b = wirebench_start(&fakedev, cap)};
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    wireclient_kernels(w.c, "kern fault hang refuse");
    fakedev_hold(w.dev, held);
    return w;
}

static void end(struct world *w) {
    const char *what;
    fakedev_hold(w->dev, false);
    wireclient_detach(w->c);
    cr_expect_eq(fakedev_violations(w->dev, &what), 0, "%s", what);
    cr_expect_eq(fakedev_spaces(w->dev), 0);
    cr_expect_eq(w->b->worker->load.inflight, 0);
    wireclient_free(w->c);
    wirebench_stop(w->b);
}

static void turn(struct world *w, int finish) {
    while (finish-- > 0)
        fakedev_finish(w->dev, 0);
    wirebench_run(w->b);
}

Test(engine, at_most_the_cap_of_one_client_is_in_flight) {
    struct world w = begin(3, true);
    struct wireclient *other = wireclient_attach(w.b);
    fakedev_hold(w.dev, false);
    wireclient_kernels(other, "kern");
    fakedev_hold(w.dev, true);
    for (uint32_t s = 1; s <= 4; s++) {
        wireclient_create_stream(w.c, s, WIRE_STREAM_NONBLOCKING);
        for (int i = 0; i < 3; i++)
            wireclient_launch(w.c, s, KERN, s);
    }
    wireclient_launch(other, 0, KERN, 77);
    turn(&w, 0);
    cr_expect_eq(fakedev_launches(w.dev), 4, "3 of the first client, 1 of the second");
    cr_expect_eq(fakedev_token(w.dev, 3), 77);
    fakedev_hold(w.dev, false);
    turn(&w, 0);
    cr_expect_eq(fakedev_launches(w.dev), 13);
    cr_expect_eq(fakedev_most_inflight(w.dev), 3);
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.launches), 12);
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.queued), 0);
    wireclient_detach(other);
    wireclient_free(other);
    end(&w);
}

Test(engine, an_event_has_the_time_at_which_the_work_before_it_ended) {
    struct world w = begin(0, false);
    wireclient_launch(w.c, 0, KERN, 1);
    wireclient_event(w.c, 0, 10);
    turn(&w, 0);
    uint64_t before = atom_load_relaxed(&w.c->com->event_ns[10]);
    cr_expect_gt(before, 0);
    usleep(2000);
    uint64_t asked = fdutil_now_ns();
    /* no operation came before it, so it gets the time of the record */
    wireclient_event(w.c, 0, 11);
    turn(&w, 0);
    uint64_t after = atom_load_relaxed(&w.c->com->event_ns[11]);
    cr_expect_geq(after, asked);
    cr_expect_leq(after, fdutil_now_ns());
    cr_expect_geq(after - before, 2000000);
    end(&w);
}

/* A profiler requests these times, and may do so late. */
Test(engine, a_marked_event_has_the_times_of_the_operation_before_it) {
    struct world w = begin(0, false);
    const _Atomic uint64_t *ns = w.c->com->event_ns;
    fakedev_cost(w.dev, &(struct fakedev_cost){.ns = 5});
    wireclient_launch(w.c, 0, KERN, 1);
    turn(&w, 0);
    usleep(2000);
    uint64_t late = fdutil_now_ns();
    wireclient_event(w.c, 0, 10 | WIRE_EVENT_BEGAN);
    wireclient_event(w.c, 0, 11 | WIRE_EVENT_ENDED);
    wireclient_event(w.c, 0, 12);
    turn(&w, 0);
    cr_expect_gt(atom_load_relaxed(&ns[10]), 0);
    cr_expect_geq(atom_load_relaxed(&ns[11]), atom_load_relaxed(&ns[10]));
    cr_expect_lt(atom_load_relaxed(&ns[11]), late);
    cr_expect_geq(atom_load_relaxed(&ns[12]), late, "others are as CUDA has them");
    end(&w);
}

/* An event in stream `on` after work of stream `of`, which it waits for in legacy order: it gets
 * the end time of that work, which is in the future here. */
static void expect_end(uint32_t of, uint32_t on) {
    struct world w = begin(0, false);
    const uint64_t later = fdutil_now_ns() + 3600 * 1000000000ull;
    fakedev_cost(w.dev, &(struct fakedev_cost){.ns = later});
    wireclient_create_stream(w.c, 1, 0);
    wireclient_launch(w.c, of, KERN, 1);
    wireclient_event(w.c, on, 11);
    turn(&w, 0);
    cr_expect_geq(atom_load_relaxed(&w.c->com->event_ns[11]), later);
    end(&w);
}

Test(engine, an_event_of_the_legacy_stream_has_the_time_of_blocking_ones) {
    expect_end(1, 0);
}

Test(engine, an_event_of_a_blocking_stream_has_the_time_of_the_legacy_one) {
    expect_end(0, 1);
}

/* ---- events for the scheduler ---------------------------------------------------------------- */

/* The scheduler's steps so far, as text; the caller frees it. */
static char *told(struct world *w) {
    FILE *f = tmpfile();
    cr_assert_eq(recorder_write(w->b->worker->events_link.recorder, fileno(f)), 0);
    long bytes = lseek(fileno(f), 0, SEEK_END);
    char *text = calloc(1, (size_t)bytes + 1);
    cr_assert_eq(pread(fileno(f), text, (size_t)bytes, 0), bytes);
    fclose(f);
    return text;
}

/* Otherwise each step would search its events once for each kind. */
Test(engine, what_ends_and_begins_an_iteration_comes_in_the_order_of_its_kinds) {
    struct world w = begin(0, true);
    uint32_t ends = 0, most = 0;
    for (uint32_t i = 0; i < 8; i++) {
        wireclient_launch(w.c, 0, KERN, i);
        wireclient_say(w.c, WIRE_ITERATION);
        turn(&w, i > 0);
    }
    char *text = told(&w), *rest = text;
    for (const char *line; (line = strsep(&rest, "\n"));) {
        struct sched_event e;
        if (line[0] == '@') most = 0;
        if (notation_read_event(line, &e)) continue;
        cr_expect_geq(e.kind, most, "%s", line);
        ends += most == SCHED_BOUNDARY && e.kind == SCHED_SUBMITTED;
        most = e.kind;
    }
    cr_expect_geq(ends, 6, "an end and what follows it, in one step");
    free(text);
    end(&w);
}

/* ---- faults ---------------------------------------------------------------------------------- */

Test(engine, a_fault_is_named_and_ends_what_is_queued) {
    struct world w = begin(2, true);
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 1, KERN, 1);
    wireclient_launch(w.c, 0, KERN, 2);
    wireclient_launch(w.c, 1, FAULT, 3);
    for (uint64_t i = 4; i < 100; i++)
        wireclient_launch(w.c, 1, KERN, i);
    wireclient_host_func(w.c, 1, 1);
    turn(&w, 0);
    cr_expect_eq(wireclient_fault(w.c), 0);
    fakedev_finish_all(w.dev);
    turn(&w, 0);
    fakedev_finish_all(w.dev);
    turn(&w, 0);
    const struct wire_fault *f = &w.c->com->fault;
    cr_expect_eq(wireclient_fault(w.c), 700);
    cr_expect_str_eq(f->kernel, "fault");
    cr_expect_str_eq(f->text, "told to");
    cr_expect_eq(f->launch, 3);
    cr_expect_eq(f->stream, 1);
    cr_expect_eq(f->address, 0xbad);
    cr_expect_eq(wireclient_done(w.c, 1), 1, "what failed is not complete, nor what was behind it");
    cr_expect_leq(fakedev_launches(w.dev), 5, "nothing is launched after the fault");
    wireclient_launch(w.c, 0, KERN, 999);
    wireclient_create_stream(w.c, 2, 0);
    wireclient_wait(w.c, 2, 1, 5);
    wireclient_event(w.c, 2, 1);
    cr_expect_eq(wireclient_result(w.c, wireclient_ping(w.c)), -5010);
    cr_expect_eq(wireclient_done(w.c, 0), 1, "what ran before");
    cr_expect_eq(wireclient_done(w.c, 2), 0);
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.queued), 0);
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.faults), 1);
    end(&w);
}

Test(engine, a_launch_that_the_device_refuses_is_a_fault_too) {
    struct world w = begin(0, false);
    wireclient_launch(w.c, 0, REFUSE, 1);
    wireclient_launch(w.c, 0, KERN, 2);
    turn(&w, 0);
    cr_expect_eq(wireclient_fault(w.c), 1, "CUDA_ERROR_INVALID_VALUE");
    cr_expect_str_eq(w.c->com->fault.kernel, "refuse");
    cr_expect_eq(wireclient_done(w.c, 0), 0);
    cr_expect_eq(fakedev_launches(w.dev), 0);
    end(&w);
}

Test(engine, neighbours_of_a_fault_feel_nothing) {
    struct world w = begin(2, false);
    struct wireclient *other = wireclient_attach(w.b);
    wireclient_kernels(other, "kern");
    fakedev_hold(w.dev, true);
    uint64_t seq = 0;
    for (uint64_t i = 0; i < 20; i++) {
        wireclient_launch(w.c, 0, i == 3 ? FAULT : KERN, i);
        seq = wireclient_launch(other, 0, KERN, 1000 + i);
    }
    turn(&w, 0);
    fakedev_hold(w.dev, false);
    turn(&w, 0);
    cr_expect_eq(wireclient_fault(w.c), 700);
    cr_expect_eq(wireclient_fault(other), 0);
    cr_expect_eq(wireclient_done(other, 0), seq);
    wireclient_detach(other);
    wireclient_free(other);
    end(&w);
}

Test(engine, a_client_that_leaves_in_mid_flight_is_gone_at_once) {
    struct world w = begin(4, false);
    struct wireclient *other = wireclient_attach(w.b);
    wireclient_kernels(other, "hang kern");
    for (int round = 0; round < 3; round++)
        wireclient_create_stream(other, 1u + round, 0);
    cr_expect_eq(wireclient_result(other, wireclient_mem(other, WIRE_MEM_BACK, 0, 8 << 20)), 0);
    for (uint32_t s = 0; s < 4; s++)
        wireclient_launch(other, s, 0, 1);
    for (uint64_t i = 0; i < 300; i++)
        wireclient_launch(other, 2, 1, i);
    wireclient_wait(other, 3, 2, 50);
    wireclient_host_func(other, 1, 9);
    wireclient_mem(other, WIRE_MEM_UNBACK, 0, 2 << 20);
    turn(&w, 0);
    cr_expect_eq(w.b->worker->ops->mem_used(w.dev), 8 << 20);
    wireclient_detach(other);
    cr_expect_eq(w.b->worker->ops->mem_used(w.dev), 0);
    cr_expect_eq(fakedev_spaces(w.dev), 1);
    uint64_t seq = wireclient_launch(w.c, 0, KERN, 5);
    turn(&w, 0);
    cr_expect_eq(wireclient_done(w.c, 0), seq);
    wireclient_free(other);
    end(&w);
}

Test(engine, a_worker_that_ends_leaves_nothing_behind) {
    struct world w = begin(4, false);
    for (uint64_t i = 0; i < 10; i++)
        wireclient_launch(w.c, 0, HANG, i);
    turn(&w, 0);
    wireclient_free(w.c);
    wirebench_stop(w.b); /* LeakSanitizer and the device's own check run after this */
}

Test(engine, a_parked_client_is_woken_and_a_running_one_is_not) {
    struct world w = begin(0, true);
    wireclient_launch(w.c, 0, KERN, 1);
    turn(&w, 0);
    atom_store_relaxed(&w.c->sub->client_sleeping, 1);
    turn(&w, 0);
    cr_expect_eq(atom_load_relaxed(&w.c->sub->client_sleeping), 1, "nothing happened yet");
    turn(&w, 1);
    cr_expect_eq(atom_load_relaxed(&w.c->sub->client_sleeping), 0);
    end(&w);
}

static uint64_t thread_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The worker runs on its own thread: it parks, the doorbell wakes it, and no record is lost in
 * between. */
Test(engine, the_loop_parks_and_the_doorbell_wakes_it, .timeout = 180) {
    struct world w = begin(0, false);
    wirebench_thread(w.b);
    for (int i = 0; i < 300; i++) {
        if (i % 3 == 0) usleep(1500); /* longer than the worker spins */
        cr_assert_eq(wireclient_result(w.c, wireclient_ping(w.c)), 0, "ping %d was lost", i);
    }
    uint64_t seq = wireclient_launch(w.c, 0, KERN, 1);
    cr_expect(PATIENCE_UNTIL(wireclient_done(w.c, 0) == seq));
    cr_expect_neq(atom_load_relaxed(&w.c->com->spin_ns), 0);
    usleep(20000);
    uint64_t before = thread_cpu_ns();
    usleep(200000);
    cr_expect_lt(thread_cpu_ns() - before, 100000000, "an idle worker sleeps");
    wireclient_detach(w.c);
    wireclient_free(w.c);
    wirebench_stop(w.b);
}
