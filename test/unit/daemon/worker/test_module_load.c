/* SPDX-License-Identifier: Apache-2.0
 *
 * Images are read on another thread: the operations that wait for that, those that do not, and the
 * effect of the client's end meanwhile.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/worker/client.h"
#include "daemon/worker/loop.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define LARGE (5u << 20)

struct world {
    struct wirebench *b;
    struct wireclient *a, *other;
    struct dev *dev;
};

static uint32_t placed; /* number of modules that got memory */

static int place_counted(struct dev_module *module, char *why, size_t why_bytes) {
    placed++;
    return fakedev.module_place(module, why, why_bytes);
}

static uint32_t cancelled; /* number of cancelled spaces */

static void cancel_counted(struct dev_space *space) {
    cancelled++;
    fakedev.space_cancel(space);
}

/* Two clients with kernels; from now on no image is read until `resume`. */
static struct world begin(void) {
    static struct dev_ops ops;
    ops = fakedev;
    ops.module_place = place_counted;
    ops.space_cancel = cancel_counted;
    struct world w = {.b = wirebench_start(&ops, 0)};
    w.a = wireclient_attach(w.b);
    w.other = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    wireclient_kernels(w.a, "kern fault");
    wireclient_kernels(w.other, "kern");
    w.b->background_waits = true;
    fakedev_hold_reads(w.dev, true);
    return w;
}

static void resume(struct world *w) {
    fakedev_hold_reads(w->dev, false);
    w->b->background_waits = false;
    wirebench_run(w->b);
}

static void leave(struct wireclient *c) {
    wireclient_detach(c);
    wireclient_free(c);
}

static void finish(struct world *w) {
    const char *what;
    cr_expect_eq(fakedev_violations(w->dev, &what), 0, "%s", what);
    cr_expect_eq(w->b->worker->ops->mem_used(w->dev), 0);
    cr_expect_eq(w->b->worker->loads.count, 0);
    wirebench_stop(w->b);
}

static void end(struct world *w) {
    leave(w->a);
    leave(w->other);
    finish(w);
}

static uint64_t load_large(struct wireclient *c, uint32_t module) {
    char *image = malloc(LARGE + 1);
    memset(image, ' ', LARGE);
    memcpy(image, "FAKE one", 8);
    image[LARGE] = '\0';
    uint64_t ticket = wireclient_load(c, module, image);
    free(image);
    return ticket;
}

Test(loading, nobody_else_waits_for_it) {
    struct world w = begin();
    uint64_t ticket = wireclient_load(w.a, 1, "FAKE one");
    cr_expect_eq(wireclient_result(w.a, ticket), -EAGAIN);
    cr_assert(fakedev_await_reads(w.dev, 1));
    for (uint64_t i = 0; i < 1000; i++)
        wireclient_launch(w.other, 0, 0, i);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.other, 0), 1000);
    cr_expect_eq(wireclient_result(w.other, wireclient_ping(w.other)), 0);
    cr_expect_eq(fakedev_reads(w.dev), 1, "all of that while it is being read");
    cr_expect_null(wireclient_reply(w.a, ticket));
    resume(&w);
    cr_expect_eq(wireclient_result(w.a, ticket), 0);
    end(&w);
}

Test(loading, nor_for_a_kernel_that_is_made_ready) {
    struct world w = begin();
    uint64_t ticket = wireclient_func(w.a, 0, 7, "kern");
    cr_expect_eq(wireclient_result(w.a, ticket), -EAGAIN);
    cr_assert(fakedev_await_reads(w.dev, 1));
    for (uint64_t i = 0; i < 1000; i++)
        wireclient_launch(w.other, 0, 0, i);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.other, 0), 1000);
    cr_expect_eq(fakedev_reads(w.dev), 1);
    resume(&w);
    cr_expect_eq(wireclient_result(w.a, ticket), 0);
    end(&w);
}

Test(loading, what_its_client_sent_behind_it_comes_after_it) {
    struct world w = begin();
    uint64_t load = wireclient_load(w.a, 1, "FAKE one");
    uint64_t func = wireclient_func(w.a, 1, 9, "one");
    wireclient_launch(w.a, 0, 9, 42);
    uint64_t ping = wireclient_ping(w.a);
    cr_expect_str_eq(wirebench_launched(w.b), "");
    cr_expect_eq(wireclient_result(w.a, ping), -EAGAIN);
    resume(&w);
    cr_expect_str_eq(wirebench_launched(w.b), "42");
    cr_expect_eq(wireclient_result(w.a, load), 0);
    cr_expect_eq(wireclient_result(w.a, func), 0);
    cr_expect_eq(wireclient_result(w.a, ping), 0);
    end(&w);
}

Test(loading, what_was_launched_before_goes_on) {
    struct world w = begin();
    fakedev_hold(w.dev, true);
    wireclient_launch(w.a, 0, 0, 1);
    wireclient_launch(w.a, 0, 0, 2);
    uint64_t load = wireclient_load(w.a, 1, "FAKE one");
    wirebench_run(w.b);
    fakedev_hold(w.dev, false);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.a, 0), 2);
    cr_expect_null(wireclient_reply(w.a, load));
    resume(&w);
    cr_expect_eq(wireclient_result(w.a, load), 0);
    end(&w);
}

Test(loading, a_small_image_does_not_wait_for_a_large_one) {
    struct world w = begin();
    struct wireclient *third = wireclient_attach(w.b);
    load_large(w.a, 1);
    uint64_t large = load_large(third, 1);
    wirebench_run(w.b);
    cr_assert(fakedev_await_reads(w.dev, 1));
    wireclient_load(w.other, 1, "FAKE one");
    wirebench_run(w.b);
    cr_expect(fakedev_await_reads(w.dev, 2));
    cr_expect_eq(fakedev_reads(w.dev), 2, "one large image at a time, for they take memory");
    resume(&w);
    cr_expect_eq(wireclient_result(third, large), 0);
    leave(third);
    end(&w);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static bool heard_detached(struct world *w, const struct wireclient *c) {
    struct wire_worker_msg msg;
    return wirebench_hear(w->b, &msg, NULL) && msg.kind == WIRE_DETACHED && msg.job_id == c->job_id;
}

static void tell_detach(struct world *w, const struct wireclient *c) {
    struct wire_worker_msg msg = {.kind = WIRE_DETACH, .job_id = c->job_id};
    cr_assert_eq(fdutil_send(w->b->sock, &msg, sizeof(msg), NULL, 0), 0);
    wirebench_run(w->b);
}

Test(loading, a_client_that_leaves_stays_until_nobody_reads_its_image) {
    struct world w = begin();
    uint64_t ticket = wireclient_load(w.a, 1, "FAKE one");
    wirebench_run(w.b);
    cr_assert(fakedev_await_reads(w.dev, 1));
    tell_detach(&w, w.a);
    cr_expect_eq(w.b->worker->clients.count, 2);
    cr_expect_eq(w.b->worker->clients.leaving, 1);
    cr_expect_eq(cancelled, 1, "nobody wants what is read");
    wireclient_launch(w.other, 0, 0, 1);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.other, 0), 1);
    resume(&w);
    cr_expect(heard_detached(&w, w.a));
    cr_expect_eq(wireclient_result(w.a, ticket), ERR_LEFT);
    cr_expect_eq(w.b->worker->clients.count, 1);
    wireclient_free(w.a);
    leave(w.other);
    finish(&w);
}

Test(loading, one_whose_turn_has_not_come_leaves_at_once) {
    struct world w = begin();
    load_large(w.a, 1);
    wirebench_run(w.b);
    cr_assert(fakedev_await_reads(w.dev, 1));
    load_large(w.other, 1);
    wirebench_run(w.b);
    tell_detach(&w, w.other);
    cr_expect(heard_detached(&w, w.other), "it waits for another's image");
    cr_expect_eq(fakedev_reads(w.dev), 1);
    resume(&w);
    wireclient_free(w.other);
    leave(w.a);
    finish(&w);
}

/* The module's memory is freed once no thread can access it any more, and not before. */
Test(loading, a_fault_meanwhile_is_the_answer) {
    struct world w = begin();
    wireclient_mem(w.a, WIRE_MEM_BACK, 0, FAKEDEV_GRANULARITY);
    fakedev_hold(w.dev, true);
    wireclient_launch(w.a, 0, 1, 1);
    uint64_t ticket = wireclient_load(w.a, 1, "FAKE one");
    wirebench_run(w.b);
    cr_assert(fakedev_await_reads(w.dev, 1));
    fakedev_hold(w.dev, false);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_fault(w.a), 700);
    cr_expect_neq(w.b->worker->ops->mem_used(w.dev), 0);
    placed = 0;
    resume(&w);
    cr_expect_eq(placed, 0, "the scheduler knows it no more");
    cr_expect_eq(wireclient_result(w.a, ticket), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(w.b->worker->ops->mem_used(w.dev), 0, "a dead client's memory is free");
    cr_expect_eq(wireclient_result(w.a, wireclient_ping(w.a)), ERR_ILLEGAL_ADDRESS);
    end(&w);
}

static void *resume_soon(void *arg) {
    usleep(50000);
    fakedev_hold_reads(arg, false);
    return NULL;
}

Test(loading, a_worker_that_ends_meanwhile_waits_for_the_threads) {
    struct world w = begin();
    pthread_t thread;
    load_large(w.a, 1);
    wirebench_run(w.b);
    cr_assert(fakedev_await_reads(w.dev, 1));
    load_large(w.other, 1);
    wireclient_launch(w.other, 0, 0, 1);
    wirebench_run(w.b);
    cr_assert_eq(pthread_create(&thread, NULL, resume_soon, w.dev), 0);
    wirebench_stop(w.b);
    pthread_join(thread, NULL);
    wireclient_free(w.a);
    wireclient_free(w.other);
}

/* Clients end at every moment: before the image is read, during that, when the result is back,
 * and when it has been sent. */
Test(loading, clients_come_and_go_in_the_middle_of_it) {
    struct world w = begin();
    resume(&w);
    w.b->background_waits = true;
    for (uint32_t round = 0; round < 300; round++) {
        struct wireclient *c = wireclient_attach(w.b);
        wireclient_load(c, 0, "FAKE kern");
        wireclient_func(c, 0, 0, "kern");
        for (uint32_t i = 0; i < round % 7; i++)
            loop_once(w.b->worker);
        if (round % 3 == 0) usleep(round);
        leave(c);
        wireclient_launch(w.other, 0, 0, round);
    }
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.other, 0), 300);
    cr_expect_eq(w.b->worker->clients.count, 2);
    w.b->background_waits = false;
    end(&w);
}

/* ---- the heap after reading images ----------------------------------------------------------- */

#ifndef __SANITIZE_ADDRESS__ /* ASan's allocator keeps freed memory */
#define PIECES 4096
#define PIECE (16u << 10)

static uint64_t anonymous_bytes(void) {
    char line[256];
    unsigned long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof(line), f) && sscanf(line, "RssAnon: %lu", &kib) != 1)
        continue;
    fclose(f);
    return (uint64_t)kib << 10;
}

/* Frees many blocks, with a block in use after each. */
static void free_in_pieces(void *kept[PIECES]) {
    static void *pieces[PIECES];
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = malloc(PIECE);
        memset(pieces[i], 1, PIECE);
        kept[i] = malloc(32);
    }
    for (int i = 0; i < PIECES; i++)
        free(pieces[i]);
}

Test(loading, what_clients_leave_of_the_heap_goes_back_to_the_system) {
    struct wirebench *b = wirebench_start(&fakedev, 0);
    struct wireclient *c = wireclient_attach(b);
    void *kept[PIECES];
    free_in_pieces(kept);
    uint64_t before = anonymous_bytes();
    leave(c);
    cr_expect(PATIENCE_UNTIL(anonymous_bytes() + PIECES / 2 * (uint64_t)PIECE < before),
              "%lu KiB of %lu are kept", (unsigned long)(anonymous_bytes() >> 10),
              (unsigned long)(before >> 10));
    for (int i = 0; i < PIECES; i++)
        free(kept[i]);
    wirebench_stop(b);
}
#endif
