/* SPDX-License-Identifier: Apache-2.0
 *
 * A handler on a stack of its own. It allocates nothing and takes no lock but the loader's. Writing
 * the stack takes a second at most; then the signal's default action follows.
 */
#include "daemon/worker/crash.h"

#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/sched/record/recorder.h"

#define CRASH_STACK 131072
#define CRASH_FRAMES 32

static char crash_path[PATH_MAX];
static const struct recorder *volatile crash_kept;
static char crash_stack[CRASH_STACK];

static void write_record(int signal_number) {
    char line[PATH_MAX + 128];
    int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int err = fd < 0 ? -1 : recorder_write(crash_kept, fd);
    int n = snprintf(line, sizeof(line), "salus-gpu error worker event=crash signal=%d %s=%s\n",
                     signal_number, err ? "events_not_written_to" : "events", crash_path);
    if (fd >= 0) close(fd);
    if (write(STDERR_FILENO, line, (size_t)n) < 0) return;
}

/* Writes the stack: most crashes are in a driver, and no other message says so. The crashed thread
 * may hold the loader's lock, so an alarm ends a handler that hangs. */
static void write_stack(void) {
    void *frames[CRASH_FRAMES];
    signal(SIGALRM, SIG_DFL);
    alarm(1);
    backtrace_symbols_fd(frames, backtrace(frames, CRASH_FRAMES), STDERR_FILENO);
}

/* SA_RESETHAND: the same signal, when it comes again, ends the process at once. */
static void handle_signal(int signal_number) {
    if (crash_kept) write_record(signal_number);
    write_stack();
    raise(signal_number);
}

void crash_watch(const char *path) {
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof(crash_stack)};
    struct sigaction act = {.sa_handler = handle_signal, .sa_flags = SA_RESETHAND | SA_ONSTACK};
    if (!path || !*path || strlen(path) >= sizeof(crash_path)) return;
    memcpy(crash_path, path, strlen(path) + 1);
    backtrace(&(void *){NULL}, 1); /* the first call allocates */
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &act, NULL);
}

void crash_recorder(const struct recorder *r) {
    crash_kept = r;
}
