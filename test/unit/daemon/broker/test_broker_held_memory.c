/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory with a descriptor for each part: the broker holds a worker's parts as long as a
 * successor may use them, and passes them to the next worker at its start.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/server_parts.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

static struct broker_rig rig;

static void setup(void) {
    fdutil_raise_limits();
    broker_rig_init(&rig);
    atomic_store(&rig.worker.recovery_states, 1);
    atomic_store(&rig.worker.in_parts, 1);
}

TestSuite(broker_keeping, .init = setup, .timeout = 180);

static struct worker *worker(void) {
    return &rig.server->broker.gpus.items[0].worker;
}

static rlim_t allowed_fds(void) {
    struct rlimit limit;

    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    return limit.rlim_cur;
}

static void allow_fds(rlim_t n) {
    struct rlimit limit;

    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = n;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Makes a part that contains this value. */
static int make_part(uint64_t value) {
    int fd = fdutil_memfd("part", sizeof(value), 0);

    cr_assert_geq(fd, 0);
    cr_assert_eq(pwrite(fd, &value, sizeof(value), 0), sizeof(value));
    return fd;
}

static void keep(uint64_t id, uint64_t value) {
    int fd = make_part(value);

    broker_rig_keep(&rig, id, fd);
    close(fd);
}

static void expect_held(uint32_t count) {
    cr_assert(PATIENCE_UNTIL(worker()->keeping.count == count), "%u", worker()->keeping.count);
}

/* Expects that the latest worker got this part at that index. */
static void expect_given(uint32_t at, uint64_t id, uint64_t value) {
    uint64_t found = 0;

    cr_assert_lt(at, rig.worker.part_count);
    cr_assert_eq(rig.worker.parts[at].id, id);
    cr_assert_eq(pread(rig.worker.parts[at].fd, &found, sizeof(found), 0), sizeof(found));
    cr_assert_eq(found, value, "part %llu", (unsigned long long)id);
}

/* ---- a client that runs ---------------------------------------------------------------------- */

static int attach(void) {
    int sock = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];

    broker_rig_attach(sock, fds);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
    return sock;
}

static void expect_moved(int sock, uint32_t number) {
    struct wire_moved m;
    int fd;

    broker_rig_expect(sock, &m, sizeof(m), &fd, 1);
    cr_assert_eq(m.number, number);
    close(fd);
}

/* Expects this number of workers that have served so far. */
static void expect_served(int times) {
    cr_assert(broker_rig_wait(&rig.worker.restored, times));
}

/* ---- continuing ------------------------------------------------------------------------------ */

Test(broker_keeping, parts_go_from_worker_to_worker) {
    int job;

    broker_rig_start(&rig);
    job = attach();
    keep(0, 10);
    keep(700, 17);
    keep(7, 13);
    expect_held(3);
    broker_rig_kill_worker(&rig);
    expect_moved(job, 1);
    cr_assert_eq(rig.worker.part_count, 3);
    expect_given(0, 0, 10);
    expect_given(1, 7, 13);
    expect_given(2, 700, 17);
    expect_served(2);
    keep(7, 23); /* kept by this worker; the others are from the previous worker */
    keep(8, 24);
    expect_held(4);
    broker_rig_kill_worker(&rig);
    expect_moved(job, 2);
    cr_assert_eq(rig.worker.part_count, 4);
    expect_given(0, 0, 10);
    expect_given(1, 7, 23);
    expect_given(2, 8, 24);
    expect_given(3, 700, 17);
    close(job);
    broker_rig_stop(&rig);
}

Test(broker_keeping, what_has_no_part_any_more_is_not_given) {
    int job;

    broker_rig_start(&rig);
    job = attach();
    keep(3, 3);
    keep(4, 4);
    broker_rig_keep(&rig, 3, -1);
    broker_rig_keep(&rig, 5000, -1); /* part 5000 had no descriptor */
    keep(5, 5);
    expect_held(2);
    broker_rig_kill_worker(&rig);
    expect_moved(job, 1);
    cr_assert_eq(rig.worker.part_count, 2);
    expect_given(0, 4, 4);
    expect_given(1, 5, 5);
    close(job);
    broker_rig_stop(&rig);
}

/* As many descriptors as a GPU with 10 GB needs; fewer where a process may not have that many. */
Test(broker_keeping, thousands) {
    uint32_t count = (uint32_t)(allowed_fds() / 3), i;
    int job;

    if (count > 5000) count = 5000;
    broker_rig_start(&rig);
    job = attach();
    for (i = 0; i < count; i++)
        keep(i, i * 3);
    expect_held(count);
    for (uint32_t death = 1; death <= 2; death++) {
        broker_rig_kill_worker(&rig);
        expect_moved(job, death);
        expect_served((int)death + 1);
        cr_assert_eq(rig.worker.part_count, count);
        for (i = 0; i < count; i++)
            expect_given(i, i, i * 3);
    }
    close(job);
    broker_rig_stop(&rig);
}

/* Messages that the worker sent before its end count, and so do messages of the next worker
 * before READY. */
Test(broker_keeping, a_worker_may_end_while_it_says_them) {
    int job;

    broker_rig_start(&rig);
    job = attach();
    for (uint32_t i = 0; i < 100; i++)
        keep(i, i);
    atomic_store(&rig.worker.early_part, 1);
    broker_rig_kill_worker(&rig);
    expect_moved(job, 1);
    cr_assert_eq(rig.worker.part_count, 100);
    expect_given(99, 99, 99);
    expect_served(2);
    broker_rig_kill_worker(&rig);
    expect_moved(job, 2);
    cr_assert_eq(rig.worker.part_count, 100);
    expect_given(1, 1, 0); /* the second worker's */
    expect_given(2, 2, 2);
    close(job);
    broker_rig_stop(&rig);
}

/* ---- released parts -------------------------------------------------------------------------- */

static void expect_all_let_go(uint32_t count) {
    int before;

    broker_rig_start(&rig);
    expect_served(1);
    broker_rig_settle(&rig);
    before = broker_rig_count_fds();
    for (uint32_t i = 0; i < count; i++)
        keep(i, i);
    expect_held(count);
    cr_assert_eq(broker_rig_count_fds(), before + (int)count);
    broker_rig_kill_worker(&rig);
    expect_served(2);
    cr_expect_eq(rig.worker.part_count, 0);
    cr_expect_eq(worker()->keeping.closing, 0, "it waited for that");
    cr_assert(PATIENCE_UNTIL(broker_rig_count_fds() <= before));
    broker_rig_stop(&rig);
}

Test(broker_keeping, nobody_goes_on_with_them) {
    expect_all_let_go(5);
}

Test(broker_keeping, nobody_goes_on_with_many) {
    expect_all_let_go(500);
}

/* The broker drops all parts except those that the worker itself sent before it was READY. */
Test(broker_keeping, a_worker_that_does_not_go_on_with_them_has_its_own) {
    int job;

    broker_rig_start(&rig);
    job = attach();
    for (uint32_t i = 0; i < 300; i++)
        keep(i, 100 + i);
    expect_held(300);
    atomic_store(&rig.worker.fresh, 1);
    atomic_store(&rig.worker.early_part, 1);
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_closed(job));
    close(job);
    expect_served(2);
    expect_held(1);
    atomic_store(&rig.worker.fresh, 0);
    job = attach();
    broker_rig_kill_worker(&rig);
    expect_moved(job, 1);
    cr_assert_eq(rig.worker.part_count, 1);
    expect_given(0, 1, 0);
    close(job);
    broker_rig_stop(&rig);
}

/* The parts were given to a worker that was never ready. */
Test(broker_keeping, who_left_meanwhile_goes_on_with_nothing) {
    int job;

    broker_rig_start(&rig);
    job = attach();
    keep(1, 1);
    expect_held(1);
    atomic_store(&rig.worker.never_ready, 1);
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_wait(&rig.worker.launches, 2));
    cr_expect_eq(rig.worker.part_count, 1);
    close(job);
    cr_assert(PATIENCE_UNTIL(rig.server->broker.clients.count == 0));
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_wait(&rig.worker.launches, 3));
    cr_expect_eq(rig.worker.part_count, 0);
    broker_rig_stop(&rig);
}

Test(broker_keeping, a_gpu_that_is_given_up_has_its_memory_back) {
    int job;

    rig.config.worker_tries = 1;
    broker_rig_start(&rig);
    job = attach();
    keep(1, 1);
    expect_held(1);
    atomic_store(&rig.worker.ready_result, -EIO);
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_closed(job));
    expect_held(0);
    close(job);
    broker_rig_stop(&rig);
}

Test(broker_keeping, it_can_be_switched_off) {
    int job;

    strcpy(rig.config.recovery, "no");
    broker_rig_start(&rig);
    job = attach();
    keep(1, 1);
    expect_held(1);
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_closed(job));
    expect_served(2);
    cr_expect_eq(rig.worker.part_count, 0);
    close(job);
    broker_rig_stop(&rig);
}

/* ---- lack of descriptors --------------------------------------------------------------------- */

/* Without free descriptors, the broker holds neither new parts nor those that had their numbers
 * before; clients are served as usual. */
Test(broker_keeping, clients_come_before_parts) {
    int job, late;
    uint32_t held;
    rlim_t all = allowed_fds();

    broker_rig_start(&rig);
    job = attach();
    keep(0, 1);
    expect_held(1);
    allow_fds(256);
    for (uint32_t i = 1; i < 250; i++)
        keep(i, i);
    keep(0, 2);
    broker_rig_keep(&rig, 249, -1);
    late = attach();
    held = worker()->keeping.count;
    cr_expect(held > 64 && held < 192, "%u", held);
    allow_fds(all);
    broker_rig_kill_worker(&rig);
    expect_moved(job, 1);
    cr_assert_eq(rig.worker.part_count, held);
    expect_given(0, 1, 1);
    expect_given(held - 1, held, held);
    close(job);
    close(late);
    broker_rig_stop(&rig);
}

/* A descriptor that the kernel could not pass on is not held, either. */
Test(broker_keeping, where_no_descriptor_is_left) {
    rlim_t all = allowed_fds();
    int job, part = make_part(2);

    broker_rig_start(&rig);
    job = attach();
    keep(0, 1);
    keep(1, 1);
    expect_held(2);
    allow_fds(3);
    broker_rig_keep(&rig, 0, part);
    expect_held(1);
    allow_fds(all);
    close(part);
    broker_rig_kill_worker(&rig);
    expect_moved(job, 1);
    cr_assert_eq(rig.worker.part_count, 1);
    expect_given(0, 1, 1);
    close(job);
    broker_rig_stop(&rig);
}

Test(broker_keeping, a_number_that_no_part_has_is_a_lie) {
    broker_rig_start(&rig);
    expect_served(1);
    keep(WIRE_PARTS - 1, 1);
    expect_held(1);
    keep(WIRE_PARTS, 1);
    cr_assert(broker_rig_wait(&rig.worker.launches, 2));
    broker_rig_stop(&rig);
}

/* ---- a worker process ------------------------------------------------------------------------ */

/* A worker that writes its arguments and the contents of its descriptors. */
static void write_worker(const char *path, const char *out) {
    FILE *f = fopen(path, "w");

    fprintf(f,
            "#!/bin/sh\n"
            "{ echo \"$*\"\n"
            "od -An -v -t d4 -w16 /proc/self/fd/5\n"
            "for fd in /proc/self/fd/*; do\n"
            "case $(readlink $fd) in */memfd:part*) echo ${fd##*/} $(od -An -t d8 $fd);; esac\n"
            "done; } >%s.new\nmv %s.new %s\n",
            out, out, out);
    fclose(f);
    cr_assert_eq(chmod(path, 0755), 0);
}

static void on_exit_status(uv_process_t *p, int64_t status, int signal) {
    uv_close((uv_handle_t *)p, NULL);
}

/* Runs the worker to its end. */
static void spawn(const struct held_memory *k, const char *path) {
    struct policy_config policy = {.lane = "fifo", .kernel = "fifo"};
    struct spawn what = {.config = &rig.config,
                         .policy = &policy,
                         .keeping = k,
                         .launch = {0, dup(2), -1, held_memory_list(k)},
                         .on_exit = on_exit_status};
    uv_process_t process;
    uv_loop_t loop;
    bool open;

    cr_assert_geq(what.launch.kept_fd, 0);
    strcpy(rig.config.worker, path);
    uv_loop_init(&loop);
    cr_assert_eq(spawn_worker(&what, &loop, &process, &open), 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
    close(what.launch.fd);
    close(what.launch.kept_fd);
}

static void read_all(const char *path, char *text, size_t cap) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, cap - 1);

    cr_assert_gt(n, 0);
    text[n] = '\0';
    close(fd);
    unlink(path);
}

Test(broker_keeping, a_process_has_them_by_the_same_numbers) {
    char path[96], out[96], text[8192], line[64];
    struct held_memory k;

    snprintf(path, sizeof(path), "%s/worker", rig.dir);
    snprintf(out, sizeof(out), "%s/out", rig.dir);
    write_worker(path, out);
    held_memory_init(&k);
    for (uint64_t id = 0; id < 20; id++) {
        int fd = make_part(100 + id);

        if (id % 2) fcntl(fd, F_DUPFD_CLOEXEC, 200); /* closed in the child */
        cr_assert_eq(held_memory_take(&k, id * 30, &fd), 0);
        cr_assert_eq(fd, -1);
    }
    spawn(&k, path);
    read_all(out, text, sizeof(text));
    unlink(path);
    cr_expect(strstr(text, "--broker-fd 3 --kept-fd 5 --keep 1 "), "%s", text);
    for (uint32_t id = 0; id < 20 * 30; id += 30) {
        int fd = held_memory_next(&k, &id);

        snprintf(line, sizeof(line), "\n%d %u\n", fd, 100 + id / 30);
        cr_expect(strstr(text, line), "%s of %s", line, text);
        cr_expect_geq(fd, 16);
        cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        snprintf(line, sizeof(line), " %11u %11u %11d %11u\n", id, 0, fd, 0);
        cr_expect(strstr(text, line), "%s of %s", line, text);
    }
    cr_expect_null(strstr(text, "\n200 "));
    held_memory_finish(&k);
}
