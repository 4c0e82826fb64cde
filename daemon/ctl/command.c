/* SPDX-License-Identifier: Apache-2.0
 *
 * Which daemon serves it, its process, and its end.
 */
#include "daemon/ctl/command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/ctl/await.h"
#include "daemon/ctl/private.h"
#include "daemon/ctl/query.h"
#include "daemon/ctl/tell_exit.h"

/* Where this exists somebody meant a daemon to run: to do without it in silence would hide that. */
#define CONFIGURED "/etc/salus/salus.conf"

/* ---- the process ----------------------------------------------------------------------------- */

static int execute(struct cli *c, char **command) {
    int status;

    fflush(c->err);
    execvp(command[0], command);
    status = errno == ENOENT ? CLI_NO_COMMAND : CLI_NOT_EXECUTABLE;
    cli_fail(c, status, "%s: %s", command[0], strerror(errno));
    return status;
}

static volatile sig_atomic_t child; /* whom signals are passed on to */

static void pass_on(int number) {
    if (child > 0) kill(child, number);
}

/* The terminal sends its signals to the command as well; ours only must not end us before it. */
static void take_signals(void) {
    struct sigaction pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGTERM, &pass, NULL);
    sigaction(SIGHUP, &pass, NULL);
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
}

/* Its own exit status, 128 and the signal's number, or that its job was refused. */
static int status_of(struct await *a, int status) {
    char why[CTL_TEXT_BYTES];

    if (await_refused(a, why, sizeof(why)))
        return cli_fail(a->c, CLI_REFUSED, "the job was refused: %s", why);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_and_wait(struct cli *c, const struct command *o) {
    struct await a = {.c = c, .run = o->environment.run};
    sigset_t all, before, waiting;
    int status;
    pid_t pid;

    fflush(NULL);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* until we know whom to pass them on to */
    pid = fork();
    if (pid < 0) {
        status = errno;
        sigprocmask(SIG_SETMASK, &before, NULL);
        return cli_fail(c, CLI_FAILED, "fork: %s", strerror(status));
    }
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* who kills us means the command */
        if (o->output_to_error) dup2(STDERR_FILENO, STDOUT_FILENO);
        status = environment_set(c, &o->environment);
        if (status == CLI_OK) status = execute(c, o->argv);
        fflush(c->err);
        _exit(status);
    }
    child = pid;
    take_signals();
    waiting = before;
    sigaddset(&waiting, SIGCHLD);
    sigprocmask(SIG_SETMASK, &waiting, NULL);
    a.pid = pid;
    a.talk = o->verbose || (!o->environment.quiet && isatty(STDERR_FILENO));
    status = await_end(&a);
    child = 0;
    tell_exit(c, o->environment.run, status);
    return status_of(&a, status);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

int command_probe(struct cli *c) {
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/job.sock", c->run_dir);
    fd = query_connect(path, c->timeout_ms);
    if (fd >= 0) {
        fdutil_close(&fd);
        return CLI_OK;
    }
    if (fd == -ENOENT || fd == -ECONNREFUSED) return CLI_NO_DAEMON;
    if (fd == -EACCES || fd == -EPERM)
        return cli_fail(c, CLI_NOT_PERMITTED, "%s: permission denied; see 'ls -ld %s'", path,
                        c->run_dir);
    if (fd == -EAGAIN || fd == -ETIMEDOUT)
        return cli_fail(c, CLI_TIMEOUT, "salusd at %s does not accept connections", path);
    return cli_fail(c, CLI_FAILED, "%s: %s", path, strerror(-fd));
}

/* A daemon of our own for this command alone. */
static int run_privately(struct cli *c, const struct command *o) {
    struct private p = PRIVATE_NONE;
    int status = private_start(&p, c);

    if (status == CLI_OK) {
        if (!o->environment.quiet)
            fprintf(c->err,
                    "salusctl: %s; a private one serves this command on the software GPU (%s)\n",
                    o->private ? "as asked" : "no salusd is running", p.dir);
        snprintf(c->run_dir, sizeof(c->run_dir), "%s", p.dir);
        snprintf(c->socket, sizeof(c->socket), "%s/ctl.sock", p.dir);
        status = run_and_wait(c, o);
    }
    private_stop(&p);
    return status;
}

uint32_t command_number(void) {
    uint32_t number = 0;

    while (number == 0)
        if (getrandom(&number, sizeof(number), 0) < 0 && errno != EINTR) return (uint32_t)getpid();
    return number;
}

bool command_wants_daemon(const struct cli *c) {
    return c->configured || access(CONFIGURED, F_OK) == 0;
}

int command_run(struct cli *c, struct command *o) {
    int status;

    if (environment_asks_null(&o->environment)) /* also to those who want to hear nothing */
        fputs("salusctl: not computed: kernels of this command take an estimated time and compute "
              "nothing (--device-mode=null); its results mean nothing\n",
              c->err);
    if (o->environment.run == 0) o->environment.run = command_number();
    status = o->private ? CLI_NO_DAEMON : command_probe(c);
    if (status == CLI_OK) return run_and_wait(c, o);
    if (status != CLI_NO_DAEMON) return status;
    if (!o->private && command_wants_daemon(c))
        return cli_fail(c, CLI_NO_DAEMON,
                        "no salusd answers in %s; start it with 'salusd --run-dir %s', or use "
                        "'salusctl run --private'",
                        c->run_dir, c->run_dir);
    return run_privately(c, o);
}
