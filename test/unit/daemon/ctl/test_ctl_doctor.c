/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl doctor`: each part of an installation, working and broken, and refusals that a program
 * got.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/ctl/doctor/checks_daemon.h"
#include "daemon/ctl/doctor/checks_frameworks.h"
#include "daemon/ctl/doctor/checks_library.h"
#include "daemon/ctl/doctor/checks_python.h"
#include "daemon/ctl/doctor/checks_system.h"
#include "daemon/ctl/doctor/refused.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/broker/clirun.h"
#include "test/lib/patience.h"

static struct broker_rig rig;
static char dir[64];
static struct findings found;

/* A path in the directory, in static memory. */
static const char *in_dir(const char *name) {
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void make_dir(void) {
    strcpy(dir, "/tmp/salus-doctor-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    setenv("SALUS_LIB_DIR", dir, 1);
    unsetenv("SALUS_RUN_DIR");
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("LD_PRELOAD");
    unsetenv("CONDA_PREFIX");
    setenv("VIRTUAL_ENV", dir, 1);
    setenv("HOME", dir, 1);
    fclose(fopen(in_dir("libcuda.so.1"), "w"));
    found = (struct findings){0};
}

static void remove_dir(void) {
    char command[128];

    clirun_forget();
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    cr_assert_eq(system(command), 0);
}

static void setup(void) {
    make_dir();
    broker_rig_init(&rig);
    broker_rig_start(&rig);
    setenv("SALUS_RUN_DIR", rig.dir, 1);
}

static void teardown(void) {
    broker_rig_stop(&rig);
    remove_dir();
}

TestSuite(ctl_doctor, .init = make_dir, .fini = remove_dir, .timeout = 180);
TestSuite(ctl_doctor_daemon, .init = setup, .fini = teardown, .timeout = 180);

/* The first finding of this kind whose text contains `part`; NULL: none. */
static const struct finding *line(const char *what, const char *part) {
    for (int i = 0; i < found.count; i++)
        if (strcmp(found.items[i].what, what) == 0 && strstr(found.items[i].text, part))
            return &found.items[i];
    return NULL;
}

static void expect(enum findings_level level, const char *what, const char *part) {
    const struct finding *l = line(what, part);

    cr_assert_not_null(l, "no line %s with '%s'", what, part);
    cr_assert_eq(l->level, level, "%s", l->text);
    if (level != FINDINGS_OK) cr_assert_str_not_empty(l->todo, "%s", l->text);
}

/* ---- the whole ------------------------------------------------------------------------------- */

Test(ctl_doctor_daemon, a_whole_installation_is_ok) {
    cr_assert(PATIENCE_UNTIL((CTL("status", "--json"), clirun_status == 0)));
    CTL("doctor");
    cr_assert_eq(clirun_status, 0, "%s", clirun_out);
    cr_assert_str_eq(clirun_err, "");
    cr_assert_null(strstr(clirun_out, "error "), "%s", clirun_out);
    for (const char *const *part =
             (const char *const[]){"ok       job socket ", "ok       worker ", "ok       device ",
                                   "ok       library ", "CUPY_COMPILE_WITH_PTX=1", NULL};
         *part; part++)
        cr_assert_not_null(strstr(clirun_out, *part), "%s: %s", *part, clirun_out);
}

Test(ctl_doctor, an_error_is_exit_1_and_json_has_it) {
    const cJSON *list, *l;
    bool seen = false;

    setenv("SALUS_RUN_DIR", "/nonexistent", 1);
    CTL("doctor", "--json");
    cr_assert_eq(clirun_status, 1);
    list = clirun_json("findings");
    cJSON_ArrayForEach(l, list) {
        if (strcmp(clirun_text(l, "level"), "error") != 0) continue;
        seen = true;
        cr_assert_str_eq(clirun_text(l, "what"), "daemon");
        cr_assert_str_eq(clirun_text(l, "text"),
                         "salusd is configured to serve in /nonexistent and does not answer there");
        cr_assert_str_not_empty(clirun_text(l, "do"));
    }
    cr_assert(seen);
    CTL("doctor", "--plain");
    cr_assert_not_null(strstr(clirun_out, "error\tdaemon\tsalusd is configured"), "%s", clirun_out);
}

Test(ctl_doctor, wrong_usage_is_exit_2) {
    CTL("doctor", "--privat");
    EXPECT(2, "", "salusctl: unknown option --privat; see 'salusctl --help'\n");
}

Test(ctl_doctor_daemon, a_worker_that_is_not_ready_is_said) {
    struct cli c = {.out = stdout, .err = stderr, .timeout_ms = 5000};

    snprintf(c.run_dir, sizeof(c.run_dir), "%s", rig.dir);
    snprintf(c.socket, sizeof(c.socket), "%s/ctl.sock", rig.dir);
    atomic_store(&rig.worker.ready_result, -EIO);
    broker_rig_kill_worker(&rig);
    cr_assert(PATIENCE_UNTIL(
        (found = (struct findings){0}, checks_daemon(&c, &found),
         line("worker", "no GPU can serve a job now") && line("device", "GPU 0 has no worker"))));
    cr_assert_neq(line("worker", "no GPU can serve a job now")->level, FINDINGS_OK);
    cr_assert_eq(line("device", "GPU 0 has no worker")->level, FINDINGS_WARNING);
}

/* ---- parts ----------------------------------------------------------------------------------- */

Test(ctl_doctor, the_library_and_what_is_in_its_way) {
    char path[300];

    checks_library(&found);
    expect(FINDINGS_OK, "library", dir);
    mkdir(in_dir("other"), 0755);
    fclose(fopen(in_dir("other/libcuda.so.1"), "w"));
    snprintf(path, sizeof(path), "/nonexistent::%s", in_dir("other"));
    setenv("LD_LIBRARY_PATH", path, 1);
    setenv("LD_PRELOAD", "/x/libcuda.so", 1);
    found = (struct findings){0};
    checks_library(&found);
    expect(FINDINGS_OK, "driver", in_dir("other/libcuda.so.1"));
    expect(FINDINGS_WARNING, "preload", "/x/libcuda.so");
    setenv("LD_LIBRARY_PATH", dir, 1);
    found = (struct findings){0};
    checks_library(&found);
    cr_assert_null(line("driver", "LD_LIBRARY_PATH"), "that is ours");
    setenv("SALUS_LIB_DIR", "/nonexistent", 1);
    found = (struct findings){0};
    checks_library(&found);
    expect(FINDINGS_ERROR, "library", "/nonexistent");
}

Test(ctl_doctor, limits_that_a_job_would_hit) {
    struct rlimit few = {32, 32}, small = {1 << 20, 1 << 20};

    checks_system(&found);
    expect(FINDINGS_OK, "kernel", "has all system calls");
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    found = (struct findings){0};
    checks_system(&found);
    expect(FINDINGS_WARNING, "limits", "a file may have only 1 MiB (ulimit -f)");
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    found = (struct findings){0};
    checks_system(&found);
    expect(FINDINGS_ERROR, "limits", "only 32 files (ulimit -n)");
}

static void install(const char *folder) {
    char path[160];

    snprintf(path, sizeof(path), "lib/python3.11/site-packages/%s", folder);
    cr_assert_eq(mkdir(in_dir(path), 0755), 0);
}

Test(ctl_doctor, frameworks_by_their_folders) {
    mkdir(in_dir("lib"), 0755);
    mkdir(in_dir("lib/python3.11"), 0755);
    mkdir(in_dir("lib/python3.11/site-packages"), 0755);
    checks_python(&found);
    expect(FINDINGS_OK, "framework", "no package known to doctor is installed in");
    install("cupy_cuda13x-14.2.0.dist-info");
    install("numba_cuda-0.30.4.dist-info");
    install("jax_cuda13_plugin-0.10.2.dist-info");
    install("Torch-2.15.0+cu132.dist-info");
    install("numpy-2.4.6.dist-info");
    install("torchvision-1.dist-info");
    install("triton-.dist-info");
    install("dist-info");
    install(".dist-info");
    found = (struct findings){0};
    checks_python(&found);
    expect(FINDINGS_OK, "framework", "cupy-cuda13x 14.2.0:");
    expect(FINDINGS_OK, "framework", "numba-cuda 0.30.4:");
    expect(FINDINGS_WARNING, "framework", "jax-cuda13-plugin 0.10.2:");
    expect(FINDINGS_WARNING, "framework", "torch 2.15.0+cu132:");
    cr_assert_eq(found.count, 5, "and triton without a version, but no others");
}

Test(ctl_doctor, an_allocator_that_lends_memory_is_recommended_with_what_it_costs) {
    checks_frameworks(&found, false);
    expect(FINDINGS_OK, "allocator",
           "PyTorch and TensorFlow do not return unused memory by default;");
    for (int i = 0; i < found.count; i++)
        cr_assert_null(strstr(found.items[i].text, "cudaMallocAsync"), "it is not set unasked");
}

/* ---- refusals that a program got ------------------------------------------------------------- */

static struct refused_list list;

static void take(const char *text) {
    refused_take(&list, text, strlen(text));
}

Test(ctl_doctor, refusals_are_counted_by_what_they_are) {
    take("start\tprogram\t-\t-\t");
    take("call\tcuOne\tliba.so\t-\t");
    take("call\tcuTwo\tliba.so\t-\t");
    take("call\tcuTwo\tliba.so\t-\t");
    take("call\tcuTwo\tlibb.so\t-\t");
    take("kernel\tk\t-\tERR_NO_BINARY\tonly machine code");
    refused_sort(&list);
    cr_assert_eq(list.count, 4);
    cr_assert_eq(list.started, 1);
    cr_assert_eq(list.times[REFUSED_CALL], 4);
    cr_assert_str_eq(list.items[0].name, "k", "kernels first");
    cr_assert_str_eq(list.items[1].name, "cuTwo");
    cr_assert_eq(list.items[1].times, 2);
    cr_assert_str_eq(list.items[1].library, "liba.so");
}

Test(ctl_doctor, lines_are_not_trusted) {
    char much[2000];

    take("");
    take("nonsense");
    take("call\t");
    cr_assert_eq(list.omitted, 3);
    take("call\tcu\033[2Jx\t\233\t-\t");
    cr_assert_str_eq(list.items[0].name, "cu?[2Jx");
    cr_assert_str_eq(list.items[0].library, "?");
    memset(much, 'x', sizeof(much));
    memcpy(much, "call\t", 5);
    refused_take(&list, much, sizeof(much));
    cr_assert_eq(strlen(list.items[1].name), sizeof(list.items[1].name) - 1);
    for (int i = 0; i < 2 * REFUSED_MAX; i++) {
        char text[32];

        snprintf(text, sizeof(text), "call\tcu%d\t\t\t", i);
        take(text);
    }
    cr_assert_eq(list.count, REFUSED_MAX);
    cr_assert_eq(list.omitted, 3 + REFUSED_MAX + 2);
}

static const char *advice(const char *text) {
    static char todo[REFUSED_TODO_BYTES];

    list = (struct refused_list){0};
    take(text);
    refused_advise(&list.items[0], todo);
    return todo;
}

Test(ctl_doctor, advice_goes_by_the_reason) {
    cr_assert_not_null(strstr(advice("kernel\tk\t-\tERR_NO_BINARY\tonly machine code: the PTX is "
                                     "for sm_121, the device is sm_90"),
                              "'salusctl run --capability 12.1'"));
    cr_assert_not_null(strstr(advice("module\tm\t-\tERR_NO_BINARY\tthe PTX is for sm_100, the "
                                     "device is sm_90"),
                              "'salusctl run --capability 10.0'"));
    cr_assert_not_null(strstr(advice("kernel\tk\t-\tERR_NO_BINARY\tonly machine code, no PTX"),
                              "-gencode arch=compute_75"));
    cr_assert_not_null(
        strstr(advice("kernel\t_ZN2at6native13reduce_kernelE\t-\tERR_NO_BINARY\tonly "
                      "machine code, no PTX"),
               "torch.compile"));
    cr_assert_not_null(strstr(advice("module\t9 bytes\tlibtorch_cuda.so\tERR_NO_BINARY\tnothing"),
                              "--device-mode=null"));
    cr_assert_null(strstr(advice("module\t9 bytes\tlibtorch_cuda.so\tERR_NO_BINARY\tnothing"),
                          "--capability"));
    cr_assert_not_null(
        strstr(advice("kernel\tk\t-\tERR_INVALID_PTX\tline 3: wgmma"), "--capability 7.5"));
    cr_assert_not_null(strstr(advice("module\tm\t-\tERR_INVALID_IMAGE\tit is Tile IR"), "earlier"));
    cr_assert_not_null(strstr(advice("call\tcuX\t-\t-\t"), "cuda-coverage"));
    cr_assert_str_eq(advice("symbol\tcuX\t-\t-\t"), "");
}
