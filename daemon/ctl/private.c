/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting and ending the private daemon.
 */
#include "daemon/ctl/private.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/ctl/place.h"
#include "daemon/ctl/query.h"

#define START_TIMEOUT_MS 10000
#define STOP_TIMEOUT_MS 5000
#define POLL_MS 2

static int make_dir(struct private *p, struct cli *c) {
    const char *base = getenv("XDG_RUNTIME_DIR");

    if (!base || *base != '/' || strlen(base) > 60 || access(base, W_OK) < 0) base = "/tmp";
    snprintf(p->dir, sizeof(p->dir), "%s/salus-XXXXXX", base);
    if (mkdtemp(p->dir)) return CLI_OK; /* mode 0700 */
    p->dir[0] = '\0';
    return cli_fail(c, CLI_FAILED, "%s: no directory can be made in it: %s", base, strerror(errno));
}

/* In the child: a session of its own, so that the terminal's ^C ends the command and not the daemon
 * under it; our death ends it. */
static void become_daemon(const char *path, const char *dir, pid_t parent) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(CLI_FAILED);
    setenv("SALUS_LOG", "warn", 0);
    unsetenv("NOTIFY_SOCKET"); /* were we a service ourselves, it is not ours to pass on */
    unsetenv("WATCHDOG_USEC");
    dup2(STDERR_FILENO, STDOUT_FILENO); /* standard output is the command's alone */
    execl(path, "salusd", "--run-dir", dir, "--device", "soft", "--profiles", "", "--kernels", "",
          (char *)NULL);
    _exit(CLI_NO_COMMAND);
}

static int wait_ready(struct private *p, struct cli *c) {
    char path[108];

    snprintf(path, sizeof(path), "%s/job.sock", p->dir);
    for (int ms = 0; ms < START_TIMEOUT_MS; ms += POLL_MS) {
        int status, fd = query_connect(path, 1000);

        if (fd >= 0) {
            fdutil_close(&fd);
            return CLI_OK;
        }
        if (waitpid(p->pid, &status, WNOHANG) == p->pid) {
            p->pid = 0;
            return cli_fail(c, CLI_FAILED,
                            "the private salusd ended at once (status %d); its own message is "
                            "above, see also 'salusd --check-config'",
                            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        }
        usleep(POLL_MS * 1000);
    }
    return cli_fail(c, CLI_TIMEOUT, "the private salusd does not listen after %d s",
                    START_TIMEOUT_MS / 1000);
}

int private_start(struct private *p, struct cli *c) {
    char path[PATH_MAX];
    pid_t parent = getpid();
    int rc = place_daemon(path, sizeof(path));

    if (rc < 0)
        return cli_fail(
            c, CLI_NO_DAEMON,
            "no salusd is running, and none is installed to start a private one (looked "
            "in %s)",
            path);
    rc = make_dir(p, c);
    if (rc != CLI_OK) return rc;
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) become_daemon(path, p->dir, parent);
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
    static const char *const files[] = {"job.sock", "ctl.sock", "salusd.lock"};
    char path[128];

    if (p->pid > 0) end_process(p->pid);
    p->pid = 0;
    if (!*p->dir) return;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", p->dir, files[i]);
        unlink(path);
    }
    rmdir(p->dir);
    p->dir[0] = '\0';
}
