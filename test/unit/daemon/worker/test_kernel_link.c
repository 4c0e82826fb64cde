/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's exchange of kernel profiles with the broker: the profiles it sends, how many at a
 * time, and the ones it accepts.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/kernels/kernel_wire.h"
#include "daemon/worker/front/kernel_link.h"
#include "daemon/worker/kernel/kernels.h"

static struct worker w;
static int peer;
static struct kernel_set set;
static union kernel_wire_message m;

static void setup(void) {
    struct kernels_config config = {.cap = 1024, .seed = 3};
    int pair[2];

    log_init("none");
    cr_assert_eq(kernels_create(&w.profiles.kernels, &config), 0);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    w.link.fd = pair[0];
    peer = pair[1];
    fcntl(peer, F_SETFL, O_NONBLOCK);
    kernel_set_init(&set, 1);
}

static void teardown(void) {
    kernels_destroy(w.profiles.kernels);
    kernel_set_finish(&set);
    close(w.link.fd);
    close(peer);
}

TestSuite(kernel_link, .init = setup, .fini = teardown, .timeout = 600);

static struct kernel *intern(uint64_t func) {
    struct kernel_profile_key key = {func, {1, 1, 1}, {32, 1, 1}, 0, 5};
    uint32_t created = 0;

    return kernels_intern(w.profiles.kernels, &key, "k", 1, &created);
}

static void learn(uint32_t count) {
    for (uint64_t f = 1; f <= count; f++) {
        struct kernel *e = intern(f);

        kernels_sample(w.profiles.kernels, e, 1000, true);
        kernels_drop(w.profiles.kernels, e);
    }
}

/* The number of profiles in the next batch; -1: there is none. */
static int hear(void) {
    int n = fdutil_recv(peer, &m, sizeof(m), NULL, NULL);

    if (n < 0) return -1;
    cr_assert(kernel_wire_is_batch(&m, (size_t)n));
    return (int)m.batch.count;
}

Test(kernel_link, what_was_learned_is_told_in_batches) {
    learn(20);
    w.profiles.telling = true;
    kernel_link_tell(&w);
    cr_assert_eq(hear(), 16);
    cr_assert_eq(m.batch.items[0].key.func, 1);
    cr_assert_eq(m.batch.items[15].durations.sum_ns, 1000);
    cr_assert_eq(hear(), 4);
    cr_assert_eq(hear(), -1);
    cr_assert_not(w.profiles.telling);
    w.profiles.telling = true;
    kernel_link_tell(&w);
    cr_assert_eq(hear(), -1, "nothing has changed");
    cr_assert_not(w.profiles.telling);
}

Test(kernel_link, it_never_waits_for_the_broker) {
    int told = 0, n;

    learn(1000);
    w.profiles.telling = true;
    for (int i = 0; i < 100; i++)
        kernel_link_tell(&w); /* would hang if it waited, because the other end does not read */
    cr_assert(w.profiles.telling);
    while (told < 1000) {
        while ((n = hear()) >= 0)
            told += n;
        kernel_link_tell(&w);
    }
    cr_assert_eq(told, 1000);
    cr_assert_not(w.profiles.telling);
}

/* A private broker ends with its command, so that is no error of the worker. */
Test(kernel_link, a_broker_that_is_gone_ends_it_quietly) {
    int said = memfd_create("said", 0);

    setenv("SALUS_LOG", "error", 1);
    log_init("error");
    dup2(said, STDERR_FILENO);
    learn(1);
    w.profiles.telling = true;
    close(peer);
    kernel_link_tell(&w);
    peer = -1;
    cr_assert(w.link.over);
    cr_assert_eq(lseek(said, 0, SEEK_END), 0);
}

static struct kernel_profile_hint hint = {
    .name = "k", .class = KERNEL_PROFILE_MEMORY, .duration_ns = 5};

static void give(void) {
    int fd = kernel_wire_pack(&set, true);

    kernel_link_take(&w, fd);
    close(fd);
}

Test(kernel_link, what_the_broker_knows_is_known_here) {
    struct kernel_profile p = {.key = {9, {1, 1, 1}, {32, 1, 1}, 0, 5}, .name = "k", .sms = 1};
    struct kernels_view v;

    kernel_dist_add(&p.durations, 7000);
    kernel_set_learn(&set, &p);
    kernel_set_add_hints(&set, &hint, 1);
    give();
    kernels_view(w.profiles.kernels, &v);
    cr_assert_eq(v.entries, 1);
    cr_assert_eq(intern(9)->sched.mean_ns, 7000);
    cr_assert_eq(intern(1)->sched.mean_ns, 5);
    kernel_link_tell(&w);
    cr_assert_eq(hear(), 1, "a hint changed the class of what it knew");
    cr_assert_eq(m.batch.items[0].key.func, 9);
    cr_assert_eq(m.batch.items[0].class, KERNEL_PROFILE_MEMORY);
    give();
    kernel_link_tell(&w);
    cr_assert_eq(hear(), -1, "it says nothing new");
}

/* The set as the broker would send it, with one byte changed. */
static void give_spoilt(size_t at, unsigned char byte) {
    int fd = kernel_wire_pack(&set, true), bad;
    size_t bytes = (size_t)lseek(fd, 0, SEEK_END);
    unsigned char *copy = malloc(bytes);

    cr_assert_eq(pread(fd, copy, bytes, 0), (ssize_t)bytes);
    copy[at] = byte;
    bad = fdutil_memfd("bad", bytes, 1);
    cr_assert_eq(pwrite(bad, copy, bytes, 0), (ssize_t)bytes);
    kernel_link_take(&w, bad);
    free(copy);
    close(bad);
    close(fd);
}

Test(kernel_link, what_is_wrong_is_not_taken) {
    struct kernel_profile p = {.key = {9, {1, 1, 1}, {32, 1, 1}, 0, 5}, .name = "k", .sms = 1};
    struct kernel_profile_hint second = hint;
    size_t hints_at = 16, profile_at = 16 + 2 * sizeof(hint);
    struct kernels_view v;

    strcpy(second.name, "l");
    kernel_set_add_hints(&set, &hint, 1);
    kernel_set_add_hints(&set, &second, 1);
    kernel_set_learn(&set, &p);
    give_spoilt(0, 'x');
    give_spoilt(hints_at, 'm'); /* now the second hint comes first */
    give_spoilt(hints_at, ' ');
    give_spoilt(profile_at + offsetof(struct kernel_profile, class), 77);
    kernels_view(w.profiles.kernels, &v);
    cr_assert_eq(v.entries, 0);
    cr_assert_not(w.link.over);
    give_spoilt(hints_at, 'k');
    kernels_view(w.profiles.kernels, &v);
    cr_assert_eq(v.entries, 1);
}

Test(kernel_link, what_is_forgotten_is_not_told_any_more) {
    struct wire_worker_msg msg = {.kind = WIRE_FORGET, .uid = 5, .result = 3, .text = "k"};
    struct kernels_view v;

    learn(20);
    kernel_link_forget(&w, &msg);
    kernels_view(w.profiles.kernels, &v);
    cr_assert_eq(v.entries, 0);
    learn(1);
    w.profiles.telling = true;
    kernel_link_tell(&w);
    cr_assert_eq(hear(), 1);
    cr_assert_eq(m.batch.generation, 3);
}

Test(kernel_link, a_kernel_that_began_anew_is_not_told_before_it_ran) {
    struct wire_worker_msg msg = {.kind = WIRE_FORGET, .uid = UINT32_MAX, .result = 1};
    struct kernel *held = intern(1);

    kernel_set_add_hints(&set, &hint, 1);
    give();
    kernels_sample(w.profiles.kernels, held, 1000, true);
    kernel_link_forget(&w, &msg);
    kernel_set_finish(&set);
    give(); /* the hint was dropped as well */
    kernel_link_tell(&w);
    cr_assert_eq(hear(), -1);
    cr_assert_eq(held->profile.source, KERNEL_PROFILE_NONE);
}
