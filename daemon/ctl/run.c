/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl run`: the environment in which a program finds our libcuda.so.1 and a daemon.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/args.h"
#include "common/fdutil.h"
#include "daemon/ctl/await.h"
#include "daemon/ctl/cli.h"
#include "daemon/ctl/place.h"
#include "daemon/ctl/private.h"
#include "daemon/ctl/query.h"
#include "proto/job.h"

#define LIBRARY "libcuda.so.1"
/* Where this exists somebody meant a daemon to run: to do without it in silence would hide that. */
#define CONFIGURED "/etc/salus/salus.conf"

/* Options with a value, and the variables that they become. */
static const struct {
    const char *option, *variable;
} valued[] = {
#define X(option, variable, kind, field, least, most, sentence) {option, variable},
    JOB_OPTIONS(X)
#undef X
        {"name", "SALUS_JOB_NAME"},
};

#define VALUED (sizeof(valued) / sizeof(valued[0]))

struct run_options {
    bool private, verbose, quiet, strict;
    uint32_t run;               /* SALUS_RUN */
    const char *values[VALUED]; /* of the options that were given */
    char **command;
};

/* Which of them "--name" is; -1: none. */
static int find_valued(const char *name) {
    for (size_t i = 0; i < VALUED; i++)
        if (strncmp(name, "--", 2) == 0 && strcmp(valued[i].option, name + 2) == 0) return (int)i;
    return -1;
}

/* Checked now, where people can be told; the library will only leave a wrong one out. */
static int check_value(struct cli *c, int i, const char *value) {
    char why[JOB_WHY_BYTES];
    struct wire_job job = {0};
    int rc = job_set(&job, valued[i].variable, value, why);

    if (rc == 0 || rc == -ENOENT) return CLI_OK;
    return cli_fail(c, CLI_USAGE, "run: --%s%s", valued[i].option,
                    why + strlen(valued[i].variable)); /* which was not typed */
}

static int take_option(struct cli *c, struct run_options *o, struct args *a) {
    int i = find_valued(a->name);

    if (i >= 0) {
        o->values[i] = args_value(a);
        if (!o->values[i]) return cli_fail(c, CLI_USAGE, "%s needs a value", a->name);
        return check_value(c, i, o->values[i]);
    }
    if (args_is(a, "--private"))
        o->private = true;
    else if (args_is(a, "--verbose") || args_is(a, "-v"))
        o->verbose = true;
    else if (args_is(a, "--quiet") || args_is(a, "-q"))
        o->quiet = true;
    else if (args_is(a, "--strict"))
        o->strict = true;
    else
        return cli_fail(c, CLI_USAGE,
                        "run: unknown option %s; options of the command come after '--'",
                        args_whole(a));
    return CLI_OK;
}

static int parse(struct cli *c, struct run_options *o, char **argv) {
    struct args a = {.rest = argv};

    while (*a.rest && **a.rest == '-') {
        args_next(&a);
        if (args_is(&a, "--")) break;
        int rc = take_option(c, o, &a);
        if (rc != CLI_OK) return rc;
    }
    o->command = a.rest;
    if (*o->command) return CLI_OK;
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

/* Frameworks' own caching allocators would hold memory that other jobs could use. What the user
 * has set stays. */
static void set_allocators(struct cli *c, const struct run_options *o) {
    bool torch = !getenv("PYTORCH_ALLOC_CONF") && !getenv("PYTORCH_CUDA_ALLOC_CONF");
    bool tensorflow = !getenv("TF_GPU_ALLOCATOR");

    if (torch) {
        setenv("PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync", 1);
        setenv("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", 1);
    }
    if (tensorflow) setenv("TF_GPU_ALLOCATOR", "cuda_malloc_async", 1);
    if ((torch || tensorflow) && !o->quiet)
        fprintf(c->err,
                "salusctl: set%s%s%s, so that memory not in use is given back; set otherwise to "
                "have it otherwise\n",
                torch ? " PYTORCH_ALLOC_CONF and PYTORCH_CUDA_ALLOC_CONF to cudaMallocAsync" : "",
                torch && tensorflow ? "," : "",
                tensorflow ? " TF_GPU_ALLOCATOR to cuda_malloc_async" : "");
}

static bool on_software_gpu(const struct cli *c) {
    struct query q;
    bool soft = false;

    if (!query_silently(c, CTL_V_gpu_list, &q)) return false;
    for (size_t i = 0; i < q.count; i++) {
        const struct ctl_gpu *gpu = query_record(&q, i);
        soft |= strcmp(gpu->device, "soft") == 0;
    }
    query_finish(&q);
    return soft;
}

/* CuPy makes machine code for the device that it sees, and takes CUB's kernels, of which it has no
 * other: the software GPU runs neither, and CuPy does not look at every refusal. */
static void set_cupy(struct cli *c, const struct run_options *o) {
    bool ptx = !getenv("CUPY_COMPILE_WITH_PTX"), plain = !getenv("CUPY_ACCELERATORS");

    if ((!ptx && !plain) || !on_software_gpu(c)) return;
    setenv("CUPY_COMPILE_WITH_PTX", "1", 0);
    setenv("CUPY_ACCELERATORS", "", 0);
    if (!o->quiet)
        fprintf(c->err,
                "salusctl: set%s%s%s, so that CuPy's kernels are such as the software GPU runs\n",
                ptx ? " CUPY_COMPILE_WITH_PTX to 1" : "", ptx && plain ? "," : "",
                plain ? " CUPY_ACCELERATORS to nothing" : "");
}

static int set_environment(struct cli *c, const struct run_options *o, const char *run_dir) {
    char dir[PATH_MAX], library[PATH_MAX + sizeof(LIBRARY) + 1], absolute[PATH_MAX], run[16];

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
    /* The library is also what NVTX marks are given to: iterations are found by them. */
    setenv("NVTX_INJECTION64_PATH", library, 0);
    /* The command may change its directory. */
    setenv("SALUS_RUN_DIR", realpath(run_dir, absolute) ? absolute : run_dir, 1);
    snprintf(run, sizeof(run), "%u", o->run);
    setenv(JOB_RUN_VARIABLE, run, 1);
    for (size_t i = 0; i < VALUED; i++)
        if (o->values[i]) setenv(valued[i].variable, o->values[i], 1);
    if (o->strict) setenv(JOB_STRICT_VARIABLE, "1", 1);
    set_allocators(c, o);
    set_cupy(c, o);
    return CLI_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

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

static int run_and_wait(struct cli *c, const struct run_options *o) {
    struct await a = {.c = c, .run = o->run};
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
        status = set_environment(c, o, c->run_dir);
        if (status == CLI_OK) status = execute(c, o->command);
        fflush(c->err);
        _exit(status);
    }
    child = pid;
    take_signals();
    waiting = before;
    sigaddset(&waiting, SIGCHLD);
    sigprocmask(SIG_SETMASK, &waiting, NULL);
    a.pid = pid;
    a.talk = o->verbose || (!o->quiet && isatty(STDERR_FILENO));
    status = await_end(&a);
    child = 0;
    return status_of(&a, status);
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

/* A daemon of our own for this command alone. */
static int run_privately(struct cli *c, const struct run_options *o) {
    struct private p = PRIVATE_NONE;
    int rc = private_start(&p, c);

    if (rc == CLI_OK) {
        if (!o->quiet)
            fprintf(c->err,
                    "salusctl: %s; a private one serves this command on the software GPU (%s)\n",
                    o->private ? "as asked" : "no salusd is running", p.dir);
        snprintf(c->run_dir, sizeof(c->run_dir), "%s", p.dir);
        snprintf(c->socket, sizeof(c->socket), "%s/ctl.sock", p.dir);
        rc = run_and_wait(c, o);
    }
    private_stop(&p);
    return rc;
}

int cli_run(struct cli *c, int argc, char **argv) {
    struct run_options o = {0};
    int rc = parse(c, &o, argv);

    if (rc != CLI_OK) return rc;
    while (o.run == 0)
        if (getrandom(&o.run, sizeof(o.run), 0) < 0 && errno != EINTR) o.run = (uint32_t)getpid();
    rc = o.private ? CLI_NO_DAEMON : probe(c);
    if (rc == CLI_OK) return run_and_wait(c, &o);
    if (rc != CLI_NO_DAEMON) return rc;
    if (!o.private && (c->configured || access(CONFIGURED, F_OK) == 0))
        return cli_fail(c, CLI_NO_DAEMON,
                        "no salusd answers in %s; start it with 'salusd --run-dir %s', or use "
                        "'salusctl run --private'",
                        c->run_dir, c->run_dir);
    return run_privately(c, &o);
}
