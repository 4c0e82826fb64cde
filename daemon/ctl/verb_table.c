/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of the control protocol and those of salusctl alone, with their handlers.
 */
#include "daemon/ctl/verb_table.h"

#include <string.h>

#include "daemon/ctl/cli/usage.h"
#include "daemon/ctl/doctor/doctor.h"
#include "daemon/ctl/record/record_verb.h"
#include "daemon/ctl/run/run.h"
#include "daemon/ctl/verbs/gpu_retry.h"
#include "daemon/ctl/verbs/job_verbs.h"
#include "daemon/ctl/verbs/kernel_profile_file.h"
#include "daemon/ctl/verbs/kernel_profile_verbs.h"
#include "daemon/ctl/verbs/predict.h"
#include "daemon/ctl/verbs/show.h"
#include "daemon/ctl/verbs/top.h"

#define USAGE_BYTES 224

/* A verb: its words separated by a dot, its usage line (usage.h; NULL: salusctl has no such verb),
 * and either the request to the daemon, or CTL_V_COUNT and a handler, which gets the words that
 * follow. */
struct verb {
    const char *name, *usage, *help;
    enum ctl_verb ask;
    int (*handler)(struct cli *c, int argc, char **argv);
};

/* The verbs of the control protocol, then the verbs that ask more than one question. */
static const struct verb verbs[] = {
#define CTL_VERB(name, text, usage, record, args, sentence) \
    {text, usage, sentence, CTL_V_##name, NULL},
#include "proto/control/ctl.def"
    {"job.wait", "JOB", "wait until the job has ended", CTL_V_COUNT, job_verbs_wait},
    {"history", "", "list the jobs that have ended", CTL_V_COUNT, show_history},
    {"top", "[--batch] [-n COUNT]", "show lanes and jobs live; -w SECONDS between two pictures (1)",
     CTL_V_COUNT, top_run},
    {"record", "[--events] [--kernels] [--gpu N] [--for TIME] [--until-idle] FILE",
     "record running jobs as a workload for salus-sim, or the scheduler's events, until "
     "interrupted",
     CTL_V_COUNT, record_verb_run},
    {"predict",
     "[--batch N] [--dim NAME=N] [--device NAME] [--optimiser NAME] [--predictor FILE] "
     "[--features] "
     "[--name JOB] [--family NAME] [--train TABLE] [-o FILE] [--about TEXT] [MODEL]",
     "predict what a model (ONNX) will need; or train the predictor with measurements", CTL_V_COUNT,
     predict_run},
    {"run", "[OPTION]... [--] CMD [ARG]...",
     "run a CUDA program on the shared GPU; without a daemon, on a private software GPU",
     CTL_V_COUNT, run_program},
    {"environment", "[--null] [OPTION]...",
     "print the variables that 'run' sets, for a shell or separated by NUL", CTL_V_COUNT,
     run_print_environment},
    {"doctor", "[--private] [--] [CMD]...",
     "check the installation; or run a program and list the calls that were refused", CTL_V_COUNT,
     doctor_run},
};

/* Handlers of protocol verbs that do or show more than show_ask. */
static int (*const own[CTL_V_COUNT])(struct cli *c, int argc, char **argv) = {
    [CTL_V_status] = show_status,
    [CTL_V_version] = show_version,
    [CTL_V_job_set] = job_verbs_set,
    [CTL_V_job_pause] = job_verbs_pause,
    [CTL_V_job_resume] = job_verbs_resume,
    [CTL_V_job_kill] = job_verbs_kill,
    [CTL_V_gpu_retry] = gpu_retry,
    [CTL_V_profile_list] = kernel_profile_verbs_list,
    [CTL_V_profile_show] = kernel_profile_verbs_show,
    [CTL_V_profile_import] = kernel_profile_file_import,
    [CTL_V_profile_export] = kernel_profile_file_export,
    [CTL_V_profile_forget] = kernel_profile_verbs_forget,
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* ---- help ------------------------------------------------------------------------------------ */

/* Prints a verb as "job show JOB". */
static void print_verb(const struct verb *v, char *out, size_t cap) {
    snprintf(out, cap, "%s%s%s", v->name, *v->usage ? " " : "", v->usage);
    if (strchr(v->name, '.')) out[strcspn(out, ".")] = ' ';
}

static void help_verb(const struct verb *v, FILE *out) {
    char left[USAGE_BYTES];

    print_verb(v, left, sizeof(left));
    if (strlen(left) > 20)
        fprintf(out, "  %s\n  %-20s %s\n", left, "", v->help);
    else
        fprintf(out, "  %-20s %s\n", left, v->help);
}

static bool same_noun(const struct verb *a, const struct verb *b) {
    size_t n = strcspn(a->name, ".");

    return n == strcspn(b->name, ".") && memcmp(a->name, b->name, n) == 0;
}

/* Prints all verbs of the noun of verbs[i], if that is the first of them. */
static void help_noun(size_t i, FILE *out) {
    for (size_t k = 0; k < i; k++)
        if (verbs[k].usage && same_noun(&verbs[k], &verbs[i])) return;
    for (size_t k = i; k < VERBS; k++)
        if (verbs[k].usage && same_noun(&verbs[k], &verbs[i])) help_verb(&verbs[k], out);
}

void verb_table_help(FILE *out) {
    for (size_t i = 0; i < VERBS; i++)
        if (verbs[i].usage) help_noun(i, out);
}

/* ---- dispatch ------------------------------------------------------------------------------- */

/* Returns the number of words that are this name of a verb; 0: they are not. */
static int match_name(const char *name, int argc, char **argv) {
    size_t n = strcspn(name, ".");

    if (argc < 1 || strlen(argv[0]) != n || memcmp(argv[0], name, n) != 0) return 0;
    if (!name[n]) return 1;
    return argc > 1 && strcmp(argv[1], name + n + 1) == 0 ? 2 : 0;
}

static int match_alias(const struct verb *v, int argc, char **argv) {
    const char *alias = ctl_verb_alias(v->ask);

    return v->usage && alias ? match_name(alias, argc, argv) : 0;
}

/* Returns the number of words that name the verb; 0: they name another. */
static int match(const struct verb *v, int argc, char **argv) {
    int words = v->usage ? match_name(v->name, argc, argv) : 0;

    return words ? words : match_alias(v, argc, argv);
}

/* Returns the verb that the words name, or NULL. */
static const struct verb *find(int argc, char **argv) {
    for (size_t i = 0; i < VERBS; i++)
        if (match(&verbs[i], argc, argv)) return &verbs[i];
    return NULL;
}

const char *verb_table_usage(int argc, char **argv) {
    const struct verb *v = find(argc, argv);

    return v ? v->usage : NULL;
}

/* Calls the verb. `argc` words follow its name. */
static int call_verb(struct cli *c, const struct verb *v, int argc, char **argv) {
    char usage[USAGE_BYTES];
    int least, most;

    usage_words(v->usage, &least, &most);
    if (argc < least || (most >= 0 && argc > most)) {
        print_verb(v, usage, sizeof(usage));
        return cli_fail(c, CLI_USAGE, "usage: salusctl %s", usage);
    }
    if (v->handler) return v->handler(c, argc, argv);
    return own[v->ask] ? own[v->ask](c, argc, argv) : show_ask(c, v->ask, argc, argv);
}

/* If the first word is a noun, such as "job", the error names its verbs. */
static int unknown_verb(struct cli *c, int argc, char **argv) {
    const struct verb noun = {.name = argv[0]};
    char others[USAGE_BYTES] = "";
    size_t n = 0;

    for (size_t i = 0; i < VERBS && n < sizeof(others); i++)
        if (verbs[i].usage && strchr(verbs[i].name, '.') && same_noun(&verbs[i], &noun))
            n += (size_t)snprintf(others + n, sizeof(others) - n, "%s %s %s", n ? "," : "", argv[0],
                                  verbs[i].name + strlen(argv[0]) + 1);
    return cli_fail(c, CLI_USAGE, "unknown verb '%s%s%s'; %s%s", argv[0], argc > 1 ? " " : "",
                    argc > 1 ? argv[1] : "", n ? "the verbs are" : "see 'salusctl --help'", others);
}

int verb_table_call(struct cli *c, int argc, char **argv) {
    const struct verb *v = find(argc, argv);

    if (v) {
        int words = match(v, argc, argv);

        c->alias = match_alias(v, argc, argv) != 0;
        return call_verb(c, v, argc - words, argv + words);
    }
    if (argc == 0) return cli_fail(c, CLI_USAGE, "a verb is needed; see 'salusctl --help'");
    if (strcmp(argv[0], "help") == 0) {
        c->help = true;
        return CLI_OK;
    }
    return unknown_verb(c, argc, argv);
}
