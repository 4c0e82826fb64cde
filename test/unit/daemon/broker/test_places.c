/* SPDX-License-Identifier: Apache-2.0
 *
 * Places for jobs. Beyond max_jobs, jobs wait in the order of the queue, are shown with a reason,
 * time out, and can be ended. Users get places in turn, and silent clients keep no other client
 * out.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "test/lib/broker/asker.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

static struct broker_rig rig;
static struct asker asker;
static struct wire_hello hello;
static int fds[WIRE_FD_COUNT];

static void begin(uint64_t max_jobs) {
    broker_rig_init(&rig);
    rig.config.max_jobs = max_jobs;
    hello = broker_rig_hello();
}

static void start(void) {
    broker_rig_start(&rig);
    asker.fd = broker_rig_connect(&rig, "ctl.sock");
}

static void end(void) {
    close(asker.fd);
    broker_rig_stop(&rig);
}

TestSuite(places, .timeout = 180);

/* Says hello as a process of the `salusctl run` with this number. */
static int say_hello(uint32_t run) {
    int fd = broker_rig_connect(&rig, "job.sock");

    hello.job.run = run;
    cr_assert_eq(fdutil_send(fd, &hello, sizeof(hello), NULL, 0), 0);
    return fd;
}

static struct wire_offer hear_offer(int fd) {
    struct wire_offer o;

    broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
    return o;
}

/* Creates a context: before that, the client is not listed as a job. */
static struct wire_offer hear_offer_and_use(int fd) {
    struct wire_offer o;

    broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    broker_rig_use(fds[WIRE_FD_SUBMISSION]);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
    return o;
}

static void accept_windows(int fd) {
    struct wire_answer a = {.magic = WIRE_MAGIC, .accepted = 1};
    struct wire_welcome w;

    cr_assert_eq(fdutil_send(fd, &a, sizeof(a), NULL, 0), 0);
    broker_rig_expect(fd, &w, sizeof(w), NULL, 0);
    cr_assert_eq(w.result, 0);
}

static int attach(uint32_t run) {
    int fd = say_hello(run);

    hear_offer_and_use(fd);
    accept_windows(fd);
    return fd;
}

static void expect_refused(int fd, int result, const char *text) {
    struct wire_offer o;

    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    cr_expect_eq(o.result, result);
    cr_expect_str_eq(o.text, text, "%s", o.text);
    close(fd);
}

/* The number of jobs that salusctl lists. */
static int list_jobs(void) {
    asker.request = (struct ctl_request){.verb = CTL_V_job_list};
    cr_assert(asker_ask(&asker), "%s", asker.reply.text);
    return asker.count;
}

static bool are_jobs(int count) {
    return list_jobs() == count;
}

Test(places, beyond_max_jobs_a_job_waits_and_is_shown_with_its_reason_and_place) {
    begin(1);
    start();
    int a = attach(1), b = say_hello(2), c = say_hello(3);
    cr_assert(PATIENCE_UNTIL(are_jobs(3)));
    for (int i = 1; i < 3; i++) {
        const struct ctl_job *j = &asker.items[i].job;
        cr_expect_str_eq(j->state, "waiting");
        cr_expect_eq(j->position, i);
        cr_expect_str_eq(j->why, "waits for admission: 1 jobs are attached (max_jobs = 1)");
        cr_expect_eq(j->pid, getpid());
    }
    uint64_t second = asker.items[1].job.id;
    close(a);
    cr_expect_eq(hear_offer_and_use(b).job_id, second, "it keeps its number");
    accept_windows(b);
    cr_assert(PATIENCE_UNTIL(are_jobs(2)));
    cr_expect_str_eq(asker.items[1].job.state, "waiting");
    close(b);
    hear_offer(c);
    close(c);
    end();
}

Test(places, one_that_waits_can_be_ended_and_goes_with_its_client) {
    begin(1);
    start();
    int a = attach(1), b = say_hello(2), c = say_hello(3);
    cr_assert(PATIENCE_UNTIL(are_jobs(3)));
    asker.request = (struct ctl_request){.verb = CTL_V_job_kill};
    ctl_msg_put(&asker.request, CTL_A_id, (int64_t)asker.items[1].job.id);
    cr_assert(asker_ask(&asker), "%s", asker.reply.text);
    expect_refused(b, ERR_ENDED, err_text(ERR_ENDED));
    close(c);
    cr_assert(PATIENCE_UNTIL(are_jobs(1)));
    close(a);
    end();
}

Test(places, a_wait_for_a_place_ends_at_the_timeout) {
    begin(1);
    rig.config.admit_timeout = 20000000;
    start();
    int a = attach(1);
    expect_refused(say_hello(2), -EBUSY,
                   "the job waited longer than its admit_timeout: 1 jobs are attached (max_jobs = "
                   "1); end some, or raise max_jobs in salus.conf(5)");
    close(a);
    end();
}

/* The other processes of its run may wait for it at a barrier. */
Test(places, a_process_whose_run_has_begun_does_not_wait) {
    begin(2);
    start();
    int a = attach(7), b = attach(8);
    expect_refused(say_hello(7), -EBUSY,
                   "the process waits for admission: 2 jobs are attached (max_jobs = 2), while "
                   "started processes of its run may wait for it; start fewer processes");
    close(a);
    close(b);
    end();
}

/* One of two processes of a run gets the place. If the other waited for admission, the first could
 * wait for it for ever. */
Test(places, of_a_run_that_waits_those_without_a_place_are_refused_when_one_begins) {
    begin(1);
    start();
    int a = attach(1), b = say_hello(7), c = say_hello(7);
    cr_assert(PATIENCE_UNTIL(are_jobs(3)));
    close(a);
    hear_offer(b);
    expect_refused(c, -EBUSY,
                   "the process waits for admission: 1 jobs are attached (max_jobs = 1), while "
                   "started processes of its run may wait for it; start fewer processes");
    close(b);
    end();
}

/* ---- silent clients -------------------------------------------------------------------------- */

/* An eighth of 16: such clients have windows and have not answered the offer. */
Test(places, clients_that_do_not_answer_hold_a_part_of_the_places) {
    begin(16);
    start();
    int silent[3];
    for (uint32_t i = 0; i < 2; i++) {
        silent[i] = say_hello(i + 1);
        hear_offer_and_use(silent[i]);
    }
    silent[2] = say_hello(3);
    cr_assert(PATIENCE_UNTIL(are_jobs(3)));
    const struct ctl_job *last = &asker.items[2].job;
    cr_expect_str_eq(last->state, "waiting");
    cr_expect_neq(strstr(last->why, "waits for admission: 2 jobs of user"), NULL, "%s", last->why);
    accept_windows(silent[0]);
    hear_offer_and_use(silent[2]);
    for (int i = 0; i < 3; i++)
        close(silent[i]);
    end();
}

Test(places, a_job_is_held_until_its_client_has_accepted_its_windows) {
    begin(4);
    start();
    int a = say_hello(1);
    hear_offer(a);
    cr_expect_eq(rig.worker.last_attach.flags, WIRE_ATTACH_HELD);
    cr_expect_eq(atomic_load(&rig.worker.begins), 0);
    accept_windows(a);
    cr_expect(broker_rig_wait(&rig.worker.begins, 1));
    close(a);
    end();
}

/* ---- users ----------------------------------------------------------------------------------- */

/* Starts a process of this user that says hello and exits when *word is set; returns its pid. */
static pid_t be_another(uid_t uid, int *word) {
    int ends[2];
    pid_t child;

    cr_assert_eq(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        char byte;
        for (int fd = 3; fd < 256; fd++) /* connections that belong to the test process */
            if (fd != ends[0]) close(fd);
        if (setgid(uid) < 0 || setuid(uid) < 0) _exit(9);
        say_hello(0);
        _exit(read(ends[0], &byte, 1) < 0);
    }
    close(ends[0]);
    *word = ends[1];
    return child;
}

/* Root has the only place and two more of its jobs wait; then a job of the user `nobody` comes, and
 * is next. */
Test(places, a_user_without_places_goes_before_one_with_some) {
    const struct passwd *nobody = getpwnam("nobody");
    int word, mine[4];

    if (geteuid() != 0 || !nobody) return; /* the test cannot act as another user */
    begin(2);
    start();
    chmod(rig.dir, 0755);
    for (uint32_t i = 0; i < 2; i++)
        mine[i] = attach(i + 1);
    for (uint32_t i = 2; i < 4; i++)
        mine[i] = say_hello(i + 1);
    cr_assert(PATIENCE_UNTIL(are_jobs(4)));
    pid_t other = be_another(nobody->pw_uid, &word);
    cr_assert(PATIENCE_UNTIL(are_jobs(5)));
    cr_expect_eq(asker.items[4].job.uid, nobody->pw_uid);
    int attached = atomic_load(&rig.worker.attached);
    close(mine[0]);
    cr_assert(broker_rig_wait(&rig.worker.attached, attached + 1));
    cr_expect_eq(rig.worker.last_attach.uid, nobody->pw_uid);
    close(word);
    waitpid(other, NULL, 0);
    for (int i = 1; i < 4; i++)
        close(mine[i]);
    end();
}
