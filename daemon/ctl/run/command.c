/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the daemon for a command, runs its process, and reports its end.
 */
#include "daemon/ctl/run/command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/ctl/cli/advice.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/cli/user_name.h"
#include "daemon/ctl/run/await.h"
#include "daemon/ctl/run/exit_report.h"
#include "daemon/ctl/run/inherited.h"
#include "daemon/ctl/run/private.h"
#include "daemon/ctl/run/refusal_note.h"
#include "daemon/ctl/run/relay.h"

/* ---- the process ----------------------------------------------------------------------------- */

static int execute(struct cli *c, char **command) {
    int status;

    fflush(c->err);
    execvp(command[0], command);
    status = errno == ENOENT ? CLI_NO_COMMAND : CLI_NOT_EXECUTABLE;
    cli_fail(c, status, "%s: %s", command[0], strerror(errno));
    return status;
}

/* In the child. SIGKILL cannot be passed on, so the kernel kills the command when salusctl is
 * killed. */
static int become_command(struct cli *c, const struct command *o, const struct relay *r,
                          pid_t parent, int note) {
    int status;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) return CLI_FAILED; /* the parent was killed before prctl */
    relay_undo(r);
    if (o->output_to_error) dup2(STDERR_FILENO, STDOUT_FILENO);
    status = environment_set(c, &o->environment);
    refusal_note_announce(note, parent);
    return status == CLI_OK ? execute(c, o->argv) : status;
}

/* Returns the command's exit status, CLI_BY_SIGNAL plus a signal, or CLI_REFUSED after a
 * diagnostic. */
static int status_of(struct await *a, int status) {
    char why[CTL_TEXT_BYTES], named[CTL_TEXT_BYTES];

    if (await_refused(a, why, sizeof(why))) {
        user_name_put(why, named, sizeof(named));
        return cli_fail(a->c, CLI_REFUSED, "the job was refused: %s", named);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_BY_SIGNAL + WTERMSIG(status);
}

static int wait_for(struct await *a, const struct command *o, struct relay *r) {
    struct cli *c = a->c;
    int status, err;

    if (o->hand_over) inherited_close();
    a->pid = r->child;
    a->talk = o->verbose || (!o->environment.quiet && isatty(STDERR_FILENO));
    err = await_end(a, r, &status);
    if (err < 0) return cli_fail(c, CLI_FAILED, "cannot wait for the command: %s", strerror(-err));
    exit_report(c, o->environment.run, status);
    return status_of(a, status);
}

static uint64_t real_now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int run_and_wait(struct cli *c, const struct command *o, struct relay *r) {
    struct await a = {.c = c,
                      .run = o->environment.run,
                      .since_ns = real_now_ns(),
                      .note = refusal_note_create()};
    pid_t parent = getpid();
    int status, err;

    fflush(NULL);
    relay_begin(r);
    r->child = fork();
    err = errno;
    if (r->child == 0) {
        status = become_command(c, o, r, parent, a.note);
        fflush(c->err);
        _exit(status);
    }
    if (r->child > 0)
        status = wait_for(&a, o, r);
    else
        status =
            cli_fail(c, CLI_FAILED, "cannot start a process for the command: %s", strerror(err));
    relay_end(r);
    fdutil_close(&a.note);
    return status;
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
        return cli_fail(c, CLI_TIMEOUT,
                        "salusd at %s does not accept connections within %.3g s; %s", path,
                        (double)c->timeout_ms / 1000, advice_log(c));
    return cli_fail(c, CLI_FAILED, "%s: %s", path, strerror(-fd));
}

/* Runs the command with a private daemon. */
static int run_privately(struct cli *c, const struct command *o, struct relay *r) {
    struct private p = PRIVATE_NONE;
    int status = private_start(&p, c);

    if (status == CLI_OK) {
        if (!o->environment.quiet)
            fprintf(
                c->err,
                "salusctl: %s; this command runs with a private salusd on the software GPU (%s)\n",
                o->private ? "--private is given" : "no salusd is running", p.dir);
        snprintf(c->run_dir, sizeof(c->run_dir), "%s", p.dir);
        snprintf(c->socket, sizeof(c->socket), "%s/ctl.sock", p.dir);
        status = run_and_wait(c, o, r);
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

/* Runs the command with the existing daemon, or with a private one. */
static int run_served(struct cli *c, const struct command *o, struct relay *r) {
    int status = o->private ? CLI_NO_DAEMON : command_probe(c);
    char advice[ADVICE_BYTES];

    if (status == CLI_OK) return run_and_wait(c, o, r);
    if (status != CLI_NO_DAEMON) return status;
    if (o->private || !advice_wants_daemon(c)) return run_privately(c, o, r);
    advice_start(c, advice);
    return cli_fail(c, CLI_NO_DAEMON, "no salusd answers in %s; %s", c->run_dir, advice);
}

int command_run(struct cli *c, struct command *o) {
    struct relay r;
    int status;

    if (environment_asks_null(&o->environment)) /* even with --quiet */
        fputs("salusctl: not computed: kernels of this command take an estimated time and compute "
              "nothing (--device-mode=null); do not use its results\n",
              c->err);
    if (o->environment.run == 0) o->environment.run = command_number();
    relay_prepare(&r);
    status = run_served(c, o, &r);
    relay_undo(&r);
    return status;
}
