/* SPDX-License-Identifier: Apache-2.0
 *
 * A waiting thread continues when its condition holds or its context ends, and after the end every
 * call returns the error. The test provides the pages and acts as the worker.
 */
#include "shim/connection/wait.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/err.h"
#include "proto/wire/ring.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/memory/mem.h"
#include "shim/transfer/staging.h"

#define DEAD CUDA_ERROR_ILLEGAL_ADDRESS

struct state state;

static struct wire_completion *completion;
static bool socket_closed;
static uint64_t host_used;
static struct wire_completion *next_page; /* page of the job's next worker, or NULL */
static int follow_result;
static _Atomic int follows;

CUresult state_say(uint32_t fault) {
    return (CUresult)fault;
}

void state_lose(int err) {
    atom_store_relaxed(&state.lost, (uint32_t)err_cuda(err));
}

bool conn_closed(const struct conn *c) {
    return socket_closed;
}

int conn_follow(struct conn *c) {
    uint32_t number = atom_load_acquire(&c->submission->moved);

    if (number == atom_load_relaxed(&c->moved)) return 0;
    follows++;
    if (next_page) *completion = *next_page; /* the page stays at its address */
    atom_store_release(&c->moved, number);
    return follow_result;
}

void mem_tell(void) {}

CUresult mem_take(enum mem_kind kind, uint32_t owner, uint32_t detail, uint64_t bytes,
                  uint64_t *addr) {
    host_used += bytes;
    *addr = host_used;
    return CUDA_SUCCESS;
}

static void begin(void) {
    size_t bytes = (sizeof(struct wire_submission) + 4095) / 4096 * 4096;
    completion = calloc(1, sizeof(*completion));
    state.conn.completion = completion;
    state.conn.submission = aligned_alloc(4096, bytes);
    memset(state.conn.submission, 0, bytes);
    state.conn.doorbell = eventfd(0, EFD_NONBLOCK);
    submit_init();
}

TestSuite(shim_wait, .init = begin, .timeout = 60);

static uint64_t send(uint32_t stream) {
    struct wire_launch l = {.rec = {.op = WIRE_LAUNCH, .stream = stream}};
    uint64_t seq;
    cr_assert_eq(submit_ordered(&l, sizeof(l), NULL, 0, &seq), CUDA_SUCCESS);
    return seq;
}

static void complete(uint32_t stream, uint64_t seq) {
    atom_store_release(&completion->stream_done[stream], seq);
}

static void fail(void) {
    atom_store_release(&completion->fault.cuda, DEAD);
}

/* ---- in a stream ----------------------------------------------------------------------------- */

Test(shim_wait, what_is_complete_is_success) {
    uint64_t seq = send(3);
    cr_assert_eq(seq, 1);
    complete(3, seq);
    cr_assert_eq(wait_stream(3, seq), CUDA_SUCCESS);
}

static uint32_t looks; /* polls before the thread sleeps */

static bool ready_when_asleep(const void *arg) {
    if (atom_load_relaxed(&state.conn.submission->client_sleeping)) return true;
    looks++;
    return false;
}

static uint32_t looks_as(enum wait_how how) {
    looks = 0;
    atom_store_relaxed(&state.conn.submission->client_sleeping, 0);
    enum wait_how before = wait_as(how);
    cr_assert_eq(wait_until(ready_when_asleep, NULL), CUDA_SUCCESS);
    cr_assert_eq(wait_as(before), how);
    return looks;
}

Test(shim_wait, a_blocking_thread_sleeps_at_once) {
    atom_store_relaxed(&completion->worker_cpu, UINT32_MAX);
    uint32_t hint = looks_as(WAIT_AUTO); /* the worker's hint: a wait is not worth spinning */
    cr_expect_eq(looks_as(WAIT_BLOCK), 1);
    cr_expect_gt(hint, 1);
    cr_expect_gt(looks_as(WAIT_SPIN), hint);
}

Test(shim_wait, what_looks_complete_after_the_fault_is_not) {
    uint64_t seq = send(3);
    fail();
    complete(3, seq);
    cr_assert_eq(wait_stream(3, seq), DEAD);
}

Test(shim_wait, a_daemon_that_was_lost_before_is_no_success_either) {
    uint64_t seq = send(3);
    state_lose(ERR_WORKER_LOST);
    complete(3, seq);
    cr_assert_eq(wait_stream(3, seq), 46);
}

Test(shim_wait, the_fault_ends_a_wait_for_what_never_completes) {
    uint64_t seq = send(3);
    fail();
    cr_assert_eq(wait_stream(3, seq), DEAD);
    cr_assert_eq(wait_not_ready(), DEAD, "and one who polls");
}

static void *fail_later(void *arg) {
    usleep(30000); /* the waiter may sleep by then or not: both must work */
    fail();
    return NULL;
}

Test(shim_wait, the_fault_ends_a_wait_that_has_begun) {
    pthread_t thread;
    uint64_t seq = send(3);
    cr_assert_eq(pthread_create(&thread, NULL, fail_later, NULL), 0);
    cr_assert_eq(wait_stream(3, seq), DEAD);
    pthread_join(thread, NULL);
}

Test(shim_wait, the_brokers_word_ends_it) {
    uint64_t seq = send(3);
    atom_store_release(&state.conn.submission->lost, (uint32_t)-ERR_ENDED);
    cr_assert_eq(wait_stream(3, seq), 46);
    cr_assert_eq(wait_not_ready(), 46);
}

Test(shim_wait, when_the_connection_ends_it_ends) {
    uint64_t seq = send(3);
    socket_closed = true;
    cr_assert_eq(wait_stream(3, seq), 46);
}

Test(shim_wait, the_end_of_the_connection_is_seen_by_who_polls) {
    CUresult r = CUDA_ERROR_NOT_READY;
    socket_closed = true;
    while (r == CUDA_ERROR_NOT_READY)
        r = wait_not_ready();
    cr_assert_eq(r, 46);
}

/* ---- waits for ring space, for a reply, for a staging piece ---------------------------------- */

Test(shim_wait, a_full_ring_lets_go) {
    struct wire_ping ping = {.rec = {.op = WIRE_PING}};
    for (uint32_t i = 0; i < RING_SLOTS; i++)
        send(0);
    fail();
    cr_assert_eq(submit_record(&ping, sizeof(ping), NULL, 0), DEAD);
}

Test(shim_wait, an_answer_that_never_comes_lets_go) {
    struct wire_ping ping = {.rec = {.op = WIRE_PING}};
    fail();
    /* More calls than there are slots for replies: slots without a reply are not reused. */
    for (uint32_t i = 0; i < WIRE_REPLIES + 8; i++)
        cr_assert_eq(reply_call(&ping, sizeof(ping), NULL, 0, NULL), DEAD);
}

Test(shim_wait, an_answer_says_what_it_says) {
    struct wire_ping ping = {.rec = {.op = WIRE_PING}};
    completion->replies[0].result = ERR_ILLEGAL_ADDRESS;
    completion->replies[0].cuda = DEAD;
    atom_store_release(&completion->replies[0].ticket, 1);
    cr_assert_eq(reply_call(&ping, sizeof(ping), NULL, 0, NULL), DEAD);
}

Test(shim_wait, pieces_that_never_come_back_let_go) {
    struct staging piece;
    uint32_t taken = 0;
    for (; taken < STAGING_SLOTS; taken++) {
        cr_assert_eq(staging_take(&piece), CUDA_SUCCESS);
        staging_give(&piece, 5, taken + 1);
    }
    fail();
    cr_assert_eq(staging_take(&piece), DEAD, "all of them are under way");
    cr_assert_eq(host_used, (uint64_t)STAGING_SLOTS * STAGING_BYTES);
    complete(5, 1);
    cr_assert_eq(staging_take(&piece), CUDA_SUCCESS, "a piece is free, whatever came after");
}
