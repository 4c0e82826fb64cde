/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that change something and those that show the worker's activity, against a fake worker:
 * the messages to the worker, the replies to the caller, and permissions.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/broker/config/limits.h"
#include "daemon/broker/jobs/history.h"
#include "daemon/broker/jobs/overdue.h"
#include "daemon/broker/jobs/report_job.h"
#include "daemon/broker/server_parts.h"
#include "daemon/sched/sched.h"
#include "daemon/worker/recovery/savepoint.h"
#include "test/lib/broker/asker.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

#define S 1000000000ull

static struct broker_rig rig;
static struct asker asker;
static uint32_t job;
static int job_fd, fds[WIRE_FD_COUNT];

static void setup(void) {
    broker_rig_init(&rig);
    rig.config.overdue = 40 * S;
    broker_rig_start(&rig);
    job_fd = broker_rig_connect(&rig, "job.sock");
    job = broker_rig_attach(job_fd, fds).job_id;
    asker.fd = broker_rig_connect(&rig, "ctl.sock");
}

static void teardown(void) {
    close(asker.fd);
    fdutil_close(&job_fd);
    broker_rig_stop(&rig);
}

TestSuite(broker_control, .init = setup, .fini = teardown, .timeout = 180);

/* A request with up to two numeric arguments; `text` adds a text argument. */
static bool ask(enum ctl_verb verb, int a, int64_t x, int b, int64_t y) {
    asker.request = (struct ctl_request){.verb = verb};
    if (a >= 0) ctl_msg_put(&asker.request, a, x);
    if (b >= 0) ctl_msg_put(&asker.request, b, y);
    return asker_ask(&asker);
}

static void expect_refusal(const char *code, const char *text) {
    cr_assert_str_eq(asker.reply.code, code);
    cr_assert_str_eq(asker.reply.text, text, "%s", asker.reply.text);
}

static const struct ctl_job *job_now(void) {
    cr_assert(ask(CTL_V_job_show, CTL_A_id, job, -1, 0));
    return &asker.items[0].job;
}

static int ended_jobs(void) {
    cr_assert(ask(CTL_V_history_list, -1, 0, -1, 0));
    return asker.count;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

Test(broker_control, a_job_is_changed_and_the_worker_told) {
    const struct wire_worker_msg *told = &rig.worker.last_set;

    cr_assert(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_weight, 7));
    cr_assert_eq(asker.items[0].job.weight, 7);
    cr_assert(broker_rig_wait(&rig.worker.sets, 1));
    cr_assert_eq(told->kind, WIRE_SET_JOB);
    cr_assert_eq(told->job_id, job);
    cr_assert_eq(told->job.weight, 7);
    cr_assert(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_priority, -3));
    cr_assert_eq(asker.items[0].job.priority, -3);
    cr_assert_eq(asker.items[0].job.weight, 7);
    cr_assert(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_iterations, 500));
    cr_assert(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_duration_ns, 5000000000));
    cr_assert_eq(asker.items[0].job.planned_iterations, 500);
    cr_assert_eq(asker.items[0].job.planned_ns, 5000000000);
    cr_assert_eq(told->job.priority, -3);
}

Test(broker_control, pause_and_resume_reach_the_worker) {
    cr_assert(ask(CTL_V_job_pause, CTL_A_id, job, -1, 0));
    cr_assert_str_eq(asker.items[0].job.state, "paused");
    cr_assert_eq(rig.worker.last_set.job.flags, WIRE_JOB_PAUSED);
    cr_assert(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_weight, 2));
    cr_assert_eq(rig.worker.last_set.job.flags, WIRE_JOB_PAUSED, "it stays paused");
    cr_assert(ask(CTL_V_job_resume, CTL_A_id, job, -1, 0));
    cr_assert_str_eq(asker.items[0].job.state, "running");
    cr_assert_eq(rig.worker.last_set.job.flags, 0);
}

Test(broker_control, what_the_worker_cannot_do_is_taken_back_and_said) {
    atomic_store(&rig.worker.set_result, -EINVAL);
    cr_assert_not(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_weight, 7));
    expect_refusal("failed", "the lever is stuck");
    cr_assert_eq(job_now()->weight, 1);
}

Test(broker_control, values_out_of_range_never_reach_the_worker) {
    cr_assert_not(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_weight, 0));
    expect_refusal("bad_request", "weight: 0 is not from 1 to 1000");
    cr_assert_not(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_weight, -1));
    expect_refusal("bad_request", "weight: -1 is not from 1 to 1000");
    cr_assert_not(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_priority, 1001));
    expect_refusal("bad_request", "priority: 1001 is not from -1000 to 1000");
    cr_assert_not(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_duration_ns, -1));
    expect_refusal("bad_request", "a time of the job is more than 36 years");
    cr_assert_not(ask(CTL_V_job_set, CTL_A_id, job, -1, 0));
    expect_refusal("bad_request", "the request names nothing to set");
    cr_assert_not(ask(CTL_V_job_set, CTL_A_id, 1ll << 40, CTL_A_weight, 1));
    expect_refusal("not_found", "salusd has no job 1099511627776");
    cr_assert_eq(atomic_load(&rig.worker.sets), 0);
}

/* Sets worker_timeout. The new value counts for orders from now on, and for a worker's silence
 * after its next message. When this returns, the broker has read the worker's earlier messages. */
static void set_timeout(uint64_t ns) {
    job_now();
    job_now();
    rig.server->broker.config.worker_timeout = ns;
}

Test(broker_control, a_worker_that_does_not_answer_is_said_and_its_late_answer_is_not_mistaken) {
    struct wire_worker_msg did = {.kind = WIRE_DID, .job_id = job};

    atomic_store(&rig.worker.set_silent, 1);
    atomic_store(&rig.worker.silent, 1);
    broker_rig_settle(&rig);
    set_timeout(S / 2);
    cr_assert_not(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_weight, 7));
    expect_refusal("failed",
                   "the GPU worker did not answer in time; the change may still take effect");
    set_timeout(60 * S);
    asker.request = (struct ctl_request){.verb = CTL_V_job_set};
    ctl_msg_put(&asker.request, CTL_A_id, job);
    ctl_msg_put(&asker.request, CTL_A_weight, 9);
    asker_send(&asker);
    cr_assert(broker_rig_wait(&rig.worker.sets, 2));
    did.result = -EIO; /* the answer to the first */
    broker_rig_say(&rig, &did);
    did.result = 0;
    broker_rig_say(&rig, &did);
    asker_hear(&asker);
    cr_assert(asker.reply.ok, "%s", asker.reply.text);
    cr_assert_eq(asker.items[0].job.weight, 9);
}

Test(broker_control, an_answer_that_nobody_asked_for_ends_the_worker) {
    struct wire_worker_msg did = {.kind = WIRE_DID};

    broker_rig_say(&rig, &did);
    cr_assert(broker_rig_closed(job_fd));
    cr_assert(broker_rig_wait(&rig.worker.launches, 2));
}

Test(broker_control, a_caller_that_leaves_while_the_worker_works_is_forgotten) {
    atomic_store(&rig.worker.set_silent, 1);
    asker.request = (struct ctl_request){.verb = CTL_V_job_set};
    ctl_msg_put(&asker.request, CTL_A_id, job);
    ctl_msg_put(&asker.request, CTL_A_weight, 9);
    asker_send(&asker);
    cr_assert(broker_rig_wait(&rig.worker.sets, 1));
    close(asker.fd);
    asker.fd = broker_rig_connect(&rig, "ctl.sock");
    broker_rig_say(&rig, &(struct wire_worker_msg){.kind = WIRE_DID});
    cr_assert(PATIENCE_UNTIL(job_now()->weight == 9));
}

Test(broker_control, a_worker_that_dies_meanwhile_is_said) {
    atomic_store(&rig.worker.set_silent, 1);
    asker.request = (struct ctl_request){.verb = CTL_V_job_pause};
    ctl_msg_put(&asker.request, CTL_A_id, job);
    asker_send(&asker);
    cr_assert(broker_rig_wait(&rig.worker.sets, 1));
    broker_rig_kill_worker(&rig);
    asker_hear(&asker);
    expect_refusal("failed", "the GPU worker ended: the worker closed its socket");
}

Test(broker_control, a_killed_job_is_told_and_remembered) {
    struct wire_submission *s = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fds[WIRE_FD_SUBMISSION], 0);
    char why[64];

    cr_assert(ask(CTL_V_job_kill, CTL_A_id, job, -1, 0));
    cr_assert_str_eq(asker.items[0].job.state, "ending");
    cr_assert_eq(asker.items[0].job.pid, getpid());
    cr_assert(broker_rig_closed(job_fd));
    cr_assert_eq(s->lost, (uint32_t)-ERR_ENDED);
    cr_assert(broker_rig_wait(&rig.worker.detached, 1));
    cr_assert_eq(atomic_load(&rig.worker.detach_result), ERR_ENDED, "the worker knows why");
    cr_assert_not(ask(CTL_V_job_kill, CTL_A_id, job, -1, 0));
    cr_assert_str_eq(asker.reply.code, "not_found");
    cr_assert(PATIENCE_UNTIL(ended_jobs() == 1));
    cr_assert_eq(asker.items[0].ended.id, job);
    cr_assert_str_eq(asker.items[0].ended.how, "killed");
    snprintf(why, sizeof(why), "by user %u", getuid());
    cr_assert_str_eq(asker.items[0].ended.why, why);
}

static bool limit(int64_t uid, const char *pairs) {
    asker.request = (struct ctl_request){.verb = CTL_V_user_limit};
    ctl_msg_put(&asker.request, CTL_A_uid, uid);
    ctl_msg_put_text(&asker.request, CTL_A_limits, pairs);
    return asker_ask(&asker);
}

Test(broker_control, only_root_the_daemons_user_and_the_owner_may) {
    const struct passwd *nobody = getpwnam("nobody");
    char path[128];
    int status, other;
    pid_t child;

    cr_assert(limits_admin(0));
    cr_assert(limits_admin(geteuid()));
    cr_assert_not(limits_admin(geteuid() + 1));
    if (geteuid() != 0 || !nobody) return; /* the test cannot act as another user */
    chmod(rig.dir, 0755);
    snprintf(path, sizeof(path), "%s/ctl.sock", rig.dir);
    chmod(path, 0666);
    child = fork();
    if (child == 0) {
        setgid(nobody->pw_gid);
        if (setuid(nobody->pw_uid) < 0) _exit(9);
        asker.fd = broker_rig_connect(&rig, "ctl.sock");
        if (ask(CTL_V_job_set, CTL_A_id, job, CTL_A_weight, 7)) _exit(1);
        if (strcmp(asker.reply.code, "not_permitted") != 0) _exit(2);
        if (ask(CTL_V_job_kill, CTL_A_id, job, -1, 0)) _exit(3);
        if (ask(CTL_V_policy_set, CTL_A_swap, 1, -1, 0)) _exit(4);
        if (strcmp(asker.reply.code, "not_permitted") != 0) _exit(5);
        if (ask(CTL_V_policy_set, CTL_A_swap, 1, CTL_A_dry_run, 1)) _exit(6);
        if (limit(nobody->pw_uid, "max_weight=7")) _exit(11);
        if (strcmp(asker.reply.code, "not_permitted") != 0) _exit(12);
        other = broker_rig_connect(&rig, "job.sock");
        job = broker_rig_attach(other, fds).job_id;
        if (ask(CTL_V_job_set, CTL_A_id, job, CTL_A_weight, 7)) _exit(7); /* above max_weight */
        if (strcmp(asker.reply.code, "not_permitted") != 0) _exit(8);
        /* at the cost of other users */
        if (ask(CTL_V_job_set, CTL_A_id, job, CTL_A_slo_ns, 5)) _exit(13);
        if (strcmp(asker.reply.code, "not_permitted") != 0) _exit(14);
        _exit(ask(CTL_V_job_set, CTL_A_id, job, CTL_A_priority, -7) ? 0
                                                                    : 10); /* the user's own job */
    }
    waitpid(child, &status, 0);
    cr_assert_eq(status, 0, "%x", status);
    cr_assert_eq(atomic_load(&rig.worker.sets), 1);
}

/* ---- users ----------------------------------------------------------------------------------- */

/* The user's jobs may not use all of a device of 1 GiB. */
Test(broker_control, the_total_of_a_device_is_what_its_user_may_have) {
    struct wire_question question = {
        .magic = WIRE_QUESTION_MAGIC, .major = WIRE_MAJOR, .minor = WIRE_MINOR};
    struct wire_view v;
    int own[WIRE_FD_COUNT], bytes = offsetof(struct wire_view, processes);

    cr_assert(limit(getuid(), "user_device_memory=64MiB"), "%s", asker.reply.text);
    int mine = broker_rig_connect(&rig, "job.sock"), fd = broker_rig_connect(&rig, "job.sock");
    fdutil_send(fd, &question, sizeof(question), NULL, 0);
    cr_assert_geq(fdutil_recv(fd, &v, sizeof(v), NULL, NULL), bytes);
    cr_expect_eq(v.device.memory_bytes, 64u << 20);
    cr_expect_eq(v.used_bytes, 0);
    cr_expect_eq(broker_rig_attach(mine, own).device.memory_bytes, 64u << 20);
    cr_assert(limit(getuid(), "user_device_memory=4GiB"), "%s", asker.reply.text);
    int other = broker_rig_connect(&rig, "job.sock");
    cr_expect_eq(broker_rig_attach(other, own).device.memory_bytes, 1u << 30);
    close(other);
    close(fd);
    close(mine);
}

Test(broker_control, a_users_limits_are_changed_at_once) {
    const struct ctl_user *t = &asker.items[0].user;

    cr_assert(limit(getuid(), "user_jobs=3 user_device_memory=64MiB max_priority=9"), "%s",
              asker.reply.text);
    cr_assert_eq(t->uid, getuid());
    cr_assert_eq(t->jobs, 1, "what it has is shown as well");
    cr_assert_eq(t->jobs_limit, 3 + 1);
    cr_assert_eq(t->device_limit_bytes, (64u << 20) + 1);
    cr_assert_eq(t->max_priority, 9 + 1);
    cr_assert(ask(CTL_V_user_list, -1, 0, -1, 0));
    cr_assert_eq(t->jobs_limit, 3 + 1);
    cr_assert(limit(getuid(), "user_jobs=5"));
    cr_assert_eq(t->jobs_limit, 5 + 1);
    cr_assert_eq(t->max_priority, 9 + 1, "what is not named stays");
    cr_assert(limit(54321, "user_controls=2"), "somebody who is not there");
    cr_assert_eq(t->controls_limit, 2 + 1);
    cr_assert_eq(t->connections, 0);
}

/* Adds the end of a job of this user to the history from this thread. Otherwise only the broker's
 * loop does that; it is idle meanwhile. */
static void remember(uid_t uid) {
    history_add(rig.server->broker.history, &(struct attachment){.job.uid = uid, .how = "done"});
}

static const struct ctl_user *shown_user(uid_t uid) {
    cr_assert(ask(CTL_V_user_list, -1, 0, -1, 0));
    for (int i = 0; i < asker.count; i++)
        if (asker.items[i].user.uid == uid) return &asker.items[i].user;
    return NULL;
}

Test(broker_control, a_user_is_known_who_is_here_was_here_or_has_limits) {
    const struct ctl_user *t = shown_user(getuid());

    cr_assert(t && asker.count == 1, "%d", asker.count);
    cr_assert(t->connections == 2 && t->jobs == 1 && t->ended == 0 && !t->own_limits);
    cr_assert(limit(54321, "user_controls=2"));
    remember(54322);
    remember(54322);
    remember(54320);
    t = shown_user(54321);
    cr_assert(t && asker.count == 4, "%d", asker.count);
    cr_assert(t->connections == 0 && t->ended == 0 && t->own_limits && t->controls_limit == 2 + 1);
    t = shown_user(54322);
    cr_assert(t && t->connections == 0 && t->ended == 2 && !t->own_limits);
    cr_assert(shown_user(54320));
    for (int i = 1; i < asker.count; i++)
        cr_assert_gt(asker.items[i].user.uid, asker.items[i - 1].user.uid, "in order");
    cr_assert(ask(CTL_V_user_list, CTL_A_after, 54321, -1, 0));
    cr_assert_eq(asker.count, 2, "a list goes on where it ended");
}

Test(broker_control, the_worker_is_told_of_limits) {
    cr_assert(limit(getuid(), "user_operations=77"));
    cr_assert(broker_rig_wait(&rig.worker.limits, 1));
    cr_assert_eq(rig.worker.last_limits.uid, getuid());
    cr_assert_eq(rig.worker.last_limits.limits.operations, 77);
}

Test(broker_control, a_job_above_a_limit_is_shown_as_what_it_was) {
    struct wire_hello hello = broker_rig_hello();
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_offer o;

    cr_assert(limit(getuid(), "user_jobs=1"), "%s", asker.reply.text);
    hello.job.flags = WIRE_JOB_NULL;
    fdutil_send(fd, &hello, sizeof(hello), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    cr_assert_eq(o.result, -EBUSY);
    cr_assert(ask(CTL_V_history_list, -1, 0, -1, 0));
    cr_assert_eq(asker.count, 1);
    cr_expect_str_eq(asker.items[0].ended.how, "refused");
    cr_expect_str_eq(asker.items[0].ended.mode, "null");
    cr_expect(strstr(asker.items[0].ended.name, "(not computed)"));
    close(fd);
}

Test(broker_control, wrong_limits_change_nothing) {
    static const struct {
        const char *pairs, *text;
    } cases[] = {
        {"user_jobs=3 max_weight=1001", "max_weight: 1001 is out of range: 1 to 1000"},
        {"user_jobs=3 user_pinned=65TiB", "user_pinned: 65TiB is out of range: 0 to 64TiB"},
        {"user_jobs=3 user_pinned=much", "user_pinned: 'much' is not a size such as 512MiB"},
        {"user_jobs=3 max_jobs=9", "key 'max_jobs' cannot be set in [user 54321]; the sections of "
                                   "users and groups take keys of [users]"},
        {"user_jobs=3 four", "'four' is not KEY=VALUE"},
        {"", "the request needs a user and at least one limit"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert_not(limit(54321, cases[i].pairs), "%s", cases[i].pairs);
        expect_refusal("bad_request", cases[i].text);
    }
    cr_assert_not(limit(UINT32_MAX, "user_jobs=3"));
    cr_assert(limit(54321, "max_weight=2"));
    cr_assert_neq(asker.items[0].user.jobs_limit, 3 + 1, "of a wrong request nothing counts");
}

/* ---- policies -------------------------------------------------------------------------------- */

static bool set_policy(const char *lane, int arg, int64_t value) {
    asker.request = (struct ctl_request){.verb = CTL_V_policy_set};
    if (lane) ctl_msg_put_text(&asker.request, CTL_A_lane, lane);
    if (arg >= 0) ctl_msg_put(&asker.request, arg, value);
    return asker_ask(&asker);
}

Test(broker_control, the_policy_is_changed_live) {
    const struct policy_config *told = &rig.worker.last_set.policy;

    cr_assert(ask(CTL_V_policy_show, -1, 0, -1, 0));
    cr_assert_str_eq(asker.items[0].policy_config.lane, "fair");
    cr_assert_str_eq(asker.items[0].policy_config.exclusive, "auto");
    cr_assert(set_policy("srtf", CTL_A_max_lanes, 3));
    cr_assert_str_eq(asker.items[0].policy_config.lane, "srtf");
    cr_assert_eq(asker.items[0].policy_config.max_lanes, 3);
    cr_assert(broker_rig_wait(&rig.worker.sets, 1));
    cr_assert_eq(rig.worker.last_set.kind, WIRE_SET_POLICY);
    cr_assert_str_eq(told->lane, "srtf");
    cr_assert_str_eq(told->kernel, "streams");
    cr_assert_eq(told->max_lanes, 3);
    cr_assert_eq(told->overtakes, 16);
    cr_assert_eq(told->lease_factor, 10);
    cr_assert_eq(told->lease_ns, 1000000000);
    cr_assert_eq(told->exclusive, -1);
    cr_assert(set_policy(NULL, CTL_A_exclusive, 1));
    cr_assert(set_policy(NULL, CTL_A_swap, 1));
    cr_assert_str_eq(told->lane, "srtf", "what is not given stays");
    cr_assert_eq(told->exclusive, 1);
    cr_assert_eq(told->swap, 1);
    cr_assert(ask(CTL_V_policy_list, -1, 0, -1, 0));
    for (int i = 0; i < asker.count; i++)
        cr_assert_eq(asker.items[i].policy.chosen,
                     !strcmp(asker.items[i].policy.name, "srtf") ||
                         !strcmp(asker.items[i].policy.name, "streams") ||
                         !strcmp(asker.items[i].policy.name, "open"));
}

Test(broker_control, a_dry_run_tells_nobody) {
    asker.request = (struct ctl_request){.verb = CTL_V_policy_set};
    ctl_msg_put_text(&asker.request, CTL_A_lane, "fifo");
    ctl_msg_put(&asker.request, CTL_A_dry_run, 1);
    cr_assert(asker_ask(&asker));
    cr_assert_str_eq(asker.items[0].policy_config.lane, "fifo");
    cr_assert(ask(CTL_V_policy_show, -1, 0, -1, 0));
    cr_assert_str_eq(asker.items[0].policy_config.lane, "fair");
    cr_assert_eq(atomic_load(&rig.worker.sets), 0);
}

Test(broker_control, policies_that_cannot_be_are_refused) {
    cr_assert_not(set_policy("lottery", -1, 0));
    expect_refusal("bad_request", "salusd has no lane policy 'lottery'");
    cr_assert_not(set_policy("streams", -1, 0));
    expect_refusal("bad_request", "salusd has no lane policy 'streams'");
    cr_assert_not(set_policy("srtf", CTL_A_max_lanes, 257));
    expect_refusal("bad_request", "max_lanes: 257 is not from 0 to 256");
    cr_assert_not(set_policy(NULL, CTL_A_lease_ns, 5));
    expect_refusal("bad_request", "lease: 5ns is not from 1ms to 60min");
    cr_assert_not(set_policy(NULL, CTL_A_dur_threshold, 0));
    expect_refusal("bad_request", "dur_threshold: 0 is not from 0.1% to 100%");
    cr_assert_not(set_policy(NULL, CTL_A_dur_threshold, 1001));
    expect_refusal("bad_request", "dur_threshold: 100.1% is not from 0.1% to 100%");
    cr_assert_not(set_policy(NULL, CTL_A_sm_threshold, 1048577));
    expect_refusal("bad_request", "sm_threshold: 1048577 is not from 0 to 1048576");
    cr_assert_not(set_policy(NULL, CTL_A_inflight_cap, 0));
    expect_refusal("bad_request", "inflight_cap: 0 is not from 1 to 4096");
    cr_assert_not(set_policy(NULL, CTL_A_exclusive, 2));
    expect_refusal("bad_request", "exclusive: not yes, no or auto");
    cr_assert_not(set_policy(NULL, CTL_A_swap, -1));
    expect_refusal("bad_request", "swap: not yes or no");
    cr_assert_not(set_policy(NULL, -1, 0));
    expect_refusal("bad_request", "the request names nothing to set");
    atomic_store(&rig.worker.set_result, -EINVAL);
    cr_assert_not(set_policy("srtf", -1, 0));
    expect_refusal("failed", "the lever is stuck");
    cr_assert(ask(CTL_V_policy_show, -1, 0, -1, 0));
    cr_assert_str_eq(asker.items[0].policy_config.lane, "fair");
}

Test(broker_control, the_next_worker_has_the_policies_of_the_one_before) {
    cr_assert(set_policy("pack", -1, 0));
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_wait(&rig.worker.launches, 2));
    cr_assert(ask(CTL_V_policy_show, -1, 0, -1, 0));
    cr_assert_str_eq(asker.items[0].policy_config.lane, "pack");
    cr_assert(broker_rig_wait(&rig.worker.trials, 2));
    broker_rig_settle(&rig);
    cr_assert_eq(atomic_load(&rig.worker.sets), 1, "it was started with it");
}

/* ---- the worker's board ---------------------------------------------------------------------- */

Test(broker_control, lanes_are_read_from_the_board) {
    struct wire_board *b = rig.worker.board;

    cr_assert(ask(CTL_V_lane_list, -1, 0, -1, 0));
    cr_assert_eq(asker.count, 0);
    b->lane_count = 2;
    b->granted_bytes = 700;
    b->kept_bytes = 300;
    b->waiting_jobs = 4;
    b->lanes[0] = (struct wire_lane){.lane = 0, .jobs = 2, .holder = job, .bytes = 512};
    b->lanes[1] = (struct wire_lane){
        .lane = 7, .jobs = 1, .bytes = 64, .chunk_bytes = 32, .switches = 9, .busy_ns = 11};
    cr_assert(ask(CTL_V_lane_list, -1, 0, -1, 0));
    cr_assert_eq(asker.count, 2);
    cr_assert_eq(asker.items[0].lane.id, 0);
    cr_assert_eq(asker.items[0].lane.memory_bytes, 512);
    cr_assert_eq(asker.items[0].lane.holder, job);
    cr_assert_str_eq(asker.items[0].lane.holder_name, "rig");
    cr_assert(ask(CTL_V_lane_show, CTL_A_id, 7, -1, 0));
    cr_assert_eq(asker.items[0].lane.backed_bytes, 32);
    cr_assert_eq(asker.items[0].lane.switches, 9);
    cr_assert_not(ask(CTL_V_lane_show, CTL_A_id, 1, -1, 0));
    expect_refusal("not_found", "salusd has no lane 1");
    cr_assert(ask(CTL_V_gpu_list, -1, 0, -1, 0));
    cr_assert_eq(asker.items[0].gpu.lanes, 2);
    cr_assert_eq(asker.items[0].gpu.waiting, 4);
    cr_assert_eq(asker.items[0].gpu.granted_bytes, 700);
    cr_assert_eq(asker.items[0].gpu.kept_bytes, 300);
}

Test(broker_control, a_full_board_fits_one_message_and_a_torn_one_is_not_shown) {
    struct wire_board *b = rig.worker.board;

    b->lane_count = 5000; /* a value that only a broken worker writes */
    for (uint32_t i = 0; i < WIRE_LANES; i++)
        b->lanes[i] = (struct wire_lane){.lane = UINT32_MAX - i,
                                         .jobs = UINT32_MAX,
                                         .holder = job,
                                         .bytes = UINT64_MAX,
                                         .chunk_bytes = UINT64_MAX,
                                         .switches = UINT64_MAX,
                                         .busy_ns = UINT64_MAX};
    cr_assert(ask(CTL_V_lane_list, -1, 0, -1, 0));
    cr_assert_eq(asker.count, WIRE_LANES);
    atom_store_release(&b->seq, 1);
    cr_assert(ask(CTL_V_lane_list, -1, 0, -1, 0));
    cr_assert_eq(asker.count, 0);
    atom_store_release(&b->seq, 2);
    cr_assert(ask(CTL_V_lane_list, -1, 0, -1, 0));
    cr_assert_eq(asker.count, WIRE_LANES);
}

Test(broker_control, a_job_shows_what_its_counters_say) {
    struct wire_stats *st = &rig.worker.page->stats;
    const struct ctl_job *j = job_now();

    cr_assert_eq(j->lane, 0, "in no lane");
    cr_assert_str_eq(j->reservation, "");
    cr_assert_eq(j->weight, 1);
    atom_store_relaxed(&st->position, 3);
    atom_store_relaxed(&st->why, SCHED_WHY_MEMORY);
    cr_assert_str_eq(job_now()->state, "waiting");
    cr_assert_eq(j->position, 3);
    cr_assert_str_eq(j->why, "waits for memory: the job does not fit beside the admitted jobs");
    atom_store_relaxed(&st->position, 0);
    atom_store_relaxed(&st->lane, 1);
    atom_store_relaxed(&st->why, 77);
    atom_store_relaxed(&st->turn, 1);
    atom_store_relaxed(&st->source, 2);
    atom_store_relaxed(&st->measured, 1);
    atom_store_relaxed(&st->persistent_peak_bytes, 11);
    atom_store_relaxed(&st->ephemeral_peak_bytes, 12);
    atom_store_relaxed(&st->persistent_bytes, 13);
    atom_store_relaxed(&st->ephemeral_bytes, 14);
    atom_store_relaxed(&st->iterations, 15);
    atom_store_relaxed(&st->iteration_ns, 16);
    atom_store_relaxed(&st->waited_ns, 17);
    atom_store_relaxed(&st->survivors, 18);
    atom_store_relaxed(&st->switches, 19);
    atom_store_relaxed(&st->switched_bytes, 20);
    atom_store_relaxed(&st->swaps, 21);
    atom_store_relaxed(&st->demand_milli, 22);
    atom_store_relaxed(&rig.worker.page->usage.iteration_milli, 23);
    atom_store_relaxed(&rig.worker.page->usage.boundaries_percent, 24);
    atom_store_relaxed(&rig.worker.page->usage.refusals, 24);
    atom_store_relaxed(&rig.worker.page->usage.refused_bytes, 25);
    atom_store_relaxed(&rig.worker.page->usage.needed_bytes, 26);
    cr_assert_str_eq(job_now()->state, "running");
    cr_assert_eq(j->lane, 1, "lane 0, kept plus one");
    cr_assert_str_eq(j->why, "?");
    cr_assert_str_eq(j->boundaries, "period");
    cr_assert_eq(j->boundaries_percent, 24);
    cr_assert_str_eq(j->reservation, "measured");
    cr_assert(j->turn == 1 && j->persistent_peak_bytes == 11 && j->ephemeral_peak_bytes == 12 &&
              j->persistent_bytes == 13 && j->ephemeral_bytes == 14 && j->iterations == 15 &&
              j->iteration_ns == 16 && j->waited_ns == 17 && j->survivors == 18 &&
              j->switches == 19 && j->switched_bytes == 20 && j->swaps == 21 &&
              j->demand_milli == 22 && j->iteration_milli == 23 && j->refusals == 24 &&
              j->refused_bytes == 25 && j->needed_bytes == 26);
}

Test(broker_control, a_job_shows_its_savepoint) {
    struct wire_savepoint *k = &rig.worker.page->savepoint;
    const struct ctl_job *j = job_now();
    const uint64_t second_ns = 1000000000;

    cr_assert_str_eq(j->savepoint_why, "off", "it did not ask");
    atom_store_relaxed(&k->every_ns, second_ns);
    atom_store_relaxed(&k->reason, SAVEPOINT_ONCE);
    job_now();
    cr_assert_str_eq(j->savepoint_why,
                     "the job has done what cannot be repeated since its latest savepoint");
    cr_assert(!j->savepoints && !j->savepoint_age_ns && !j->savepoint_bytes && !j->returns);
    atom_store_relaxed(&k->reason, SAVEPOINT_NONE);
    atom_store_relaxed(&k->taken_ns, fdutil_now_ns() - 60 * second_ns);
    atom_store_relaxed(&k->bytes, 11);
    atom_store_relaxed(&k->count, 12);
    atom_store_relaxed(&k->took_ns, 13);
    atom_store_relaxed(&k->returns, 14);
    job_now();
    cr_assert_str_eq(j->savepoint_why, "", "there is one");
    cr_assert(j->savepoints == 12 && j->savepoint_bytes == 11 && j->savepoint_took_ns == 13 &&
              j->returns == 14);
    cr_assert(j->savepoint_age_ns >= 60 * second_ns && j->savepoint_age_ns < 3600 * second_ns);
    atom_store_relaxed(&k->taken_ns, 0); /* marks the entry as void */
    atom_store_relaxed(&k->reason, SAVEPOINT_CHANGED);
    job_now();
    cr_assert(!j->savepoint_age_ns && !j->savepoint_bytes && j->savepoints == 12);
    cr_assert_str_eq(j->savepoint_why,
                     "the job has freed memory, a texture or code since its latest savepoint");
    atom_store_relaxed(&k->taken_ns, UINT64_MAX); /* the worker's clock need not agree with ours */
    atom_store_relaxed(&k->reason, 99);
    job_now();
    cr_assert_eq(j->savepoint_age_ns, 0);
    cr_assert_str_eq(j->savepoint_why, "?");
}

/* ---- long-running operations ----------------------------------------------------------------- */

/* Writes the page as the worker does for an operation that has run for `ns`. */
static void set_running(struct wire_completion *page, const char *what, uint64_t ns) {
    struct wire_running *r = &page->running;

    atom_store_relaxed(&r->seq, atom_load_relaxed(&r->seq) + 1);
    r->since_ns = ns ? fdutil_now_ns() - ns : 0;
    r->busy_ns = ns / 2;
    r->launch = 7;
    snprintf(r->what, sizeof(r->what), "%s", what);
    atom_store_release(&r->seq, atom_load_relaxed(&r->seq) + 1);
}

Test(broker_control, what_runs_has_a_name_an_age_and_its_time_counts) {
    struct wire_completion *page = rig.worker.page;
    const struct ctl_job *j;

    atom_store_relaxed(&page->stats.busy_ns, 5);
    j = job_now();
    cr_assert_str_eq(j->running, "");
    cr_assert(j->running_ns == 0 && j->busy_ns == 5);
    set_running(page, "kernel spin\n", 5 * S);
    j = job_now();
    cr_assert_str_eq(j->running, "kernel spin?", "printable");
    cr_assert_geq(j->running_ns, 5 * S);
    cr_assert_eq(j->busy_ns, 5 * S / 2 + 5);
    atom_store_relaxed(&page->running.seq, atom_load_relaxed(&page->running.seq) + 1);
    j = job_now(); /* left by a writer that died while writing */
    cr_assert(j->running_ns == 0 && j->busy_ns == 5);
}

/* Attaches another job; the rig's page is then that job's, and the one before stays mapped. */
static struct wire_completion *attach_other(uint32_t *id) {
    int other[WIRE_FD_COUNT], fd = broker_rig_connect(&rig, "job.sock");

    rig.worker.page = NULL;
    *id = broker_rig_attach(fd, other).job_id;
    return rig.worker.page;
}

static void set_place(struct wire_completion *page, uint64_t lane, uint64_t turn, uint64_t why) {
    atom_store_relaxed(&page->stats.lane, lane);
    atom_store_relaxed(&page->stats.turn, turn);
    atom_store_relaxed(&page->stats.why, why);
}

static const char *why_of(uint32_t id) {
    cr_assert(ask(CTL_V_job_show, CTL_A_id, id, -1, 0));
    return asker.items[0].job.why;
}

static void expect_why(uint32_t id, const char *beginning) {
    const char *why = why_of(id);

    cr_assert_eq(strncmp(why, beginning, strlen(beginning)), 0, "%s", why);
}

Test(broker_control, who_waits_is_told_whose_kernel_has_run_for_how_long) {
    struct wire_completion *hog = rig.worker.page, *waiter, *third;
    uint32_t id, third_id;
    char named[64], other[128];
    const char *why;

    waiter = attach_other(&id);
    snprintf(named, sizeof(named), "waits for its turn: job %u's kernel spin has run for ", job);
    set_place(hog, 1, 1, SCHED_WHY_NONE);
    set_place(waiter, 1, 0, SCHED_WHY_TURN);
    set_running(waiter, "kernel own", 5 * S);
    do { /* again if the operation was a second old before we asked */
        set_running(hog, "kernel spin", S / 5);
        why = why_of(id);
    } while (fdutil_now_ns() - hog->running.since_ns > S);
    cr_assert_str_eq(why, "waits for its turn: another job of its lane has the turn");
    set_place(waiter, 2, 0, SCHED_WHY_LANE);
    snprintf(other, sizeof(other),
             "waits for its turn: job %u of lane 0 has the turn, and one lane runs at a time "
             "(exclusive)",
             job);
    cr_assert_str_eq(why_of(id), other);
    set_place(waiter, 1, 0, SCHED_WHY_TURN);
    set_running(hog, "kernel spin", 5 * S);
    expect_why(id, named);
    third = attach_other(&third_id); /* older, but in another lane and without the turn */
    set_place(third, 2, 0, SCHED_WHY_NONE);
    set_running(third, "copy", 8 * S);
    expect_why(id, named);
    /* the turn was taken from the job, but its operation still runs */
    set_place(hog, 1, 0, SCHED_WHY_NONE);
    expect_why(id, named);
    set_running(hog, "", 0);
    snprintf(named, sizeof(named), "waits for its turn: job %u's copy has run for ", third_id);
    expect_why(id, named);
    cr_assert_str_eq(why_of(third_id), "", "who may run waits for nobody");
}

Test(broker_control, who_waits_for_memory_is_told_of_what_is_overdue) {
    const char *plain = "waits for memory: the job does not fit beside the admitted jobs";
    struct wire_completion *hog = rig.worker.page, *waiter;
    char named[128];
    uint32_t id;

    waiter = attach_other(&id);
    set_place(waiter, 0, 0, SCHED_WHY_MEMORY);
    set_running(hog, "kernel spin", 5 * S);
    cr_assert_str_eq(why_of(id), plain, "not yet");
    set_running(hog, "kernel spin", 41 * S);
    snprintf(named, sizeof(named), "%s: job %u's kernel spin has run for ", plain, job);
    expect_why(id, named);
}

/* Logged once, then each time that the age has doubled; another operation starts anew. */
Test(overdue, the_log_is_told_seldom) {
    struct overdue o = {0};

    cr_assert_not(overdue_due(&o, 100, 9 * S, 10 * S));
    cr_assert(overdue_due(&o, 100, 10 * S, 10 * S));
    cr_assert_not(overdue_due(&o, 100, 19 * S, 10 * S));
    cr_assert(overdue_due(&o, 100, 55 * S, 10 * S));
    cr_assert_not(overdue_due(&o, 100, 79 * S, 10 * S));
    cr_assert(overdue_due(&o, 100, 80 * S, 10 * S));
    cr_assert(overdue_due(&o, 200, 11 * S, 10 * S));
    cr_assert_not(overdue_due(&o, 200, 500 * S, 0), "never");
}

Test(broker_control, a_refused_job_says_so_as_long_as_it_lives_and_after) {
    struct wire_worker_msg m = {.kind = WIRE_REFUSED, .job_id = job, .result = ERR_NO_MEMORY};

    strcpy(m.text, "waited 30 s\x1b");
    broker_rig_say(&rig, &m);
    cr_assert(PATIENCE_UNTIL(strcmp(job_now()->state, "refused") == 0));
    cr_assert_str_eq(asker.items[0].job.why, "waited 30 s?");
    fdutil_close(&job_fd);
    cr_assert(broker_rig_wait(&rig.worker.detached, 1));
    cr_assert(PATIENCE_UNTIL(ended_jobs() > 0));
    cr_assert_str_eq(asker.items[0].ended.how, "refused");
    cr_assert_str_eq(asker.items[0].ended.why, "waited 30 s?");
}

/* ---- history --------------------------------------------------------------------------------- */

Test(broker_control, the_last_moment_counts) {
    struct wire_stats *st = &rig.worker.page->stats;
    const struct ctl_ended *e = &asker.items[0].ended;

    atomic_store(&rig.worker.keep, 1); /* the worker has not finished with the job */
    fdutil_close(&job_fd);
    cr_assert(PATIENCE_UNTIL(strcmp(job_now()->state, "ending") == 0));
    atom_store_relaxed(&st->launches, 1234);
    atom_store_relaxed(&st->busy_ns, 99);
    atom_store_relaxed(&st->demand_milli, 500);
    atom_store_relaxed(&rig.worker.page->usage.iteration_milli, 600);
    atom_store_relaxed(&rig.worker.page->usage.refusals, 2);
    atom_store_relaxed(&rig.worker.page->usage.needed_bytes, 700);
    cr_assert_eq(job_now()->launches, 1234);
    /* The waiting clients learn that the worker ended; the job itself has no failure. */
    atom_store_release(&rig.worker.page->fault.cuda, 46);
    broker_rig_say(&rig, &(struct wire_worker_msg){.kind = WIRE_DETACHED, .job_id = job});
    cr_assert(PATIENCE_UNTIL(ended_jobs() > 0));
    cr_assert_eq(asker.count, 1);
    cr_assert_eq(e->number, 1);
    cr_assert_eq(e->id, job);
    cr_assert_str_eq(e->how, "done");
    cr_assert_eq(e->fault, 0);
    cr_assert_str_eq(e->why, "");
    cr_assert_eq(e->launches, 1234);
    cr_assert_eq(e->busy_ns, 99);
    cr_assert(e->demand_milli == 500 && e->iteration_milli == 600);
    cr_assert(e->refusals == 2 && e->needed_bytes == 700);
    cr_assert_geq(e->ended_ns, e->since_ns);
}

Test(broker_control, a_dead_worker_is_why_its_jobs_ended) {
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_closed(job_fd));
    cr_assert(ask(CTL_V_history_list, -1, 0, -1, 0));
    cr_assert_str_eq(asker.items[0].ended.how, "lost");
    cr_assert_str_eq(asker.items[0].ended.why,
                     "the GPU worker ended: the worker closed its socket");
}

static void count_item(void *arg, const void *record) {
    const struct ctl_ended *e = record;
    uint64_t *last = arg;

    cr_assert_eq(e->number, *last + 1, "in order, none twice, none missing");
    *last = e->number;
}

Test(history, the_last_1024_are_kept_and_come_in_parts) {
    struct history *h = history_create();
    struct attachment a = {.how = "expelled"};
    uint64_t after = 0, last = 5000 - HISTORY_MAX;
    int parts = 0;

    memset(a.job.name, 'n', 63);
    memset(a.why, 'w', 255);
    for (a.job_id = 1; a.job_id <= 5000; a.job_id++)
        history_add(h, &a);
    do {
        struct ctl_out *out = ctl_msg_create();
        struct ctl_reply reply;
        const void *bytes;
        char why[CTL_MSG_WHY_BYTES];
        size_t n;

        after = history_list(h, after, 0, out);
        cr_assert_eq(ctl_msg_reply(out, after, &bytes, &n), 0);
        cr_assert_eq(ctl_msg_reply_decode(bytes, n, CTL_RECORD_ENDED, &reply, count_item, &last,
                                          why, sizeof(why)),
                     0, "%s", why);
        ctl_msg_destroy(out);
        parts++;
    } while (after);
    cr_assert_eq(last, 5000);
    cr_assert_gt(parts, 1);
    history_destroy(h);
}

/* ---- ownership ------------------------------------------------------------------------------- */

Test(broker_control, which_kernel_failed_is_its_users_affair) {
    const uid_t readers[] = {7, 8, 0, geteuid()};

    for (size_t i = 0; i < 4; i++) {
        struct ctl_job lives = {.uid = 7,
                                .run = 5,
                                .fault = 700,
                                .fault_text = "kernel secret, launch 3",
                                .running = "kernel secret"};
        struct ctl_ended ended = {
            .uid = 7, .run = 5, .fault = 700, .why = "kernel secret, launch 3"};
        struct ctl_ended killed = {.uid = 7, .why = "by user 0"};
        bool reads = readers[i] != 8;

        report_job_hide(readers[i], &lives);
        report_ended_hide(readers[i], &ended);
        report_ended_hide(readers[i], &killed);
        cr_expect_eq(*lives.fault_text != 0, reads, "user %u", (unsigned)readers[i]);
        cr_expect_eq(*ended.why != 0, reads, "user %u", (unsigned)readers[i]);
        cr_expect_str_eq(lives.running, reads ? "kernel secret" : "kernel");
        cr_expect_eq(lives.fault, 700);
        cr_expect(lives.run == (reads ? 5 : 0) && ended.run == lives.run,
                  "who knows a run could pass a refusal off as one of its jobs'");
        cr_expect_str_eq(killed.why, "by user 0");
    }
}

/* Uses the verb table: the history itself does not change with its reader. */
Test(broker_control, a_history_is_not_changed_by_who_reads_it) {
    struct history *h = history_create();
    /* The page for events is too large for a stack. */
    static struct wire_completion completion = {.stats.faults = 1,
                                                .fault = {.cuda = 700, .text = "at 0x1234"}};
    struct attachment a = {.job_id = 1, .job.uid = 7, .completion = &completion};

    history_add(h, &a);
    for (int i = 0; i < 4; i++) {
        struct ctl_out *out = ctl_msg_create();
        const char *text;
        const void *bytes;
        size_t n;

        history_list(h, 0, i % 2 ? 7 : 8, out);
        cr_assert_eq(ctl_msg_reply(out, 0, &bytes, &n), 0);
        text = memmem(bytes, n, "0x1234", 6);
        cr_expect_eq(text != NULL, i % 2 == 1);
        ctl_msg_destroy(out);
    }
    history_destroy(h);
}
