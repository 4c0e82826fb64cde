/* SPDX-License-Identifier: Apache-2.0
 *
 * The variables that `run` sets for frameworks when the user has set some, and the file of messages
 * already shown, in home directories of all kinds.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/ctl/environment/frameworks.h"
#include "daemon/ctl/environment/last_notice.h"

static struct frameworks_setting settings[FRAMEWORKS_MAX];
static const struct frameworks_choice soft = {false, true}, other = {false, false},
                                      async = {true, false};

static void unset_all(void) {
#define FRAMEWORK(framework, variable, way, where, value, why) unsetenv(variable);
#include "daemon/ctl/environment/frameworks.def"
}

static const struct frameworks_setting *planned(const struct frameworks_choice *choice,
                                                const char *variable) {
    int count = frameworks_plan(choice, settings);

    for (int i = 0; i < count; i++)
        if (strcmp(settings[i].variable, variable) == 0) return &settings[i];
    return NULL;
}

TestSuite(ctl_frameworks, .init = unset_all, .timeout = 180);

Test(ctl_frameworks, code_generators_are_for_the_software_gpu_only) {
    cr_assert_str_eq(planned(&soft, "CUPY_COMPILE_WITH_PTX")->value, "1");
    cr_assert_str_eq(planned(&soft, "CUPY_ACCELERATORS")->value, "");
    cr_assert_null(planned(&other, "CUPY_COMPILE_WITH_PTX"));
    cr_assert_str_eq(planned(&other, "TF_FORCE_GPU_ALLOW_GROWTH")->value, "true");
    cr_assert_eq(frameworks_plan(&other, settings), 1);
}

/* With the asynchronous allocator, PyTorch has no CUDA IPC, no NCCL and no memory snapshots. */
Test(ctl_frameworks, another_allocator_is_for_those_who_ask) {
    cr_assert_null(planned(&soft, "PYTORCH_ALLOC_CONF"));
    cr_assert_null(planned(&soft, "PYTORCH_CUDA_ALLOC_CONF"));
    cr_assert_null(planned(&soft, "TF_GPU_ALLOCATOR"));
    cr_assert_str_eq(planned(&async, "PYTORCH_ALLOC_CONF")->value, "backend:cudaMallocAsync");
    cr_assert_str_eq(planned(&async, "PYTORCH_CUDA_ALLOC_CONF")->value, "backend:cudaMallocAsync");
    cr_assert_str_eq(planned(&async, "TF_GPU_ALLOCATOR")->value, "cuda_malloc_async");
}

Test(ctl_frameworks, what_the_user_has_set_stays) {
    setenv("CUPY_ACCELERATORS", "cub", 1);
    cr_assert_null(planned(&soft, "CUPY_ACCELERATORS"));
    setenv("CUPY_COMPILE_WITH_PTX", "", 1);
    cr_assert_null(planned(&soft, "CUPY_COMPILE_WITH_PTX"), "set to nothing is set");
    setenv("PYTORCH_CUDA_ALLOC_CONF", "mine", 1);
    cr_assert_null(planned(&async, "PYTORCH_ALLOC_CONF"), "the other name of the same");
    cr_assert_str_eq(planned(&soft, "TORCHINDUCTOR_SHAPE_PADDING")->value, "0",
                     "no other name of it");
}

Test(ctl_frameworks, an_older_capability_needs_no_detour) {
    cr_assert_str_eq(planned(&soft, "TRITON_OVERRIDE_ARCH")->value, "sm89");
    setenv("SALUS_CAPABILITY", "12.0", 1);
    cr_assert_not_null(planned(&soft, "TRITON_OVERRIDE_ARCH"));
    setenv("SALUS_CAPABILITY", "8.6", 1);
    cr_assert_null(planned(&soft, "TRITON_OVERRIDE_ARCH"));
    cr_assert_not_null(planned(&soft, "CUPY_COMPILE_WITH_PTX"));
    unsetenv("SALUS_CAPABILITY");
    cr_assert_null(planned(&other, "TRITON_OVERRIDE_ARCH"));
}

Test(ctl_frameworks, a_plan_is_what_is_set) {
    static const struct frameworks_choice all = {true, true};
    int count = frameworks_plan(&all, settings);

    frameworks_apply(settings, count);
    cr_assert_str_eq(getenv("CUPY_COMPILE_WITH_PTX"), "1");
    cr_assert_str_eq(getenv("PYTORCH_ALLOC_CONF"), "backend:cudaMallocAsync");
    cr_assert_str_eq(getenv("PYTORCH_CUDA_ALLOC_CONF"), "backend:cudaMallocAsync");
    cr_assert_eq(frameworks_plan(&all, settings), 0, "nothing is left to set");
}

#define NO_TRIALS                                                                         \
    "--xla_gpu_autotune_level=1 --xla_gpu_override_gemm_autotuner=block_m:32,block_n:32," \
    "block_k:32,num_stages:1,num_warps:4,num_ctas:1"

/* ---- programs that values name --------------------------------------------------------------- */

static char dir[64];

static void make_dir(void) {
    unset_all();
    unsetenv("XDG_STATE_HOME");
    strcpy(dir, "/tmp/salus-frameworks-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
}

static void remove_dir(void) {
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    cr_assert_eq(system(command), 0);
}

/* A path in the directory, with its folders created, in static memory. */
static const char *in_dir(const char *name) {
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void make(const char *name, const char *text) {
    FILE *f = fopen(in_dir(name), "w");

    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

TestSuite(ctl_frameworks_programs, .init = make_dir, .fini = remove_dir, .timeout = 180);

Test(ctl_frameworks_programs, are_named_only_where_they_are) {
    char expected[320];

    setenv("SALUS_LIBEXEC_DIR", dir, 1);
    cr_assert_null(planned(&soft, "TRITON_PTXAS_PATH"));
    cr_assert_null(planned(&soft, "CUDA_ROOT"));
    make("salus-ptxas", "");
    cr_assert_str_eq(planned(&soft, "TRITON_PTXAS_PATH")->value, in_dir("salus-ptxas"));
    cr_assert_str_eq(planned(&soft, "TRITON_PTXAS_BLACKWELL_PATH")->value, in_dir("salus-ptxas"));
    cr_assert_str_eq(planned(&soft, "XLA_FLAGS")->value, NO_TRIALS);
    mkdir(in_dir("cuda"), 0755);
    mkdir(in_dir("cuda/bin"), 0755);
    make("cuda/bin/ptxas", "");
    snprintf(expected, sizeof(expected), "--xla_gpu_cuda_data_dir=%s/cuda " NO_TRIALS, dir);
    cr_assert_str_eq(planned(&soft, "XLA_FLAGS")->value, expected);
    cr_assert_str_eq(planned(&soft, "CUDA_ROOT")->value, in_dir("cuda"));
}

Test(ctl_frameworks_programs, flags_are_added_to_those_of_the_user) {
    char expected[512];

    setenv("SALUS_LIBEXEC_DIR", dir, 1);
    mkdir(in_dir("cuda"), 0755);
    mkdir(in_dir("cuda/bin"), 0755);
    make("cuda/bin/ptxas", "");
    setenv("XLA_FLAGS", "--xla_gpu_cuda_data_dir_other=/x --xla_dump_to=/d", 1);
    snprintf(expected, sizeof(expected), "%s --xla_gpu_cuda_data_dir=%s/cuda " NO_TRIALS,
             getenv("XLA_FLAGS"), dir);
    cr_assert_str_eq(planned(&soft, "XLA_FLAGS")->value, expected);
    setenv("XLA_FLAGS", "--xla_dump_to=/d --xla_gpu_cuda_data_dir=/mine", 1);
    cr_assert_str_eq(planned(&soft, "XLA_FLAGS")->value,
                     "--xla_dump_to=/d --xla_gpu_cuda_data_dir=/mine " NO_TRIALS);
    setenv("XLA_FLAGS",
           "--xla_gpu_autotune_level=4 --xla_gpu_override_gemm_autotuner= "
           "--xla_gpu_cuda_data_dir=/mine",
           1);
    cr_assert_null(planned(&soft, "XLA_FLAGS"));
}

Test(ctl_frameworks_programs, a_library_is_loaded_behind_those_of_the_user) {
    char expected[256];

    setenv("SALUS_LIB_DIR", dir, 1);
    cr_assert_null(planned(&soft, "LD_PRELOAD"), "it is not there");
    make("libsalus-jit.so", "");
    cr_assert_str_eq(planned(&soft, "LD_PRELOAD")->value, in_dir("libsalus-jit.so"));
    cr_assert_null(planned(&other, "LD_PRELOAD"));
    setenv("LD_PRELOAD", "/lib/a.so:/lib/b.so", 1);
    snprintf(expected, sizeof(expected), "/lib/a.so:/lib/b.so:%s", in_dir("libsalus-jit.so"));
    cr_assert_str_eq(planned(&soft, "LD_PRELOAD")->value, expected);
    setenv("LD_PRELOAD", expected, 1);
    cr_assert_null(planned(&soft, "LD_PRELOAD"), "it is among them");
    unsetenv("LD_PRELOAD");
    unsetenv("SALUS_LIB_DIR");
}

/* ---- messages already shown ------------------------------------------------------------------ */

TestSuite(ctl_said, .init = make_dir, .fini = remove_dir, .timeout = 180);

Test(ctl_said, is_new_once) {
    setenv("HOME", dir, 1);
    cr_assert(last_notice_is_new("one"));
    cr_assert_not(last_notice_is_new("one"));
    cr_assert_eq(access(in_dir(".local/state/salus/said"), R_OK), 0);
    cr_assert(last_notice_is_new("on"));
    cr_assert(last_notice_is_new("one"));
    setenv("XDG_STATE_HOME", dir, 1);
    cr_assert(last_notice_is_new("one"), "it is another place");
    cr_assert_not(last_notice_is_new("one"));
    cr_assert_eq(access(in_dir("salus/said"), R_OK), 0);
}

static void expect_always_new(const char *home) {
    setenv("HOME", home, 1);
    cr_assert(last_notice_is_new("x"), "%s", home);
    cr_assert(last_notice_is_new("x"), "%s", home);
}

Test(ctl_said, where_nothing_can_be_kept_it_is_new_each_time) {
    static char much[5000];

    unsetenv("HOME");
    cr_assert(last_notice_is_new("x"));
    cr_assert(last_notice_is_new("x"));
    expect_always_new("");
    expect_always_new("/nonexistent");
    expect_always_new("relative");
    expect_always_new("/dev/null");
    make("file", "");
    expect_always_new(in_dir("file"));
    setenv("HOME", dir, 1);
    memset(much, 'x', sizeof(much) - 1);
    cr_assert(last_notice_is_new(much));
    cr_assert(last_notice_is_new(much));
}

/* Links, files that other users could have changed, and non-files are neither read nor written. */
Test(ctl_said, a_hostile_home_leads_nowhere) {
    char target[128];
    struct stat st;

    setenv("XDG_STATE_HOME", dir, 1);
    make("target", "x");
    snprintf(target, sizeof(target), "%s", in_dir("target"));
    mkdir(in_dir("salus"), 0700);
    cr_assert_eq(symlink(target, in_dir("salus/said")), 0);
    cr_assert(last_notice_is_new("x"));
    cr_assert_eq(lstat(in_dir("salus/said"), &st), 0);
    cr_assert(S_ISREG(st.st_mode), "the link was replaced, not followed");
    cr_assert_eq(stat(target, &st), 0);
    cr_assert_eq(st.st_size, 1);
    cr_assert_eq(unlink(in_dir("salus/said")), 0);
    cr_assert_eq(mkfifo(in_dir("salus/said"), 0600), 0);
    cr_assert(last_notice_is_new("x"), "and nobody waits for its writer");
    cr_assert_eq(chmod(in_dir("salus"), 0777), 0);
    cr_assert(last_notice_is_new("x"));
    cr_assert(last_notice_is_new("x"), "others may write there");
    cr_assert_eq(chmod(in_dir("salus"), 0700), 0);
    cr_assert_not(last_notice_is_new("x"));
}
