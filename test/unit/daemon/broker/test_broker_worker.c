/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's life cycle under the broker: death, silence, invalid messages, a device that does
 * not open, and the effect of each on clients.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/broker/server_parts.h"
#include "daemon/policy/parameters.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

static struct broker_rig rig;

static void setup(void) {
    broker_rig_init(&rig);
}

TestSuite(broker_worker, .init = setup, .timeout = 180);

static struct wire_submission *map_submission(int fd) {
    struct wire_submission *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    cr_assert_neq(s, MAP_FAILED);
    return s;
}

static void *park(void *arg) {
    struct wire_submission *s = arg;

    while (atomic_load(&s->lost) == 0) {
        atomic_store(&s->client_sleeping, 1);
        if (atomic_load(&s->lost)) break;
        syscall(SYS_futex, &s->client_sleeping, FUTEX_WAIT, 1, NULL, NULL, 0);
    }
    return NULL;
}

Test(broker_worker, its_death_is_told_to_every_client_and_wakes_those_who_sleep) {
    int socks[3], fds[WIRE_FD_COUNT];
    struct wire_submission *pages[3];
    pthread_t sleepers[3];

    broker_rig_start(&rig);
    for (int i = 0; i < 3; i++) {
        socks[i] = broker_rig_connect(&rig, "job.sock");
        broker_rig_attach(socks[i], fds);
        pages[i] = map_submission(fds[WIRE_FD_SUBMISSION]);
        pthread_create(&sleepers[i], NULL, park, pages[i]);
    }
    for (int i = 0; i < 3; i++) /* each thread waits, or is about to */
        while (atomic_load(&pages[i]->client_sleeping) == 0)
            usleep(1000);
    broker_rig_kill_worker(&rig);
    for (int i = 0; i < 3; i++) {
        cr_assert(broker_rig_closed(socks[i]));
        cr_assert_eq(pthread_join(sleepers[i], NULL), 0);
        cr_assert_eq(atomic_load(&pages[i]->lost), (uint32_t)-ERR_WORKER_LOST);
        close(socks[i]);
    }
    cr_assert(broker_rig_wait(&rig.worker.launches, 2), "another worker is started");
    socks[0] = broker_rig_connect(&rig, "job.sock");
    broker_rig_attach(socks[0], fds);
    close(socks[0]);
    broker_rig_stop(&rig);
}

Test(broker_worker, nine_deaths_leave_no_descriptors) {
    int before = 0, fds[WIRE_FD_COUNT];

    broker_rig_start(&rig);
    for (int i = 1; i <= 9; i++) { /* an 11th restart would come after a pause */
        int fd = broker_rig_connect(&rig, "job.sock");

        broker_rig_attach(fd, fds);
        for (int k = 0; k < WIRE_FD_COUNT; k++)
            close(fds[k]);
        broker_rig_settle(&rig);
        if (i == 2) before = broker_rig_count_fds();
        if (i == 9) cr_assert(PATIENCE_UNTIL(broker_rig_count_fds() <= before));
        broker_rig_kill_worker(&rig);
        cr_assert(broker_rig_closed(fd));
        close(fd);
        cr_assert(broker_rig_wait(&rig.worker.launches, i + 1));
    }
    broker_rig_stop(&rig);
}

#define TIMEOUT_NS 1500000000ull

/* The number of restarts while the worker sent heartbeats for two seconds. It may have been
 * silent for `timeout_ns` at a time, but then rig.worker.silence_ns records that. */
static int starts_beside_heartbeat(uint64_t timeout_ns) {
    int launches, rests, later;

    rig.server->broker.config.worker_timeout = timeout_ns;
    broker_rig_settle(&rig);
    atomic_store(&rig.worker.silence_ns, 0);
    launches = atomic_load(&rig.worker.launches);
    rests = atomic_load(&rig.worker.rests);
    cr_assert(PATIENCE_UNTIL(atomic_load(&rig.worker.rests) - rests >= 100));
    later = atomic_load(&rig.worker.launches);
    broker_rig_settle(&rig);
    return later - launches;
}

Test(broker_worker, a_silent_one_is_replaced) {
    int fd, fds[WIRE_FD_COUNT], launches, starts;

    broker_rig_start(&rig);
    do { /* again if the machine was so busy that the worker was silent */
        rig.server->broker.config.worker_timeout = 60000000000;
        fd = broker_rig_connect(&rig, "job.sock");
        broker_rig_attach(fd, fds);
        starts = starts_beside_heartbeat(TIMEOUT_NS);
        launches = atomic_load(&rig.worker.launches);
    } while (atomic_load(&rig.worker.silence_ns) >= TIMEOUT_NS);
    cr_assert_eq(starts, 0, "its heartbeat keeps it");
    atomic_store(&rig.worker.silent, 1);
    cr_assert(broker_rig_closed(fd));
    cr_assert_eq(atomic_load(&map_submission(fds[WIRE_FD_SUBMISSION])->lost),
                 (uint32_t)-ERR_WORKER_LOST);
    atomic_store(&rig.worker.silent, 0);
    cr_assert(PATIENCE_UNTIL(atomic_load(&rig.worker.launches) > launches));
    close(fd);
    broker_rig_stop(&rig);
}

Test(broker_worker, one_that_speaks_nonsense_is_replaced) {
    atomic_store(&rig.worker.nonsense, 1);
    broker_rig_start(&rig);
    cr_assert(PATIENCE_UNTIL(atomic_load(&rig.worker.launches) >= 3));
    broker_rig_stop(&rig);
}

/* Expects that the worker is replaced after a message that breaks the protocol. The only job has
 * the number 1. */
static void expect_replaced_after(struct wire_worker_msg msg) {
    int fds[WIRE_FD_COUNT], fd;

    broker_rig_start(&rig);
    fd = broker_rig_connect(&rig, "job.sock");
    broker_rig_attach(fd, fds);
    broker_rig_say(&rig, &msg);
    cr_assert(broker_rig_closed(fd));
    cr_assert(broker_rig_wait(&rig.worker.launches, 2));
    close(fd);
    broker_rig_stop(&rig);
}

Test(broker_worker, detached_for_nobody) {
    expect_replaced_after((struct wire_worker_msg){.kind = WIRE_DETACHED, .job_id = 77});
}

Test(broker_worker, detached_for_a_client_that_lives) {
    expect_replaced_after((struct wire_worker_msg){.kind = WIRE_DETACHED, .job_id = 1});
}

Test(broker_worker, attached_twice) {
    expect_replaced_after((struct wire_worker_msg){.kind = WIRE_ATTACHED, .job_id = 1});
}

Test(broker_worker, ready_twice) {
    expect_replaced_after((struct wire_worker_msg){.kind = WIRE_READY});
}

Test(broker_worker, an_expelled_client_ends_alone) {
    struct wire_worker_msg out = {.kind = WIRE_EXPELLED, .result = ERR_PROTOCOL};
    int bad, good, fds[WIRE_FD_COUNT];
    struct wire_submission *s;
    struct wire_offer o;
    char byte;

    broker_rig_start(&rig);
    good = broker_rig_connect(&rig, "job.sock");
    broker_rig_attach(good, fds);
    bad = broker_rig_connect(&rig, "job.sock");
    o = broker_rig_attach(bad, fds);
    s = map_submission(fds[WIRE_FD_SUBMISSION]);
    out.job_id = o.job_id;
    strcpy(out.text, "record of 7 bytes");
    broker_rig_say(&rig, &out);
    cr_assert(broker_rig_closed(bad));
    cr_assert_eq(atomic_load(&s->lost), (uint32_t)-ERR_PROTOCOL);
    cr_assert(broker_rig_wait(&rig.worker.detached, 1), "the worker is told that it is gone");
    cr_assert_lt(recv(good, &byte, 1, MSG_DONTWAIT), 0);
    cr_assert_eq(errno, EAGAIN, "the other one goes on");
    cr_assert_eq(atomic_load(&rig.worker.launches), 1);
    broker_rig_stop(&rig);
}

/* Says hello and is refused. */
static struct wire_offer refusal(void) {
    struct wire_hello h = broker_rig_hello();
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_offer o;

    fdutil_send(fd, &h, sizeof(h), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    close(fd);
    return o;
}

static void expect_refusal(int result, const char *text) {
    struct wire_offer o = refusal();

    cr_assert_eq(o.result, result);
    cr_assert_str_eq(o.text, text);
}

static void wait_launches(int least) {
    cr_assert(
        PATIENCE_UNTIL(atomic_load(&rig.worker.launches) >= least || atomic_load(&rig.ended)));
    cr_assert_eq(atomic_load(&rig.ended), 0);
}

Test(broker_worker, a_device_that_does_not_open_is_named_to_clients) {
    rig.config.worker_timeout = 200000000;
    atomic_store(&rig.worker.ready_result, -EIO);
    broker_rig_start(&rig);
    wait_launches(2); /* the first worker has reported it */
    expect_refusal(
        ERR_WORKER_LOST,
        "the GPU worker is not running: the worker cannot open device soft: the fan is stuck");
    broker_rig_stop(&rig);
}

Test(broker_worker, clients_wait_for_a_worker_that_starts_slowly) {
    struct wire_hello h = broker_rig_hello();
    int fds[WIRE_FD_COUNT], fd;
    struct wire_offer o;

    atomic_store(&rig.worker.ready_result, -EIO);
    broker_rig_start(&rig);
    fd = broker_rig_connect(&rig, "job.sock");
    fdutil_send(fd, &h, sizeof(h), NULL, 0);
    usleep(100000);
    atomic_store(&rig.worker.ready_result, 0);
    broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    cr_assert_eq(o.result, 0);
    close(fd);
    broker_rig_stop(&rig);
}

Test(broker_worker, a_program_that_is_missing_is_named) {
    rig.config.worker_timeout = 200000000;
    strcpy(rig.config.worker, "/nonexistent/salus-gpu");
    broker_rig_start_real(&rig);
    expect_refusal(ERR_WORKER_LOST, "the GPU worker is not running: salusd cannot start salus-gpu: "
                                    "No such file or directory; set the option worker to its path");
    broker_rig_stop(&rig);
}

Test(broker_worker, a_program_that_exits_at_once_is_started_again_with_pauses) {
    rig.config.worker_timeout = 500000000;
    strcpy(rig.config.worker, "/bin/false");
    broker_rig_start_real(&rig);
    cr_assert(
        PATIENCE_UNTIL(/* before its end, nothing is known of the worker */
                       strcmp(refusal().text,
                              "the GPU worker is not running: the worker exited with status 1") ==
                       0));
    broker_rig_stop(&rig);
}

Test(broker_worker, a_program_that_hangs_does_not_hold_up_the_end) {
    char path[128];
    uint64_t start;
    FILE *f;

    snprintf(path, sizeof(path), "%s/worker", rig.dir);
    f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs("#!/bin/sh\nexec sleep 600\n", f);
    fchmod(fileno(f), 0755);
    fclose(f);
    strcpy(rig.config.worker, path);
    broker_rig_start_real(&rig);
    usleep(200000);
    start = fdutil_now_ns();
    broker_rig_stop(&rig);
    cr_assert_geq(fdutil_now_ns() - start, 1500000000u, "it is given time to end by itself");
    unlink(path);
    rmdir(rig.dir);
}

/* ---- readiness, and giving up ---------------------------------------------------------------- */

/* The exit status is for the daemon's starter, because no client could be served. */
Test(broker_worker, a_daemon_that_never_had_a_worker_ends) {
    rig.config.worker_tries = 2;
    atomic_store(&rig.worker.ready_result, -EIO);
    broker_rig_start(&rig);
    cr_assert(broker_rig_wait(&rig.ended, 1));
    cr_assert_eq(rig.result, -EIO);
    cr_assert_eq(atomic_load(&rig.worker.launches), 2);
    cr_assert_str_eq(server_trouble(rig.server),
                     "the worker cannot open device soft: the fan is stuck");
    broker_rig_stop(&rig);
}

/* An opened device is not enough. */
Test(broker_worker, one_that_attaches_no_job_is_not_ready) {
    rig.config.worker_tries = 2;
    atomic_store(&rig.worker.trial_result, -EINVAL);
    broker_rig_start(&rig);
    cr_assert(broker_rig_wait(&rig.ended, 1));
    cr_assert_str_eq(server_trouble(rig.server), "the worker cannot serve jobs: no room for it");
    cr_assert_eq(atomic_load(&rig.worker.trials), 2, "no other windows are tried for that");
    broker_rig_stop(&rig);
}

Test(broker_worker, windows_in_which_it_has_something_are_passed_over) {
    rig.config.worker_tries = 1;
    atomic_store(&rig.worker.trial_result, -EEXIST);
    broker_rig_start(&rig);
    cr_assert(broker_rig_wait(&rig.ended, 1));
    cr_assert_eq(atomic_load(&rig.worker.trials), 16);
    cr_assert_str_eq(server_trouble(rig.server),
                     "the worker cannot serve jobs: the worker uses addresses in each of the 16 "
                     "address windows that it tried; set window_base to a free address range");
    broker_rig_stop(&rig);
}

/* Clients are offered nothing before the trial job is over. */
Test(broker_worker, clients_wait_until_it_was_tried) {
    rig.config.worker_timeout = 200000000;
    atomic_store(&rig.worker.trial_silent, 1);
    broker_rig_start(&rig);
    cr_assert(broker_rig_wait(&rig.worker.trials, 1));
    expect_refusal(ERR_WORKER_LOST, "the GPU worker is not running: the worker is starting");
    cr_assert_eq(atomic_load(&rig.worker.attached), 0);
    broker_rig_stop(&rig);
}

static void attach_and_leave(void) {
    int fds[WIRE_FD_COUNT], fd = broker_rig_connect(&rig, "job.sock");

    broker_rig_attach(fd, fds);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
    close(fd);
}

/* Waiting clients are refused at once, whatever their timeout, and so are later ones. */
Test(broker_worker, one_that_does_not_come_back_is_given_up) {
    const char *why =
        "salusd gave up on the GPU worker: the worker cannot open device soft: the fan is stuck";

    rig.config.worker_tries = 3;
    rig.config.worker_timeout = 600000000000u;
    broker_rig_start(&rig);
    attach_and_leave();
    atomic_store(&rig.worker.ready_result, -EIO);
    broker_rig_kill_worker(&rig);
    wait_launches(2);
    expect_refusal(ERR_WORKER_LOST, why);
    cr_assert_eq(atomic_load(&rig.worker.launches), 1 + 3);
    expect_refusal(ERR_WORKER_LOST, why);
    cr_assert_eq(atomic_load(&rig.ended), 0, "it goes on, to be asked and told to retry");
    cr_assert_not(uv_is_active((const uv_handle_t *)&rig.server->supervise[0].timer),
                  "nobody waits for what it says");
    broker_rig_stop(&rig);
}

/* A shortage in the broker is not the worker's failure, and may be over soon. */
Test(broker_worker, a_shortage_of_ours_is_no_reason_to_give_it_up) {
    rig.config.worker_tries = 1;
    rig.config.worker_timeout = 600000000000u;
    atomic_store(&rig.worker.launch_result, -EAGAIN);
    broker_rig_start(&rig);
    wait_launches(2);
    atomic_store(&rig.worker.trial_result, -ENOMEM);
    atomic_store(&rig.worker.launch_result, 0);
    wait_launches(4);
    atomic_store(&rig.worker.trial_result, 0);
    attach_and_leave();
    cr_assert_eq(atomic_load(&rig.ended), 0);
    broker_rig_stop(&rig);
}

/* Two failures of three allowed ones, again and again. */
Test(broker_worker, a_good_run_makes_up_for_failures) {
    rig.config.worker_tries = 3;
    rig.config.worker_timeout = 600000000000u;
    atomic_store(&rig.worker.fail_ready, 2);
    broker_rig_start(&rig);
    for (int i = 0; i < 3; i++) {
        attach_and_leave();
        atomic_store(&rig.worker.fail_ready, 2);
        broker_rig_kill_worker(&rig);
        wait_launches(3 * i + 6);
    }
    attach_and_leave();
    broker_rig_stop(&rig);
}

/* A worker that writes its command line into the run directory and hangs. */
static char *arguments_of_the_worker(void) {
    static char text[4096];
    char path[128], args[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/worker", rig.dir);
    snprintf(args, sizeof(args), "%s/args", rig.dir);
    f = fopen(path, "w");
    fprintf(f, "#!/bin/sh\necho \"$@\" >%s.new; mv %s.new %s; exec cat <&3\n", args, args, args);
    fchmod(fileno(f), 0755);
    fclose(f);
    strcpy(rig.config.worker, path);
    broker_rig_start_real(&rig);
    cr_assert(PATIENCE_UNTIL(access(args, F_OK) == 0));
    f = fopen(args, "r");
    cr_assert_not_null(f);
    cr_assert_not_null(fgets(text, sizeof(text), f));
    fclose(f);
    unlink(path);
    unlink(args);
    broker_rig_stop(&rig);
    return text;
}

Test(broker_worker, the_configuration_is_its_command_line) {
    static const char begin[] =
        "--broker-fd 3 --keep 1 --device soft --gpu 0 --device-memory 12345 --sm-count 0 "
        "--capability 90 --completion auto "
        "--threads 0 --cancel-timeout-ns 10000000000 --kernel-timeout-ns 0 --deterministic 0 "
        "--subgrids 1 --subgrid-waves 2500 --windows-base 35184372088832 --windows-end "
        "85761906966528 --share-users 0 "
        "--savepoint-ns 10000000000 --clear-always 0 --lane-policy srtf "
        "--kernel-policy streams --control-policy open --set exclusive=0 --set swap=1 "
        "--set unknown_part=125 --set idle_after_ns=60000000000 --set grow_wait_ns=10000000000 "
        "--set max_lanes=3 "
        "--set overtakes=4 --set lease_factor=5 --set lease_ns=6000000 --set idle_turn_ns=1000000 "
        "--set inflight_cap=16 "
        "--set preempt_ns=0 --set priorities=-1 --set by_class=1 ";
    char end[160];
    const char *text;
    int parameters = 0;

    rig.config.device_memory = 12345;
    strcpy(rig.config.lane_policy, "srtf");
    strcpy(rig.config.lane_exclusive, "no");
    strcpy(rig.config.swap, "yes");
    strcpy(rig.config.subgrids, "yes");
    rig.config.subgrid_waves = 2500;
    rig.config.max_lanes = 3;
    rig.config.overtakes = 4;
    rig.config.lease_factor = 5;
    rig.config.lease = 6000000;
    snprintf(end, sizeof(end), "--crash-events %s/worker.events\n", rig.dir);
    text = arguments_of_the_worker();
    cr_assert_eq(strncmp(text, begin, strlen(begin)), 0, "%s", text);
    cr_assert_str_eq(strstr(text, "--crash-events"), end);
    for (const char *p = text; (p = strstr(p, " --set ")); p++)
        parameters++;
    cr_assert_eq(parameters, PARAMETERS, "each has its own: %s", text);
}

Test(broker_worker, what_the_policy_decides_is_left_to_it) {
    cr_assert_null(strstr(arguments_of_the_worker(), "--exclusive"));
}
