/* SPDX-License-Identifier: Apache-2.0
 *
 * All signals are blocked in the witness, which takes one from its pending ones when asked.
 */
#include "daemon/ctl/run/witness.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fdutil.h"

#define ANSWER_MS                                                                                  \
    1000 /* a witness that does not answer in time, being stopped for instance, is not asked again \
          */

static unsigned char take(int number) {
    struct timespec none = {0};
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, number);
    return sigtimedwait(&one, NULL, &none) == number;
}

/* In the child. Closes all descriptors, because other ends might wait for the command to close
 * them. */
static void answer(int fd, pid_t parent) {
    int number;
    unsigned char saw;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(fd, STDIN_FILENO) < 0 || chdir("/") < 0) _exit(1);
    closefrom(STDIN_FILENO + 1);
    while (recv(STDIN_FILENO, &number, sizeof(number), 0) == sizeof(number)) {
        saw = take(number);
        if (send(STDIN_FILENO, &saw, 1, MSG_NOSIGNAL) != 1) break;
    }
    _exit(0);
}

void witness_start(struct witness *w) {
    pid_t parent = getpid();
    int ends[2];

    *w = (struct witness){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return;
    w->pid = fork();
    if (w->pid == 0) answer(ends[1], parent);
    fdutil_close(&ends[1]);
    w->fd = ends[0];
    if (w->pid < 0) {
        w->pid = 0;
        fdutil_close(&w->fd);
    }
}

bool witness_saw(struct witness *w, int number) {
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
    unsigned char saw = 0;

    if (w->pid == 0) return false;
    /* A sender to a group holds the kernel's process list until the last member has the signal, and
     * a change of group waits for that list. So this call, which changes nothing, waits for such a
     * sender. */
    setpgid(0, getpgrp());
    if (send(w->fd, &number, sizeof(number), MSG_NOSIGNAL) == sizeof(number) &&
        poll(&p, 1, ANSWER_MS) == 1 && recv(w->fd, &saw, 1, 0) == 1)
        return saw;
    witness_stop(w);
    return false;
}

void witness_stop(struct witness *w) {
    if (w->pid == 0) return;
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    w->pid = 0;
    fdutil_close(&w->fd);
}
