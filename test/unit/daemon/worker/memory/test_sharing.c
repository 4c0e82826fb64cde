/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments through records: created, mapped, opened by another client of the same user and by no
 * other user's, and the effects of a holder's end; and the descriptors that hold them. Runs on a
 * device that moves real bytes.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/kernels/kernel_wire.h"
#include "daemon/worker/client.h"
#include "daemon/worker/front/scheduler_view.h"
#include "daemon/worker/loop.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_check.h"
#include "daemon/worker/memory/memory_segment.h"
#include "daemon/worker/memory/memory_swap.h"
#include "daemon/worker/residency/user_limits.h"
#include "daemon/worker/segments/segment.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define PAGE FAKEDEV_GRANULARITY
#define MIB (1ull << 20)
#define DEVICE (256 * MIB)
#define E0 WIRECLIENT_EPHEMERAL
#define ALICE 1001
#define BOB 1002

static struct wirebench *bench;
static struct wireclient *a, *b;

static struct wireclient *join(uint32_t uid) {
    bench->uid = uid;
    struct wireclient *c = wireclient_attach(bench);
    wireclient_kernels(c, "kern hang");
    return c;
}

static void begin(void) {
    /* Waits for memory are short. */
    struct worker_config config = {
        .ops = &fakedev,
        .policy = {.exclusive = -1, .swap = -1, .inflight_cap = 4, .grow_wait_ns = 1}};
    bench = wirebench_start_as(&config);
    a = join(ALICE);
    b = join(ALICE);
}

static void leave(struct wireclient *c) {
    wireclient_detach(c);
    wireclient_free(c);
}

static uint64_t used(void) {
    return bench->worker->ops->mem_used(bench->worker->dev);
}

static void end(void) {
    const char *what;
    leave(a);
    leave(b);
    cr_expect_eq(fakedev_violations(bench->worker->dev, &what), 0, "%s", what);
    cr_expect_eq(used(), 0, "chunks leaked");
    wirebench_stop(bench);
}

TestSuite(sharing, .init = begin, .fini = end);

/* ---- records --------------------------------------------------------------------------------- */

static const struct wire_segment_reply *reply_of(const struct wireclient *c, uint64_t ticket) {
    return (const struct wire_segment_reply *)wireclient_reply(c, ticket)->data;
}

/* The reply's result; fills `out` when the result is 0. */
static int ask(struct wireclient *c, uint16_t op, struct wire_segment s,
               struct wire_segment_reply *out) {
    if (op == WIRE_MEM_SHOW || op == WIRE_MEM_SHARE) s.addr += c->windows.dev_base;
    uint64_t ticket = wireclient_send(c, op, 0, true, &s, sizeof(s), NULL, 0);
    int err = wireclient_result(c, ticket);
    if (!err && out) *out = *reply_of(c, ticket);
    return err;
}

static int make(struct wireclient *c, uint32_t id, uint64_t bytes) {
    return ask(c, WIRE_MEM_MAKE, (struct wire_segment){.segment = id, .bytes = bytes}, NULL);
}
static int show(struct wireclient *c, uint32_t id, uint64_t offset, uint64_t bytes) {
    struct wire_segment s = {.segment = id, .addr = offset, .bytes = bytes};
    return ask(c, WIRE_MEM_SHOW, s, NULL);
}
static int shut(struct wireclient *c, uint32_t id) {
    return ask(c, WIRE_MEM_CLOSE, (struct wire_segment){.segment = id}, NULL);
}
static struct wire_segment_reply export(struct wireclient *c, uint32_t id) {
    struct wire_segment_reply out = {{0}, 0};
    cr_assert_eq(ask(c, WIRE_MEM_EXPORT, (struct wire_segment){.segment = id}, &out), 0);
    return out;
}
static int open_key(struct wireclient *c, uint32_t id, const struct wire_segment_reply *key) {
    struct wire_segment s = {.segment = id, .key = {key->key[0], key->key[1]}};
    struct wire_segment_reply out;
    int err = ask(c, WIRE_MEM_OPEN, s, &out);
    if (!err) cr_expect_eq(out.bytes, key->bytes);
    return err;
}
static int share(struct wireclient *c, uint64_t offset, uint64_t bytes,
                 struct wire_segment_reply *out) {
    return ask(c, WIRE_MEM_SHARE, (struct wire_segment){.addr = offset, .bytes = bytes}, out);
}
static int mem(struct wireclient *c, uint16_t op, uint64_t offset, uint64_t bytes) {
    return wireclient_result(c, wireclient_mem(c, op, offset, bytes));
}

static void put(struct wireclient *c, uint64_t offset, unsigned char byte) {
    memset(c->host, byte, 4096);
    wireclient_copy(c, 0, c->windows.dev_base + offset, c->windows.host_base, 4096);
    wirebench_run(bench);
    cr_assert_eq(wireclient_fault(c), 0, "%s", c->com->fault.text);
}
static int get(struct wireclient *c, uint64_t offset) {
    wireclient_copy(c, 0, c->windows.host_base + MIB, c->windows.dev_base + offset, 4096);
    wirebench_run(bench);
    cr_assert_eq(wireclient_fault(c), 0, "%s", c->com->fault.text);
    for (int i = 1; i < 4096; i++)
        if (c->host[MIB + i] != c->host[MIB]) return -1;
    return (unsigned char)c->host[MIB];
}
static uint64_t memory_of(const struct wireclient *c) {
    return atom_load_relaxed(&c->com->stats.memory_bytes) / PAGE;
}

/* ---- one client ------------------------------------------------------------------------------ */

Test(sharing, memory_is_made_shown_and_given_back) {
    cr_assert_eq(make(a, 3, 2 * PAGE), 0);
    cr_expect_eq(used(), 2 * PAGE);
    cr_expect_eq(memory_of(a), 2, "also while it is shown nowhere");
    cr_expect_eq(atom_load_relaxed(&a->com->persistent_credit), 0, "it is no room for blocks");
    cr_expect_eq(make(a, 3, PAGE), -EEXIST);
    cr_expect_eq(make(a, 4, PAGE + 4096), -EINVAL);
    cr_expect_eq(show(a, 4, 0, PAGE), -ENOENT);
    cr_expect_eq(show(a, 3, 0, 3 * PAGE), -EINVAL, "it has two");
    cr_expect_eq(show(a, 3, E0, PAGE), -EINVAL, "lanes' memory is shown there");
    cr_assert_eq(show(a, 3, PAGE, 2 * PAGE), 0);
    cr_expect_eq(show(a, 3, 2 * PAGE, PAGE), -EEXIST);
    cr_assert_eq(show(a, 3, 8 * PAGE, PAGE), 0, "twice");
    cr_expect_eq(get(a, PAGE), 0);
    put(a, PAGE, 7);
    cr_expect_eq(get(a, 8 * PAGE), 7, "the same memory");
    cr_expect_eq(shut(a, 3), -EBUSY);
    cr_assert_eq(mem(a, WIRE_MEM_UNBACK, PAGE, 2 * PAGE), 0);
    cr_expect_eq(get(a, 8 * PAGE), 7);
    cr_assert_eq(mem(a, WIRE_MEM_UNBACK, 8 * PAGE, PAGE), 0);
    cr_expect_eq(used(), 2 * PAGE);
    cr_assert_eq(shut(a, 3), 0);
    cr_expect_eq(shut(a, 3), -ENOENT);
    cr_expect_eq(used(), 0);
    cr_expect_eq(memory_of(a), 0);
    cr_assert_eq(make(a, 3, 2 * PAGE), 0);
    cr_assert_eq(show(a, 3, PAGE, 2 * PAGE), 0);
    cr_expect_eq(get(a, PAGE), 0, "nothing is left in it");
}

static int make_lane(struct wireclient *c, uint32_t id, uint64_t bytes) {
    struct wire_segment s = {.segment = id, .ephemeral = 1, .bytes = bytes};
    return ask(c, WIRE_MEM_MAKE, s, NULL);
}

static uint64_t ephemeral_credit(const struct wireclient *c) {
    return atom_load_relaxed(&c->com->ephemeral_credit);
}

Test(sharing, memory_of_the_lane_is_made_shown_and_given_back) {
    cr_assert_eq(make_lane(a, 3, 2 * PAGE), 0);
    cr_expect_eq(used(), 2 * PAGE);
    cr_expect_eq(memory_of(a), 2);
    cr_expect_eq(atom_load_relaxed(&a->com->stats.ephemeral_peak_bytes), 2 * PAGE);
    cr_expect_eq(atom_load_relaxed(&a->com->stats.persistent_peak_bytes), 0);
    cr_expect_eq(ephemeral_credit(a), 0, "it is no room for blocks");
    cr_expect_eq(make_lane(a, 4, UINT64_MAX - PAGE + 1), ERR_NO_MEMORY);
    cr_expect_eq(make_lane(a, 4, DEVICE), ERR_NO_MEMORY);
    cr_expect_eq(show(a, 3, PAGE, PAGE), -EINVAL, "it is not persistent");
    cr_expect_eq(show(a, 3, E0, 3 * PAGE), -EINVAL, "it has two");
    cr_expect_eq(ask(a, WIRE_MEM_EXPORT, (struct wire_segment){.segment = 3}, NULL), -ENOENT);
    cr_assert_eq(show(a, 3, E0 + PAGE, 2 * PAGE), 0);
    cr_expect_eq(show(a, 3, E0 + 2 * PAGE, PAGE), -EEXIST);
    cr_assert_eq(show(a, 3, E0 + 8 * PAGE, PAGE), 0, "twice");
    put(a, E0 + PAGE, 7);
    cr_expect_eq(get(a, E0 + 8 * PAGE), 7, "the same memory");
    cr_expect_eq(memory_of(a), 2);
    cr_expect_eq(shut(a, 3), -EBUSY);
    cr_assert_eq(mem(a, WIRE_MEM_UNBACK, E0 + PAGE, 2 * PAGE), 0);
    cr_assert_eq(mem(a, WIRE_MEM_UNBACK, E0 + 8 * PAGE, PAGE), 0);
    cr_expect_eq(memory_of(a), 2, "held");
    cr_assert_eq(shut(a, 3), 0);
    cr_expect_eq(memory_of(a), 0);
    cr_assert_eq(mem(a, WIRE_MEM_BACK, E0 + PAGE, 2 * PAGE), 0);
    cr_expect_eq(ephemeral_credit(a), 2);
    cr_assert_eq(make_lane(a, 3, PAGE), 0);
    cr_expect_eq(make_lane(a, 3, PAGE), -EEXIST);
    cr_expect_eq(make_lane(a, 4, PAGE + 4096), -EINVAL);
}

/* The page becomes a private copy, which takes no block's space. */
Test(sharing, what_is_shown_of_the_lane_is_kept_page_by_page) {
    struct wire_segment_reply key;
    cr_assert_eq(make_lane(a, 1, 2 * PAGE), 0);
    cr_assert_eq(show(a, 1, E0, 2 * PAGE), 0);
    cr_assert_eq(show(a, 1, E0 + 4 * PAGE, 2 * PAGE), 0);
    put(a, E0, 7);
    cr_assert_eq(share(a, E0, PAGE, &key), 0, "which keeps it");
    put(a, E0 + 4 * PAGE, 8);
    cr_expect_eq(get(a, E0), 7);
    cr_expect_eq(memory_of(a), 3);
    cr_expect_eq(ephemeral_credit(a), 0);
    cr_assert_eq(mem(a, WIRE_MEM_UNBACK, E0, 2 * PAGE), 0);
    cr_assert_eq(mem(a, WIRE_MEM_UNBACK, E0 + 4 * PAGE, 2 * PAGE), 0);
    cr_assert_eq(shut(a, 1), 0);
    cr_expect_eq(memory_of(a), 0);
    cr_expect_eq(ephemeral_credit(a), 2, "what was granted");
}

/* Ordered with records that free memory, which wait for the operations before them. */
Test(sharing, a_place_is_free_when_what_was_there_is_gone) {
    struct wire_segment s = {.segment = 1, .addr = a->windows.dev_base, .bytes = PAGE};
    cr_assert_eq(make(a, 1, PAGE), 0);
    cr_assert_eq(make(a, 2, PAGE), 0);
    cr_assert_eq(show(a, 2, 0, PAGE), 0);
    fakedev_hold(bench->worker->dev, true);
    wireclient_launch(a, 0, 0, 1);
    wireclient_mem_silent(a, WIRE_MEM_UNBACK, 0, PAGE);
    wireclient_send(a, WIRE_MEM_SHOW, 0, false, &s, sizeof(s), NULL, 0);
    s = (struct wire_segment){.segment = 2};
    wireclient_send(a, WIRE_MEM_CLOSE, 0, false, &s, sizeof(s), NULL, 0);
    wirebench_run(bench);
    cr_expect_eq(used(), 2 * PAGE);
    fakedev_hold(bench->worker->dev, false);
    fakedev_finish_all(bench->worker->dev);
    wirebench_run(bench);
    cr_expect_eq(used(), PAGE);
    put(a, 0, 5);
}

Test(sharing, a_show_that_cannot_be_ends_who_went_on) {
    struct wire_segment s = {.segment = 1, .addr = a->windows.dev_base, .bytes = PAGE};
    wireclient_send(a, WIRE_MEM_SHOW, 0, false, &s, sizeof(s), NULL, 0);
    wirebench_run(bench);
    cr_expect_neq(wireclient_fault(a), 0);
    cr_expect_eq(wireclient_fault(b), 0);
}

Test(sharing, more_than_there_is_is_refused) {
    cr_assert_eq(make(a, 1, DEVICE / 2), 0);
    const struct wire_usage *of_a = &a->com->usage, *of_b = &b->com->usage;
    cr_expect_eq(make(b, 1, DEVICE / 2 + PAGE), ERR_NO_MEMORY);
    cr_expect_eq(atom_load_relaxed(&of_b->refused_bytes), DEVICE / 2 + PAGE);
    cr_expect_eq(atom_load_relaxed(&of_b->needed_bytes), DEVICE / 2 + PAGE);
    cr_expect_eq(make(a, 3, DEVICE / 2 + PAGE), ERR_NO_MEMORY);
    cr_expect_eq(make(a, 3, DEVICE / 2 + 3 * PAGE), ERR_NO_MEMORY);
    cr_expect_eq(make(a, 3, DEVICE / 2 + 2 * PAGE), ERR_NO_MEMORY);
    cr_expect_eq(atom_load_relaxed(&of_a->refusals), 3);
    cr_expect_eq(atom_load_relaxed(&of_a->refused_bytes), DEVICE / 2 + 3 * PAGE, "the most");
    cr_expect_eq(atom_load_relaxed(&of_a->needed_bytes), DEVICE + 3 * PAGE, "with what it had");
    cr_expect_eq(make(a, 2, UINT64_MAX - PAGE + 1), ERR_NO_MEMORY);
    cr_expect_eq(atom_load_relaxed(&of_a->needed_bytes), UINT64_MAX, "and no less for all that");
    cr_assert_eq(make(b, 1, DEVICE / 2), 0);
    struct wire_segment_reply key = export(a, 1);
    cr_expect_eq(open_key(b, 2, &key), ERR_NO_MEMORY, "each who holds it is charged for it");
    cr_assert_eq(shut(b, 1), 0);
    cr_expect_eq(open_key(b, 2, &key), 0);
    cr_expect_eq(wireclient_fault(a) + wireclient_fault(b), 0);
}

/* ---- two of one user, and one of another ----------------------------------------------------- */

Test(sharing, who_has_the_key_and_is_of_the_same_user_opens_it) {
    cr_assert_eq(make(a, 1, 2 * PAGE), 0);
    cr_assert_eq(show(a, 1, 0, 2 * PAGE), 0);
    put(a, PAGE, 9);
    struct wire_segment_reply key = export(a, 1), again = export(a, 1), wrong = key;
    cr_expect_arr_eq(key.key, again.key, sizeof(key.key));
    cr_expect_eq(key.bytes, 2 * PAGE);
    wrong.key[1]++;
    cr_expect_eq(open_key(b, 7, &wrong), -ENOENT);
    struct wireclient *stranger = join(BOB);
    cr_expect_eq(open_key(stranger, 7, &key), -ENOENT);
    cr_expect_eq(memory_of(stranger), 0);
    leave(stranger);
    cr_assert_eq(open_key(b, 7, &key), 0);
    cr_assert_eq(show(b, 7, 5 * PAGE, 2 * PAGE), 0);
    cr_expect_eq(memory_of(b), 2);
    cr_expect_eq(used(), 2 * PAGE);
    cr_expect_eq(get(b, 6 * PAGE), 9);
    put(b, 6 * PAGE, 10);
    cr_expect_eq(get(a, PAGE), 10);
    struct wire_segment_reply twice = export(b, 7);
    cr_expect_arr_eq(key.key, twice.key, sizeof(key.key));
}

Test(sharing, it_lives_as_long_as_somebody_holds_it) {
    cr_assert_eq(make(a, 1, PAGE), 0);
    cr_assert_eq(show(a, 1, 0, PAGE), 0);
    put(a, 0, 9);
    struct wire_segment_reply key = export(a, 1);
    cr_assert_eq(open_key(b, 7, &key), 0);
    cr_assert_eq(show(b, 7, 0, PAGE), 0);
    fakedev_hold(bench->worker->dev, true);
    wireclient_launch(a, 0, 1, 1); /* the client is killed while the kernel runs */
    wirebench_run(bench);
    leave(a);
    fakedev_hold(bench->worker->dev, false);
    cr_expect_eq(get(b, 0), 9);
    cr_assert_eq(mem(b, WIRE_MEM_UNBACK, 0, PAGE), 0);
    cr_assert_eq(shut(b, 7), 0);
    cr_expect_eq(used(), 0);
    cr_expect_eq(open_key(b, 7, &key), -ENOENT, "it is over");
    a = join(ALICE);
}

Test(sharing, a_dead_one_opens_nothing_and_gives_what_it_had) {
    cr_assert_eq(make(a, 1, PAGE), 0);
    struct wire_segment_reply key = export(a, 1);
    wireclient_copy(b, 0, b->windows.dev_base, 4096, 4096); /* memory of another client */
    wirebench_run(bench);
    cr_assert_neq(wireclient_fault(b), 0);
    cr_expect_neq(open_key(b, 7, &key), 0);
    cr_expect_neq(make(b, 8, PAGE), 0);
    cr_expect_eq(used(), PAGE);
}

/* ---- segments of backed memory --------------------------------------------------------------- */

static void shares_at(uint64_t offset) {
    struct wire_segment_reply key, again;
    cr_expect_eq(share(a, offset, PAGE, &key), -EINVAL, "nothing is there");
    cr_assert_eq(mem(a, WIRE_MEM_BACK, offset, 4 * PAGE), 0);
    put(a, offset + PAGE, 3);
    cr_assert_eq(share(a, offset + PAGE, 2 * PAGE, &key), 0);
    cr_expect_eq(share(a, offset, 2 * PAGE, &again), -EINVAL, "and more");
    cr_expect_eq(share(a, offset + PAGE, PAGE, &again), -EINVAL, "a part of it");
    cr_assert_eq(share(a, offset + PAGE, 2 * PAGE, &again), 0);
    cr_expect_arr_eq(key.key, again.key, sizeof(key.key));
    cr_assert_eq(open_key(b, 0, &key), 0);
    cr_assert_eq(show(b, 0, 0, 2 * PAGE), 0);
    cr_expect_eq(get(b, 0), 3);
    put(b, 0, 4);
    cr_expect_eq(get(a, offset + PAGE), 4);
    cr_expect_eq(memory_of(a), 4);
    /* A later allocation at the same address gets other memory. */
    cr_assert_eq(mem(a, WIRE_MEM_UNBACK, offset, 4 * PAGE), 0);
    cr_expect_eq(memory_of(a), 0);
    cr_assert_eq(mem(a, WIRE_MEM_BACK, 9 * PAGE, 4 * PAGE), 0);
    cr_expect_eq(get(a, 10 * PAGE), 0);
    put(a, 10 * PAGE, 6);
    cr_expect_eq(get(b, 0), 4);
}

Test(sharing, what_a_client_backed_is_opened_by_another) {
    shares_at(0);
}

Test(sharing, what_was_to_last_an_iteration_stays_when_it_is_shared) {
    shares_at(E0);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int open_fds(void) {
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void pair_of(int *fd, int *end) {
    int pair[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    *fd = pair[0];
    *end = pair[1];
}

/* Returns the descriptor, or the reason why there is none. */
static int keep(struct wireclient *c, uint32_t id, struct wire_segment_reply *key) {
    int fd, end;
    pair_of(&fd, &end);
    uint64_t ticket = wireclient_keep(c, id, end, 0);
    int err = wireclient_result(c, ticket);
    if (!err && key) *key = *reply_of(c, ticket);
    if (!err) return fd;
    close(fd);
    return err;
}

static int keep_new(struct wireclient *c, uint32_t id, uint64_t bytes,
                    struct wire_segment_reply *key) {
    cr_assert_eq(make(c, id, bytes), 0);
    int fd = keep(c, id, key);
    cr_assert_eq(shut(c, id), 0);
    return fd;
}

/* The worker checks for closed descriptors once a millisecond. */
static void let_go(int fd) {
    uint32_t before = bench->worker->shared.keepers.count;
    close(fd);
    for (int i = 0; i < 10000 && bench->worker->shared.keepers.count == before; i++) {
        usleep(100);
        wirebench_run(bench);
    }
    cr_assert_eq(bench->worker->shared.keepers.count, before - 1, "it was not noticed");
}

/* Bytes that only descriptors hold, as users see them. */
static uint64_t alone(void) {
    scheduler_view_update(bench->worker, true);
    cr_expect_eq(bench->worker->board.page->kept_bytes, bench->worker->shared.segments.alone_bytes);
    return bench->worker->shared.segments.alone_bytes / PAGE;
}

static int written(struct wireclient *c, uint32_t id, struct wire_segment_reply *key) {
    cr_assert_eq(make(c, id, 2 * PAGE), 0);
    cr_assert_eq(show(c, id, 0, 2 * PAGE), 0);
    put(c, PAGE, 9);
    return keep(c, id, key);
}

Test(sharing, a_descriptor_keeps_what_its_maker_left) {
    struct wire_segment_reply key, same;
    int fd = written(a, 1, &key);
    cr_assert_geq(fd, 0);
    cr_expect_eq(key.bytes, 2 * PAGE);
    leave(a);
    cr_expect_eq(used(), 0, "nobody is charged for it");
    cr_expect_eq(alone(), 2);
    struct wireclient *stranger = join(BOB);
    cr_expect_eq(open_key(stranger, 7, &key), -ENOENT);
    leave(stranger);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(open_key(b, 7, &key), 0);
        cr_expect_eq(alone(), 0);
        cr_expect_eq(memory_of(b), 2);
        cr_assert_eq(show(b, 7, 0, 2 * PAGE), 0);
        cr_expect_eq(get(b, PAGE), 9 + i);
        put(b, PAGE, 10 + i);
        cr_assert_eq(mem(b, WIRE_MEM_UNBACK, 0, 2 * PAGE), 0);
        cr_assert_eq(shut(b, 7), 0);
        cr_expect_eq(alone(), 2);
        cr_expect_eq(used(), 0);
    }
    cr_assert_eq(open_key(b, 7, &key), 0);
    int other = keep(b, 7, &same);
    cr_expect_arr_eq(key.key, same.key, sizeof(key.key));
    cr_assert_eq(shut(b, 7), 0);
    let_go(fd);
    cr_expect_eq(alone(), 2, "there is another");
    let_go(other);
    cr_expect_eq(alone(), 0);
    cr_expect_eq(open_key(b, 7, &key), -ENOENT);
    a = join(ALICE);
}

/* Detaching frees 12 pages over several rounds. Views of the scheduler that are published meanwhile
 * may show any number; the last one must show all that the descriptor keeps. */
Test(sharing, what_descriptors_keep_is_shown_when_its_maker_is_gone) {
    struct wire_segment_reply key;
    struct wire_worker_msg msg = {.kind = WIRE_DETACH, .job_id = a->job_id};
    cr_assert_eq(make(a, 1, 12 * PAGE), 0); /* more than one round frees */
    int fd = keep(a, 1, &key);
    cr_assert_eq(fdutil_send(bench->sock, &msg, sizeof(msg), NULL, 0), 0);
    for (int i = 0; i < 100000 && client_find(bench->worker, a->job_id); i++) {
        bench->worker->loop.tick_ns = 0;
        loop_once(bench->worker);
        scheduler_view_update(bench->worker, true);
    }
    cr_assert_null(client_find(bench->worker, a->job_id));
    cr_expect_eq(alone(), 12);
    do
        cr_assert(wirebench_hear(bench, &msg, NULL));
    while (msg.kind != WIRE_DETACHED);
    wireclient_free(a);
    a = join(ALICE);
    let_go(fd);
}

/* After the last holder drops the segment, nothing has to be saved in advance. */
Test(sharing, a_segment_that_only_descriptors_keep_leaves_the_device) {
    struct segment_set set = {0};
    struct segment *s;
    uint32_t done = 0;
    uint64_t moved = 0;
    list_init(&set.exported);
    cr_assert_eq(segment_create(&s, bench->worker->ops, bench->worker->dev, 2, ALICE), 0);
    cr_assert_eq(segment_load(s, SEGMENT_ALL, &done, &moved), 0);
    segment_enter(s);
    cr_assert_eq(segment_export(s, &set), 0);
    segment_keep(s);
    cr_expect_eq(used(), 2 * PAGE);
    segment_drop(s, false);
    cr_expect_eq(used(), 0, "nobody is charged for it");
    cr_expect_eq(set.alone_bytes, 2 * PAGE);
    segment_unkeep(s);
    cr_expect_eq(set.alone_bytes, 0);
}

Test(sharing, a_descriptor_that_is_closed_keeps_nothing) {
    struct wire_segment_reply key;
    int before = open_fds();
    let_go(written(a, 1, &key));
    cr_expect_eq(open_fds(), before);
    cr_expect_eq(get(a, PAGE), 9, "its maker has it");
    cr_assert_eq(open_key(b, 7, &key), 0, "and it may be opened");
    cr_assert_eq(shut(b, 7), 0);
    leave(a);
    cr_expect_eq(used() + alone(), 0);
    cr_expect_eq(open_key(b, 7, &key), -ENOENT);
    a = join(ALICE);
}

Test(sharing, a_descriptor_keeps_what_is_swapped_out_with_its_holder) {
    struct wire_segment_reply key;
    uint64_t moved;
    int fd = written(a, 1, &key);
    struct memory *m = client_find(bench->worker, a->job_id)->memory;
    cr_assert_eq(memory_swap_out(m, MEMORY_ALL, &moved), 0);
    cr_expect_eq(used() + alone(), 0);
    leave(a);
    cr_expect_eq(used(), 0);
    cr_expect_eq(alone(), 2);
    cr_assert_eq(open_key(b, 7, &key), 0);
    cr_assert_eq(show(b, 7, 0, 2 * PAGE), 0);
    cr_expect_eq(get(b, PAGE), 9);
    let_go(fd);
    cr_expect_eq(get(b, PAGE), 9);
    a = join(ALICE);
}

Test(sharing, what_descriptors_keep_is_kept_as_it_is_in_the_end) {
    for (int ends = 0; ends < 2; ends++) {
        int fd;
        cr_assert_eq(make(a, 1, 2 * PAGE), 0);
        cr_assert_geq(fd = keep(a, 1, NULL), 0);
        cr_assert_eq(show(a, 1, 0, PAGE), 0);
        put(a, 0, 7);
        cr_expect_eq(shut(a, 1), -EBUSY);
        put(a, 0, 8); /* data saved in advance would still be 7 */
        struct wire_segment_reply key = export(a, 1);
        cr_assert_eq(mem(a, WIRE_MEM_UNBACK, 0, PAGE), 0);
        if (ends)
            leave(a);
        else
            cr_assert_eq(shut(a, 1), 0);
        cr_assert_eq(open_key(b, 2, &key), 0);
        cr_assert_eq(show(b, 2, 0, PAGE), 0);
        cr_expect_eq(get(b, 0), 8);
        cr_assert_eq(mem(b, WIRE_MEM_UNBACK, 0, PAGE), 0);
        let_go(fd);
        cr_assert_eq(shut(b, 2), 0);
    }
    a = join(ALICE);
}

/* ---- in parts -------------------------------------------------------------------------------- */

#define MUCH (3 * WORKER_GRANULES + 1) /* granules */

/* The number of rounds until the worker answers with `want`. No round does more than its part. */
static uint32_t rounds_of(struct wireclient *c, uint16_t op, struct wire_segment s, int want) {
    struct worker *w = bench->worker;
    uint32_t rounds = 0;
    if (op == WIRE_MEM_SHOW || op == WIRE_MEM_SHARE) s.addr += c->windows.dev_base;
    w->moves.pace = (struct pace){0};
    uint64_t ticket = wireclient_send(c, op, 0, true, &s, sizeof(s), NULL, 0);
    for (; !wireclient_reply(c, ticket); rounds++) {
        uint64_t before = used();
        w->loop.tick_ns = 0;
        loop_once(w);
        cr_expect_leq(before > used() ? before - used() : used() - before, WORKER_GRANULES * PAGE);
        cr_assert_lt(rounds, 1000u, "%s", c->com->fault.text);
    }
    cr_expect_eq(wireclient_result(c, ticket), want);
    pace_next(&w->moves.pace);
    cr_expect_leq(w->moves.pace.most, WORKER_GRANULES);
    return rounds;
}

Test(sharing, a_segment_comes_and_goes_in_parts) {
    const struct wire_segment s = {.segment = 3, .bytes = MUCH * PAGE}, c = {.segment = 3};
    cr_expect_geq(rounds_of(a, WIRE_MEM_MAKE, s, 0), 4);
    cr_expect_eq(used(), MUCH * PAGE);
    cr_expect_geq(rounds_of(a, WIRE_MEM_SHOW, s, 0), 4);
    put(a, (MUCH - 1) * PAGE, 9);
    struct wire_segment_reply key = export(a, 3);
    const struct wire_segment o = {.segment = 5, .key = {key.key[0], key.key[1]}};
    const struct wire_segment other = {.segment = 5, .bytes = s.bytes}, d = {.segment = 5};
    cr_expect_leq(rounds_of(b, WIRE_MEM_OPEN, o, 0), 3, "it is there");
    cr_assert_eq(mem(a, WIRE_MEM_UNBACK, 0, MUCH * PAGE), 0);
    cr_expect_leq(rounds_of(a, WIRE_MEM_CLOSE, c, 0), 3, "another has it");
    cr_expect_geq(rounds_of(b, WIRE_MEM_SHOW, other, 0), 4);
    cr_expect_eq(get(b, (MUCH - 1) * PAGE), 9);
    cr_assert_eq(mem(b, WIRE_MEM_UNBACK, 0, MUCH * PAGE), 0);
    cr_expect_geq(rounds_of(b, WIRE_MEM_CLOSE, d, 0), 4);
    cr_expect_eq(used(), 0);
}

Test(sharing, a_segment_of_the_lane_comes_in_parts) {
    struct wire_segment s = {.segment = 3, .ephemeral = 1, .bytes = MUCH * PAGE};
    cr_expect_geq(rounds_of(a, WIRE_MEM_MAKE, s, 0), 4);
    s.addr = WIRECLIENT_EPHEMERAL;
    cr_expect_geq(rounds_of(a, WIRE_MEM_SHOW, s, 0), 4);
    put(a, s.addr + (MUCH - 1) * PAGE, 9);
    cr_expect_eq(get(a, s.addr + (MUCH - 1) * PAGE), 9);
}

/* If it is in the way of another allocation, all of it leaves the device again. */
Test(sharing, what_is_shown_in_part_is_not_shown) {
    const struct wire_segment s = {.segment = 3, .bytes = MUCH * PAGE};
    rounds_of(a, WIRE_MEM_MAKE, s, 0);
    cr_assert_eq(mem(a, WIRE_MEM_BACK, (MUCH - 1) * PAGE, PAGE), 0);
    rounds_of(a, WIRE_MEM_SHOW, s, -EEXIST);
    cr_assert_eq(mem(a, WIRE_MEM_BACK, 0, PAGE), 0, "nothing is there");
    cr_assert_eq(mem(a, WIRE_MEM_UNBACK, 0, PAGE), 0);
    cr_assert_eq(mem(a, WIRE_MEM_UNBACK, (MUCH - 1) * PAGE, PAGE), 0);
    /* larger than the segment */
    const struct wire_segment more = {.segment = 3, .bytes = s.bytes + PAGE};
    rounds_of(a, WIRE_MEM_SHOW, more, -EINVAL);
    cr_assert_eq(mem(a, WIRE_MEM_BACK, 0, MUCH * PAGE), 0);
}

/* The segment is not found any more, and no descriptor can have it. */
Test(sharing, what_is_half_given_back_is_nobodys) {
    struct worker *w = bench->worker;
    const struct wire_segment s = {.segment = 3, .bytes = MUCH * PAGE};
    struct wire_segment c = {.segment = 3};
    rounds_of(a, WIRE_MEM_MAKE, s, 0);
    struct wire_segment_reply key = export(a, 3);
    wireclient_send(a, WIRE_MEM_CLOSE, 0, true, &c, sizeof(c), NULL, 0);
    while (used() == MUCH * PAGE)
        loop_once(w);
    cr_assert_gt(used(), 0);
    struct memory *m = client_find(w, a->job_id)->memory;
    cr_expect_null(memory_segment_find(m, 3));
    cr_expect_null(memory_check(m));
    cr_expect_null(segment_find(&w->shared.segments, key.key, ALICE));
    leave(a);
    cr_expect_eq(used(), 0);
    a = join(ALICE);
}

Test(sharing, who_ends_between_two_parts_leaves_nothing) {
    for (uint32_t rounds = 0; rounds < 4; rounds++) {
        struct wire_segment s = {.segment = 3, .bytes = MUCH * PAGE};
        wireclient_send(a, WIRE_MEM_MAKE, 0, true, &s, sizeof(s), NULL, 0);
        for (uint32_t i = 0; i < rounds; i++)
            loop_once(bench->worker);
        leave(a);
        cr_expect_eq(used(), 0);
        a = join(ALICE);
    }
}

Test(sharing, what_others_go_on_writing_is_kept_as_it_is_in_the_end) {
    struct wire_segment_reply key;
    uint64_t moved;
    int fd = written(a, 1, &key);
    cr_assert_eq(open_key(b, 2, &key), 0);
    cr_assert_eq(show(b, 2, 0, 2 * PAGE), 0);
    cr_assert_eq(memory_swap_out(client_find(bench->worker, a->job_id)->memory, MEMORY_ALL, &moved),
                 0);
    leave(a);
    put(b, PAGE, 77);
    leave(b);
    a = join(ALICE);
    b = join(ALICE);
    cr_assert_eq(open_key(b, 2, &key), 0);
    cr_assert_eq(show(b, 2, 0, 2 * PAGE), 0);
    cr_expect_eq(get(b, PAGE), 77);
    let_go(fd);
}

/* No memory stays on the device after others were told that there is space. */
Test(sharing, what_cannot_leave_the_device_is_lost_rather_than_in_the_way) {
    struct wire_segment_reply key;
    const char *what;
    int fd = written(a, 1, &key);
    fakedev_fail(bench->worker->dev, 1, true);
    leave(a);
    fakedev_fail(bench->worker->dev, 0, false);
    fakedev_violations(bench->worker->dev, &what);
    cr_expect_eq(used() + alone(), 0);
    cr_expect_eq(open_key(b, 7, &key), -ENOENT);
    let_go(fd);
    cr_expect_eq(used() + alone(), 0);
    a = join(ALICE);
}

Test(sharing, descriptors_keep_no_more_than_the_user_may) {
    int fds[4];
    for (int i = 0; i < 3; i++) {
        fds[i] = keep_new(a, 1, DEVICE / 4, NULL);
        cr_assert_geq(fds[i], 0);
    }
    cr_assert_eq(make(a, 1, DEVICE / 4), 0);
    cr_assert_geq(fds[3] = keep(a, 1, NULL), 0);
    let_go(keep(a, 1, NULL)); /* the segment is no longer the same */
    cr_assert_eq(shut(a, 1), 0);
    cr_assert_eq(make(a, 1, PAGE), 0);
    cr_expect_eq(keep(a, 1, NULL), ERR_NO_MEMORY);
    cr_expect_eq(keep_new(b, 1, PAGE, NULL), ERR_NO_MEMORY, "they are of one user");
    struct wireclient *stranger = join(BOB);
    int its = keep_new(stranger, 1, DEVICE / 2, NULL);
    cr_expect_geq(its, 0, "and he of another");
    leave(stranger);
    let_go(fds[0]);
    int fd = keep(a, 1, NULL), again = keep(a, 1, NULL);
    cr_expect(fd >= 0 && again >= 0);
    const struct wire_limits limits = {.device_bytes = DEVICE / 2};
    user_limits_set(bench->worker, ALICE, &limits);
    cr_assert_eq(make(a, 2, PAGE), 0);
    cr_expect_eq(keep(a, 2, NULL), ERR_NO_MEMORY, "he may have less now");
    let_go(fds[1]);
    cr_expect_eq(keep(a, 2, NULL), ERR_NO_MEMORY);
    let_go(fds[2]);
    let_go(keep(a, 2, NULL));
    let_go(fds[3]);
    let_go(its);
    let_go(fd);
    let_go(again);
    cr_expect_eq(alone(), 0);
}

Test(sharing, a_user_leaves_descriptors_for_others) {
    int fds[2], its;
    bench->worker->shared.keepers.room = 4;
    cr_assert_eq(make(a, 1, PAGE), 0);
    for (int i = 0; i < 2; i++)
        cr_assert_geq(fds[i] = keep(a, 1, NULL), 0);
    int before = open_fds();
    cr_expect_eq(keep(a, 1, NULL), -EMFILE);
    cr_expect_eq(open_fds(), before);
    struct wireclient *stranger = join(BOB);
    cr_assert_eq(make(stranger, 1, PAGE), 0);
    cr_assert_geq(its = keep(stranger, 1, NULL), 0);
    cr_expect_eq(keep(stranger, 1, NULL), -EMFILE);
    let_go(fds[0]);
    let_go(fds[1]);
    cr_assert_geq(fds[0] = keep(stranger, 1, NULL), 0);
    cr_expect_eq(keep(stranger, 1, NULL), -EMFILE);
    leave(stranger);
    let_go(fds[0]);
    let_go(its);
}

/* The client has our end as well, or has closed all of them; or there is no such segment. */
Test(sharing, what_a_client_does_with_both_ends_is_its_own_affair) {
    struct wire_segment_reply key;
    int fd, end;
    cr_assert_eq(make(a, 1, PAGE), 0);
    pair_of(&fd, &end);
    int ours = dup(end);
    cr_assert_eq(wireclient_result(a, wireclient_keep(a, 1, end, 0)), 0);
    let_go(fd);
    wirebench_run(bench);
    int others = keep(a, 1, &key);
    usleep(3000);
    wirebench_run(bench);
    cr_expect_eq(bench->worker->shared.keepers.count, 1);
    close(ours);
    let_go(others);
    int before = open_fds();
    pair_of(&fd, &end);
    close(fd);
    cr_expect_eq(wireclient_result(a, wireclient_keep(a, 1, end, 0)), 0);
    for (int i = 0; i < 1000 && bench->worker->shared.keepers.count; i++) {
        usleep(1000);
        wirebench_run(bench);
    }
    cr_expect_eq(bench->worker->shared.keepers.count, 0);
    cr_expect_eq(keep(a, 2, NULL), -ENOENT);
    cr_expect_eq(wireclient_result(a, wireclient_keep(a, 1, -1, -EINVAL)), -EINVAL);
    cr_expect_eq(wireclient_result(a, wireclient_keep(a, 1, -1, 0)), -EMFILE);
    wireclient_copy(b, 0, b->windows.dev_base, 4096, 4096); /* memory of another client */
    wirebench_run(bench);
    cr_expect_lt(keep(b, 1, NULL), 0);
    cr_expect_eq(open_fds(), before);
}

/* As often as in a program that never stops. */
Test(sharing, three_hundred_descriptors_leave_nothing) {
    int before = open_fds();
    for (int i = 0; i < 300; i++) {
        struct wire_segment_reply key;
        int fd = keep_new(i % 2 ? a : b, 1, (uint64_t)(1 + i % 3) * PAGE, &key);
        cr_assert_geq(fd, 0);
        cr_assert_eq(open_key(i % 2 ? b : a, 2, &key), 0);
        let_go(fd);
        cr_assert_eq(shut(i % 2 ? b : a, 2), 0);
        cr_assert_eq(used() + alone(), 0);
    }
    cr_expect_eq(open_fds(), before);
}
