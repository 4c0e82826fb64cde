/* SPDX-License-Identifier: Apache-2.0
 *
 * All signals are blocked and taken one by one: no handler has to be safe, and no signal is lost.
 */
#include "daemon/ctl/run/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fdutil.h"

void relay_prepare(struct relay *r) {
    struct sigaction plain = {.sa_handler = SIG_DFL};

    *r = (struct relay){.child = 0};
    r->witness.fd = -1;
    sigaction(SIGCHLD, &plain, &r->on_child);
    sigprocmask(SIG_SETMASK, NULL, &r->before);
}

void relay_begin(struct relay *r) {
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    witness_start(&r->witness);
}

void relay_undo(const struct relay *r) {
    sigaction(SIGCHLD, &r->on_child, NULL);
    sigprocmask(SIG_SETMASK, &r->before, NULL);
}

static void drop_pending(void) {
    struct timespec none = {0};
    sigset_t all;

    sigfillset(&all);
    while (sigtimedwait(&all, NULL, &none) > 0 || errno == EINTR) {
    }
}

void relay_end(struct relay *r) {
    r->child = 0;
    witness_stop(&r->witness);
    drop_pending();
    relay_undo(r);
}

/* ---- relaying ------------------------------------------------------------------------------- */

/* The signal came from a write of ours, to a pipe without a reader or beyond a limit. */
static bool is_own(const siginfo_t *s) {
    return s->si_code == SI_USER && s->si_pid == getpid();
}

/* The kernel reports a child. A SIGCHLD with another code was sent by a process. */
static bool is_about_child(const siginfo_t *s) {
    return s->si_signo == SIGCHLD && s->si_code > 0;
}

/* Passes a signal on, with its value if it has one. */
static void pass_on(struct relay *r, siginfo_t *s) {
    if (is_about_child(s) || is_own(s) || witness_saw(&r->witness, s->si_signo)) return;
    if (s->si_code != SI_QUEUE || syscall(SYS_rt_sigqueueinfo, r->child, s->si_signo, s) < 0)
        kill(r->child, s->si_signo);
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* This is the job that a shell waits for, which must learn of a stop. */
static bool is_in_foreground(void) {
    int tty = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    bool in_front = tty >= 0 && tcgetpgrp(tty) == getpgrp();

    fdutil_close(&tty);
    return in_front;
}

static bool goes_on_already(void) {
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

/* Stops this process by the same signal, which a shell reports. A command stopped by SIGSTOP may be
 * continued without us; then only a shell's user can continue us, too. */
static void stop_like(int number) {
    struct sigaction plain = {.sa_handler = SIG_DFL}, was;
    sigset_t one;

    if ((number == SIGSTOP && !is_in_foreground()) || goes_on_already()) return;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigaction(number, &plain, &was);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* stops here until continued */
    sigprocmask(SIG_BLOCK, &one, NULL);
    sigaction(number, &was, NULL);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Returns 1 when the child has ended. */
static int look_at_child(const struct relay *r, int *status) {
    pid_t pid;

    while ((pid = waitpid(r->child, status, WNOHANG | WUNTRACED)) == r->child) {
        if (!WIFSTOPPED(*status)) return 1;
        stop_like(WSTOPSIG(*status));
    }
    return pid < 0 && errno != EINTR ? -errno : 0;
}

int relay_wait(struct relay *r, int seconds, int *status) {
    struct timespec limit = {.tv_sec = seconds};
    siginfo_t taken;
    sigset_t all;

    sigfillset(&all);
    for (;;) {
        int ended = look_at_child(r, status);

        if (ended) return ended;
        if (sigtimedwait(&all, &taken, seconds < 0 ? NULL : &limit) > 0)
            pass_on(r, &taken);
        else if (errno == EAGAIN)
            return 0;
    }
}
