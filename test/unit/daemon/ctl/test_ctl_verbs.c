/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of salusctl that change jobs and the policy, show lanes and history, watch and record,
 * against a broker in this process with a fake worker.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/policy/parameters.h"
#include "daemon/policy/policies.h"
#include "daemon/sched/sched.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/broker/clirun.h"
#include "test/lib/patience.h"

static struct broker_rig rig;
static int job_fd, fds[WIRE_FD_COUNT];

static void setup(void) {
    struct wire_hello h = broker_rig_hello();

    broker_rig_init(&rig);
    broker_rig_start(&rig);
    setenv("SALUS_RUN_DIR", rig.dir, 1);
    job_fd = broker_rig_connect(&rig, "job.sock");
    h.job.weight = 3;
    broker_rig_attach_as(job_fd, &h, fds);
}

static void teardown(void) {
    clirun_forget();
    fdutil_close(&job_fd);
    broker_rig_stop(&rig);
}

TestSuite(ctl_verbs, .init = setup, .fini = teardown, .timeout = 180);

/* ---- policy ---------------------------------------------------------------------------------- */

static void expect_lines(const char *lines) {
    cr_assert_eq(clirun_status, 0, "status %d: %s", clirun_status, clirun_err);
    cr_assert(strstr(clirun_out, lines), "%s", clirun_out);
}

static int lines_out(void) {
    int n = 0;

    for (const char *p = clirun_out; *p; p++)
        n += *p == '\n';
    return n;
}

/* Checks presence and number only, because the tables grow with daemon/policy/policies.def. */
Test(ctl_verbs, policies_are_listed_shown_and_set) {
    int policies = 0;

    while (policies_at(policies))
        policies++;
    CTL("policy", "list");
    expect_lines("KIND     NAME          CHOSEN  WHAT IT RUNS NEXT\n"
                 "lane     fifo          0       one job at a time, in order of arrival\n");
    expect_lines(
        "lane     fair          1       equal device time for the jobs of a lane, by weight\n"
        "kernel   streams       1       every operation of the jobs that have a turn, in order of "
        "arrival\n");
    cr_assert_eq(lines_out(), 1 + policies);
    CTL("policy", "list", "--json");
    expect_lines(
        "\"parameters\":\t\"by_class by_size add_sizes sm_threshold dur_threshold train_limit\"");
    CTL("policy", "set", "--lane", "srtf", "exclusive=yes", "lease=2s", "max_lanes=4",
        "--kernel=orion", "--control=gpucolo", "dur_threshold=3.5%", "by_size=no", "preempt=1ms");
    expect_lines("lane:             srtf\n"
                 "kernel:           orion\n"
                 "control:          gpucolo\n"
                 "exclusive:        yes\n"
                 "swap:             no\n"
                 "unknown_part:     12.5%\n"
                 "idle_after:       1m00s\n"
                 "grow_wait:        10 s\n"
                 "max_lanes:        4\n"
                 "overtakes:        16\n"
                 "lease_factor:     10\n"
                 "lease:            2 s\n"
                 "idle_turn:        1 ms\n"
                 "inflight_cap:     16\n"
                 "preempt:          1 ms\n"
                 "priorities:       auto\n");
    expect_lines("by_size:          no\n");
    expect_lines("dur_threshold:    3.5%\n");
    expect_lines("sm_threshold_now: 0\n");
    cr_assert_eq(lines_out(), 4 + PARAMETERS + 2);
    cr_assert_eq(rig.worker.last_set.policy.dur_threshold, 35);
    cr_assert_str_eq(rig.worker.last_set.policy.lane, "srtf");
    cr_assert_eq(rig.worker.last_set.policy.lease_ns, 2000000000);
    CTL("policy", "set", "--json", "--dry-run", "--kernel=streams", "exclusive=auto");
    cr_assert_str_eq(clirun_text(clirun_json("policy"), "exclusive"), "auto");
    CTL("policy", "show", "--json");
    cr_assert_str_eq(clirun_text(clirun_json("policy"), "exclusive"), "yes");
    cr_assert_eq(clirun_number(clirun_json("policy"), "lease_seconds"), 2);
}

Test(ctl_verbs, what_the_daemon_refuses_is_passed_on) {
    CTL("policy", "set", "--lane", "lottery");
    EXPECT(2, "", "salusctl: salusd has no lane policy 'lottery'; see 'salusctl policy list'\n");
    CTL("policy", "set");
    EXPECT(2, "", "salusctl: the request names nothing to set; see 'salusctl policy show'\n");
    CTL("job", "set", "1", "weight=1001");
    EXPECT(2, "", "salusctl: weight: 1001 is not from 1 to 1000; see 'salusctl job show'\n");
    CTL("job", "pause", "77");
    EXPECT(4, "", "salusctl: salusd has no job 77; see 'salusctl job list'\n");
    CTL("lane", "show", "3");
    EXPECT(4, "", "salusctl: salusd has no lane 3; see 'salusctl lane list'\n");
}

/* ---- jobs ------------------------------------------------------------------------------------ */

Test(ctl_verbs, a_job_is_changed_paused_and_resumed) {
    CTL("job", "set", "1", "weight=7", "priority=-2", "iterations=10", "duration=1min");
    EXPECT(0, "job 1 (rig) changed: running, weight 7, priority -2\n", "");
    cr_assert_eq(rig.worker.last_set.job.duration_ns, 60000000000);
    CTL("job", "set", "1", "slo=90ms", "slo_of=p95");
    cr_assert_eq(rig.worker.last_set.job.slo_ns, 90000000);
    cr_assert_eq(rig.worker.last_set.job.slo_of, SCHED_SLO_P95);
    CTL("job", "set", "1", "slo_of=p42");
    EXPECT(2, "", "salusctl: slo_of: 'p42' is not mean, p50, p95 or p99\n");
    CTL("job", "pause", "1");
    EXPECT(0, "job 1 (rig) paused: paused, weight 7, priority -2\n", "");
    CTL("job", "resume", "1", "--json");
    cr_assert_str_eq(clirun_text(clirun_json("job"), "state"), "running");
    cr_assert_eq(clirun_number(clirun_json("job"), "priority"), -2);
    cr_assert(cJSON_IsNull(cJSON_GetObjectItem(clirun_json("job"), "lane")));
    atom_store_relaxed(&rig.worker.page->stats.lane, 1);
    CTL("job", "show", "1", "--json");
    cr_assert_eq(clirun_number(clirun_json("job"), "lane"), 0);
    CTL("job", "show", "1");
    cr_assert_not_null(strstr(clirun_out, "priority:           -2\n"), "%s", clirun_out);
    cr_assert_not_null(strstr(clirun_out, "lane:               0\n"), "%s", clirun_out);
    cr_assert_not_null(strstr(clirun_out, "\nrunning:            -\n"), "%s", clirun_out);
    cr_assert_not_null(strstr(clirun_out, "\nrunning_for:        0 s\n"), "%s", clirun_out);
    CTL("user", "limit", "54321", "user_pinned=64MiB");
    cr_assert_not_null(strstr(clirun_out, "pinned_limit:      64 MiB\n"), "%s", clirun_out);
    CTL("job", "kill", "1");
    PATIENCE_UNTIL((CTL("history", "--no-header"), strstr(clirun_out, "killed")));
    cr_assert_null(strstr(clirun_out, "user 0"), "it is root: %s", clirun_out);
}

Test(ctl_verbs, users_are_found_by_the_deprecated_verb_too) {
    CTL("user", "limit", "54321", "user_pinned=64MiB", "--json");
    cr_assert_eq(clirun_number(clirun_json("user"), "pinned_limit_bytes"), 64 << 20);
    CTL("tenant", "limit", "54321", "user_pinned=32MiB", "--json");
    cr_assert_eq(clirun_number(clirun_json("tenant"), "pinned_limit_bytes"), 32 << 20);
    CTL("user", "list", "--json");
    cr_assert(cJSON_IsArray(clirun_json("users")));
    CTL("tenant", "list", "--json");
    cr_assert(cJSON_IsArray(clirun_json("tenants")));
    CTL("tenant", "limit");
    EXPECT(2, "", "salusctl: usage: salusctl user limit USER KEY=VALUE...\n");
    CTL("tenant", "burn");
    cr_assert_not_null(strstr(clirun_err, "unknown verb 'tenant burn'"), "%s", clirun_err);
}

Test(ctl_verbs, a_job_shows_its_target_and_what_it_gives_up) {
    struct wire_slo *s = &rig.worker.page->slo;

    atom_store_relaxed(&s->slo_ns, 90000000);
    atom_store_relaxed(&s->slo_of, SCHED_SLO_P99);
    atom_store_relaxed(&s->measured_ns, 95000000);
    atom_store_relaxed(&s->periods, 12);
    atom_store_relaxed(&s->violations, 3);
    atom_store_relaxed(&s->stuck, 2);
    atom_store_relaxed(&s->pause_ns, 250000000);
    atom_store_relaxed(&s->sms, 7);
    CTL("job", "show", "1");
    expect_lines("slo:                90 ms\n"
                 "slo_of:             p99\n"
                 "measured:           95 ms\n"
                 "periods:            12\n"
                 "violations:         3\n"
                 "stuck:              2\n"
                 "pause:              250 ms\n"
                 "sms:                7\n");
    atom_store_relaxed(&s->slo_ns, 0);
    CTL("job", "show", "1", "--json");
    cr_assert_str_eq(clirun_text(clirun_json("job"), "slo_of"), "");
}

static const char *state_of(const char *job) {
    CTL("job", "show", job, "--json");
    return clirun_text(clirun_json("job"), "state");
}

Test(ctl_verbs, kill_signals_the_process_when_asked_to) {
    int status, fd, none[WIRE_FD_COUNT];
    pid_t child = fork();

    if (child == 0) {
        fd = broker_rig_connect(&rig, "job.sock");
        broker_rig_attach(fd, none);
        write(none[WIRE_FD_DOORBELL], &(uint64_t){1}, 8);
        for (;;)
            pause();
    }
    cr_assert(broker_rig_wait(&rig.worker.attached, 2));
    cr_assert(PATIENCE_UNTIL(strcmp(state_of("2"), "running") == 0)); /* has its welcome */
    CTL("job", "kill", "2", "--signal", "USR1");
    EXPECT(0, "job 2 (rig) ended: ending, weight 1, priority 0\n", "");
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    CTL("job", "kill", "1");
    cr_assert_eq(clirun_status, 0);
    cr_assert(broker_rig_closed(job_fd), "and this process lives on");
}

static uint64_t left_ns;

static void *leave_soon(void *arg) {
    usleep(300000);
    left_ns = fdutil_now_ns();
    shutdown(job_fd, SHUT_RDWR);
    return NULL;
}

/* Executes `job wait`, and lets the job leave meanwhile. */
static void wait_for_job(unsigned id) {
    char text[16];
    pthread_t t;

    snprintf(text, sizeof(text), "%u", id);
    pthread_create(&t, NULL, leave_soon, NULL);
    CTL("job", "wait", text);
    cr_assert_geq(fdutil_now_ns(), left_ns);
    pthread_join(t, NULL);
}

Test(ctl_verbs, wait_ends_when_the_job_has) {
    unsigned id = 1;

    CTL("job", "wait", "9");
    EXPECT(4, "", "salusctl: salusd has no job 9; see 'salusctl job list'\n");
    wait_for_job(id);
    while (clirun_status == 4) { /* the job had left before we asked: tries with another one */
        fdutil_close(&job_fd);
        job_fd = broker_rig_connect(&rig, "job.sock");
        id = broker_rig_attach(job_fd, fds).job_id;
        wait_for_job(id);
    }
    EXPECT(0, "", "");
}

/* ---- lanes and history ----------------------------------------------------------------------- */

/* Puts the job into lane 0 of two, with the turn. */
static void fill_lanes(void) {
    struct wire_board *b = rig.worker.board;
    struct wire_stats *st = &rig.worker.page->stats;

    b->lane_count = 2;
    b->granted_bytes = 768u << 20;
    b->lanes[0] = (struct wire_lane){
        .lane = 0, .jobs = 1, .holder = 1, .bytes = 256u << 20, .chunk_bytes = 128u << 20};
    b->lanes[1] = (struct wire_lane){.lane = 5, .bytes = 64u << 20};
    atom_store_relaxed(&st->lane, 1);
    atom_store_relaxed(&st->turn, 1);
    atom_store_relaxed(&st->persistent_bytes, 100u << 20);
    atom_store_relaxed(&st->ephemeral_bytes, 200u << 20);
    atom_store_relaxed(&st->iterations, 40);
    atom_store_relaxed(&st->iteration_ns, 25000000);
    atom_store_relaxed(&st->busy_ns, 1000000000);
}

Test(ctl_verbs, a_device_without_shares_is_shown) {
    CTL("policy", "show");
    expect_lines("shares:           yes\n");
    rig.worker.board->whole = 1;
    CTL("policy", "show");
    expect_lines("shares:           no: controllers have only pauses\n");
    CTL("policy", "set", "--dry-run", "--control=gpucolo");
    expect_lines("shares:           no: controllers have only pauses\n");
}

Test(ctl_verbs, lanes_are_listed) {
    CTL("lane", "list", "--no-header");
    EXPECT(0, "", "");
    fill_lanes();
    CTL("lane", "list");
    EXPECT(0,
           "GPU  LANE  MEMORY   BACKED   JOBS  HOLDER  NAME  SWITCHES  BUSY\n"
           "0    0     256 MiB  128 MiB  1     1       rig   0         0 s\n"
           "0    5     64 MiB   0 B      0     0       -     0         0 s\n",
           "");
    CTL("lane", "show", "5", "--json");
    cr_assert_eq(clirun_number(clirun_json("lane"), "memory_bytes"), 64 << 20);
}

Test(ctl_verbs, history_is_shown) {
    fill_lanes();
    fdutil_close(&job_fd);
    cr_assert(
        PATIENCE_UNTIL((CTL("history", "--json"), cJSON_GetArraySize(clirun_json("history")) > 0)));
    cr_assert_str_eq(clirun_text(cJSON_GetArrayItem(clirun_json("history"), 0), "how"), "done");
    cr_assert_eq(clirun_number(cJSON_GetArrayItem(clirun_json("history"), 0), "iterations"), 40);
    CTL("history", "--no-header");
    cr_assert_eq(strncmp(clirun_out, "1   rig   ", 10), 0, "%s", clirun_out);
    cr_assert_not_null(strstr(clirun_out, "  done  "));
    cr_assert_not_null(strstr(clirun_out, "  25 ms  "), "%s", clirun_out);
}

/* ---- top and record -------------------------------------------------------------------------- */

Test(ctl_verbs, top_draws_lanes_and_what_jobs_get) {
    const cJSON *job;

    fill_lanes();
    CTL("top", "--batch", "-n", "1", "-w", "0.05");
    EXPECT(0,
           "GPU 0 Fake GPU, ready   policy fair + streams   1 jobs, 0 waiting\n"
           "memory [==================0000000000555.........] 768 MiB of 1 GiB granted; = "
           "persistent, 0-9 lanes\n"
           "       ID NAME           STATE     PERSISTENT  EPHEMERAL   GOT   DUE  BUSY   ITER/S "
           "    EACH WHY\n"
           "lane 0  [0000000000..............................] 256 MiB, 1 jobs, 0 switches\n"
           "  *     1 rig            running      100 MiB    200 MiB     -     -    0%        0 "
           "   25 ms \n"
           "lane 5  [555.....................................] 64 MiB, 0 jobs, 0 switches\n"
           "\n",
           "");
    CTL("top", "--json", "-n", "2", "-w", "0.05");
    cr_assert_eq(clirun_status, 0);
    *strchr(clirun_out, '\n') = '\0';
    job = cJSON_GetArrayItem(clirun_json("jobs"), 0);
    cr_assert(cJSON_IsNull(cJSON_GetObjectItem(job, "entitled")), "who sleeps is due nothing");
    cr_assert(cJSON_IsNull(cJSON_GetObjectItem(job, "share")), "nobody got anything");
    cr_assert_eq(clirun_number(job, "iterations_per_second"), 0);
}

static char *slurp(const char *path) {
    static char text[4096];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    cr_assert_not_null(f);
    text[n] = '\0';
    fclose(f);
    return text;
}

/* Events after the file was created belong to the recording. */
static void *leave_recorded(void *path) {
    if (PATIENCE_UNTIL(access(path, F_OK) == 0)) leave_soon(NULL);
    return NULL;
}

/* The job may leave before the recording samples it: its peaks are in the history as well. */
Test(ctl_verbs, a_recording_is_a_workload) {
    char path[128];
    pthread_t t;

    snprintf(path, sizeof(path), "%s/recorded", rig.dir);
    fill_lanes();
    atom_store_relaxed(&rig.worker.page->stats.persistent_peak_bytes, 100u << 20);
    atom_store_relaxed(&rig.worker.page->stats.ephemeral_peak_bytes, 200u << 20);
    pthread_create(&t, NULL, leave_recorded, path);
    CTL("record", path, "--until-idle");
    pthread_join(t, NULL);
    cr_assert_eq(clirun_status, 0, "%s", clirun_err);
    cr_assert_str_eq(slurp(path),
                     "# recorded by salusctl\n"
                     "device memory=1GiB\n"
                     "job name=rig arrival=0 persistent=100MiB ephemeral=200MiB iterations=41 "
                     "iteration=24390243ns hint=none weight=3\n");
    unlink(path);
    CTL("record", "-", "--for", "10ms");
    EXPECT(0, "# recorded by salusctl\ndevice memory=1GiB\n", "");
    CTL("record", "/nonexistent/x");
    EXPECT(1, "", "salusctl: /nonexistent/x: No such file or directory\n");
}

Test(ctl_verbs, a_recording_that_cannot_begin_leaves_no_file) {
    const char *kinds[] = {"--events", "--kernels"};
    char path[128];

    snprintf(path, sizeof(path), "%s/recorded", rig.dir);
    for (int i = 0; i < 2; i++) {
        CTL("record", kinds[i], "--gpu", "7", path);
        cr_expect_eq(clirun_status, CLI_NOT_FOUND, "%d: %s", clirun_status, clirun_err);
        cr_expect_neq(access(path, F_OK), 0, "%s", kinds[i]);
    }
}
