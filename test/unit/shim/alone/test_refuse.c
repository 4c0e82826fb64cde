/* SPDX-License-Identifier: Apache-2.0
 *
 * The log lines about refusals: how many, what they name, and the end of a strict job. Each case
 * runs in a child whose standard error is read.
 */
#include "shim/connection/refuse.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/err.h"
#include "common/log.h"
#include "proto/wire/job.h"
#include "shim/connection/refusals.h"
#include "shim/connection/state.h"
#include "shim/private/slots.h"

struct state state;

static char said[1 << 16];
static int status;

static void read_all(int fd) {
    size_t n = 0;
    ssize_t got;
    while (n < sizeof(said) - 1 && (got = read(fd, said + n, sizeof(said) - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = '\0';
}

/* Checks a condition in the child, where Criterion's own assertions would not end the process. */
static void need(bool holds) {
    if (!holds) _exit(99);
}

/* Runs the body in a child with this value of SALUS_LOG. Sets `said` to the child's standard error
 * and `status` to its wait status. */
static void run(const char *log, bool strict, void (*body)(void)) {
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        setenv("SALUS_LOG", log, 1);
        log_init("error");
        state.strict = strict;
        body();
        _exit(0);
    }
    close(ends[1]);
    read_all(ends[0]);
    close(ends[0]);
    cr_assert_eq(waitpid(child, &status, 0), child);
}

static unsigned int count(const char *part) {
    unsigned int n = 0;
    for (const char *at = said; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

static void two_kernels(void) {
    refuse_kernel("first", NULL, ERR_NO_BINARY, "only machine code", 17);
    refuse_kernel("second", NULL, ERR_INVALID_PTX, "wgmma", 5);
}

Test(refuse, the_first_kernel_is_said) {
    run("", false, two_kernels);
    cr_assert_eq(count("\n"), 1, "%s", said);
    cr_assert(strstr(said, "error shim what=\"a kernel was refused"), "%s", said);
    cr_assert(strstr(said, "kernel=first reason=\"only machine code\""), "%s", said);
    cr_assert(strstr(said, "-gencode arch=compute_75"), "%s", said);
    run("shim:warn", false, two_kernels);
    cr_assert_eq(count("\n"), 2, "%s", said);
    cr_assert(strstr(said, "warn shim what=\"a kernel was refused"), "%s", said);
    run("shim:none", false, two_kernels);
    cr_assert_str_empty(said);
}

static void kernel_of_pytorch(void) {
    refuse_kernel("_ZN2at6native13reduce_kernelE", NULL, ERR_NO_BINARY, "only machine code", 17);
}

Test(refuse, who_cannot_compile_a_kernel_is_not_told_to) {
    run("", false, kernel_of_pytorch);
    cr_assert(strstr(said, "torch.compile"), "%s", said);
    cr_assert(strstr(said, "--device-mode=null"), "%s", said);
    cr_assert_eq(count("nvcc"), 0, "%s", said);
}

static void kernel_of_a_library(void) {
    refuse_kernel("k", (const void *)getpid, ERR_NO_BINARY, "only machine code", 17);
}

Test(refuse, the_file_that_brought_a_kernel_is_known) {
    run("", false, kernel_of_a_library);
    cr_assert(strstr(said, "build this library with PTX"), "%s", said);
}

static void newer_ptx(void) {
    static const char reason[] = "the PTX is for sm_120, the device is sm_90";
    refuse_module(154, NULL, ERR_NO_BINARY, reason, sizeof(reason) - 1);
    refuse_module(155, NULL, ERR_NO_BINARY, reason, sizeof("the PTX is for sm_") - 2);
}

Test(refuse, ptx_for_a_newer_device_is_told_how_to_be_run) {
    run("shim:warn", false, newer_ptx);
    cr_assert_eq(count("salusctl run --capability"), 1, "%s", said);
    cr_assert_eq(count("-gencode arch=compute_75"), 2, "%s", said);
}

static void a_probe_and_a_kernel(void) {
    refuse_module(154, NULL, ERR_INVALID_PTX, "line 8", 6);
    two_kernels();
}

Test(refuse, a_module_does_not_silence_a_kernel) {
    run("", false, a_probe_and_a_kernel);
    cr_assert_eq(count("\n"), 2, "%s", said);
    cr_assert(strstr(said, "bytes=154 reason=\"line 8\""), "%s", said);
    cr_assert(strstr(said, "kernel=first"), "%s", said);
}

static void no_memory_twice(void) {
    refuse_memory(4096, "user_device_memory = 1 MiB", 26);
    refuse_memory(8192, "user_device_memory = 1 MiB", 26);
}

Test(refuse, a_limit_of_memory_is_said_once_and_ends_nobody) {
    run("", true, no_memory_twice);
    cr_assert_eq(WEXITSTATUS(status), 0);
    cr_assert_eq(count("\n"), 1, "%s", said);
    cr_assert(strstr(said, "bytes=4096 reason=\"user_device_memory = 1 MiB\""), "%s", said);
}

static void registered_twice(void) {
    need(refuse_registered("first reason") == CUDA_ERROR_NOT_SUPPORTED);
    need(refuse_registered("second reason") == CUDA_ERROR_NOT_SUPPORTED);
}

Test(refuse, registered_memory_is_said_once_with_the_reason) {
    run("", false, registered_twice);
    cr_assert_eq(WEXITSTATUS(status), 0);
    cr_assert_eq(count("\n"), 1, "%s", said);
    cr_assert(strstr(said, "reason=\"first reason\" do=\"allocate the memory with cudaHostAlloc"),
              "%s", said);
    run("", true, registered_twice);
    cr_assert_eq(WEXITSTATUS(status), 9);
}

static void many_calls(void) {
    for (int i = 0; i < 3 * REFUSE_CALLS; i++)
        need(refuse_call("cuSome") == CUDA_ERROR_NOT_SUPPORTED);
}

Test(refuse, calls_are_said_up_to_a_number) {
    run("", false, many_calls);
    cr_assert_eq(WEXITSTATUS(status), 0);
    cr_assert_eq(count("call=cuSome "), REFUSE_CALLS, "%s", said);
    run("shim:warn", false, many_calls);
    cr_assert_eq(count("call=cuSome "), 3 * REFUSE_CALLS, "%s", said);
}

static void a_hostile_text(void) {
    static char name[100000], reason[100000];
    memset(name, 'n', sizeof(name) - 1);
    memset(reason, '\n', sizeof(reason));
    refuse_kernel(name, NULL, ERR_INVALID_PTX, reason, sizeof(reason)); /* no terminating NUL */
}

Test(refuse, text_from_elsewhere_is_one_bounded_line) {
    run("", false, a_hostile_text);
    cr_assert_eq(count("\n"), 1);
    cr_assert_lt(strlen(said), 2048);
    cr_assert(strstr(said, "do=\"see REFUSED CODE"), "what to do is not cut off: %s", said);
}

static void a_text_with_an_end(void) {
    static const char page[64] = "why\0other bytes of the page";
    refuse_kernel("k", NULL, ERR_INVALID_PTX, page, sizeof(page));
}

Test(refuse, text_ends_at_its_nul) {
    run("", false, a_text_with_an_end);
    cr_assert(strstr(said, "reason=\"why\""), "%s", said);
}

static void one_call(void) {
    refuse_call("cuSome");
}

static void one_module(void) {
    refuse_module(1, NULL, ERR_INVALID_IMAGE, "?", 1);
}

Test(refuse, a_strict_job_ends) {
    void (*const bodies[])(void) = {two_kernels, one_module, one_call};
    for (int i = 0; i < 3; i++) {
        run("", true, bodies[i]);
        cr_assert(WIFEXITED(status));
        cr_assert_eq(WEXITSTATUS(status), JOB_STRICT_EXIT);
        cr_assert(strstr(said, "its job is strict"), "%s", said);
        cr_assert_null(strstr(said, "second"));
        run("", false, bodies[i]);
        cr_assert(WIFEXITED(status));
        cr_assert_eq(WEXITSTATUS(status), 0);
    }
}

Test(refuse, only_refused_code_is) {
    const int code[] = {ERR_INVALID_IMAGE, ERR_INVALID_PTX, ERR_UNSUPPORTED_PTX, ERR_NO_BINARY};
    const int other[] = {0, ERR_NOT_FOUND, ERR_NO_MEMORY, -12, ERR_ILLEGAL_ADDRESS, ERR_ENDED};
    for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
        cr_expect(refuse_is_code(code[i]));
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
        cr_expect_not(refuse_is_code(other[i]));
}

/* ---- slots of private tables ----------------------------------------------------------------- */

static const unsigned char uuid[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                       0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

static CUresult mine(void) {
    return CUDA_SUCCESS;
}

static void call_slots(void) {
    static const void *one[13] = {[2] = (const void *)mine}, *two[SLOTS_MAX];
    slots_fill(uuid, one, 13);
    slots_fill(uuid, two, SLOTS_MAX);
    need(one[2] == (const void *)mine);
    for (int i = 0; i < 3; i++)
        need(((CUresult(*)(void))one[12])() == CUDA_ERROR_NOT_SUPPORTED);
    need(((CUresult(*)(void))two[200])() == CUDA_ERROR_NOT_SUPPORTED);
    need(two[SLOTS_MAX - 1] == NULL); /* the table of functions has no free entry left */
}

Test(refuse, a_slot_says_which_it_is_once) {
    run("", false, call_slots);
    cr_assert_eq(WEXITSTATUS(status), 0);
    cr_assert_eq(count("\n"), 2, "%s", said);
    cr_assert_eq(count("call=6bd5fb6c5bf4e74a8987d93912fd9df9[12] "), 1, "%s", said);
    cr_assert_eq(count("[200] "), 1, "%s", said);
}

/* ---- recorded refusals ----------------------------------------------------------------------- */

static char written[1 << 16];

/* Runs the body with the file that SALUS_REFUSALS names, and reads the file. */
static void run_recorded(void (*body)(void)) {
    char path[] = "/tmp/salus-refusals-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    setenv(JOB_REFUSALS_VARIABLE, path, 1);
    run("shim:none", false, body);
    unsetenv(JOB_REFUSALS_VARIABLE);
    ssize_t n = read(fd, written, sizeof(written) - 1);
    cr_assert_geq(n, 0);
    written[n] = '\0';
    close(fd);
    unlink(path);
}

static void one_of_each(void) {
    errno = 77;
    refuse_kernel("first", NULL, ERR_NO_BINARY, "only machine code", 17);
    refuse_module(154, NULL, ERR_INVALID_PTX, "line\n8\t?", 8);
    refusals_note("call", "cuSome", (const void *)getpid, 0, "", 0);
    refusals_note("symbol", "", NULL, 0, "", 0);
    need(errno == 77);
}

Test(refuse, each_is_written_down_in_a_line) {
    run_recorded(one_of_each);
    cr_assert_eq(WEXITSTATUS(status), 0);
    cr_assert_str_eq(written, "kernel\tfirst\t-\tERR_NO_BINARY\tonly machine code\n"
                              "module\t154 bytes\t-\tERR_INVALID_PTX\tline 8 ?\n"
                              "call\tcuSome\tlibc.so.6\t-\t\n"
                              "symbol\t-\t-\t-\t\n");
}

Test(refuse, each_time_is_written_down) {
    run_recorded(call_slots);
    cr_assert(strstr(written, "call\t6bd5fb6c5bf4e74a8987d93912fd9df9[12]\t"), "%s", written);
    memcpy(said, written, sizeof(said));
    cr_assert_eq(count("[12]\t"), 3, "%s", said);
    cr_assert_eq(count("[200]\t"), 1, "%s", said);
}

Test(refuse, hostile_text_is_one_bounded_line_there_too) {
    run_recorded(a_hostile_text);
    memcpy(said, written, sizeof(said));
    cr_assert_eq(count("\n"), 1);
    cr_assert_eq(count("\t"), 4, "%s", said);
    cr_assert_leq(strlen(said), 1024);
}

/* The library makes no file, follows no link, and waits for no reader. */
Test(refuse, only_a_file_that_is_there_is_written_to) {
    char dir[] = "/tmp/salus-refusals-XXXXXX", path[64];
    struct stat st;
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/none", dir);
    setenv(JOB_REFUSALS_VARIABLE, path, 1);
    run("", false, two_kernels);
    cr_assert_eq(WEXITSTATUS(status), 0);
    cr_assert_eq(stat(path, &st), -1);
    cr_assert_eq(mkfifo(path, 0600), 0);
    run("", false, two_kernels);
    cr_assert_eq(WEXITSTATUS(status), 0);
    cr_assert_eq(count("\n"), 1, "and the line is said: %s", said);
    unlink(path);
    cr_assert_eq(symlink("/dev/null", path), 0);
    run("", false, two_kernels);
    cr_assert_eq(WEXITSTATUS(status), 0);
    unlink(path);
    rmdir(dir);
}
