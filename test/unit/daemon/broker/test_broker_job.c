/* SPDX-License-Identifier: Apache-2.0
 *
 * The request of a job on its way to the worker: checked, completed from profiles and
 * configuration, refused when it could never run. Also groups, and the file of profiles.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "common/text/command_line.h"
#include "daemon/broker/jobs/ancestry.h"
#include "daemon/broker/jobs/groups.h"
#include "test/lib/broker/asker.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

#define MIB (1ull << 20)

static struct broker_rig rig;
static struct wire_hello hello;
static int fds[WIRE_FD_COUNT];

static void setup(void) {
    broker_rig_init(&rig);
    hello = broker_rig_hello();
}

TestSuite(broker_job, .init = setup, .timeout = 180);

/* Attaches and returns the socket; the worker's view of it is rig.worker.last_attach. */
static int attach(void) {
    int fd = broker_rig_connect(&rig, "job.sock");

    broker_rig_attach_as(fd, &hello, fds);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
    return fd;
}

static void leave(int fd) {
    int before = atomic_load(&rig.worker.detached);

    close(fd);
    cr_assert(broker_rig_wait(&rig.worker.detached, before + 1));
}

static void expect_refused(int result, const char *text) {
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_offer o;

    fdutil_send(fd, &hello, sizeof(hello), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    cr_assert_eq(o.result, result);
    cr_assert_str_eq(o.text, text, "%s", o.text);
    close(fd);
}

static void expect_refused_somehow(void) {
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_offer o;

    fdutil_send(fd, &hello, sizeof(hello), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    cr_assert_lt(o.result, 0);
    close(fd);
}

/* ---- to the worker --------------------------------------------------------------------------- */

Test(broker_job, what_it_says_reaches_the_worker) {
    const struct wire_worker_msg *m = &rig.worker.last_attach;

    broker_rig_start(&rig);
    hello.job = (struct wire_job){.persistent_bytes = 300 * MIB,
                                  .ephemeral_bytes = 200 * MIB,
                                  .flags = WIRE_JOB_RESERVED,
                                  .weight = 5,
                                  .priority = -7,
                                  .run = 99,
                                  .iterations = 1000,
                                  .duration_ns = 5000,
                                  .admit_timeout_ns = 6000,
                                  .profile = 77,
                                  .group = "pair"};
    leave(attach());
    cr_assert_arr_eq(&m->job, &hello.job, sizeof(m->job));
    cr_assert_neq(m->group, 0);
    broker_rig_stop(&rig);
}

Test(broker_job, what_it_does_not_say_has_defaults) {
    const struct wire_job *j = &rig.worker.last_attach.job;

    rig.config.admit_timeout = 12345;
    broker_rig_start(&rig);
    leave(attach());
    cr_assert_eq(j->weight, 1);
    cr_assert_eq(j->flags, 0, "no reservation: the worker measures");
    cr_assert_eq(j->admit_timeout_ns, 12345);
    cr_assert_eq(rig.worker.last_attach.group, 0);
    broker_rig_stop(&rig);
}

Test(broker_job, a_job_without_a_word_is_taken_to_need_what_is_configured) {
    const struct wire_job *j = &rig.worker.last_attach.job;

    rig.config.unknown_memory = 64 * MIB;
    broker_rig_start(&rig);
    leave(attach());
    cr_assert_eq(j->flags, WIRE_JOB_RESERVED);
    cr_assert_eq(j->persistent_bytes, 64 * MIB);
    cr_assert_eq(j->ephemeral_bytes, 0);
    hello.job.flags = WIRE_JOB_RESERVED;
    hello.job.ephemeral_bytes = MIB;
    leave(attach());
    cr_assert_eq(j->persistent_bytes, 0, "it said so");
    broker_rig_stop(&rig);
}

Test(broker_job, no_more_is_assumed_than_the_device_has) {
    rig.config.unknown_memory = 1ull << 40;
    broker_rig_start(&rig);
    leave(attach());
    cr_assert_eq(rig.worker.last_attach.job.persistent_bytes, 1ull << 30);
    broker_rig_stop(&rig);
}

Test(broker_job, one_that_never_could_run_is_refused_with_the_numbers) {
    struct asker a = {.request = {.verb = CTL_V_history_list}};

    broker_rig_start(&rig);
    hello.job = (struct wire_job){.flags = WIRE_JOB_RESERVED,
                                  .persistent_bytes = 512 * MIB,
                                  .ephemeral_bytes = 512 * MIB + 1};
    expect_refused(ERR_NO_MEMORY, "512 MiB of persistent + 512 MiB of ephemeral memory exceed the "
                                  "device's 1 GiB; ask for less");
    hello.job.persistent_bytes = 1536 * MIB;
    hello.job.ephemeral_bytes = 20480 * MIB;
    expect_refused(ERR_NO_MEMORY, "1.5 GiB of persistent + 20 GiB of ephemeral memory exceed the "
                                  "device's 1 GiB; ask for less");
    cr_assert_eq(atomic_load(&rig.worker.attached), 0);
    a.fd = broker_rig_connect(&rig, "ctl.sock");
    cr_assert(asker_ask(&a));
    cr_assert_eq(a.count, 2);
    cr_assert_str_eq(a.items[1].ended.how, "refused");
    cr_assert_str_eq(a.items[1].ended.why, "1.5 GiB of persistent + 20 GiB of ephemeral memory "
                                           "exceed the device's 1 GiB; ask for less");
    close(a.fd);
    hello.job.persistent_bytes = hello.job.ephemeral_bytes = 512 * MIB;
    leave(attach()); /* the whole device is not too much */
    broker_rig_stop(&rig);
}

Test(broker_job, nonsense_is_refused) {
    broker_rig_start(&rig);
    hello.job.flags = WIRE_JOB_PAUSED;
    expect_refused(ERR_PROTOCOL, "the job has flags that are unknown here: 0x2");
    hello.job.flags = WIRE_JOB_RESERVED;
    hello.job.persistent_bytes = hello.job.ephemeral_bytes = UINT64_MAX;
    expect_refused(ERR_PROTOCOL, "the job's memory is more than 64 TiB");
    broker_rig_stop(&rig);
}

/* ---- null jobs ------------------------------------------------------------------------------- */

Test(broker_job, one_that_computes_nothing_is_called_so) {
    const struct wire_worker_msg *m = &rig.worker.last_attach;

    broker_rig_start(&rig);
    snprintf(hello.name, sizeof(hello.name), "train.py");
    hello.job.flags = WIRE_JOB_NULL;
    hello.job.profile = 42;
    leave(attach());
    cr_assert_str_eq(m->name, "train.py (not computed)");
    cr_assert_eq(m->job.flags, WIRE_JOB_NULL);
    cr_assert_neq(m->job.profile, 42, "what is known of it is known of its like");
    memset(hello.name, 'n', sizeof(hello.name));
    hello.job.profile = 0;
    leave(attach());
    cr_assert_str_eq(m->name + 48, " (not computed)");
    cr_assert_eq(m->job.profile, 0, "nothing is remembered of it");
    hello.job.flags = 0;
    leave(attach());
    cr_assert_null(strstr(m->name, "(not"));
    broker_rig_stop(&rig);
}

Test(broker_job, a_refused_one_is_shown_as_what_it_was) {
    struct asker a = {.request = {.verb = CTL_V_history_list}};

    broker_rig_start(&rig);
    snprintf(hello.name, sizeof(hello.name), "train.py");
    hello.job = (struct wire_job){.flags = WIRE_JOB_RESERVED | WIRE_JOB_NULL, .weight = 1000};
    hello.job.persistent_bytes = 1536 * MIB;
    expect_refused(
        ERR_NO_MEMORY,
        "1.5 GiB of persistent + 0 B of ephemeral memory exceed the device's 1 GiB; ask for less");
    a.fd = broker_rig_connect(&rig, "ctl.sock");
    cr_assert(asker_ask(&a));
    cr_assert_eq(a.count, 1);
    cr_expect_str_eq(a.items[0].ended.mode, "null");
    cr_expect_str_eq(a.items[0].ended.name, "train.py (not computed)");
    close(a.fd);
    broker_rig_stop(&rig);
}

/* ---- groups ---------------------------------------------------------------------------------- */

Test(broker_job, a_group_has_one_number_as_long_as_it_has_jobs) {
    uint32_t pair, other;
    int a, b;

    broker_rig_start(&rig);
    strcpy(hello.job.group, "pair");
    a = attach();
    pair = rig.worker.last_attach.group;
    strcpy(hello.job.group, "other");
    b = attach();
    other = rig.worker.last_attach.group;
    cr_assert_neq(pair, other);
    leave(a);
    leave(attach());
    cr_assert_eq(rig.worker.last_attach.group, other);
    leave(b);
    broker_rig_stop(&rig);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The run number of the latest job, which a child process of the test attached. */
static uint32_t run_of_child(uint32_t run) {
    int status, before = atomic_load(&rig.worker.detached);
    pid_t child = fork();

    if (child == 0) {
        hello.job.run = run;
        attach();
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_assert(broker_rig_wait(&rig.worker.detached, before + 1));
    return rig.worker.last_attach.run;
}

Test(broker_job, jobs_of_one_salusctl_run_are_of_one_run) {
    uint32_t first, other;

    broker_rig_start(&rig);
    hello.job.run = 41;
    int a = attach();
    first = rig.worker.last_attach.run;
    int b = attach();
    cr_expect_eq(rig.worker.last_attach.run, first);
    hello.job.run = 42;
    int c = attach();
    other = rig.worker.last_attach.run;
    cr_expect_neq(other, first);
    cr_expect_neq(first, 0);
    strcpy(hello.job.group, "run");
    int d = attach();
    cr_expect_eq(rig.worker.last_attach.run, other);
    cr_expect_neq(rig.worker.last_attach.group, other, "nobody can name a run as a group");
    leave(a);
    leave(b);
    leave(c);
    leave(d);
    broker_rig_stop(&rig);
}

Test(broker_job, a_process_is_of_the_run_of_the_job_from_which_it_descends) {
    broker_rig_start(&rig);
    hello.job.run = 41;
    int a = attach();
    uint32_t run = rig.worker.last_attach.run;
    cr_expect_eq(run_of_child(0), run);
    cr_expect_eq(run_of_child(43), run, "though it was started by another salusctl run");
    leave(a);
    cr_expect_neq(run_of_child(43), run, "the job is gone");
    broker_rig_stop(&rig);
}

Test(ancestry, the_parent_is_found_whatever_a_process_calls_itself) {
    cr_expect_eq(ancestry_parent("12 (a) S 34 12 12 0"), 34);
    cr_expect_eq(ancestry_parent("12 (a) R 99 (b) S 34 12 12 0"), 34);
    cr_expect_eq(ancestry_parent("12 ()))) S 34"), 34);
    cr_expect_eq(ancestry_parent("12 (a) S -1 12"), 0);
    cr_expect_eq(ancestry_parent("12 (a) S 4294967297 12"), 0);
    cr_expect_eq(ancestry_parent("12 (a) S"), 0);
    cr_expect_eq(ancestry_parent("12 (a"), 0);
    cr_expect_eq(ancestry_parent(""), 0);
}

Test(ancestry, ends_at_the_first_process_and_at_none) {
    static const pid_t none[] = {1, 0, -5};
    struct ancestry a;

    ancestry_read(getpid(), &a);
    cr_assert_gt(a.count, 0);
    cr_expect_eq(a.pids[0], getppid());
    cr_expect(ancestry_has(&a, getppid()));
    cr_expect_not(ancestry_has(&a, getpid()));
    cr_expect_gt(a.pids[a.count - 1], 1);
    for (int i = 0; i < 3; i++) {
        ancestry_read(none[i], &a);
        cr_expect_eq(a.count, 0);
    }
}

Test(groups, numbers_never_collide) {
    static struct groups g;
    uint32_t first = groups_take(&g, 1000, "a"), taken = groups_hash(1000, "b");

    g.table[0].number = taken; /* as if "a" had the hash of "b" */
    cr_assert_neq(groups_take(&g, 1000, "b"), taken);
    cr_assert_eq(groups_take(&g, 1000, "a"), taken, "what was given stays");
    cr_assert_neq(groups_take(&g, 1001, "a"), taken, "users do not meet");
    cr_assert_neq(first, 0);
    cr_assert_eq(groups_take(&g, 1000, ""), 0);
}

Test(groups, places_are_used_again_and_a_full_table_gives_none) {
    static struct groups g;
    char name[16];
    uint32_t last = 0;

    for (int i = 0; i < GROUPS_MAX; i++) {
        snprintf(name, sizeof(name), "g%d", i);
        last = groups_take(&g, 1, name);
        cr_assert_neq(last, 0);
    }
    cr_assert_eq(groups_take(&g, 1, "one too many"), 0);
    groups_put(&g, 0);
    cr_assert_eq(groups_take(&g, 1, "g3"), groups_take(&g, 1, "g3"));
    groups_put(&g, last);
    cr_assert_neq(groups_take(&g, 1, "one too many"), 0);
}

/* ---- profiles -------------------------------------------------------------------------------- */

/* Writes the counters of a job that was measured. */
static void measure(uint64_t p, uint64_t e) {
    struct wire_stats *st = &rig.worker.page->stats;

    atom_store_relaxed(&st->persistent_peak_bytes, p);
    atom_store_relaxed(&st->ephemeral_peak_bytes, e);
    atom_store_relaxed(&st->iterations, 40);
    atom_store_relaxed(&st->iteration_ns, 1000);
    atom_store_relaxed(&st->measured, 1);
}

Test(broker_job, the_second_run_of_a_program_is_known) {
    const struct wire_job *j = &rig.worker.last_attach.job;
    struct asker a = {.request = {.verb = CTL_V_job_list}};
    int fd;

    rig.config.unknown_memory = MIB;
    broker_rig_start(&rig);
    hello.job.profile = 42;
    fd = attach();
    measure(10 * MIB, 20 * MIB);
    leave(fd);
    fd = attach();
    cr_assert_eq(j->flags, WIRE_JOB_RESERVED);
    cr_assert_eq(j->persistent_bytes, 10 * MIB);
    cr_assert_eq(j->ephemeral_bytes, 20 * MIB);
    cr_assert_eq(j->iterations, 40);
    cr_assert_eq(j->duration_ns, 40000);
    a.fd = broker_rig_connect(&rig, "ctl.sock");
    cr_assert(asker_ask(&a));
    cr_assert_str_eq(a.items[0].job.reservation, "profile");
    close(a.fd);
    leave(fd);
    hello.job.profile = 43;
    leave(attach());
    cr_assert_eq(j->persistent_bytes, MIB, "another program is not known");
    cr_assert_eq(j->iterations, 0);
    hello.job.profile = 42;
    hello.job.flags = WIRE_JOB_RESERVED;
    hello.job.persistent_bytes = 3 * MIB;
    hello.job.iterations = 7;
    leave(attach());
    cr_assert_eq(j->persistent_bytes, 3 * MIB, "what it says counts");
    cr_assert_eq(j->iterations, 7);
    cr_assert_eq(j->duration_ns, 0);
    broker_rig_stop(&rig);
}

Test(broker_job, nothing_is_learned_of_a_job_that_was_not_measured) {
    int fd;

    broker_rig_start(&rig);
    hello.job.profile = 42;
    fd = attach();
    measure(10 * MIB, 20 * MIB);
    atom_store_relaxed(&rig.worker.page->stats.measured, 0);
    leave(fd);
    leave(attach());
    cr_assert_eq(rig.worker.last_attach.job.flags, 0);
    broker_rig_stop(&rig);
}

/* Starts a broker in the directory of a stopped one. */
static void restart(void) {
    broker_rig_stop_keep(&rig);
    broker_rig_start(&rig);
}

static char *path_of(const char *name) {
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", rig.dir, name);
    return path;
}

Test(broker_job, what_was_learned_outlives_the_daemon) {
    struct stat st;
    int fd;

    broker_rig_start(&rig);
    hello.job.profile = 42;
    fd = attach();
    measure(10 * MIB, 20 * MIB);
    leave(fd);
    restart();
    cr_assert_eq(stat(path_of("profiles"), &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
    leave(attach());
    cr_assert_eq(rig.worker.last_attach.job.persistent_bytes, 10 * MIB);
    cr_assert_neq(access(path_of("profiles.new"), F_OK), 0);
    broker_rig_stop(&rig);
}

Test(broker_job, it_is_written_while_the_daemon_runs) {
    int fd;

    broker_rig_start(&rig);
    hello.job.profile = 42;
    fd = attach();
    measure(10 * MIB, 20 * MIB);
    leave(fd);
    cr_assert(PATIENCE_UNTIL(access(path_of("profiles"), F_OK) == 0));
    broker_rig_stop(&rig);
}

static void spoil(const char *text) {
    FILE *f = fopen(path_of("profiles"), "w");

    fputs(text, f);
    fclose(f);
}

Test(broker_job, a_file_that_is_damaged_is_set_aside) {
    spoil("salus-profiles 1 2\n0 42 1 1 1 1 1 1\n");
    broker_rig_start(&rig);
    hello.job.profile = 42;
    leave(attach());
    cr_assert_eq(rig.worker.last_attach.job.flags, 0);
    cr_assert_eq(access(path_of("profiles.corrupt"), F_OK), 0);
    cr_assert_neq(access(path_of("profiles"), F_OK), 0);
    broker_rig_stop(&rig);
}

Test(broker_job, where_nothing_is_to_be_kept_nothing_is) {
    int fd;

    strcpy(rig.config.profiles, "");
    spoil("salus-profiles 1 1\n0 42 1 1 1 1 1 1\n");
    broker_rig_start(&rig);
    hello.job.profile = 42;
    fd = attach();
    cr_assert_eq(rig.worker.last_attach.job.flags, 0);
    measure(10 * MIB, 20 * MIB);
    leave(fd);
    leave(attach());
    cr_assert_eq(rig.worker.last_attach.job.flags, 0);
    broker_rig_stop(&rig);
}

Test(broker_job, a_disk_that_cannot_be_written_stops_nothing) {
    int fd;

    strcpy(rig.config.profiles, "/nonexistent/profiles");
    broker_rig_start(&rig);
    hello.job.profile = 42;
    fd = attach();
    measure(10 * MIB, 20 * MIB);
    leave(fd);
    leave(attach());
    cr_assert_eq(rig.worker.last_attach.job.persistent_bytes, 10 * MIB, "known all the same");
    broker_rig_stop(&rig);
}

/* ---- the history ----------------------------------------------------------------------------- */

static struct asker reader;

static const struct ctl_ended *ended_job(uint32_t id) {
    reader.fd = broker_rig_connect(&rig, "ctl.sock");
    reader.request = (struct ctl_request){.verb = CTL_V_history_list};
    cr_assert(asker_ask(&reader));
    close(reader.fd);
    for (int i = 0; i < reader.count; i++)
        if (reader.items[i].ended.id == id) return &reader.items[i].ended;
    cr_assert(false, "job %u is not in the history of %d", id, reader.count);
    return NULL;
}

static void expect_ended(uint32_t id, const char *how, const char *by, const char *exit) {
    const struct ctl_ended *e = ended_job(id);

    cr_expect_str_eq(e->how, how);
    cr_expect_str_eq(e->by, by, "job %u: by %s", id, e->by);
    cr_expect_str_eq(e->exit, exit, "job %u: exit %s", id, e->exit);
}

static int attach_run(uint32_t run) {
    hello.job.run = run;
    return attach();
}

/* True if the broker took the message; it closes the connection either way. */
static bool say_exit(const struct wire_exit *e, size_t bytes) {
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_offer o;
    ssize_t n;

    cr_assert_eq(fdutil_send(fd, e, bytes, NULL, 0), 0);
    n = recv(fd, &o, sizeof(o), 0);
    close(fd);
    return n == 0;
}

static struct wire_exit exit_of(uint32_t run, int status, int signal) {
    return (struct wire_exit){.magic = WIRE_EXIT_MAGIC,
                              .major = WIRE_MAJOR,
                              .minor = WIRE_MINOR,
                              .run = run,
                              .status = (uint16_t)status,
                              .signal = (uint16_t)signal};
}

static bool exited(uint32_t run, int status, int signal) {
    struct wire_exit e = exit_of(run, status, signal);

    return say_exit(&e, sizeof(e));
}

Test(broker_job, how_a_command_ended_is_told_of_the_jobs_of_its_run) {
    int before, after, other, none;

    broker_rig_start(&rig);
    before = attach_run(7);
    leave(before);
    after = attach_run(7);
    other = attach_run(8);
    none = attach_run(0);
    broker_rig_settle(&rig);
    expect_ended(1, "done", "unknown", "unknown");
    cr_expect(exited(7, 3, 0), "with one that has ended and one that is there still");
    leave(after);
    leave(other);
    leave(none);
    broker_rig_settle(&rig);
    expect_ended(1, "done", "itself", "3");
    expect_ended(2, "done", "itself", "3");
    expect_ended(3, "done", "unknown", "unknown");
    expect_ended(4, "done", "unknown", "unknown");
    cr_expect(exited(8, 0, 9));
    expect_ended(3, "done", "signal", "SIGKILL");
    cr_expect(exited(8, 0, 0) && exited(7, 1, 0));
    expect_ended(3, "done", "signal", "SIGKILL");
    expect_ended(2, "done", "itself", "3");
    broker_rig_stop(&rig);
}

Test(broker_job, an_end_that_cannot_be_is_refused) {
    struct wire_exit e = exit_of(7, 0, 0);

    broker_rig_start(&rig);
    leave(attach_run(7));
    broker_rig_settle(&rig);
    cr_expect_not(exited(0, 1, 0), "no run");
    cr_expect_not(exited(7, 256, 0), "no exit status");
    cr_expect_not(exited(7, 0, 65), "no signal");
    cr_expect_not(exited(7, 1, 9), "both");
    for (size_t n = offsetof(struct wire_exit, minor); n < sizeof(e); n++)
        cr_expect_not(say_exit(&e, n), "%zu bytes", n);
    e.major++;
    cr_expect_not(say_exit(&e, sizeof(e)), "another protocol");
    expect_ended(1, "done", "unknown", "unknown");
    broker_rig_stop(&rig);
}

Test(broker_job, who_ended_it_is_told) {
    char user[32], own[WIRE_COMMAND_BYTES];
    int fd;

    snprintf(user, sizeof(user), "user %u", (unsigned)getuid());
    broker_rig_start(&rig);
    fd = attach_run(5);
    reader.fd = broker_rig_connect(&rig, "ctl.sock");
    reader.request = (struct ctl_request){.verb = CTL_V_job_kill};
    ctl_msg_put(&reader.request, CTL_A_id, 1);
    cr_assert(asker_ask(&reader));
    reader.request = (struct ctl_request){.verb = CTL_V_user_limit};
    ctl_msg_put(&reader.request, CTL_A_uid, getuid());
    ctl_msg_put_text(&reader.request, CTL_A_limits, "user_device_memory=64MiB");
    cr_assert(asker_ask(&reader));
    close(reader.fd);
    close(fd);
    broker_rig_settle(&rig);
    expect_ended(1, "killed", user, "unknown");
    cr_expect(exited(5, 0, 15));
    expect_ended(1, "killed", user, "SIGTERM");
    fd = attach_run(0);
    cr_assert_eq(fdutil_send(fd, "nonsense", 8, NULL, 0), 0);
    cr_assert(broker_rig_closed(fd));
    broker_rig_settle(&rig);
    expect_ended(2, "expelled", "daemon", "unknown");
    hello.job.flags = WIRE_JOB_RESERVED;
    hello.job.persistent_bytes = 65 * MIB;
    expect_refused_somehow();
    expect_ended(3, "refused", "limit", "unknown");
    hello.job.persistent_bytes = 1ull << 45;
    expect_refused_somehow();
    expect_ended(4, "refused", "admission", "unknown");
    command_line_print(0, own, sizeof(own));
    cr_expect_str_eq(ended_job(3)->command, own);
    cr_expect_gt(ended_job(3)->waited_ns, 0);
    cr_expect_str_eq(ended_job(4)->command, own);
    cr_expect_gt(ended_job(4)->waited_ns, 0);
    broker_rig_stop(&rig);
}

static struct wire_command command_of(const char *text) {
    struct wire_command m = {.magic = WIRE_COMMAND_MAGIC};

    snprintf(m.text, sizeof(m.text), "%s", text);
    return m;
}

Test(broker_job, a_command_line_is_shown_as_text) {
    struct wire_command m = command_of("python3 \xc3\xa9.py\n\033[2J\x9b\"x\" \xff");
    int fd;

    broker_rig_start(&rig);
    leave(attach());
    fd = attach();
    cr_assert_eq(fdutil_send(fd, &m, sizeof(m), NULL, 0), 0);
    leave(fd);
    broker_rig_settle(&rig);
    cr_expect_str_eq(ended_job(1)->command, "unknown");
    cr_expect_str_eq(ended_job(2)->command, "python3 \xc3\xa9.py??[2J?\"x\" ?");
    broker_rig_stop(&rig);
}

static void expect_expelled(const struct wire_command *m, size_t bytes, bool again) {
    int fd = attach();

    cr_assert_eq(fdutil_send(fd, m, bytes, NULL, 0), 0);
    if (again) cr_assert_eq(fdutil_send(fd, m, bytes, NULL, 0), 0);
    cr_expect(broker_rig_closed(fd));
    close(fd);
}

Test(broker_job, a_command_line_that_is_none_ends_the_client) {
    struct wire_command m = command_of("prog");

    broker_rig_start(&rig);
    expect_expelled(&m, sizeof(m), true);
    expect_expelled(&m, sizeof(m) - 1, false);
    m.pad = 1;
    expect_expelled(&m, sizeof(m), false);
    m.pad = 0;
    memset(m.text, 'x', sizeof(m.text));
    expect_expelled(&m, sizeof(m), false);
    broker_rig_settle(&rig);
    cr_expect_str_eq(ended_job(1)->command, "prog", "the first counts");
    for (uint32_t id = 1; id <= 4; id++)
        expect_ended(id, "expelled", "daemon", "unknown");
    broker_rig_stop(&rig);
}

/* ---- clients that count as jobs -------------------------------------------------------------- */

static struct asker people;

/* The number of jobs shown to all users, which must agree everywhere. */
static size_t shown_jobs(void) {
    size_t jobs;

    people.fd = broker_rig_connect(&rig, "ctl.sock");
    people.request = (struct ctl_request){.verb = CTL_V_job_list};
    cr_assert(asker_ask(&people));
    jobs = people.count;
    people.request = (struct ctl_request){.verb = CTL_V_status};
    cr_assert(asker_ask(&people));
    cr_expect_eq(people.items[0].status.jobs, jobs);
    people.request = (struct ctl_request){.verb = CTL_V_gpu_list};
    cr_assert(asker_ask(&people));
    cr_expect_eq(people.items[0].gpu.jobs, jobs);
    close(people.fd);
    return jobs;
}

static size_t ended_jobs(void) {
    people.fd = broker_rig_connect(&rig, "ctl.sock");
    people.request = (struct ctl_request){.verb = CTL_V_history_list};
    cr_assert(asker_ask(&people));
    close(people.fd);
    return people.count;
}

/* Attaches a client that has no context yet. */
static int look_whether_there_is_a_gpu(struct wire_submission **s) {
    int fd = broker_rig_connect(&rig, "job.sock");

    broker_rig_attach_as(fd, &hello, fds);
    *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[WIRE_FD_SUBMISSION], 0);
    cr_assert_neq(*s, MAP_FAILED);
    atomic_store(&(*s)->used, 0);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
    return fd;
}

Test(broker_job, who_only_looks_is_no_job) {
    struct wire_submission *s;
    int fd;

    broker_rig_start(&rig);
    fd = look_whether_there_is_a_gpu(&s);
    cr_expect_eq(shown_jobs(), 0);
    leave(fd);
    broker_rig_settle(&rig);
    cr_expect_eq(ended_jobs(), 0);
    broker_rig_stop(&rig);
}

Test(broker_job, who_makes_a_context_is_one_from_there_on) {
    struct wire_submission *s;
    int fd;

    broker_rig_start(&rig);
    fd = look_whether_there_is_a_gpu(&s);
    cr_expect_eq(shown_jobs(), 0);
    atomic_store(&s->used, 1);
    cr_expect_eq(shown_jobs(), 1);
    atomic_store(&s->used, 0);
    cr_expect_eq(shown_jobs(), 1, "it cannot hide again");
    leave(fd);
    broker_rig_settle(&rig);
    cr_expect_eq(ended_jobs(), 1);
    broker_rig_stop(&rig);
}

/* A client that reports no context is shown once it has done work, as the worker counts it. */
Test(broker_job, who_has_something_done_cannot_hide) {
    struct wire_stats *st;
    struct wire_submission *s;
    int fd;

    broker_rig_start(&rig);
    for (int i = 0; i < 6; i++) {
        fd = look_whether_there_is_a_gpu(&s);
        st = &rig.worker.page->stats;
        _Atomic uint64_t *const counters[] = {&st->launches, &st->copies,       &st->ops,
                                              &st->modules,  &st->memory_bytes, &st->queued};
        cr_expect_eq(shown_jobs(), 0);
        atomic_store(counters[i], 1);
        cr_expect_eq(shown_jobs(), 1, "counter %d", i);
        leave(fd);
        broker_rig_settle(&rig);
        cr_expect_eq(ended_jobs(), i + 1u);
    }
    broker_rig_stop(&rig);
}
