/* SPDX-License-Identifier: Apache-2.0
 *
 * The child has only two descriptors, the input as 0 and a pipe as 1, so that the filter can name
 * them. It shares one mapping with its parent, which reads it after the child has ended.
 */
#include "daemon/sim/verbs/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SANDBOX_BUFFER 65536u

/* ---- in the child ---------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
/* ASan manages memory differently, and maps terabytes of shadow memory. */
static int allow_memory(scmp_filter_ctx filter) {
    const int calls[] = {SCMP_SYS(mmap), SCMP_SYS(madvise), SCMP_SYS(mprotect), SCMP_SYS(futex),
                         SCMP_SYS(sigaltstack)};
    int err = 0;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    return err;
}

static int limit_memory(uint64_t bytes) {
    return 0;
}
#else
/* Allows what malloc needs: private anonymous memory, never executable. */
static int allow_memory(scmp_filter_ctx filter) {
    const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    int err = seccomp_rule_add(
        filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, no_code,
        SCMP_A3(SCMP_CMP_MASKED_EQ, ~(uint64_t)MAP_NORESERVE, MAP_PRIVATE | MAP_ANONYMOUS));
    if (!err) err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_code);
    if (!err) err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(madvise), 0);
    return err;
}

static int limit_memory(uint64_t bytes) {
    const struct rlimit most = {bytes, bytes};
    return setrlimit(RLIMIT_AS, &most) ? -errno : 0;
}
#endif

/* Allows the permitted system calls. The only exit status is 0, so that no later exit looks like a
 * failure to set up the filter. */
static int allow(scmp_filter_ctx filter) {
    int err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(read), 1,
                               SCMP_A0(SCMP_CMP_EQ, STDIN_FILENO, 0));
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
                               SCMP_A0(SCMP_CMP_EQ, STDOUT_FILENO, 0));
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(exit_group), 1,
                               SCMP_A0(SCMP_CMP_EQ, 0, 0));
    if (!err) err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(brk), 0);
    if (!err) err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(munmap), 0);
    if (!err) err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mremap), 0);
    return err ? err : allow_memory(filter);
}

/* Installs the filter: at any other call, or one of another architecture, the kernel kills the
 * process. The filter also prevents programs from gaining privileges; none is started anyway. */
static int confine(void) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter) return -ENOSYS;
    int err = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (!err) err = allow(filter);
    if (!err) err = seccomp_load(filter);
    seccomp_release(filter);
    return err;
}

/* Disables core dumps, limits CPU time and memory, and makes the child die with its parent. */
static int limit(const struct sandbox *box) {
    const struct rlimit none = {0, 0}, cpu = {box->cpu_s, box->cpu_s + 1};
    if (setrlimit(RLIMIT_CORE, &none) || setrlimit(RLIMIT_CPU, &cpu) ||
        prctl(PR_SET_PDEATHSIG, SIGKILL))
        return -errno;
    return limit_memory(box->memory_bytes);
}

/* Keeps only descriptors 0 and 1. */
static int keep(int in, int out) {
    in = fcntl(in, F_DUPFD, STDERR_FILENO + 1);
    out = fcntl(out, F_DUPFD, STDERR_FILENO + 1);
    if (in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        close_range(STDERR_FILENO, ~0u, 0))
        return -errno;
    return 0;
}

/* Resets signal handling, so that a crash ends the child whatever handlers the parent has. */
static void crash_plainly(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGXCPU};
    sigset_t none;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Opens and allocates everything that needs calls forbidden by the filter, then confines itself and
 * calls the function. */
_Noreturn static void inside(const struct sandbox *box, void *result, int in, int out) {
    static char read_into[SANDBOX_BUFFER], written_from[SANDBOX_BUFFER];
    int err = keep(in, out);
    FILE *from = err ? NULL : fdopen(STDIN_FILENO, "r"),
         *to = err ? NULL : fdopen(STDOUT_FILENO, "w");
    if (!err && (!from || !to || setvbuf(from, read_into, _IOFBF, sizeof(read_into)) ||
                 setvbuf(to, written_from, _IOFBF, sizeof(written_from))))
        err = -ENOMEM;
    crash_plainly();
    if (!err) err = limit(box);
    if (!err) err = confine();
    if (err) _exit(-err);
    box->work(from, to, result);
    fflush(to);
    _exit(0);
}

/* ---- in the parent --------------------------------------------------------------------------- */

static bool harmless(char c) {
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\t';
}

void sandbox_text(char *text, size_t bytes) {
    text[bytes - 1] = '\0';
    for (; *text; text++)
        if (!harmless(*text)) *text = '?';
}

/* Copies printable output until the child closes the pipe. */
static void show(int from, FILE *out) {
    char text[4096];
    size_t shown = 0;
    ssize_t n;
    while ((n = read(from, text, sizeof(text))) > 0 || (n < 0 && errno == EINTR))
        for (ssize_t i = 0; i < n && shown < SANDBOX_SHOWN_BYTES; i++, shown++)
            fputc(harmless(text[i]) ? text[i] : '?', out);
}

static enum sandbox_end judge(int status, int *detail) {
    *detail = 0;
    if (WIFEXITED(status)) {
        *detail = WEXITSTATUS(status);
        return *detail ? SANDBOX_NONE : SANDBOX_DONE;
    }
    *detail = WTERMSIG(status);
    return *detail == SIGSYS    ? SANDBOX_FORBIDDEN
           : *detail == SIGXCPU ? SANDBOX_SLOW
                                : SANDBOX_CRASHED;
}

/* Runs the child and shows its output. Sets *status; returns 0 or -errno if the child could not be
 * created. */
static int run(const struct sandbox *box, void *result, int in, FILE *out, int *status) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return -errno;
    pid_t pid = fork();
    if (pid == 0) inside(box, result, in, ends[1]);
    int err = pid < 0 ? -errno : 0;
    close(ends[1]);
    if (!err) show(ends[0], out);
    close(ends[0]);
    while (!err && waitpid(pid, status, 0) < 0)
        if (errno != EINTR) err = -errno;
    return err;
}

enum sandbox_end sandbox_run(const struct sandbox *box, int in, FILE *out, int *detail) {
    int status = 0;
    void *result =
        mmap(NULL, box->result_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (result == MAP_FAILED) {
        *detail = errno;
        return SANDBOX_NONE;
    }
    memcpy(result, box->result, box->result_bytes);
    int err = run(box, result, in, out, &status);
    enum sandbox_end end = err ? SANDBOX_NONE : judge(status, detail);
    if (err) *detail = -err;
    if (end == SANDBOX_DONE) memcpy(box->result, result, box->result_bytes);
    munmap(result, box->result_bytes);
    return end;
}
