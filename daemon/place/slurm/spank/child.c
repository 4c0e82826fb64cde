/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads both outputs until the child closes them or the time limit passes.
 */
#include "daemon/place/slurm/spank/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdutil.h"

#define TIMED_OUT 124

struct pipes {
    int out[2], err[2];
};

static int open_pipes(struct pipes *p) {
    int err;

    if (pipe2(p->out, O_CLOEXEC) < 0) return -errno;
    if (pipe2(p->err, O_CLOEXEC) == 0) return 0;
    err = -errno;
    fdutil_close(&p->out[0]);
    fdutil_close(&p->out[1]);
    return err;
}

static int spawn(char *const argv[], char *const env[], const struct pipes *p, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    int err;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, p->out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, p->err[1], STDERR_FILENO);
    posix_spawnattr_init(&how); /* Slurm's processes block signals */
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&how, &none);
    /* a process group of its own, so that all of it can be killed. */
    posix_spawnattr_setpgroup(&how, 0);
    err = posix_spawn(pid, argv[0], &files, &how, argv, env);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return -err;
}

/* Reads available bytes; returns false at the end of the stream. */
static bool take(int fd, char *to, size_t cap, size_t *used) {
    char rest[4096];
    bool room = *used < cap;
    ssize_t n = room ? read(fd, to + *used, cap - *used) : read(fd, rest, sizeof(rest));

    if (n > 0 && room) *used += (size_t)n;
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Reads until both streams end; returns false if the time limit passes first. */
static bool read_both(const struct pipes *p, int limit_ms, struct child_output *c) {
    uint64_t end = fdutil_now_ns() + (uint64_t)limit_ms * 1000000u;
    struct pollfd f[2] = {{.fd = p->out[0], .events = POLLIN}, {.fd = p->err[0], .events = POLLIN}};
    size_t err_bytes = 0;

    while (f[0].fd >= 0 || f[1].fd >= 0) {
        uint64_t now = fdutil_now_ns();
        if (now >= end) return false;
        poll(f, 2, (int)((end - now) / 1000000) + 1);
        if (f[0].revents && !take(f[0].fd, c->out, CHILD_OUTPUT_BYTES, &c->out_bytes)) f[0].fd = -1;
        if (f[1].revents && !take(f[1].fd, c->err, sizeof(c->err) - 1, &err_bytes)) f[1].fd = -1;
    }
    while (err_bytes && c->err[err_bytes - 1] == '\n')
        err_bytes--;
    c->err[err_bytes] = '\0';
    return true;
}

/* Waits for the child, or kills it at once. Its process group is killed before the child is reaped,
 * because until then its number cannot be reused. */
static int end_group(pid_t pid, bool now) {
    siginfo_t info;
    int status;

    if (now) kill(-pid, SIGKILL);
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
        if (errno != EINTR) return -1;
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_run(char *const argv[], char *const env[], int limit_ms, struct child_output *c) {
    struct pipes p;
    bool whole;
    pid_t pid;
    int err;

    *c = (struct child_output){.out = malloc(CHILD_OUTPUT_BYTES + 1)};
    if (!c->out) return -ENOMEM;
    err = open_pipes(&p);
    if (err < 0) goto free_output;
    err = spawn(argv, env, &p, &pid);
    fdutil_close(&p.out[1]);
    fdutil_close(&p.err[1]);
    if (err < 0) goto close_pipes;
    whole = read_both(&p, limit_ms, c);
    c->out[c->out_bytes] = '\0'; /* terminates partial output as well */
    c->status = end_group(pid, !whole);
    if (!whole) c->status = TIMED_OUT;
close_pipes:
    fdutil_close(&p.out[0]);
    fdutil_close(&p.err[0]);
free_output:
    if (err < 0) child_finish(c);
    return err;
}

void child_finish(struct child_output *c) {
    free(c->out);
    c->out = NULL;
}
