/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of device memory, from the worker's side: the parts that it gets at its start, and its
 * messages about parts that it makes.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/policy/parameters.h"
#include "daemon/worker/link/surviving_memory.h"
#include "daemon/worker/worker.h"

TestSuite(kept, .timeout = 60);

/* ---- parts given to the worker --------------------------------------------------------------- */

static int make_list(const void *list, size_t bytes) {
    int fd = memfd_create("list", MFD_CLOEXEC);

    cr_assert_eq(write(fd, list, bytes), (ssize_t)bytes);
    return fd;
}

static bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

Test(kept, all_that_the_list_names) {
    struct wire_kept list[3] = {{.id = 4}, {.id = 0}, {.id = WIRE_PARTS - 1}};
    struct surviving_memory k;
    int fd;

    for (int i = 0; i < 3; i++)
        list[i].fd = dup(0);
    fd = make_list(list, sizeof(list));
    surviving_memory_read(&k, fd);
    cr_assert_eq(k.count, 3);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(k.parts[i].id, list[i].id);
        cr_expect_eq(k.parts[i].fd, list[i].fd);
        cr_expect(fcntl(list[i].fd, F_GETFD) & FD_CLOEXEC, "no program of the driver's has it");
    }
    cr_expect_not(is_open(fd));
    surviving_memory_finish(&k);
    cr_expect_eq(k.count, 0);
    for (int i = 0; i < 3; i++)
        cr_expect_not(is_open(list[i].fd));
}

Test(kept, no_list) {
    struct surviving_memory k;

    surviving_memory_read(&k, 0);
    cr_expect(k.count == 0 && !k.parts);
    cr_expect(is_open(0));
    surviving_memory_finish(&k);
}

static void expect_none(const void *list, size_t bytes) {
    struct surviving_memory k;
    int fd = make_list(list, bytes);

    log_init("none");
    surviving_memory_read(&k, fd);
    cr_expect(k.count == 0 && !k.parts);
    cr_expect_not(is_open(fd));
}

Test(kept, a_list_of_nothing) {
    expect_none("", 0);
}

Test(kept, every_list_that_is_cut) {
    struct wire_kept list[2] = {{.id = 0, .fd = dup(0)}, {.id = 1, .fd = dup(0)}};

    for (size_t bytes = 1; bytes < sizeof(list); bytes++)
        if (bytes % sizeof(list[0])) expect_none(list, bytes);
    cr_expect(is_open(list[0].fd), "nothing of it was believed");
}

Test(kept, a_number_that_is_none) {
    struct wire_kept list[2] = {{.id = 0, .fd = dup(0)}, {.id = WIRE_PARTS, .fd = dup(0)}};

    expect_none(list, sizeof(list));
}

Test(kept, a_descriptor_that_is_none) {
    struct wire_kept list[2] = {{.id = 0, .fd = dup(0)}, {.id = 1, .fd = 900}};

    expect_none(list, sizeof(list));
}

Test(kept, a_descriptor_that_is_ours) {
    struct wire_kept list = {.id = 0, .fd = 2};

    expect_none(&list, sizeof(list));
    cr_expect(is_open(2));
}

Test(kept, something_that_is_no_file) {
    int ends[2];
    struct surviving_memory k;

    log_init("none");
    cr_assert_eq(pipe(ends), 0);
    surviving_memory_read(&k, ends[0]);
    cr_expect(k.count == 0 && !k.parts);
}

/* ---- the device ------------------------------------------------------------------------------ */

static struct dev_config seen; /* configuration that the latest open got */
static uint64_t seen_id;
static int opens, refuse;

static int open_seen(struct dev **out, const struct dev_config *config) {
    struct dev_config plain = *config;

    seen = *config;
    opens++;
    seen_id = config->kept_count ? config->kept[0].id : 0;
    if (config->kept_count) cr_expect(is_open(config->kept[0].fd));
    if (refuse-- > 0) return -EINVAL;
    plain.kept = NULL;
    plain.kept_count = 0;
    plain.keep = NULL;
    return dev_soft.open(out, &plain);
}

static struct worker *create(bool keep, int kept_fd, int broker_fd) {
    static struct dev_ops ops;
    struct worker_config config = {.ops = &ops,
                                   .policy = {.lane = "fifo", .kernel = "fifo"},
                                   .device = {.memory_bytes = 64u << 20, .threads = 1},
                                   .kept_fd = kept_fd,
                                   .keep = keep,
                                   .broker_fd = broker_fd};
    struct worker *w;
    char why[256] = "";

    log_init("none");
    ops = dev_soft;
    ops.open = open_seen;
    parameters_clear(&config.policy);
    cr_assert_eq(worker_create(&w, &config, why, sizeof(why)), 0, "%s", why);
    return w;
}

static void expect_start(int refused, bool restoring) {
    struct wire_kept part = {.id = 9, .fd = fcntl(0, F_DUPFD, 500)};
    struct worker *w;

    refuse = refused;
    w = create(true, make_list(&part, sizeof(part)), dup(0));
    cr_expect_eq(opens, 1 + refused);
    cr_expect_eq(seen.kept_count, refused ? 0 : 1);
    cr_expect_eq(seen_id, refused ? 0 : 9);
    cr_expect_eq(w->recovery.restoring, restoring);
    cr_expect_not(is_open(part.fd), "the device has its own");
    worker_destroy(w);
}

Test(kept, the_device_has_them_when_it_opens) {
    expect_start(0, true);
}

Test(kept, a_device_that_cannot_go_on_with_them_begins_anew) {
    expect_start(1, false);
}

Test(kept, who_is_not_to_say_of_parts_does_not) {
    struct worker *w = create(false, 0, dup(0));

    cr_expect_null(seen.keep);
    cr_expect_eq(seen.kept_count, 0);
    cr_expect_not(w->recovery.restoring);
    worker_destroy(w);
}

/* ---- messages about parts -------------------------------------------------------------------- */

static struct worker *create_with_broker(int *broker) {
    int pair[2];

    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    *broker = pair[1];
    return create(true, 0, pair[0]);
}

static int say(uint64_t id, int fd) {
    return seen.keep(seen.keep_arg, id, fd);
}

/* Receives the broker's message about this part; returns its inode. */
static uint64_t hear(int broker, uint64_t id) {
    struct wire_part m;
    struct stat st;
    int fd = -1, nfds = 1;

    int n = fdutil_recv(broker, &m, sizeof(m), &fd, &nfds);
    cr_assert_eq(n, sizeof(m), "%d", n);
    cr_expect_eq(m.kind, WIRE_PART);
    cr_expect_eq(m.reserved, 0);
    cr_assert_eq(m.id, id);
    cr_assert_eq(nfds, 1);
    cr_assert_eq(fstat(fd, &st), 0);
    close(fd);
    return st.st_ino;
}

Test(kept, a_new_part_is_said_with_its_descriptor) {
    int broker, part = fdutil_memfd("part", 4096, 0);
    struct worker *w = create_with_broker(&broker);
    struct stat st;

    cr_assert_eq(fstat(part, &st), 0);
    cr_expect_eq(say(31, part), 0);
    cr_expect(is_open(part), "it stays the device's");
    cr_expect_eq(hear(broker, 31), st.st_ino);
    cr_expect_eq(say(WIRE_PARTS, part), -EINVAL);
    cr_expect_eq(say(WIRE_PARTS - 1, part), 0);
    cr_expect_eq(hear(broker, WIRE_PARTS - 1), st.st_ino);
    cr_expect_not(w->link.over);
    worker_destroy(w);
}

#define MANY 3000

static void *hear_late(void *arg) {
    usleep(50000);
    for (uint64_t id = 0; id < MANY; id++)
        hear(*(int *)arg, id);
    return NULL;
}

/* More messages than the socket's buffer holds. */
Test(kept, all_are_said_whatever_the_broker_does) {
    int broker;
    struct worker *w = create_with_broker(&broker);
    pthread_t t;

    cr_assert_eq(pthread_create(&t, NULL, hear_late, &broker), 0);
    for (uint64_t id = 0; id < MANY; id++)
        cr_assert_eq(say(id, 0), 0);
    cr_assert_eq(pthread_join(t, NULL), 0);
    worker_destroy(w);
}

Test(kept, where_the_broker_is_gone_nothing_is_held) {
    int broker;
    struct worker *w = create_with_broker(&broker);

    close(broker);
    cr_expect_eq(say(1, 0), -EPIPE);
    cr_expect(w->link.over);
    worker_destroy(w);
}

/* The kernel limits the descriptors in flight of a user. The next worker must not get the part
 * that had the number before. */
Test(kept, what_the_kernel_does_not_take_is_nobodys) {
    struct rlimit few = {20, 20};
    struct wire_part m;
    int broker, nfds = 0, err = 0;
    struct worker *w = create_with_broker(&broker);
    uint64_t id = 0;

    if (geteuid() == 0) cr_assert_eq(seteuid(65534), 0); /* root has no such limit */
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (!err && id < 100)
        err = say(id++, 0);
    cr_assert_eq(err, -ETOOMANYREFS);
    for (uint64_t i = 0; i + 1 < id; i++)
        hear(broker, i);
    fcntl(broker, F_SETFL, O_NONBLOCK); /* all messages were sent */
    cr_assert_eq(fdutil_recv(broker, &m, sizeof(m), NULL, &nfds), sizeof(m));
    cr_expect(m.kind == WIRE_PART && m.id == id - 1 && nfds == 0);
    cr_expect_eq(say(id, 0), 0, "there is room again");
    hear(broker, id);
    cr_expect_not(w->link.over);
}
