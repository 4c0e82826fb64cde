/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the state of each thread in /proc/self/task. Two scans that find every thread asleep, and
 * the same numbers of context switches, prove a moment at which all slept. From then on no thread
 * is left to wake them.
 */
#include "shim/host_memory/quiescence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/atomics.h"
#include "shim/host_memory/pages.h"

#define SIGNALS 65
#define PAUSE_NS 100000u
#define LONGEST_PAUSE_NS 12800000u

/* ---- handlers --------------------------------------------------------------------------------
 *
 * A signal would make a sleeping thread run. So every handler is replaced by one that waits, and
 * then calls the program's handler with its mask and flags. */

static struct {
    _Atomic uint32_t on;      /* 1: handlers wait. A futex */
    _Atomic uint32_t waiting; /* handlers that have not yet read `own` */
    struct sigaction own[SIGNALS];
    bool taken[SIGNALS];
} handlers;

static void wait_then_handle(int number, siginfo_t *info, void *context) {
    int saved = errno;
    atom_add(&handlers.waiting, 1);
    while (atom_load_acquire(&handlers.on))
        syscall(SYS_futex, &handlers.on, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    const struct sigaction own = handlers.own[number];
    atom_sub_acq_rel(&handlers.waiting, 1);
    errno = saved;
    if (own.sa_flags & SA_SIGINFO)
        own.sa_sigaction(number, info, context);
    else
        own.sa_handler(number);
}

/* True for signals that an instruction causes: a sleeping thread does not get them by itself. */
static bool is_of_instruction(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
           number == SIGTRAP || number == SIGSYS;
}

static bool has_handler(const struct sigaction *own) {
    return own->sa_flags & SA_SIGINFO || (own->sa_handler != SIG_DFL && own->sa_handler != SIG_IGN);
}

/* Replaces a handler. False for a handler that runs only once: its replacement would be visible. */
static bool take_handler(int number) {
    struct sigaction own, instead;
    if (is_of_instruction(number) || sigaction(number, NULL, &own) < 0 || !has_handler(&own))
        return true;
    if (own.sa_flags & SA_RESETHAND) return false;
    handlers.own[number] = instead = own;
    instead.sa_flags |= SA_SIGINFO;
    instead.sa_sigaction = wait_then_handle;
    handlers.taken[number] = sigaction(number, &instead, NULL) == 0;
    return handlers.taken[number];
}

static void return_handlers(void) {
    for (int i = 1; i < SIGNALS; i++) {
        if (handlers.taken[i]) sigaction(i, &handlers.own[i], NULL);
        handlers.taken[i] = false;
    }
    atom_store_release(&handlers.on, 0);
    syscall(SYS_futex, &handlers.on, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool take_handlers(void) {
    if (atom_load_acquire(&handlers.waiting)) return false;
    atom_store_release(&handlers.on, 1);
    for (int i = 1; i < SIGNALS; i++) {
        if (take_handler(i)) continue;
        return_handlers();
        return false;
    }
    return true;
}

/* ---- scanning -------------------------------------------------------------------------------- */

#define TEXT_BYTES 8192

static bool read_file(int task, const char *thread, const char *name, char *text) {
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", thread, name);
    int fd = openat(task, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, TEXT_BYTES - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* True for a wait without a timeout, of a futex that no other process has. A futex that is not
 * private is identified by its page, so it must not be in the pages that are exchanged. */
static bool is_wait(unsigned long address, unsigned long op, unsigned long timeout, uint64_t lo,
                    uint64_t hi) {
    unsigned long command = op & ~(unsigned long)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
    if ((command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) || timeout) return false;
    if (op & FUTEX_PRIVATE_FLAG) return true;
    return (address < lo || address >= hi) && pages_private(address);
}

/* True when the thread sleeps. The text is "202 0x7f.. 0x80 0x0 0x0 0x0 0x0 0x7ff.. 0x7f..", the
 * call, its arguments, stack and code; or "running". */
static bool sleeps(const char *text, uint64_t lo, uint64_t hi) {
    unsigned long a[4], stack;
    int call;
    if (sscanf(text, "%d %lx %lx %lx %lx %*x %*x %lx", &call, &a[0], &a[1], &a[2], &a[3], &stack) !=
        6)
        return false;
    if (stack + PAGES_BYTES > lo && stack < hi) return false;
    return call == SYS_futex && is_wait(a[0], a[1], a[3], lo, hi);
}

static uint64_t number_after(const char *text, const char *label) {
    const char *found = strstr(text, label);
    return found ? strtoull(found + strlen(label), NULL, 10) : 0;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* True when this thread sleeps. `print` gets values that distinguish this sleep from a later one.
 */
static bool look_at(int task, const char *thread, uint64_t lo, uint64_t hi, uint64_t *print) {
    char text[TEXT_BYTES];
    uint64_t number = strtoull(thread, NULL, 10);
    if (!read_file(task, thread, "syscall", text) || !sleeps(text, lo, hi)) return false;
    if (!read_file(task, thread, "status", text)) return false;
    uint64_t switches = number_after(text, "\nvoluntary_ctxt_switches:") +
                        number_after(text, "\nnonvoluntary_ctxt_switches:");
    *print += mix(mix(number) + switches);
    return true;
}

static bool all_sleep(uint64_t lo, uint64_t hi, uint64_t *print) {
    DIR *task = opendir("/proc/self/task");
    const struct dirent *d;
    unsigned long self = (unsigned long)syscall(SYS_gettid);
    bool quiet = task != NULL;
    *print = 0;
    while (quiet && (d = readdir(task)) != NULL) {
        if (d->d_name[0] == '.' || strtoul(d->d_name, NULL, 10) == self) continue;
        quiet = look_at(dirfd(task), d->d_name, lo, hi, print);
    }
    if (task) closedir(task);
    return quiet;
}

static bool sleep_on(uint64_t lo, uint64_t hi) {
    uint64_t first, second;
    return all_sleep(lo, hi, &first) && all_sleep(lo, hi, &second) && first == second;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Scans before replacing handlers, because usually some thread runs. */
static bool try_once(uint64_t lo, uint64_t hi) {
    if (!sleep_on(lo, hi) || !take_handlers()) return false;
    if (sleep_on(lo, hi)) return true;
    return_handlers();
    return false;
}

bool quiescence_begin(struct quiet *q, uint64_t lo, uint64_t hi, uint64_t patience_ns) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &q->before);
    bool quiet = try_once(lo, hi);
    for (uint64_t pause = PAUSE_NS, slept = 0; !quiet && slept < patience_ns;) {
        const struct timespec t = {.tv_nsec = (long)pause};
        pthread_sigmask(SIG_SETMASK, &q->before, NULL);
        nanosleep(&t, NULL);
        slept += pause;
        if (pause < LONGEST_PAUSE_NS) pause *= 2;
        pthread_sigmask(SIG_SETMASK, &all, NULL);
        quiet = try_once(lo, hi);
    }
    if (!quiet) pthread_sigmask(SIG_SETMASK, &q->before, NULL);
    return quiet;
}

void quiescence_end(const struct quiet *q) {
    return_handlers();
    pthread_sigmask(SIG_SETMASK, &q->before, NULL);
}
