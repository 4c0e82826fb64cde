/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts and ends the private daemon.
 */
#include "daemon/ctl/run/private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/ctl/files/installation.h"
#include "daemon/ctl/files/temporary.h"
#include "daemon/ctl/run/inherited.h"

#define START_TIMEOUT_MS \
    90000 /* longer than the daemon's own limit, so that its error is seen first */
#define STOP_TIMEOUT_MS 5000
#define POLL_MS 2

/* ---- readiness: the receiving end of systemd's protocol ------------------------------------- */

static int notify_path(const struct private *p, char *out, size_t cap) {
    return snprintf(out, cap, "%s/notify", p->dir);
}

static int open_notify(struct private *p, struct cli *c) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};

    notify_path(p, addr.sun_path, sizeof(addr.sun_path));
    p->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->notify >= 0 && bind(p->notify, (struct sockaddr *)&addr, sizeof(addr)) == 0)
        return CLI_OK;
    return cli_fail(c, CLI_FAILED, "%s: %s", addr.sun_path, strerror(errno));
}

static void close_notify(struct private *p) {
    char path[PRIVATE_DIR_BYTES + 16];

    if (p->notify < 0) return;
    notify_path(p, path, sizeof(path));
    unlink(path);
    fdutil_close(&p->notify);
}

/* Waits briefly for the daemon's READY message. Returns whether it came. */
static bool said_ready(const struct private *p) {
    struct pollfd f = {.fd = p->notify, .events = POLLIN};
    char text[512];
    ssize_t n;

    poll(&f, 1, POLL_MS);
    while ((n = recv(p->notify, text, sizeof(text) - 1, 0)) > 0) {
        text[n] = '\0';
        if (strncmp(text, "READY=1", 7) == 0) return true;
    }
    return false;
}

static int wait_ready(struct private *p, struct cli *c) {
    uint64_t end = fdutil_now_ns() + START_TIMEOUT_MS * 1000000ull;
    int status;

    while (fdutil_now_ns() < end) {
        if (said_ready(p)) {
            close_notify(p);
            return CLI_OK;
        }
        if (waitpid(p->pid, &status, WNOHANG) == p->pid) {
            p->pid = 0;
            return cli_fail(c, CLI_FAILED,
                            "the private salusd ended at start with status %d; see its message "
                            "above, or 'salusd --check-config'",
                            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        }
    }
    return cli_fail(c, CLI_TIMEOUT,
                    "the private salusd was not ready within %d s; try again when the machine is "
                    "less busy, or see its messages with SALUS_LOG=debug",
                    START_TIMEOUT_MS / 1000);
}

/* ---- the process ----------------------------------------------------------------------------- */

/* In the child. A session of its own makes ^C at the terminal end the command and not its daemon.
 * Our death ends the daemon, which then removes the directory. */
static void become_daemon(const char *path, const struct private *p, pid_t parent) {
    char notify[PRIVATE_DIR_BYTES + 16];

    sigset_t none;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(CLI_FAILED);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    inherited_close();
    fcntl(p->hold, F_SETFD, 0);
    notify_path(p, notify, sizeof(notify));
    setenv("SALUS_LOG", "warn", 0);
    setenv("NOTIFY_SOCKET", notify, 1); /* replaces the socket of a service that runs salusctl */
    unsetenv("WATCHDOG_USEC");
    dup2(STDERR_FILENO, STDOUT_FILENO); /* standard output belongs to the command */
    execl(path, "salusd", "--run-dir", p->dir, "--temporary", "--device", "soft", "--profiles", "",
          "--kernels", "", (char *)NULL);
    _exit(CLI_NO_COMMAND);
}

int private_start(struct private *p, struct cli *c) {
    char path[PATH_MAX], base[PATH_MAX], why[TEMPORARY_WHY_BYTES];
    pid_t parent = getpid();
    int status, err = installation_daemon(path, sizeof(path));

    if (err < 0)
        return cli_fail(c, CLI_NO_DAEMON,
                        "no salusd is running, and 'salusctl run' finds none to start in %s; "
                        "install it with 'make install', or set SALUS_LIBEXEC_DIR",
                        path);
    if (temporary_find(TEMPORARY_RUN, base, why) < 0)
        return cli_fail(c, CLI_FAILED,
                        "no directory can hold a private salusd: %s; set TMPDIR to a directory "
                        "that you can write to",
                        why);
    private_dir_sweep(base);
    err = private_dir_make(base, p->dir, &p->hold);
    if (err < 0)
        return cli_fail(c, CLI_FAILED,
                        "cannot create a directory for a private salusd in %s: %s; set TMPDIR to "
                        "another directory",
                        base, strerror(-err));
    status = open_notify(p, c);
    if (status != CLI_OK) return status;
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) become_daemon(path, p, parent);
    if (p->pid < 0) {
        p->pid = 0;
        return cli_fail(c, CLI_FAILED, "fork: %s", strerror(errno));
    }
    return wait_ready(p, c);
}

static void end_process(pid_t pid) {
    kill(pid, SIGTERM);
    for (int ms = 0; ms < STOP_TIMEOUT_MS; ms += POLL_MS) {
        if (waitpid(pid, NULL, WNOHANG) != 0) return;
        usleep(POLL_MS * 1000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

void private_stop(struct private *p) {
    if (p->pid > 0) end_process(p->pid);
    p->pid = 0;
    close_notify(p);
    if (*p->dir) private_dir_remove(p->dir);
    p->dir[0] = '\0';
    fdutil_close(&p->hold);
}
