/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl run` with its options; `salusctl environment`, which has the same and runs nothing.
 */
#include "daemon/ctl/run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/args.h"
#include "daemon/ctl/environment/changes.h"
#include "daemon/ctl/run/command.h"
#include "proto/wire/job.h"

/* Options with a value, and the variables that they set. */
static const struct {
    const char *option, *variable;
} valued[] = {
#define X(option, variable, kind, field, least, most, sentence) {option, variable},
    JOB_OPTIONS(X)
#undef X
        {"gpu", JOB_GPU_VARIABLE},
    {"name", "SALUS_JOB_NAME"},
};

#define VALUED (sizeof(valued) / sizeof(valued[0]))

struct run_options {
    struct command command;
    struct environment_value values[VALUED]; /* values of the options given */
};

/* Returns the index of the option "--name"; -1: none. */
static int find_valued(const char *name) {
    for (size_t i = 0; i < VALUED; i++)
        if (strncmp(name, "--", 2) == 0 && strcmp(valued[i].option, name + 2) == 0) return (int)i;
    return -1;
}

/* Checks a value now, when the user can be told; the library only ignores an invalid one. */
static int check_value(struct cli *c, int i, const char *value) {
    char why[JOB_WHY_BYTES];
    struct wire_job job = {0};
    bool gpu = strcmp(valued[i].variable, JOB_GPU_VARIABLE) == 0;
    uint32_t number;
    int err = gpu ? job_gpu(value, &number, why) : job_set(&job, valued[i].variable, value, why);

    if (err == 0 || err == -ENOENT) return CLI_OK;
    return cli_fail(c, CLI_USAGE, "run: --%s%s", valued[i].option,
                    why + strlen(valued[i].variable)); /* the message without the variable's name,
                                                          which the user did not type */
}

/* Takes the value of --allocator. */
static int take_allocator(struct cli *c, struct environment *e, const char *value) {
    bool async = value && strcmp(value, "async") == 0;

    if (!async && (!value || strcmp(value, "own") != 0))
        return cli_fail(c, CLI_USAGE, "run: --allocator: '%s' is not own or async",
                        value ? value : "");
    e->async = async;
    return CLI_OK;
}

static int take_option(struct cli *c, struct run_options *o, struct args *a) {
    int i = find_valued(a->name);

    if (i >= 0) {
        o->values[i] = (struct environment_value){valued[i].variable, args_value(a)};
        if (!o->values[i].value) return cli_fail(c, CLI_USAGE, "%s needs a value", a->name);
        return check_value(c, i, o->values[i].value);
    }
    struct environment *e = &o->command.environment;
    if (cli_is_help(a))
        c->help = true;
    else if (args_is(a, "--private"))
        o->command.private = true;
    else if (args_is(a, "--verbose") || args_is(a, "-v"))
        o->command.verbose = true;
    else if (args_is(a, "--quiet") || args_is(a, "-q"))
        e->quiet = true;
    else if (args_is(a, "--strict"))
        e->strict = true;
    else if (args_is(a, "--no-frameworks"))
        e->no_frameworks = true;
    else if (strcmp(a->name, "--allocator") == 0)
        return take_allocator(c, e, args_value(a));
    else if (args_is(a, "--no-allocators"))
        e->async = false; /* the default; kept for old scripts */
    else
        return cli_fail(c, CLI_USAGE,
                        "run: unknown option %s; options of the command come after '--'",
                        args_whole(a));
    return CLI_OK;
}

/* Checks variables of the environment as if they were options. The library refuses an invalid GPU
 * itself, and ignores other invalid values. */
static int check_variables(struct cli *c, const struct run_options *o) {
    char why[JOB_WHY_BYTES];
    struct wire_job job = {0};
    bool strict;

    for (size_t i = 0; i < VALUED; i++) {
        const char *value = o->values[i].value ? NULL : getenv(valued[i].variable);

        if (value && *value && job_set(&job, valued[i].variable, value, why) == -EINVAL)
            return cli_fail(c, CLI_USAGE, "run: %s", why);
    }
    if (!o->command.environment.strict && job_strict(getenv(JOB_STRICT_VARIABLE), &strict, why) < 0)
        return cli_fail(c, CLI_USAGE, "run: %s", why);
    return CLI_OK;
}

static int parse(struct cli *c, struct run_options *o, char **argv) {
    struct args a = {.rest = argv};

    while (*a.rest && **a.rest == '-') {
        args_next(&a);
        if (args_is(&a, "--")) break;
        int status = take_option(c, o, &a);
        if (status != CLI_OK) return status;
    }
    o->command.argv = a.rest;
    o->command.environment.values = o->values;
    o->command.environment.value_count = VALUED;
    return c->help ? CLI_OK : check_variables(c, o);
}

int run_program(struct cli *c, int argc, char **argv) {
    struct run_options o = {0};
    int status = parse(c, &o, argv);

    if (status != CLI_OK || c->help) return status;
    if (!*o.command.argv)
        return cli_fail(c, CLI_USAGE, "run: a command is needed, as in 'salusctl run -- ./prog'");
    o.command.hand_over = c->out == stdout && c->err == stderr; /* a test needs its descriptors */
    return command_run(c, &o.command);
}

/* ---- help ------------------------------------------------------------------------------------ */

void run_help(FILE *out) {
#define X(option, variable, kind, field, least, most, sentence) \
    fprintf(out, "    --%-16s %s\n", option " " #kind, sentence);
    fputs("\nOptions of run:\n", out);
    JOB_OPTIONS(X)
#undef X
    fputs("    --gpu N            number of the GPU that the job runs on; default: the least busy "
          "one\n"
          "    --name TEXT        name of the job in lists\n"
          "    --private          start a private daemon, on the software GPU\n"
          "    --verbose, -v      print why the job waits for admission, even without a terminal\n"
          "    --quiet, -q        print only errors\n"
          "    --strict           end each process at its first refused kernel, module or call\n"
          "    --no-frameworks    set no environment variables for PyTorch, CuPy and others\n"
          "    --allocator KIND   allocator of device memory in frameworks: own (the default), or "
          "async,\n"
          "                       which returns memory between iterations; see salusctl(1)\n",
          out);
}

/* ---- the environment that a command would get ------------------------------------------------ */

static int print_changes(struct cli *c, struct run_options *o, bool null) {
    struct changes changes;
    int status = CLI_FAILED;

    if (changes_take(&changes) < 0) return cli_fail(c, CLI_FAILED, "environment: out of memory");
    o->command.environment.run = command_number();
    status = environment_set(c, &o->command.environment);
    if (status == CLI_OK) changes_print(&changes, c->out, null);
    changes_finish(&changes);
    return status;
}

int run_print_environment(struct cli *c, int argc, char **argv) {
    struct run_options o = {0};
    bool null = *argv && strcmp(*argv, "--null") == 0;
    int status = parse(c, &o, argv + null);

    if (status != CLI_OK || c->help) return status;
    if (*o.command.argv || o.command.private)
        return cli_fail(c, CLI_USAGE,
                        "environment: a command or --private was given, and this verb starts "
                        "neither; use 'salusctl run'");
    status = command_probe(c);
    if (status == CLI_NO_DAEMON) return cli_fail(c, status, "no salusd answers in %s", c->run_dir);
    return status == CLI_OK ? print_changes(c, &o, null) : status;
}
