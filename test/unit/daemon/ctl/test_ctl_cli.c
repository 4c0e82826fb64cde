/* SPDX-License-Identifier: Apache-2.0
 *
 * salusctl in this process against a broker in this process: its output, and its exit status in
 * every case that a test can produce.
 */
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/ctl/cli/advice.h"
#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/cli/usage.h"
#include "daemon/ctl/cli/user_name.h"
#include "daemon/ctl/environment/environment.h"
#include "daemon/ctl/salusctl.h"
#include "proto/wire/wire.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/broker/clirun.h"
#include "test/lib/patience.h"

static struct broker_rig rig;
static void setup(void) {
    unsetenv("SALUS_RUN_DIR");
    broker_rig_init(&rig);
    broker_rig_start(&rig);
    setenv("SALUS_RUN_DIR", rig.dir, 1);
}

static void remove_files(void);

static void teardown(void) {
    broker_rig_stop(&rig);
    remove_files();
}

TestSuite(ctl_cli, .fini = remove_files, .timeout = 180);
TestSuite(ctl_cli_daemon, .init = setup, .fini = teardown, .timeout = 180);

/* ---- usage ----------------------------------------------------------------------------------- */

Test(ctl_cli, wrong_usage_is_exit_2_and_says_what_is_wrong) {
    CTL("frobnicate");
    EXPECT(2, "", "salusctl: unknown verb 'frobnicate'; see 'salusctl --help'\n");
    CTL("job", "burn");
    EXPECT(
        2, "",
        "salusctl: unknown verb 'job burn'; the verbs are job list, job show, job set, job pause, "
        "job resume, job kill, job wait\n");
    CTL("gpu");
    EXPECT(2, "", "salusctl: unknown verb 'gpu'; the verbs are gpu list, gpu show, gpu retry\n");
    CTL("jo");
    EXPECT(2, "", "salusctl: unknown verb 'jo'; see 'salusctl --help'\n");
    CTL("policy", "set", "lane=srtf");
    EXPECT(2, "", "salusctl: 'lane' is an option and not a key: write --lane srtf\n");
    CTL("--jsn", "status");
    EXPECT(2, "", "salusctl: unknown option --jsn; see 'salusctl --help'\n");
    CTL("--json");
    EXPECT(2, "", "salusctl: a verb is needed; see 'salusctl --help'\n");
    CTL("status", "now");
    EXPECT(2, "", "salusctl: usage: salusctl status\n");
    CTL("job", "show");
    EXPECT(2, "", "salusctl: usage: salusctl job show JOB\n");
    CTL("job", "show", "first");
    EXPECT(2, "", "salusctl: job 'first' is not a number; see 'salusctl job list'\n");
    CTL("gpu", "show", "-1x");
    EXPECT(2, "", "salusctl: unknown option -1x; see 'salusctl --help'\n");
    CTL("--timeout", "never", "status");
    EXPECT(2, "",
           "salusctl: --timeout: 'never' is not a number of seconds from 0.001 to 1000000, such as "
           "2.5\n");
    CTL("--timeout=0", "status");
    EXPECT(
        2, "",
        "salusctl: --timeout: '0' is not a number of seconds from 0.001 to 1000000, such as 2.5\n");
    CTL("status", "--run-dir");
    EXPECT(2, "", "salusctl: --run-dir needs a value\n");
    CTL("run");
    EXPECT(2, "", "salusctl: usage: salusctl run [OPTION]... [--] CMD [ARG]...\n");
    CTL("run", "--name", "x");
    EXPECT(2, "", "salusctl: run: a command is needed, as in 'salusctl run -- ./prog'\n");
    CTL("run", "--persistent", "lots", "true");
    EXPECT(2, "", "salusctl: run: --persistent: 'lots' is not a size such as 512MiB\n");
    CTL("run", "--weight=0", "true");
    EXPECT(2, "", "salusctl: run: --weight: 0 is out of range: 1 to 1000\n");
    CTL("run", "--group");
    EXPECT(2, "", "salusctl: --group needs a value\n");
    CTL("job", "set", "3");
    EXPECT(2, "", "salusctl: usage: salusctl job set JOB KEY=VALUE...\n");
    CTL("job", "set", "3", "weight");
    EXPECT(2, "", "salusctl: 'weight' is not of the form KEY=VALUE\n");
    CTL("job", "set", "3", "wieght=1");
    EXPECT(2, "",
           "salusctl: unknown key 'wieght'; the keys are weight, priority, iterations, duration, "
           "request, slo, slo_of\n");
    CTL("job", "set", "3", "duration=5");
    EXPECT(
        2, "",
        "salusctl: duration: '5' is not a time; give a number and a unit, such as 30s or 5min\n");
    CTL("policy", "set", "dur_threshold=2.55%");
    EXPECT(2, "", "salusctl: dur_threshold: '2.55%' is not a percentage such as 2.5%\n");
    CTL("policy", "set", "dur_threshold=25");
    EXPECT(2, "", "salusctl: dur_threshold: '25' is not a percentage such as 2.5%\n");
    CTL("policy", "set", "swap=maybe");
    EXPECT(2, "", "salusctl: swap: 'maybe' is not yes or no\n");
    CTL("policy", "set", "--lane");
    EXPECT(2, "", "salusctl: --lane needs a value\n");
    CTL("policy", "set", "--dry-run=yes");
    EXPECT(2, "", "salusctl: --dry-run takes no value: write it without '='\n");
    CTL("policy", "show", "--dry-run");
    EXPECT(2, "", "salusctl: unknown option --dry-run; see 'salusctl --help'\n");
    CTL("--lane", "policy", "set");
    EXPECT(2, "", "salusctl: unknown option --lane; see 'salusctl --help'\n");
    CTL("job", "kill", "--signal", "HUGH", "3");
    EXPECT(2, "",
           "salusctl: --signal: 'HUGH' is not a signal; give a name or a number, such as TERM or "
           "15\n");
    CTL("top", "-n", "0");
    EXPECT(2, "", "salusctl: -n: '0' is not a number from 1\n");
    CTL("record", "--for", "soon", "x");
    EXPECT(
        2, "",
        "salusctl: --for: 'soon' is not a time; give a number and a unit, such as 30s or 5min\n");
    CTL("record", "--for", "1", "x");
    EXPECT(2, "",
           "salusctl: --for: '1' is not a time; give a number and a unit, such as 30s or 5min\n");
    CTL("run", "--nmae", "x", "true");
    EXPECT(2, "", "salusctl: run: unknown option --nmae; options of the command come after '--'\n");
}

/* Expects one line of error, whether the failure shows at the end or before. */
static void expect_full(const char *const *words) {
    char *argv[8], *err;
    int argc = 0;
    size_t n;
    FILE *out = fopen("/dev/full", "we"), *said = open_memstream(&err, &n);

    argv[argc++] = (char *)"salusctl";
    while (*words)
        argv[argc++] = strdup(*words++);
    argv[argc] = NULL;
    cr_expect_eq(salusctl_main(out, said, argc, argv), 1);
    fclose(out);
    fclose(said);
    cr_expect_str_eq(err, "salusctl: standard output: No space left on device\n");
    free(err);
}

#define FULL(...) expect_full((const char *const[]){__VA_ARGS__, NULL})

Test(ctl_cli, a_full_standard_output_is_said) {
    FULL("--help");
    FULL("--version");
}

Test(ctl_cli_daemon, a_full_standard_output_is_said) {
    FULL("version");
    FULL("--json", "gpu", "list");
    FULL("job", "list");
    FULL("--watch", "0.001", "job", "list");
    FULL("top", "--batch", "-n", "1");
    FULL("--json", "top", "-n", "1");
}

Test(ctl_cli, help_names_every_verb) {
    CTL("--help");
    cr_assert_eq(clirun_status, 0);
    cr_assert_str_eq(clirun_err, "");
    cr_assert_not_null(
        strstr(clirun_out, "  job show JOB         show one job with all its counters\n"));
    cr_assert_not_null(strstr(clirun_out, "  run [OPTION]... [--] CMD [ARG]...\n"));
    cr_assert_null(strstr(clirun_out, "history list"), "its name is shorter");
}

/* A command or an option before --help is not executed. */
Test(ctl_cli, help_is_where_people_ask_for_it) {
    char *help;

    CTL("--help");
    help = strdup(clirun_out);
    CTL("-h");
    EXPECT(0, help, "");
    CTL("help");
    EXPECT(0, help, "");
    CTL("help", "run");
    EXPECT(0, help, "");
    CTL("job", "-h");
    EXPECT(0, help, "");
    CTL("run", "--help");
    EXPECT(0, help, "");
    CTL("run", "-q", "-h", "--", "true");
    EXPECT(0, help, "");
    CTL("environment", "--help");
    EXPECT(0, help, "");
    CTL("doctor", "--help");
    EXPECT(0, help, "");
    free(help);
}

static const char *named(const char *text) {
    static char out[64];

    user_name_put(text, out, sizeof(out));
    return out;
}

Test(ctl_cli, users_have_names_where_the_daemon_has_numbers) {
    cr_expect_str_eq(named("user 0"), "user root");
    cr_expect_str_eq(named("by user 0, for user 0's job"), "by user root, for user root's job");
    cr_expect_str_eq(named("user 4000000000 has 1 jobs"), "user 4000000000 has 1 jobs");
    cr_expect_str_eq(named("user 99999999999, user 4294967295"),
                     "user 99999999999, user 4294967295");
    cr_expect_str_eq(named("superuser 0, user 0x0, user_0, user, user "),
                     "superuser 0, user 0x0, user_0, user, user ");
    cr_expect_str_eq(named("0"), "0");
    cr_expect_str_eq(named(""), "");
    cr_expect_eq(strlen(named("user 0 user 0 user 0 user 0 user 0 user 0 user 0 user 0 user 0")),
                 63, "it is cut");
}

/* The parser accepts exactly what the usage line shows. */
Test(ctl_cli, usage_lines_say_options_and_words) {
    static const struct {
        const char *usage;
        int least, most;
    } lines[] = {
        {"", 0, 0},
        {"JOB", 1, 1},
        {"JOB KEY=VALUE...", 2, -1},
        {"[--signal SIGNAL] JOB", 1, 1},
        {"[--lane NAME] [--dry-run] [KEY=VALUE]...", 0, -1},
        {"[--user USER] NAME|--all", 0, 1},
        {"[--any-device] FILE|-", 1, 1},
        {"[--user USER] [FILE]", 0, 1},
    };
    bool value;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        int least, most;

        usage_words(lines[i].usage, &least, &most);
        cr_expect_eq(least, lines[i].least, "%s", lines[i].usage);
        cr_expect_eq(most, lines[i].most, "%s", lines[i].usage);
    }
    cr_expect(usage_option("[--lane NAME] [--dry-run]", "--lane", &value) && value);
    cr_expect(usage_option("[--lane NAME] [--dry-run]", "--dry-run", &value) && !value);
    cr_expect(usage_option("NAME|--all", "--all", &value) && !value);
    cr_expect_not(usage_option("[--lane NAME]", "--la", &value));
    cr_expect_not(usage_option("[--] CMD", "--", &value));
}

/* ---- no daemon ------------------------------------------------------------------------------- */

Test(ctl_cli, no_daemon_is_exit_3_with_what_to_do) {
    setenv("SALUS_RUN_DIR", "/nonexistent", 1);
    CTL("status");
    EXPECT(3, "",
           "salusctl: no salusd answers at /nonexistent/ctl.sock; start it with 'salusd --run-dir "
           "/nonexistent', or use 'salusctl run --private'\n");
    CTL("run", "--", "true");
    EXPECT(3, "",
           "salusctl: no salusd answers in /nonexistent; start it with 'salusd --run-dir "
           "/nonexistent', or use 'salusctl run --private'\n");
}

/* Only the system's daemon belongs to systemd. The advice names only commands that do work
 * without a daemon. */
Test(ctl_cli, advice_goes_by_whose_daemon_it_is) {
    struct cli c = {.run_dir = CLI_RUN_DIR, .configured = true};
    char advice[ADVICE_BYTES];

    advice_start(&c, advice);
    cr_expect_str_eq(advice,
                     "start it with 'systemctl start salusd', or use 'salusctl run --private'");
    cr_expect_str_eq(advice_log(&c), "see 'journalctl -u salusd'");
    c = (struct cli){.run_dir = "/tmp/mine", .configured = true};
    advice_start(&c, advice);
    cr_expect_str_eq(advice,
                     "start it with 'salusd --run-dir /tmp/mine', or use 'salusctl run --private'");
    cr_expect_str_eq(advice_log(&c), "see the messages of the salusd started with this --run-dir");
}

Test(ctl_cli, version_needs_no_daemon) {
    CTL("--run-dir", "/nonexistent", "--version");
    EXPECT(0,
           "salusctl 0.1.0 (control protocol 1)\nsalusd is not running at /nonexistent/ctl.sock\n",
           "");
    CTL("--run-dir=/nonexistent", "version", "--json");
    cJSON *root = cJSON_Parse(clirun_out);
    cr_assert(cJSON_IsNull(cJSON_GetObjectItem(root, "salusd")));
    cJSON_Delete(root);
}

static char fake_dir[64], lib_dir[64];
static unsigned answer_after_ms; /* settings of the fake daemon */

static void fake_daemon(const char *reply, size_t n);

/* As a user who may not open the socket, and when the daemon's answer is invalid. */
Test(ctl_cli, version_says_what_it_could_not_ask) {
    char why[256];

    fake_daemon(NULL, 0);
    snprintf(why, sizeof(why), "%s/ctl.sock", fake_dir);
    chmod(why, 0);
    snprintf(why, sizeof(why),
             "salusctl: %s/ctl.sock: permission denied; only members of the group that owns it may "
             "use it: see 'ls -l %s/ctl.sock'\n",
             fake_dir, fake_dir);
    if (geteuid() == 0) {
        chmod(fake_dir, 0755);
        cr_assert_eq(seteuid(65534), 0);
    }
    CTL("version");
    if (getuid() == 0) seteuid(0);
    EXPECT(0, "salusctl 0.1.0 (control protocol 1)\nsalusd's version is unknown\n", why);
    fake_daemon("\xdd\xff\xff\xff\xff", 5);
    CTL("version");
    cr_assert_eq(clirun_status, 7);
    cr_assert_str_eq(clirun_out,
                     "salusctl 0.1.0 (control protocol 1)\nsalusd's version is unknown\n");
}

static void remove_files(void) {
    char command[256];

    clirun_forget();
    snprintf(command, sizeof(command), "rm -rf '%s' '%s'", *fake_dir ? fake_dir : "/nonexistent",
             *lib_dir ? lib_dir : "/nonexistent");
    cr_assert_eq(system(command), 0);
}

/* A server that never answers, or answers with these bytes. */
static void fake_daemon(const char *reply, size_t n) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    remove_files();
    strcpy(fake_dir, "/tmp/salus-fake-XXXXXX");
    cr_assert_not_null(mkdtemp(fake_dir));
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/ctl.sock", fake_dir);
    cr_assert_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    cr_assert_eq(listen(fd, 4), 0);
    setenv("SALUS_RUN_DIR", fake_dir, 1);
    if (!reply) return;
    if (fork() == 0) {
        char buf[4096];
        int c = accept(fd, NULL, NULL);

        if (recv(c, buf, sizeof(buf), 0) > 0 && n > 0) {
            usleep(answer_after_ms * 1000);
            send(c, reply, n, 0);
        }
        _exit(0);
    }
    close(fd);
}

static void expect_ending(int want, const char *ending) {
    cr_assert_eq(clirun_status, want, "status %d: %s", clirun_status, clirun_err);
    cr_assert(strlen(clirun_err) >= strlen(ending));
    cr_assert_str_eq(clirun_err + strlen(clirun_err) - strlen(ending), ending, "%s", clirun_err);
}

Test(ctl_cli, a_daemon_that_does_not_answer_is_exit_124) {
    fake_daemon(NULL, 0);
    CTL("--timeout", "0.2", "status");
    expect_ending(124, "/ctl.sock did not answer within 0.2 s; see the messages of the salusd "
                       "started with this --run-dir\n");
}

/* On a busy machine the daemon may be late. The job's environment depends on the answer. */
Test(ctl_cli, a_daemon_that_is_late_is_waited_for) {
    static const char reply[] = "\x83\xa2ok\xc3\xa4next\x00\xa5items\x91\x81\xa6"
                                "device\xa4soft";
    struct cli c = {.timeout_ms = 60000};

    answer_after_ms = 1500;
    fake_daemon(reply, sizeof(reply) - 1);
    snprintf(c.socket, sizeof(c.socket), "%s/ctl.sock", fake_dir);
    cr_assert(environment_on_software_gpu(&c));
}

/* Answers one question on job.sock; does not serve the control socket. */
static pid_t fake_job_socket(uint32_t library_capability) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    remove_files();
    strcpy(fake_dir, "/tmp/salus-fake-XXXXXX");
    cr_assert_not_null(mkdtemp(fake_dir));
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/job.sock", fake_dir);
    cr_assert_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    cr_assert_eq(listen(fd, 4), 0);
    pid_t child = fork();
    if (child == 0) {
        struct wire_view v = {.magic = WIRE_QUESTION_MAGIC, .major = WIRE_MAJOR};
        struct wire_question q;
        int c = accept(fd, NULL, NULL);

        v.device.library_capability = library_capability;
        if (recv(c, &q, sizeof(q), 0) == sizeof(q) && q.magic == WIRE_QUESTION_MAGIC)
            send(c, &v, offsetof(struct wire_view, processes), 0);
        _exit(0);
    }
    close(fd);
    return child;
}

/* Only the control socket's group may use the control socket; the others ask on job.sock. */
Test(ctl_cli, who_may_only_run_jobs_learns_of_the_device_too) {
    for (uint32_t capability = 0; capability <= 130; capability += 130) {
        struct cli c = {.timeout_ms = 60000};

        pid_t child = fake_job_socket(capability);
        snprintf(c.run_dir, sizeof(c.run_dir), "%s", fake_dir);
        snprintf(c.socket, sizeof(c.socket), "%s/ctl.sock", fake_dir);
        cr_expect_eq(environment_on_software_gpu(&c), capability != 0);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
}

Test(ctl_cli, a_daemon_that_hangs_up_is_exit_1) {
    fake_daemon("", 0);
    CTL("status");
    expect_ending(1, "/ctl.sock: Connection reset by peer; see the messages of the salusd started "
                     "with this --run-dir\n");
}

Test(ctl_cli, a_reply_that_asks_for_64_gib_is_exit_7) {
    fake_daemon("\xdd\xff\xff\xff\xff", 5);
    CTL("status");
    expect_ending(7, "/ctl.sock cannot be understood: a value claims to be longer than the message "
                     "(at byte 5); compare 'salusctl version' with 'salusd --version'\n");
}

Test(ctl_cli, a_list_that_goes_in_a_circle_ends) {
    static const char circle[] = "\x83\xa2ok\xc3\xa4next\x00\xa5items\x90";

    fake_daemon(circle, sizeof(circle) - 1);
    CTL("--plain", "--no-header", "job", "list");
    EXPECT(0, "", "");
}

Test(ctl_cli, refusals_have_their_exit_statuses) {
    static const struct {
        const char *code;
        int status;
    } refusals[] = {{"failed", 1},  {"bad_request", 2}, {"not_found", 4},      {"not_permitted", 5},
                    {"refused", 6}, {"protocol", 7},    {"from_the_future", 1}};

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        char reply[128];
        int n = snprintf(reply, sizeof(reply),
                         "\x84\xa2ok\xc2\xa4"
                         "code%c%s\xa4text\xa2no\xa4hint\xa4rest",
                         (int)(0xa0 + strlen(refusals[i].code)), refusals[i].code);

        fake_daemon(reply, (size_t)n);
        CTL("status");
        EXPECT(refusals[i].status, "", "salusctl: no; rest\n");
    }
}

/* ---- with a daemon --------------------------------------------------------------------------- */

static const char *status_text(const char *name) {
    CTL("status", "--json");
    return clirun_text(clirun_json("status"), name);
}

static void wait_for_state(const char *state) {
    cr_assert(PATIENCE_UNTIL(strcmp(status_text("state"), state) == 0), "it never is %s: %s", state,
              clirun_out);
}

Test(ctl_cli_daemon, status_tells_what_is) {
    const cJSON *s;
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];

    broker_rig_attach(fd, fds);
    CTL("status", "--json");
    cr_assert_eq(clirun_status, 0);
    s = clirun_json("status");
    cr_assert_str_eq(clirun_text(s, "state"), "ok");
    cr_assert_str_eq(clirun_text(s, "run_dir"), rig.dir);
    cr_assert_str_eq(clirun_text(s, "trouble"), "");
    cr_assert_eq(clirun_number(s, "pid"), getpid());
    cr_assert_eq(clirun_number(s, "jobs"), 1);
    cr_assert_eq(clirun_number(s, "max_jobs"), 64);
    cr_assert(clirun_number(s, "uptime_seconds") > 0 && clirun_number(s, "uptime_seconds") < 600);
    close(fd);
}

Test(ctl_cli_daemon, jobs_are_listed_and_shown) {
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct wire_offer o = broker_rig_attach(fd, fds);
    const cJSON *job;
    char id[16], *line;

    CTL("job", "list", "--json");
    job = cJSON_GetArrayItem(clirun_json("jobs"), 0);
    cr_assert_eq(clirun_number(job, "id"), o.job_id);
    cr_assert_str_eq(clirun_text(job, "name"), "rig");
    cr_assert_str_eq(clirun_text(job, "state"), "running");
    cr_assert_eq(clirun_number(job, "pid"), getpid());
    cr_assert_eq(clirun_number(job, "uid"), getuid());
    cr_assert_eq(clirun_number(job, "busy_seconds"), 0);
    snprintf(id, sizeof(id), "%u", o.job_id);
    CTL("--json", "job", "show", id);
    cr_assert_str_eq(clirun_text(clirun_json("job"), "name"), "rig");
    CTL("job", "list");
    line = strchr(clirun_out, '\n');
    cr_assert_eq(strncmp(clirun_out, "ID  NAME  STATE    PID", 22), 0, "%s", clirun_out);
    cr_assert_eq(strncmp(line + 1, "1   rig   running  ", 19), 0, "%s", clirun_out);
    CTL("job", "list", "--no-header");
    cr_assert_eq(strncmp(clirun_out, "1   rig   running  ", 19), 0, "%s", clirun_out);
    CTL("job", "list", "--plain", "--no-header");
    cr_assert_eq(strncmp(clirun_out, "1\trig\trunning\t", 14), 0, "%s", clirun_out);
    close(fd);
}

Test(ctl_cli_daemon, no_jobs_are_an_empty_list) {
    CTL("job", "list", "--no-header");
    EXPECT(0, "", "");
    CTL("job", "list", "--json");
    cr_assert_eq(cJSON_GetArraySize(clirun_json("jobs")), 0);
}

Test(ctl_cli_daemon, what_is_not_there_is_exit_4) {
    CTL("job", "show", "12345");
    EXPECT(4, "", "salusctl: salusd has no job 12345; see 'salusctl job list'\n");
    CTL("gpu", "show", "1");
    EXPECT(4, "", "salusctl: salusd has no GPU 1; see 'salusctl gpu list'\n");
}

Test(ctl_cli_daemon, the_gpu_is_shown) {
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];

    broker_rig_attach(fd, fds);
    CTL("gpu", "list");
    EXPECT(0,
           "ID  INDEX  NAME      STATE  MEMORY  GRANTED  USED  SMS  LANES  JOBS  WAITING  POLICY  "
           "WITHIN   UUID\n"
           "0   3      Fake GPU  ready  1 GiB   0 B      0 B   4    0      1     0        fair    "
           "streams  GPU-00000000-0000-0000-0000-000000000000\n",
           "");
    CTL("gpu", "show", "0", "--json");
    cr_assert_str_eq(clirun_text(clirun_json("gpu"), "compute"), "9.0");
    cr_assert_str_eq(clirun_text(clirun_json("gpu"), "uuid"),
                     "GPU-00000000-0000-0000-0000-000000000000");
    close(fd);
}

Test(ctl_cli_daemon, a_worker_in_trouble_is_said) {
    const cJSON *s;

    atomic_store(&rig.worker.ready_result, -EIO);
    broker_rig_kill_worker(&rig);
    cr_assert(PATIENCE_UNTIL(strstr(status_text("trouble"), "the worker cannot open device soft")));
    s = clirun_json("status");
    cr_assert_str_eq(clirun_text(s, "state"), "degraded");
    cr_assert_eq(clirun_status, 8);
    cr_assert_str_eq(clirun_err, "salusctl: no GPU can serve a job now: the worker cannot open "
                                 "device soft: the fan is stuck\n");
    cr_assert_str_eq(clirun_text(s, "trouble"),
                     "the worker cannot open device soft: the fan is stuck");
    cr_assert_geq(clirun_number(s, "worker_restarts"), 1);
}

Test(ctl_cli_daemon, a_worker_that_was_given_up_is_started_when_told) {
    broker_rig_stop(&rig);
    broker_rig_init(&rig);
    rig.config.worker_tries = 2;
    broker_rig_start(&rig);
    setenv("SALUS_RUN_DIR", rig.dir, 1);
    wait_for_state("ok");
    cr_assert_eq(clirun_status, 0);
    atomic_store(&rig.worker.ready_result, -EIO);
    broker_rig_kill_worker(&rig);
    wait_for_state("failed");
    cr_assert_eq(clirun_status, 8);
    CTL("gpu", "show", "0", "--json");
    cr_assert_str_eq(clirun_text(clirun_json("gpu"), "state"), "failed");
    CTL("gpu", "retry", "1");
    EXPECT(4, "", "salusctl: salusd has no GPU 1; see 'salusctl gpu list'\n");
    atomic_store(&rig.worker.ready_result, 0);
    CTL("gpu", "retry", "0");
    EXPECT(0, "gpu 0 is being started\n", "");
    wait_for_state("ok");
    CTL("gpu", "retry", "0");
    EXPECT(0, "gpu 0 is ready\n", "");
}

static double jobs_running(void) {
    CTL("status", "--json");
    return clirun_number(clirun_json("status"), "jobs");
}

Test(ctl_cli_daemon, a_long_list_comes_in_parts) {
    enum { JOBS = 63 };
    int socks[JOBS], fds[WIRE_FD_COUNT];

    atomic_store(&rig.worker.keep, 1); /* ended jobs stay in the list as well */
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < JOBS; i++) {
            socks[i] = broker_rig_connect(&rig, "job.sock");
            broker_rig_attach(socks[i], fds);
            for (int k = 0; k < WIRE_FD_COUNT; k++)
                close(fds[k]);
        }
        for (int i = 0; i < JOBS; i++)
            close(socks[i]);
        /* otherwise there would be more than max_jobs */
        cr_assert(PATIENCE_UNTIL(jobs_running() == 0));
    }
    CTL("job", "list", "--json");
    cr_assert_eq(clirun_status, 0, "%s", clirun_err);
    cr_assert_eq(cJSON_GetArraySize(clirun_json("jobs")), 4 * JOBS);
}

Test(ctl_cli_daemon, garbage_on_the_control_socket_is_answered_and_ended) {
    static const char *const junk[] = {"\xdd\xff\xff\xff\xff", "hello", "\x80", "\xc1"};
    char reply[4096];

    for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
        int fd = broker_rig_connect(&rig, "ctl.sock");

        cr_assert_eq(fdutil_send(fd, junk[i], strlen(junk[i]), NULL, 0), 0);
        cr_assert_gt(fdutil_recv(fd, reply, sizeof(reply), NULL, NULL), 0);
        cr_assert_not_null(memmem(reply, sizeof(reply), "bad_request", 11));
        cr_assert(broker_rig_closed(fd));
        close(fd);
    }
    wait_for_state("ok"); /* the broker still answers */
}

Test(ctl_cli_daemon, a_request_that_is_too_long_ends_the_connection) {
    static char big[8192];
    int fd = broker_rig_connect(&rig, "ctl.sock");

    fdutil_send(fd, big, sizeof(big), NULL, 0);
    cr_assert(broker_rig_closed(fd));
    close(fd);
}

Test(ctl_cli_daemon, sockets_have_their_modes) {
    char path[128];
    struct stat st;

    snprintf(path, sizeof(path), "%s/job.sock", rig.dir);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0666);
    snprintf(path, sizeof(path), "%s/ctl.sock", rig.dir);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0660);
}

/* ---- run ------------------------------------------------------------------------------------- */

#define RUN(...) \
    clirun_in_child((const char *const[]){"run", "--quiet", __VA_ARGS__, NULL}, &clirun_status)

static void make_library(void) {
    char path[128];

    strcpy(lib_dir, "/tmp/salus-lib-XXXXXX");
    cr_assert_not_null(mkdtemp(lib_dir));
    snprintf(path, sizeof(path), "%s/libcuda.so.1", lib_dir);
    cr_assert_eq(symlink("/lib/x86_64-linux-gnu/libm.so.6", path), 0); /* any library will do */
    setenv("SALUS_LIB_DIR", lib_dir, 1);
}

Test(ctl_cli_daemon, run_sets_the_environment) {
    char expected[1024];

    make_library();
    unsetenv("LD_PRELOAD");
    unsetenv("PYTORCH_ALLOC_CONF");
    setenv("LD_LIBRARY_PATH", "/opt/x", 1);
    setenv("TF_GPU_ALLOCATOR", "mine", 1);
    snprintf(expected, sizeof(expected), "%s:/opt/x %s/libcuda.so.1 %s joe %s mine\n", lib_dir,
             lib_dir, rig.dir, "backend:cudaMallocAsync");
    static const char echo[] = "echo $LD_LIBRARY_PATH $LD_PRELOAD $SALUS_RUN_DIR $SALUS_JOB_NAME "
                               "$PYTORCH_CUDA_ALLOC_CONF $TF_GPU_ALLOCATOR";
    cr_assert_str_eq(RUN("--name", "joe", "--allocator=async", "--", "sh", "-c", echo), expected);
    cr_assert_eq(clirun_status, 0);
}

Test(ctl_cli_daemon, run_passes_on_what_the_job_needs) {
    static const char echo[] =
        "echo $SALUS_PERSISTENT $SALUS_EPHEMERAL $SALUS_WEIGHT $SALUS_PRIORITY $SALUS_GROUP "
        "$SALUS_ITERATIONS $SALUS_DURATION $SALUS_ADMIT_TIMEOUT $NVTX_INJECTION64_PATH";
    char expected[256], *out;
    unsigned first, second;

    make_library();
    snprintf(expected, sizeof(expected), "1GiB 512 MiB 5 -7 pair 100 2h 30s %s/libcuda.so.1\n",
             lib_dir);
    cr_assert_str_eq(RUN("--persistent", "1GiB", "--ephemeral=512 MiB", "--weight", "5",
                         "--priority=-7", "--group", "pair", "--iterations", "100", "--duration",
                         "2h", "--admit-timeout=30s", "sh", "-c", echo),
                     expected);
    out = RUN("sh", "-c", "echo $SALUS_RUN");
    cr_assert_eq(sscanf(out, "%u", &first), 1, "%s", out);
    out = RUN("sh", "-c", "echo $SALUS_RUN");
    cr_assert_eq(sscanf(out, "%u", &second), 1, "%s", out);
    cr_assert(first && second && first != second);
    setenv("NVTX_INJECTION64_PATH", "/other", 1);
    cr_assert_str_eq(RUN("sh", "-c", "echo $NVTX_INJECTION64_PATH $SALUS_WEIGHT"), "/other\n");
}

/* A variable that the library would ignore silently is an error. An option takes precedence over
 * a variable. */
Test(ctl_cli_daemon, run_refuses_variables_that_are_wrong) {
    static const char *const wrong[][3] = {
        {"SALUS_WEIGHT", "0", "0 is out of range: 1 to 1000"},
        {"SALUS_PRIORITY", "foo", "'foo' is not a whole number"},
        {"SALUS_DEVICE_MODE", "foo", "'foo' is not compute or null"},
        {"SALUS_PERSISTENT", "10XB", "'10XB' is not a size such as 512MiB"},
        {"SALUS_SAVEPOINTS", "maybe", "'maybe' is not yes or no"},
        {"SALUS_STRICT", "x", "'x' is not 0 or 1"},
        {"SALUS_SLO", "5", "'5' is not a time with its unit, such as 30s"},
    };
    char expected[160];

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        setenv(wrong[i][0], wrong[i][1], 1);
        snprintf(expected, sizeof(expected), "salusctl: run: %s: %s\n", wrong[i][0], wrong[i][2]);
        CTL("run", "--", "true");
        EXPECT(2, "", expected);
        CTL("environment");
        EXPECT(2, "", expected);
        unsetenv(wrong[i][0]);
    }
    make_library();
    setenv("SALUS_WEIGHT", "0", 1);
    setenv("SALUS_STRICT", "x", 1);
    setenv("SALUS_PRIORITY", "", 1);
    cr_assert_str_eq(RUN("--weight", "2", "--strict", "sh", "-c", "echo $SALUS_WEIGHT"), "2\n");
}

Test(ctl_cli_daemon, run_with_a_gpu_drops_a_list_of_gpus) {
    static const char echo[] = "echo $SALUS_GPU ${CUDA_VISIBLE_DEVICES-none}";

    make_library();
    setenv("CUDA_VISIBLE_DEVICES", "3", 1);
    cr_assert_str_eq(RUN("sh", "-c", echo), "3\n", "without one it says which");
    cr_assert_str_eq(RUN("--gpu", "0", "sh", "-c", echo), "0 none\n");
    setenv("SALUS_GPU", "0", 1);
    cr_assert_str_eq(RUN("sh", "-c", echo), "0 none\n");
}

static const char *const framework_variables[] = {
#define FRAMEWORK(framework, variable, way, where, value, why) variable,
#include "daemon/ctl/environment/frameworks.def"
};

static void unset_framework_variables(void) {
    for (size_t i = 0; i < sizeof(framework_variables) / sizeof(framework_variables[0]); i++)
        unsetenv(framework_variables[i]);
}

#define FOR_FRAMEWORKS                                                      \
    ", which frameworks need on the software GPU; see salusctl(1), or use " \
    "--no-frameworks to set none. This message appears once.\n"

#define RUN_ALOUD(...) \
    clirun_in_child((const char *const[]){"run", __VA_ARGS__, NULL}, &clirun_status)

Test(ctl_cli_daemon, run_says_once_what_it_sets_for_frameworks) {
    static const char said[] =
        "salusctl: run sets TORCHINDUCTOR_SHAPE_PADDING, TF_FORCE_GPU_ALLOW_GROWTH, "
        "CUPY_COMPILE_WITH_PTX, CUPY_ACCELERATORS" FOR_FRAMEWORKS;

    make_library();
    unset_framework_variables();
    setenv("XDG_STATE_HOME", lib_dir, 1);
    setenv("PYTORCH_ALLOC_CONF", "mine", 1);
    setenv("XLA_FLAGS",
           "--xla_gpu_cuda_data_dir=/mine --xla_gpu_autotune_level=4 "
           "--xla_gpu_override_gemm_autotuner=",
           1);
    setenv("TF_CUDNN_USE_AUTOTUNE", "mine", 1);
    setenv("TRITON_PTXAS_PATH", "mine", 1);
    setenv("TRITON_PTXAS_BLACKWELL_PATH", "mine", 1);
    setenv("TRITON_OVERRIDE_ARCH", "mine", 1);
    cr_assert_str_eq(RUN_ALOUD("--no-frameworks", "true"), "");
    cr_assert_str_eq(RUN("true"), "", "who is quiet has told nobody");
    cr_assert_str_eq(RUN_ALOUD("true"), said);
    cr_assert_str_eq(RUN_ALOUD("true"), "");
    cr_assert_str_eq(RUN_ALOUD("--allocator", "async", "true"),
                     "salusctl: run sets TORCHINDUCTOR_SHAPE_PADDING, TF_GPU_ALLOCATOR, "
                     "TF_FORCE_GPU_ALLOW_GROWTH, CUPY_COMPILE_WITH_PTX, "
                     "CUPY_ACCELERATORS" FOR_FRAMEWORKS);
    cr_assert_str_eq(RUN_ALOUD("true"), said, "it changed");
    setenv("XDG_STATE_HOME", "/nonexistent", 1);
    cr_assert_str_eq(RUN_ALOUD("true"), said);
    cr_assert_str_eq(RUN_ALOUD("true"), said, "where nothing can be kept it is said again");
}

static const char *settings(const char *option) {
    static const char echo[] = "echo \"${CUPY_COMPILE_WITH_PTX-unset} ${CUPY_ACCELERATORS-unset} "
                               "${TF_GPU_ALLOCATOR-unset} ${PYTORCH_CUDA_ALLOC_CONF-unset}\"";

    return RUN(option, "sh", "-c", echo);
}

Test(ctl_cli_daemon, run_has_frameworks_make_what_the_software_gpu_runs) {
    make_library();
    unset_framework_variables();
    cr_assert_str_eq(settings("--"), "1  unset unset\n");
    cr_assert_str_eq(settings("--allocator=own"), "1  unset unset\n");
    cr_assert_str_eq(settings("--no-allocators"), "1  unset unset\n");
    cr_assert_str_eq(settings("--allocator=async"),
                     "1  cuda_malloc_async backend:cudaMallocAsync\n");
    cr_assert_str_eq(settings("--no-frameworks"), "unset unset unset unset\n");
    setenv("CUPY_ACCELERATORS", "cub", 1);
    cr_assert_str_eq(settings("--"), "1 cub unset unset\n");
    cr_assert_not_null(
        strstr(settings("--allocator=best"), "--allocator: 'best' is not own or async"));
}

Test(ctl_cli, run_leaves_code_generators_alone_on_another_device) {
    broker_rig_init(&rig);
    snprintf(rig.config.device, sizeof(rig.config.device), "other");
    broker_rig_start(&rig);
    setenv("SALUS_RUN_DIR", rig.dir, 1);
    make_library();
    unset_framework_variables();
    cr_assert_str_eq(settings("--"), "unset unset unset unset\n");
    cr_assert_str_eq(settings("--allocator=async"),
                     "unset unset cuda_malloc_async backend:cudaMallocAsync\n");
    broker_rig_stop(&rig);
}

Test(ctl_cli_daemon, run_can_be_strict) {
    make_library();
    unsetenv("SALUS_STRICT");
    cr_assert_str_eq(RUN("sh", "-c", "echo ${SALUS_STRICT-unset}"), "unset\n");
    cr_assert_str_eq(RUN("--strict", "sh", "-c", "echo ${SALUS_STRICT-unset}"), "1\n");
}

/* In a child process: waits until the command has printed its number, connects as a job of it,
 * and lets the command end. */
static pid_t job_of_the_command(uint64_t ephemeral) {
    struct wire_hello h = broker_rig_hello();
    char path[128];
    int fds[WIRE_FD_COUNT], fd;
    struct wire_offer o;
    pid_t pid = fork();
    FILE *f;

    if (pid) return pid;
    snprintf(path, sizeof(path), "%s/run", rig.dir);
    while (!(f = fopen(path, "r")) || fscanf(f, "%u\n", &h.job.run) != 1)
        usleep(10000);
    unlink(path);
    fd = broker_rig_connect(&rig, "job.sock");
    h.job.flags = WIRE_JOB_RESERVED;
    h.job.ephemeral_bytes = ephemeral;
    if (ephemeral > 1u << 30) {
        fdutil_send(fd, &h, sizeof(h), NULL, 0);
        broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    } else {
        broker_rig_attach_as(fd, &h, fds);
    }
    snprintf(path, sizeof(path), "%s/go", rig.dir);
    fclose(fopen(path, "w"));
    _exit(0);
}

static const char with_a_job[] =
    "echo $SALUS_RUN >$SALUS_RUN_DIR/run; "
    "until rm $SALUS_RUN_DIR/go 2>/dev/null; do sleep 0.02; done; exit 3";

Test(ctl_cli_daemon, run_ends_with_6_when_its_job_was_refused) {
    pid_t job = job_of_the_command(20ull << 30);

    make_library();
    cr_assert_str_eq(RUN("sh", "-c", with_a_job),
                     "salusctl: the job was refused: 0 B of persistent + 20 GiB of ephemeral "
                     "memory exceed the device's 1 GiB; ask for less\n");
    cr_assert_eq(clirun_status, 6);
    waitpid(job, NULL, 0);
    job = job_of_the_command(1);
    cr_assert_str_eq(RUN("sh", "-c", with_a_job), "");
    cr_assert_eq(clirun_status, 3, "one that was served does not count");
    waitpid(job, NULL, 0);
}

Test(ctl_cli_daemon, run_passes_the_status_on) {
    make_library();
    RUN("sh", "-c", "exit 42");
    cr_assert_eq(clirun_status, 42);
    RUN("sh", "-c", "kill -9 $$");
    cr_assert_eq(clirun_status, 137);
    cr_assert_str_eq(RUN("/nonexistent/prog"),
                     "salusctl: /nonexistent/prog: No such file or directory\n");
    cr_assert_eq(clirun_status, 127);
    cr_assert_str_eq(RUN("/etc/passwd"), "salusctl: /etc/passwd: Permission denied\n");
    cr_assert_eq(clirun_status, 126);
}

Test(ctl_cli_daemon, run_without_our_library_says_where_it_looked) {
    setenv("SALUS_LIB_DIR", "/nonexistent", 1);
    cr_assert_str_eq(RUN("true"), "salusctl: no libcuda.so.1 of Salus in /nonexistent; build it "
                                  "with 'make', or set SALUS_LIB_DIR to its directory\n");
    cr_assert_eq(clirun_status, 1);
}
