/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl run`: the environment in which a program finds our libcuda.so.1 and a daemon.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/ctl/cli.h"
#include "daemon/ctl/place.h"
#include "daemon/ctl/private.h"
#include "daemon/ctl/query.h"

#define LIBRARY "libcuda.so.1"
/* Where this exists somebody meant a daemon to run: to do without it in silence would hide that. */
#define CONFIGURED "/etc/salus/salus.conf"

struct run_options {
    const char *name;
    bool private;
    char **command;
};

static int parse(struct cli *c, struct run_options *o, char **argv) {
    for (; *argv; argv++) {
        if (strcmp(*argv, "--") == 0) {
            argv++;
            break;
        }
        if (**argv != '-') break;
        if (strcmp(*argv, "--private") == 0) {
            o->private = true;
        } else if (strncmp(*argv, "--name=", 7) == 0) {
            o->name = *argv + 7;
        } else if (strcmp(*argv, "--name") == 0) {
            if (!argv[1]) return cli_fail(c, CLI_USAGE, "--name needs a value");
            o->name = *++argv;
        } else {
            return cli_fail(c, CLI_USAGE,
                            "run: unknown option %s; options of the command come "
                            "after '--'",
                            *argv);
        }
    }
    o->command = argv;
    if (*argv) return CLI_OK;
    return cli_fail(c, CLI_USAGE, "run: a command is needed, as in 'salusctl run -- ./prog'");
}

/* ---- environment ----------------------------------------------------------------------------- */

/* Puts `first` before what the variable holds. */
static void prepend(const char *variable, const char *first) {
    const char *rest = getenv(variable);
    char *joined;

    if (!rest || !*rest) {
        setenv(variable, first, 1);
    } else if (asprintf(&joined, "%s:%s", first, rest) >= 0) {
        setenv(variable, joined, 1);
        free(joined);
    }
}

static int set_environment(struct cli *c, const struct run_options *o, const char *run_dir) {
    char dir[PATH_MAX], library[PATH_MAX + sizeof(LIBRARY) + 1], absolute[PATH_MAX];

    if (place_library(dir, sizeof(dir)) < 0)
        return cli_fail(c, CLI_FAILED,
                        "no " LIBRARY
                        " of Salus in %s; build it with 'make', or name its directory "
                        "in SALUS_LIB_DIR",
                        dir);
    if (strpbrk(dir, ": "))
        return cli_fail(
            c, CLI_FAILED,
            "%s: the dynamic linker cannot be given a directory with a colon or a blank "
            "in its name; move it",
            dir);
    snprintf(library, sizeof(library), "%s/" LIBRARY, dir);
    prepend("LD_LIBRARY_PATH", dir);
    prepend("LD_PRELOAD", library);
    /* The command may change its directory. */
    setenv("SALUS_RUN_DIR", realpath(run_dir, absolute) ? absolute : run_dir, 1);
    if (o->name) setenv("SALUS_JOB_NAME", o->name, 1);
    /* Frameworks' own caching allocators would hold memory that other jobs could use. */
    if (!getenv("PYTORCH_ALLOC_CONF") && !getenv("PYTORCH_CUDA_ALLOC_CONF")) {
        setenv("PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync", 1);
        setenv("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", 1);
    }
    setenv("TF_GPU_ALLOCATOR", "cuda_malloc_async", 0);
    return CLI_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int execute(struct cli *c, char **command) {
    int status;

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

static int run_and_wait(struct cli *c, const struct run_options *o, const char *run_dir) {
    sigset_t all, before;
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
        status = set_environment(c, o, run_dir);
        if (status == CLI_OK) status = execute(c, o->command);
        fflush(c->err);
        _exit(status);
    }
    child = pid;
    take_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Whether a daemon accepts clients there: CLI_OK, CLI_NO_DAEMON (not diagnosed), or a diagnosed
 * exit status. */
static int probe(struct cli *c) {
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

int cli_run(struct cli *c, int argc, char **argv) {
    struct run_options o = {0};
    struct private p = {0};
    int rc = parse(c, &o, argv);

    if (rc != CLI_OK) return rc;
    rc = o.private ? CLI_NO_DAEMON : probe(c);
    if (rc == CLI_OK) {
        rc = set_environment(c, &o, c->run_dir);
        return rc == CLI_OK ? execute(c, o.command) : rc;
    }
    if (rc != CLI_NO_DAEMON) return rc;
    if (!o.private && (c->configured || access(CONFIGURED, F_OK) == 0))
        return cli_fail(c, CLI_NO_DAEMON,
                        "no salusd answers in %s; start it with 'salusd --run-dir %s', or use "
                        "'salusctl run --private'",
                        c->run_dir, c->run_dir);
    rc = private_start(&p, c);
    if (rc == CLI_OK) {
        fprintf(c->err,
                "salusctl: %s; a private one serves this command on the software GPU (%s)\n",
                o.private ? "as asked" : "no salusd is running", p.dir);
        rc = run_and_wait(c, &o, p.dir);
    }
    private_stop(&p);
    return rc;
}
