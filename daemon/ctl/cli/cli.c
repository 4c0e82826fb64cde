/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of salusctl.
 */
#include "daemon/ctl/cli/cli.h"

#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/text/args.h"
#include "common/text/units.h"
#include "daemon/ctl/cli/usage.h"
#include "daemon/policy/policies_help.h"
#include "proto/job.h"

#define CLI_USAGE_BYTES 224
#define DEFAULT_RUN_DIR "/run/salus"
#define DEFAULT_TIMEOUT_MS 5000

/* Those of the control protocol, then those that are more than one question. */
static const struct cli_verb verbs[] = {
#define CTL_VERB(name, text, usage, record, args, sentence) \
    {text, usage, sentence, CTL_V_##name, NULL},
#include "proto/ctl.def"
    {"job.wait", "JOB", "wait until the job has ended", CTL_V_COUNT, cli_job_wait},
    {"history", "", "jobs that ended", CTL_V_COUNT, cli_history},
    {"top", "[--batch] [-n COUNT]", "a live picture of lanes and jobs; -w SECONDS between two (1)",
     CTL_V_COUNT, cli_top},
    {"record", "[--events] [--kernels] [--gpu N] [--for TIME] [--until-idle] FILE",
     "write what runs as a workload for salus-sim, or what the scheduler does, until interrupted",
     CTL_V_COUNT, cli_record},
    {"predict",
     "[--batch N] [--dim NAME=N] [--device NAME] [--optimiser NAME] [--predictor FILE] "
     "[--features] "
     "[--name JOB] [--family NAME] [--train TABLE] [-o FILE] [--about TEXT] [MODEL]",
     "what a model (ONNX) will need before it runs; or learn that from measurements", CTL_V_COUNT,
     cli_predict},
    {"run", "[OPTION]... [--] CMD [ARG]...",
     "run a CUDA program on the shared GPU; without a daemon, on a private software GPU",
     CTL_V_COUNT, cli_run},
    {"environment", "[--null] [OPTION]...",
     "print what 'run' would set in a command's environment, for a shell or ended by NUL",
     CTL_V_COUNT, cli_environment},
    {"doctor", "[--private] [--] [CMD]...",
     "what is wrong with the installation; or run a program and say what it was refused",
     CTL_V_COUNT, cli_doctor},
};

/* Verbs of the protocol that do or show more than cli_ask does. */
static int (*const own[CTL_V_COUNT])(struct cli *c, int argc, char **argv) = {
    [CTL_V_status] = cli_status,
    [CTL_V_version] = cli_version,
    [CTL_V_job_set] = cli_job_set,
    [CTL_V_job_pause] = cli_job_pause,
    [CTL_V_job_resume] = cli_job_resume,
    [CTL_V_job_kill] = cli_job_kill,
    [CTL_V_gpu_retry] = cli_gpu_retry,
    [CTL_V_profile_list] = cli_profile_list,
    [CTL_V_profile_show] = cli_profile_show,
    [CTL_V_profile_import] = cli_profile_import,
    [CTL_V_profile_export] = cli_profile_export,
    [CTL_V_profile_forget] = cli_profile_forget,
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

int cli_fail(struct cli *c, int status, const char *fmt, ...) {
    va_list ap;

    fputs("salusctl: ", c->err);
    va_start(ap, fmt);
    vfprintf(c->err, fmt, ap);
    va_end(ap);
    fputc('\n', c->err);
    return status;
}

static void print_run_options(FILE *out) {
#define X(option, variable, kind, field, least, most, sentence) \
    fprintf(out, "    --%-16s %s\n", option " " #kind, sentence);
    fputs("\nOptions of run:\n", out);
    JOB_OPTIONS(X)
#undef X
    fputs("    --gpu N            the GPU that it runs on; else the one with the least to do\n"
          "    --name TEXT        what the job is called in lists\n"
          "    --private          a daemon of its own, on the software GPU\n"
          "    --verbose, -v      say why it waits for admission, also without a terminal\n"
          "    --quiet, -q        say nothing but errors\n"
          "    --strict           end each process at its first refused kernel, module or call\n"
          "    --no-frameworks    set nothing in the environment for PyTorch, CuPy and others\n"
          "    --allocator KIND   frameworks' allocators of device memory: own (the default), or "
          "async,\n"
          "                       which gives memory back between iterations; see salusctl(1)\n",
          out);
}

/* "job show JOB" */
static void print_verb(const struct cli_verb *v, char *out, size_t cap) {
    snprintf(out, cap, "%s%s%s", v->name, *v->usage ? " " : "", v->usage);
    if (strchr(v->name, '.')) out[strcspn(out, ".")] = ' ';
}

static void help_verb(const struct cli_verb *v, FILE *out) {
    char left[CLI_USAGE_BYTES];

    print_verb(v, left, sizeof(left));
    if (strlen(left) > 20)
        fprintf(out, "  %s\n  %-20s %s\n", left, "", v->help);
    else
        fprintf(out, "  %-20s %s\n", left, v->help);
}

static bool same_noun(const struct cli_verb *a, const struct cli_verb *b) {
    size_t n = strcspn(a->name, ".");

    return n == strcspn(b->name, ".") && memcmp(a->name, b->name, n) == 0;
}

/* All verbs of the noun of verbs[i], at the first of them. */
static void help_noun(size_t i, FILE *out) {
    for (size_t k = 0; k < i; k++)
        if (verbs[k].usage && same_noun(&verbs[k], &verbs[i])) return;
    for (size_t k = i; k < VERBS; k++)
        if (verbs[k].usage && same_noun(&verbs[k], &verbs[i])) help_verb(&verbs[k], out);
}

static int print_help(FILE *out) {
    fputs("usage: salusctl [OPTION]... VERB [ARG]...\n\n", out);
    for (size_t i = 0; i < VERBS; i++)
        if (verbs[i].usage) help_noun(i, out);
    print_run_options(out);
    fputc('\n', out);
    policies_help(out);
    fputs(
        "\nOptions of all:\n"
        "  --run-dir DIR        directory of the daemon's sockets (SALUS_RUN_DIR, else "
        "/run/salus)\n"
        "  --socket PATH        its control socket\n"
        "  --json               one JSON object; with -w one a line\n"
        "  --plain              tab-separated, numbers without units\n"
        "  --no-header          tables without their first line\n"
        "  -w, --watch SECONDS  repeat until interrupted\n"
        "  --timeout SECONDS    how long to wait for the daemon (5)\n"
        "  --help, --version\n"
        "\n"
        "Exit status: 0 done, 1 failed, 2 usage, 3 no daemon, 4 no such object, 5 not permitted,\n"
        "6 refused, 7 protocol mismatch, 8 `status`: no job would be served, 124 timeout. `run`\n"
        "passes its command's on, but exits with 6 where a job of it was refused.\n",
        out);
    return CLI_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

static int take_path(struct cli *c, const char *option, const char *value, char *out, size_t cap) {
    if (!*value || strlen(value) >= cap)
        return cli_fail(c, CLI_USAGE, "%s: a path of 1 to %zu bytes is needed", option, cap - 1);
    snprintf(out, cap, "%s", value);
    return CLI_OK;
}

static int set_run_dir(struct cli *c, const char *option, const char *dir) {
    int status =
        take_path(c, option, dir, c->run_dir, sizeof(c->run_dir) - sizeof("/job.sock") + 1);

    if (status == CLI_OK) snprintf(c->socket, sizeof(c->socket), "%.98s/ctl.sock", c->run_dir);
    return status;
}

/* The daemon's run directory is where its control socket is. */
static int set_socket(struct cli *c, const char *path) {
    const char *slash = strrchr(path, '/');
    int status = take_path(c, "--socket", path, c->socket, sizeof(c->socket));

    if (!slash)
        strcpy(c->run_dir, ".");
    else
        snprintf(c->run_dir, sizeof(c->run_dir), "%.*s", slash > path ? (int)(slash - path) : 1,
                 path);
    return status;
}

static int take_seconds(struct cli *c, const char *option, const char *value, uint64_t *ms) {
    char *end;
    double s = strtod(value, &end);

    if (end == value || *end || !isfinite(s) || s < 0.001 || s > 1e6)
        return cli_fail(c, CLI_USAGE, "%s: '%s' is not a number of seconds from 0.001 to 1000000",
                        option, value);
    *ms = (uint64_t)(s * 1000);
    return CLI_OK;
}

static int set_value(struct cli *c, const char *option, const char *value) {
    if (strcmp(option, "--timeout") == 0) return take_seconds(c, option, value, &c->timeout_ms);
    if (strcmp(option, "--watch") == 0 || strcmp(option, "-w") == 0)
        return take_seconds(c, option, value, &c->watch_ms);
    c->configured = true;
    if (strcmp(option, "--socket") == 0) return set_socket(c, value);
    return set_run_dir(c, option, value);
}

static bool has_value(const char *option) {
    static const char *const names[] = {"--socket", "--run-dir", "--timeout", "--watch", "-w"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(option, names[i]) == 0) return true;
    return false;
}

static int match(const struct cli_verb *v, int argc, char **argv);

/* The verb that the words so far are, or NULL. */
static const struct cli_verb *find_verb(int argc, char **argv) {
    for (size_t i = 0; i < VERBS; i++)
        if (match(&verbs[i], argc, argv)) return &verbs[i];
    return NULL;
}

static int take_verbs_option(struct cli *c, const struct cli_verb *v, struct args *a) {
    struct cli_given *g = &c->given[c->given_count];
    bool value;

    if (!v || !usage_option(v->usage, a->name, &value))
        return cli_fail(c, CLI_USAGE, "unknown option %s; see 'salusctl --help'", args_whole(a));
    if (c->given_count == CLI_OPTIONS_MAX) return cli_fail(c, CLI_USAGE, "too many options");
    if (!value && a->value) return cli_fail(c, CLI_USAGE, "%s takes no value", a->name);
    *g = (struct cli_given){a->name, value ? args_value(a) : ""};
    if (!g->value) return cli_fail(c, CLI_USAGE, "%s needs a value", a->name);
    c->given_count++;
    return CLI_OK;
}

const char *cli_option(const struct cli *c, const char *name) {
    for (int i = c->given_count - 1; i >= 0; i--) /* the last one counts */
        if (strcmp(c->given[i].name, name) == 0) return c->given[i].value;
    return NULL;
}

/* The option just taken, after `n` words: 0, or an exit status after a diagnostic. */
static int take_option(struct cli *c, struct args *a, int n, char **words) {
    if (has_value(a->name)) {
        const char *value = args_value(a);

        if (!value) return cli_fail(c, CLI_USAGE, "%s needs a value", a->name);
        return set_value(c, a->name, value);
    }
    if (args_is(a, "--json"))
        c->format = CLI_JSON;
    else if (args_is(a, "--plain"))
        c->format = CLI_PLAIN;
    else if (args_is(a, "--no-header"))
        c->no_header = true;
    else
        return take_verbs_option(c, find_verb(n, words), a);
    return CLI_OK;
}

/* ---- what several verbs take ----------------------------------------------------------------- */

int cli_take_time(struct cli *c, const char *what, const char *text, uint64_t *ns) {
    uint64_t ms;

    if (units_parse(UNITS_TIME, text, ns) == 0) return CLI_OK;
    if (text[strspn(text, "0123456789.")] != '\0')
        return cli_fail(c, CLI_USAGE, "%s: '%s' is not a time such as 30s", what, text);
    if (take_seconds(c, what, text, &ms)) return CLI_USAGE;
    *ns = ms * 1000000;
    return CLI_OK;
}

int cli_take_id(struct cli *c, const char *what, const char *text, uint64_t *out) {
    if (units_parse(UNITS_NONE, text, out) == 0 && *out <= INT64_MAX) return CLI_OK;
    return cli_fail(c, CLI_USAGE, "%s '%s' is not a number; see 'salusctl %s list'", what, text,
                    what);
}

int cli_take_user(struct cli *c, const char *what, const char *text, uint64_t *uid) {
    const struct passwd *p = getpwnam(text);

    if (p) {
        *uid = p->pw_uid;
        return CLI_OK;
    }
    if (units_parse(UNITS_NONE, text, uid) == 0 && *uid < UINT32_MAX) return CLI_OK;
    return cli_fail(c, CLI_USAGE, "%s: there is no user '%s'", what, text);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
    interrupted = 1;
}

void cli_catch_interrupt(void) {
    struct sigaction act = {.sa_handler = on_interrupt};

    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

bool cli_interrupted(void) {
    return interrupted;
}

void cli_sleep_ms(uint64_t ms) {
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

    if (!interrupted) nanosleep(&pause, NULL);
}

/* ---- verbs ----------------------------------------------------------------------------------- */

/* How many of the words are the verb's name; 0 when it is another. */
static int match(const struct cli_verb *v, int argc, char **argv) {
    size_t n = strcspn(v->name, ".");

    if (!v->usage || argc < 1 || strlen(argv[0]) != n || memcmp(argv[0], v->name, n) != 0) return 0;
    if (!v->name[n]) return 1;
    return argc > 1 && strcmp(argv[1], v->name + n + 1) == 0 ? 2 : 0;
}

/* `argc` words follow the verb. */
static int call_verb(struct cli *c, const struct cli_verb *v, int argc, char **argv) {
    char usage[CLI_USAGE_BYTES];
    int least, most;

    usage_words(v->usage, &least, &most);
    if (argc < least || (most >= 0 && argc > most)) {
        print_verb(v, usage, sizeof(usage));
        return cli_fail(c, CLI_USAGE, "usage: salusctl %s", usage);
    }
    if (v->handler) return v->handler(c, argc, argv);
    return own[v->ask] ? own[v->ask](c, argc, argv) : cli_ask(c, v->ask, argc, argv);
}

static int call(struct cli *c, int argc, char **argv) {
    const struct cli_verb *v = find_verb(argc, argv);

    if (v) {
        int words = match(v, argc, argv);

        return call_verb(c, v, argc - words, argv + words);
    }
    if (argc == 0) return cli_fail(c, CLI_USAGE, "a verb is needed; see 'salusctl --help'");
    return cli_fail(c, CLI_USAGE, "unknown verb '%s%s%s'; see 'salusctl --help'", argv[0],
                    argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
}

static int prepare(struct cli *c, FILE *out, FILE *err) {
    const char *dir = getenv("SALUS_RUN_DIR");

    *c = (struct cli){.out = out, .err = err, .timeout_ms = DEFAULT_TIMEOUT_MS};
    if (!dir || !*dir) return set_run_dir(c, "run directory", DEFAULT_RUN_DIR);
    c->configured = true;
    return set_run_dir(c, "SALUS_RUN_DIR", dir);
}

/* Whether the rest belongs to a command: what follows `run`, and a word that follows `doctor`. What
 * follows `environment` are options of `run`. */
static bool begins_command(int n, char **words) {
    return (n == 1 && (strcmp(words[0], "run") == 0 || strcmp(words[0], "environment") == 0)) ||
           (n == 2 && strcmp(words[0], "doctor") == 0);
}

int cli_main(FILE *out, FILE *err, int argc, char **argv) {
    struct cli c;
    struct args a = {.rest = argv + 1};
    char **words = argv; /* the verb and its arguments, moved together over what was options */
    int n = 0, status = prepare(&c, out, err);
    enum args_kind kind;

    if (status) return status;
    while ((kind = args_next(&a)) != ARGS_END) {
        if (args_is(&a, "--help")) return print_help(out);
        if (args_is(&a, "--version")) {
            words[n++] = (char *)"version";
        } else if (n && strcmp(words[0], "doctor") == 0 && args_is(&a, "--")) {
            break;
        } else if (kind == ARGS_OPTION) {
            status = take_option(&c, &a, n, words);
            if (status) return status;
        } else {
            words[n++] = a.name;
            if (begins_command(n, words)) break;
        }
    }
    for (; *a.rest; a.rest++)
        words[n++] = *a.rest;
    words[n] = NULL;
    return call(&c, n, words);
}
