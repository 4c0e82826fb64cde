/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks of iterations and of waits in the ring: at their position among the launches, once, and
 * without a needless wake-up. The ring is real; the test replaces the streams.
 */
#include "shim/connection/submit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "proto/wire/ring.h"
#include "shim/connection/state.h"
#include "shim/connection/wait.h"
#include "shim/context/mark.h"
#include "shim/context/stream.h"
#include "shim/salus.h"

struct state state;

CUresult state_say(uint32_t fault) {
    return (CUresult)fault;
}

static bool all_idle;
static struct wire_completion *completion;
static struct ring_rx rx;
static _Atomic uint32_t alive = 1;

bool stream_idle(const struct stream *s) {
    cr_assert_null(s, "all streams are meant");
    return all_idle;
}

CUresult wait_until(bool (*ready)(const void *arg), const void *arg) {
    cr_assert_fail("nothing waits here");
    return CUDA_SUCCESS;
}

static void begin(void) {
    completion = calloc(1, sizeof(*completion));
    state.conn.completion = completion;
    state.conn.submission =
        aligned_alloc(4096, (sizeof(struct wire_submission) + 4095) / 4096 * 4096);
    memset(state.conn.submission, 0, sizeof(struct wire_submission));
    state.conn.doorbell = eventfd(0, EFD_NONBLOCK);
    submit_init();
    ring_rx_init(&rx, &state.conn.submission->ring, &completion->credit);
    atom_store_release(&state.alive, &alive);
    all_idle = true;
}

TestSuite(shim_submit, .init = begin);

static void launch(void) {
    struct wire_launch l = {.rec = {.op = WIRE_LAUNCH}};
    cr_assert_eq(submit_ordered(&l, sizeof(l), NULL, 0, NULL), CUDA_SUCCESS);
}

static void copy(void) {
    struct wire_copy c = {.rec = {.op = WIRE_COPY}};
    cr_assert_eq(submit_ordered(&c, sizeof(c), NULL, 0, NULL), CUDA_SUCCESS);
}

/* Returns the records that arrived: L launch, C copy, I iteration, r rest. */
static const char *arrived(void) {
    static char text[64], buf[RING_RECORD_MAX + 8];
    int n = 0;
    while (ring_pop(&rx, buf, RING_RECORD_MAX) > 0) {
        const struct wire_record *r = (const void *)buf;
        cr_assert_eq(r->ticket, 0);
        text[n++] = r->op == WIRE_LAUNCH      ? 'L'
                    : r->op == WIRE_COPY      ? 'C'
                    : r->op == WIRE_ITERATION ? 'I'
                    : r->op == WIRE_IDLE      ? 'r'
                                              : '?';
        if (r->op == WIRE_IDLE || r->op == WIRE_ITERATION) cr_assert_eq(r->seq, 0);
    }
    text[n] = '\0';
    return text;
}

static bool woken(void) {
    uint64_t count;
    return read(state.conn.doorbell, &count, sizeof(count)) == sizeof(count);
}

Test(shim_submit, a_rest_is_told_once_after_launches) {
    mark_idle();
    cr_assert_str_eq(arrived(), "", "nothing was launched");
    launch();
    launch();
    mark_idle();
    mark_idle();
    copy();
    mark_idle();
    cr_assert_str_eq(arrived(), "LLrC");
    launch();
    mark_idle();
    cr_assert_str_eq(arrived(), "Lr");
}

Test(shim_submit, copies_of_a_program_that_never_launched_end_in_a_rest) {
    copy();
    mark_idle();
    mark_idle();
    cr_assert_str_eq(arrived(), "Cr");
    launch();
    mark_idle();
    copy();
    mark_idle();
    cr_assert_str_eq(arrived(), "LrC", "it launches");
}

Test(shim_submit, no_rest_while_a_stream_is_busy) {
    launch();
    all_idle = false;
    mark_idle();
    cr_assert_str_eq(arrived(), "L");
    all_idle = true;
    mark_idle();
    cr_assert_str_eq(arrived(), "r", "told when it is true");
}

Test(shim_submit, a_rest_wakes_nobody) {
    launch();
    cr_assert_not(woken(), "the worker is awake");
    atom_store_release(&state.conn.submission->worker_sleeping, 1);
    mark_idle();
    cr_assert_not(woken());
    launch();
    cr_assert(woken());
    cr_assert_str_eq(arrived(), "LrL");
}

Test(shim_submit, a_full_ring_swallows_a_rest_for_now) {
    for (uint32_t i = 0; i < RING_SLOTS; i++)
        launch();
    mark_idle();
    cr_assert(submit_launched(), "still to be told");
    static char buf[RING_RECORD_MAX + 8];
    while (ring_pop(&rx, buf, RING_RECORD_MAX) > 0)
        continue;
    ring_publish(&rx);
    mark_idle();
    cr_assert_str_eq(arrived(), "r");
}

Test(shim_submit, marks_are_in_place) {
    salus_iteration();
    launch();
    salus_iteration();
    salus_iteration();
    launch();
    cr_assert_str_eq(arrived(), "ILIIL");
}

Test(shim_submit, the_device_s_time_is_the_worker_s_count) {
    cr_assert_eq(salus_device_ns(), 0);
    atom_store_relaxed(&completion->stats.busy_ns, 1ull << 40);
    cr_assert_eq(salus_device_ns(), 1ll << 40);
    atom_store_release(&completion->fault.cuda, 2);
    cr_assert_eq(salus_device_ns(), -1, "the context is dead");
    atom_store_release(&state.alive, NULL);
    cr_assert_eq(salus_device_ns(), -1, "not connected");
}

Test(shim_submit, marks_are_harmless_before_and_after) {
    atom_store_release(&state.alive, NULL);
    salus_iteration();
    cr_assert_str_eq(arrived(), "", "not connected");
    atom_store_release(&state.alive, &alive);
    atom_store_release(&completion->fault.cuda, 2);
    salus_iteration();
    cr_assert_str_eq(arrived(), "", "the context is dead");
}
