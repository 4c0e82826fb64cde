/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that a function may make in the sandbox, and the end of a function that makes any other
 * call.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/sim/verbs/sandbox.h"

#define MEMORY (256u << 20)

struct found {
    uint64_t bytes, sum;
};

static int detail;

static char *shown; /* output of the latest function */

static enum sandbox_end run(void (*work)(FILE *, FILE *, void *), const char *input,
                            struct found *found) {
    const struct sandbox box = {.work = work,
                                .result = found,
                                .result_bytes = sizeof(*found),
                                .memory_bytes = MEMORY,
                                .cpu_s = 1};
    int in = memfd_create("input", MFD_CLOEXEC);
    size_t bytes;
    FILE *out = open_memstream(&shown, &bytes);
    cr_assert(in >= 0 && out);
    cr_assert_eq(write(in, input, strlen(input)), (ssize_t)strlen(input));
    lseek(in, 0, SEEK_SET);
    enum sandbox_end end = sandbox_run(&box, in, out, &detail);
    fclose(out);
    close(in);
    return end;
}

/* ---- permitted calls ------------------------------------------------------------------------- */

static void counts(FILE *in, FILE *out, void *result) {
    struct found *f = result;
    for (int c; (c = fgetc(in)) != EOF; f->bytes++)
        f->sum += (unsigned char)c;
    fprintf(out, "%lu bytes\n", (unsigned long)f->bytes);
}

Test(sim_sandbox, reads_computes_prints_and_returns) {
    struct found f = {.sum = 1};
    cr_expect_eq(run(counts, "abc", &f), SANDBOX_DONE, "%d", detail);
    cr_expect_eq(f.bytes, 3);
    cr_expect_eq(f.sum, 1 + 'a' + 'b' + 'c', "it begins with what the caller left there");
    cr_expect_str_eq(shown, "3 bytes\n");
    free(shown);
}

static void allocates(FILE *in, FILE *out, void *result) {
    struct found *f = result;
    char *all[16] = {0};
    for (size_t bytes = 1024; bytes <= 32u << 20; bytes *= 2)
        for (size_t i = 0; i < 16; i++) {
            char *grown = i % 2 ? realloc(all[i / 2], bytes) : malloc(bytes / 16);
            if (!grown) return;
            memset(grown, 1, bytes / 16);
            if (i % 2)
                all[i / 2] = grown;
            else
                free(grown);
            f->bytes = bytes;
            if (bytes > 1u << 20 && i > 3) break;
        }
    for (size_t i = 0; i < 16; i++)
        free(all[i]);
}

Test(sim_sandbox, has_memory_of_every_size) {
    struct found f = {0};
    cr_expect_eq(run(allocates, "", &f), SANDBOX_DONE, "%d", detail);
    cr_expect_eq(f.bytes, 32u << 20);
    free(shown);
}

/* ---- forbidden calls ------------------------------------------------------------------------- */

static void opens(FILE *in, FILE *out, void *result) {
    open("/dev/null", O_RDONLY);
}

static void connects(FILE *in, FILE *out, void *result) {
    socket(AF_UNIX, SOCK_STREAM, 0);
}

static void forks(FILE *in, FILE *out, void *result) {
    if (fork() == 0) _exit(0);
}

static void starts_a_program(FILE *in, FILE *out, void *result) {
    execl("/bin/true", "true", (char *)NULL);
}

static void signals(FILE *in, FILE *out, void *result) {
    kill(getppid(), SIGKILL);
}

static void writes_elsewhere(FILE *in, FILE *out, void *result) {
    if (write(STDERR_FILENO, "x", 1) < 0) return;
}

static void reads_elsewhere(FILE *in, FILE *out, void *result) {
    char c;
    if (read(STDOUT_FILENO, &c, 1) < 0) return;
}

/* Pretends to be an outer process that cannot create the sandbox, which would ask the caller to
 * trust it. */
static void feigns_that_there_is_none(FILE *in, FILE *out, void *result) {
    _exit(ENOSYS);
}

static void expect_killed(void (*work)(FILE *, FILE *, void *), const char *what) {
    struct found f = {0};
    cr_expect_eq(run(work, "", &f), SANDBOX_FORBIDDEN, "%s: %d", what, detail);
    free(shown);
}

Test(sim_sandbox, any_other_system_call_kills_it) {
    expect_killed(opens, "it opens a file");
    expect_killed(connects, "it makes a socket");
    expect_killed(forks, "it makes a process");
    expect_killed(starts_a_program, "it starts a program");
    expect_killed(signals, "it sends a signal");
    expect_killed(writes_elsewhere, "it writes to another descriptor");
    expect_killed(reads_elsewhere, "it reads from another descriptor");
    expect_killed(feigns_that_there_is_none, "it ends as if there were no sandbox");
}

#ifndef __SANITIZE_ADDRESS__ /* ASan maps much memory at any address */
static void makes_code(FILE *in, FILE *out, void *result) {
    mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void turns_memory_into_code(FILE *in, FILE *out, void *result) {
    mprotect((void *)((uintptr_t)result & -4096), 4096, PROT_READ | PROT_EXEC);
}

static void maps_its_input(FILE *in, FILE *out, void *result) {
    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
}

Test(sim_sandbox, memory_is_never_code_and_of_no_file) {
    expect_killed(makes_code, "it makes code");
    expect_killed(turns_memory_into_code, "it turns memory into code");
    expect_killed(maps_its_input, "it maps a file");
}

static void takes_all(FILE *in, FILE *out, void *result) {
    struct found *f = result;
    while (malloc(1u << 20))
        f->bytes += 1u << 20;
}

Test(sim_sandbox, memory_is_bounded) {
    struct found f = {0};
    cr_expect_eq(run(takes_all, "", &f), SANDBOX_DONE, "%d", detail);
    cr_expect_leq(f.bytes, MEMORY);
    cr_expect_geq(f.bytes, MEMORY / 4);
    free(shown);
}
#endif

/* Takes several seconds, where one is allowed. */
static void spins(FILE *in, FILE *out, void *result) {
    for (volatile uint64_t i = 0; i < 10000000000; i++)
        ;
}

Test(sim_sandbox, time_is_bounded) {
    struct found f = {0};
    cr_expect_eq(run(spins, "", &f), SANDBOX_SLOW, "%d", detail);
    free(shown);
}

static void crashes(FILE *in, FILE *out, void *result) {
    struct found *f = result;
    f->bytes = 7;
    __builtin_trap();
}

/* The test's process has a handler for the signal, which the sandbox does not use. */
Test(sim_sandbox, a_crash_is_told_and_its_result_dropped) {
    struct found f = {0};
    cr_expect_eq(run(crashes, "", &f), SANDBOX_CRASHED);
    cr_expect_eq(detail, SIGILL);
    cr_expect_eq(f.bytes, 0);
    free(shown);
}

static void paints(FILE *in, FILE *out, void *result) {
    fputs("red \033[31m \x9b \r\n\ttext\n", out);
}

static void chatters(FILE *in, FILE *out, void *result) {
    for (int i = 0; i < 100000; i++)
        fputs("0123456789\n", out);
}

Test(sim_sandbox, a_terminal_gets_text_and_not_without_end) {
    struct found f = {0};
    cr_expect_eq(run(paints, "", &f), SANDBOX_DONE);
    cr_expect_str_eq(shown, "red ?[31m ? ?\n\ttext\n");
    free(shown);
    cr_expect_eq(run(chatters, "", &f), SANDBOX_DONE, "it is heard to its end");
    cr_expect_eq(strlen(shown), SANDBOX_SHOWN_BYTES);
    free(shown);
    char text[8] = {'a', '\033', 'b', '\n', 'c', 'd', 'e', 'f'};
    sandbox_text(text, sizeof(text));
    cr_expect_str_eq(text, "a?b\ncde");
}

/* ---- systems without a sandbox --------------------------------------------------------------- */

static void must_not_run(FILE *in, FILE *out, void *result) {
    struct found *f = result;
    f->bytes = 1;
}

/* A filter on this process makes the kernel answer like one without seccomp. */
Test(sim_sandbox, without_seccomp_nothing_is_run) {
    struct found f = {0};
    scmp_filter_ctx old_kernel = seccomp_init(SCMP_ACT_ALLOW);
    cr_assert_eq(seccomp_rule_add(old_kernel, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0), 0);
    cr_assert_eq(seccomp_rule_add(old_kernel, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
                                  SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP)),
                 0);
    cr_assert_eq(seccomp_load(old_kernel), 0);
    seccomp_release(old_kernel);
    cr_expect_eq(run(must_not_run, "", &f), SANDBOX_NONE);
    cr_expect_neq(detail, 0);
    cr_expect_eq(f.bytes, 0);
    free(shown);
}
