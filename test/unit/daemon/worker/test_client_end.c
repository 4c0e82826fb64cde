/* SPDX-License-Identifier: Apache-2.0
 *
 * Every way in which a client's work ends early, each with operations pending in every place: on
 * the device, queued behind it, waiting for an event, behind a host function, and among the
 * deferred records. Operations that did not succeed never appear complete: the completion words
 * stay unchanged, and the client has a fault.
 */
#include <criterion/criterion.h>
#include <sys/socket.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define PAGE FAKEDEV_GRANULARITY
#define STREAMS 8u

enum { KERN, FAULT, REFUSE };
enum { EVENT_BEFORE, EVENT_BEHIND, EVENT_ALONE };

struct world {
    struct wirebench *b;
    struct wireclient *c;
    struct dev *dev;
    uint64_t done[STREAMS]; /* completion words before the end */
    uint64_t posted, event_ns[3];
    uint64_t unback; /* ticket of the deferred record */
};

/* One operation of stream 1 has run, with its event; all others are pending. `deferred`: adds a
 * record that waits for all of them, and after which no record is handled. */
static void open_work(struct world *w, bool deferred) {
    struct wireclient *c = w->c;
    for (uint32_t s = 1; s < STREAMS; s++)
        wireclient_create_stream(c, s, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(c, 1, KERN, 1);
    wireclient_event(c, 1, EVENT_BEFORE);
    wirebench_run(w->b);
    fakedev_finish_all(w->dev);
    uint64_t running = wireclient_launch(c, 1, KERN, 2);
    wireclient_event(c, 1, EVENT_BEHIND);
    wireclient_launch(c, 1, KERN, 3);
    wireclient_wait(c, 2, 1, running);
    wireclient_launch(c, 2, KERN, 4);
    wireclient_host_func(c, 3, 5);
    wireclient_launch(c, 3, KERN, 6);
    wireclient_launch(c, 4, KERN, 7);
    wireclient_host_func(c, 4, 8);
    wireclient_wait(c, 5, 1, running);
    wireclient_event(c, 5, EVENT_ALONE);
    wireclient_copy(c, 6, c->windows.dev_base, c->windows.host_base, 4096);
    if (deferred) {
        w->unback = wireclient_mem(c, WIRE_MEM_UNBACK, PAGE, PAGE);
        wireclient_launch(c, 0, KERN, 9);
    }
    wirebench_run(w->b);
}

static struct world begin(bool deferred) {
    struct world w = {.b = wirebench_start(&fakedev, 0)};
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    wireclient_kernels(w.c, "kern fault refuse");
    wireclient_mem(w.c, WIRE_MEM_BACK, 0, 2 * PAGE);
    fakedev_hold(w.dev, true);
    open_work(&w, deferred);
    for (uint32_t s = 0; s < STREAMS; s++)
        w.done[s] = wireclient_done(w.c, s);
    for (int e = 0; e < 3; e++)
        w.event_ns[e] = atom_load_relaxed(&w.c->com->event_ns[e]);
    w.posted = atom_load_acquire(&w.c->com->callbacks_posted);
    cr_assert_eq(w.done[1], 2);
    cr_assert_eq(w.posted, 1);
    cr_assert_neq(w.event_ns[EVENT_BEFORE], 0);
    cr_assert_eq(wireclient_fault(w.c), 0);
    if (deferred) cr_assert_null(wireclient_reply(w.c, w.unback));
    return w;
}

/* Expects that no pending operation appears complete, and that the client has this fault. */
static void expect_void(const struct world *w, uint32_t cuda) {
    const struct wire_completion *com = w->c->com;
    cr_expect_eq(wireclient_fault(w->c), cuda, "fault %u", wireclient_fault(w->c));
    cr_expect_neq(com->fault.text[0], 0, "the fault has a text");
    for (uint32_t s = 0; s < STREAMS; s++)
        cr_expect_eq(wireclient_done(w->c, s), w->done[s], "stream %u shows %lu, %lu ran", s,
                     wireclient_done(w->c, s), w->done[s]);
    for (int e = 0; e < 3; e++)
        cr_expect_eq(atom_load_relaxed(&com->event_ns[e]), w->event_ns[e], "time of event %d", e);
    cr_expect_eq(atom_load_acquire(&com->callbacks_posted), w->posted);
    const struct wire_reply *r = w->unback ? wireclient_reply(w->c, w->unback) : NULL;
    if (r) cr_expect(r->result < 0 && r->cuda == (int)cuda, "an answer of success");
}

/* The worker continues, and later records of the client have no effect. */
static void end(struct world *w, uint32_t cuda, bool reads) {
    const char *what;
    expect_void(w, cuda);
    if (reads) {
        wireclient_launch(w->c, 7, KERN, 10);
        wireclient_event(w->c, 7, EVENT_ALONE);
        uint64_t back = wireclient_mem(w->c, WIRE_MEM_BACK, 4 * PAGE, PAGE);
        cr_expect_lt(wireclient_result(w->c, back), 0);
        cr_expect_lt(wireclient_result(w->c, wireclient_ping(w->c)), 0);
        fakedev_finish_all(w->dev);
        wirebench_run(w->b);
        expect_void(w, cuda);
    }
    wireclient_detach(w->c);
    expect_void(w, cuda);
    cr_expect_eq(fakedev_violations(w->dev, &what), 0, "%s", what);
    cr_expect_eq(fakedev_spaces(w->dev), 0);
    cr_expect_eq(w->b->worker->load.inflight, 0);
    wireclient_free(w->c);
    wirebench_stop(w->b);
}

/* ---- the broker ends it ---------------------------------------------------------------------- */

static void detached(int told, uint32_t cuda) {
    struct world w = begin(true);
    struct wire_worker_msg msg = {.kind = WIRE_DETACH, .job_id = w.c->job_id, .result = told};
    cr_assert_eq(fdutil_send(w.b->sock, &msg, sizeof(msg), NULL, 0), 0);
    cr_assert(wirebench_hear(w.b, &msg, NULL));
    cr_expect_eq(msg.kind, WIRE_DETACHED);
    expect_void(&w, cuda);
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.faults), 0, "it failed in nothing");
    cr_expect_eq(fakedev_spaces(w.dev), 0);
    wireclient_free(w.c);
    wirebench_stop(w.b);
}

Test(ending, its_connection_closed) {
    detached(0, 46);
}

Test(ending, an_operator_killed_it) {
    detached(ERR_ENDED, 46);
}

Test(ending, the_broker_found_it_breaking_the_protocol) {
    detached(ERR_PROTOCOL, 999);
}

Test(ending, the_broker_is_gone) {
    struct world w = begin(true);
    atom_store_relaxed(&w.c->sub->client_sleeping, 1);
    wirebench_stop(w.b); /* clients of the worker end with it; their pages stay */
    expect_void(&w, 46);
    cr_expect_eq(atom_load_relaxed(&w.c->sub->client_sleeping), 0, "sleepers are woken");
    wireclient_free(w.c);
}

Test(ending, one_that_has_nothing_open_is_told_too) {
    struct world w = {.b = wirebench_start(&fakedev, 0)};
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    wireclient_kernels(w.c, "kern");
    uint64_t seq = wireclient_launch(w.c, 0, KERN, 1);
    wirebench_run(w.b);
    wireclient_detach(w.c);
    cr_expect_eq(wireclient_done(w.c, 0), seq, "what ran, ran");
    cr_expect_eq(wireclient_fault(w.c), 46);
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.faults), 0);
    wireclient_free(w.c);
    wirebench_stop(w.b);
}

/* ---- the client ends by its own fault -------------------------------------------------------- */

/* kernel_timeout ends an operation in the same way: with an error result. */
Test(ending, a_kernel_of_another_stream_failed) {
    struct world w = begin(false);
    wireclient_launch(w.c, 7, FAULT, 20);
    wireclient_event(w.c, 7, EVENT_ALONE);
    wirebench_run(w.b);
    fakedev_finish(w.dev, fakedev_busy(w.dev) - 1);
    wirebench_run(w.b);
    end(&w, 700, true);
}

/* Both kernels ended before the worker polled: the first one is complete, and nothing after it. */
Test(ending, a_kernel_failed_right_behind_one_that_did_not) {
    struct world w = begin(false);
    wireclient_launch(w.c, 7, KERN, 20);
    wireclient_launch(w.c, 7, FAULT, 21);
    wireclient_launch(w.c, 7, KERN, 22);
    wirebench_run(w.b);
    for (int i = 0; i < 3; i++)
        fakedev_finish(w.dev, fakedev_busy(w.dev) - 1);
    wirebench_run(w.b);
    w.done[7] = 1;
    end(&w, 700, true);
}

Test(ending, the_device_refused_a_launch) {
    struct world w = begin(false);
    wireclient_launch(w.c, 7, REFUSE, 20);
    wirebench_run(w.b);
    end(&w, 1, true);
}

Test(ending, a_copy_left_its_windows) {
    struct world w = begin(false);
    wireclient_copy(w.c, 7, w.c->windows.dev_base, 4096, 4096);
    wirebench_run(w.b);
    end(&w, 700, true);
}

Test(ending, memory_that_it_took_for_granted_is_not_there) {
    struct world w = begin(false);
    struct wireclient *others[4]; /* a quarter of the device each, minus the memory of `c` */
    for (int i = 0; i < 4; i++) {
        others[i] = wireclient_attach(w.b);
        uint64_t back = wireclient_mem(others[i], WIRE_MEM_BACK, 0, (i ? 32 : 28) * PAGE);
        cr_assert_eq(wireclient_result(others[i], back), 0);
    }
    wireclient_mem_silent(w.c, WIRE_MEM_BACK, 2 * PAGE, 30 * PAGE);
    wirebench_run(w.b);
    for (int i = 0; i < 4; i++) {
        wireclient_detach(others[i]);
        wireclient_free(others[i]);
    }
    end(&w, 2, true);
}

Test(ending, it_broke_the_protocol) {
    struct world w = begin(true);
    w.c->seq[7] += 5;
    wireclient_launch(w.c, 7, KERN, 20);
    wirebench_run(w.b);
    end(&w, 999, false);
}
