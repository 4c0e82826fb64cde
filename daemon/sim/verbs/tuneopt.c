/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the options of tuning jobs with tables.
 */
#include "daemon/sim/verbs/tuneopt.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/args.h"
#include "daemon/sim/base/quantity.h"
#include "daemon/sim/tune/tuners.h"
#include "daemon/tune/salus_fluid.h"

#define SEEDS_MOST 1000u
#define TRIALS_MOST 1000u
#define TIME_MOST_NS 86400000000000ull
#define COSTS_MOST 1000.0
#define OVERHEAD_MOST 100.0
#define MONTH_S (30 * 86400.0)

static const uint32_t preset_gpus[] = {8};

__attribute__((format(printf, 2, 3))) static bool refuse(FILE *err, const char *fmt, ...) {
    va_list ap;
    fputs("salus-sim: tune: ", err);
    va_start(ap, fmt);
    vfprintf(err, fmt, ap);
    va_end(ap);
    fputc('\n', err);
    return false;
}

/* ---- lists of names and numbers -------------------------------------------------------------- */

static bool take_kinds(struct tuneopt *o, char *list, FILE *err) {
    struct tunejobs_config *c = &o->config;
    c->kind_count = 0;
    for (char *word, *rest = list; (word = strsep(&rest, ","));) {
        const struct tuner_kind *kind = tuners_find(word);
        if (!kind)
            return refuse(err, "--algorithm: there is no algorithm '%s'; see salus-sim --help",
                          word);
        if (c->kind_count == TUNEJOBS_LIST)
            return refuse(err, "--algorithm: too many algorithms are given");
        c->kinds[c->kind_count++] = kind;
    }
    return true;
}

static bool take_tasks(struct tuneopt *o, char *list, FILE *err) {
    struct tunejobs_config *c = &o->config;
    c->task_count = 0;
    for (char *word, *rest = list; (word = strsep(&rest, ","));) {
        const struct work_task *task = work_find(word);
        if (!task) return refuse(err, "--task: there is no task '%s'; see salus-sim --help", word);
        if (c->task_count == TUNEJOBS_LIST) return refuse(err, "--task: too many tasks are given");
        c->tasks[c->task_count++] = *task;
    }
    return true;
}

static const struct tunejobs_mode *find_mode(const char *name) {
    for (uint32_t i = 0; tunejobs_mode(i); i++)
        if (strcmp(tunejobs_mode(i)->name, name) == 0) return tunejobs_mode(i);
    return NULL;
}

static bool take_modes(struct tuneopt *o, char *list, FILE *err) {
    struct tunejobs_config *c = &o->config;
    c->mode_count = 0;
    for (char *word, *rest = list; (word = strsep(&rest, ","));) {
        const struct tunejobs_mode *mode = find_mode(word);
        if (!mode) return refuse(err, "--mode: there is no mode '%s'; see salus-sim --help", word);
        if (c->mode_count == TUNEJOBS_MODES) return refuse(err, "--mode: too many modes are given");
        c->modes[c->mode_count++] = mode;
    }
    return true;
}

static bool take_number(FILE *err, const char *option, const char *text, uint64_t most,
                        uint32_t *out) {
    uint64_t n = 0;
    bool taken = quantity_parse(QUANTITY_COUNT, text, &n) == 0 && n >= 1 && n <= most;
    *out = (uint32_t)n;
    return taken || refuse(err, "%s: '%s' is not a number in the allowed range; see salus-sim(1)",
                           option, text);
}

static bool take_gpus(struct tuneopt *o, char *list, FILE *err) {
    struct tunejobs_config *c = &o->config;
    c->gpu_count = 0;
    for (char *word, *rest = list; (word = strsep(&rest, ","));) {
        if (c->gpu_count == TUNEJOBS_LIST) return refuse(err, "--gpus: too many numbers are given");
        if (!take_number(err, "--gpus", word, SALUS_FLUID_GPUS_MOST, &c->gpus[c->gpu_count++]))
            return false;
    }
    return true;
}

/* ---- single values --------------------------------------------------------------------------- */

static bool take_count(struct tuneopt *o, const char *option, const char *value, FILE *err,
                       bool *taken) {
    struct tunejobs_config *c = &o->config;
    const struct {
        const char *name;
        uint64_t most;
        uint32_t *at;
    } counts[] = {{"--seeds", SEEDS_MOST, &c->seeds},
                  {"--trials", TRIALS_MOST, &c->tuning.trials},
                  {"--concurrent", TRIALS_MOST, &c->tuning.concurrent},
                  {"--packed", UINT32_MAX, &c->tuning.packed_most},
                  {"--spread", UINT32_MAX, &c->tuning.spread_most}};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        if (strcmp(counts[i].name, option) != 0) continue;
        *taken = take_number(err, option, value, counts[i].most, counts[i].at);
        return true;
    }
    return false;
}

static bool take_real(struct tuneopt *o, const char *option, const char *value, FILE *err,
                      bool *taken) {
    const struct {
        const char *name;
        double least, most;
        double *at;
    } reals[] = {{"--alpha", 1, OVERHEAD_MOST, &o->alpha},
                 {"--beta", 1, OVERHEAD_MOST, &o->beta},
                 {"--costs", 1, COSTS_MOST, &o->costs},
                 {"--threshold", 0, 1, &o->config.tuning.threshold},
                 {"--noise", 0, 1, &o->config.tuning.noise}};
    for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
        if (strcmp(reals[i].name, option) != 0) continue;
        char *end;
        double x = strtod(value, &end);
        *taken = end != value && !*end && x >= reals[i].least && x <= reals[i].most;
        *reals[i].at = x;
        if (!*taken)
            refuse(err, "%s: '%s' is not a number in the allowed range; see salus-sim(1)", option,
                   value);
        return true;
    }
    return false;
}

static bool take_time(struct tuneopt *o, const char *option, const char *value, FILE *err,
                      bool *taken) {
    struct tuning_config *t = &o->config.tuning;
    uint64_t ns = 0;
    double *at = strcmp(option, "--change") == 0  ? &t->change_s
                 : strcmp(option, "--begin") == 0 ? &t->begin_s
                                                  : NULL;
    if (!at) return false;
    *taken = quantity_parse(QUANTITY_TIME, value, &ns) == 0 && ns <= TIME_MOST_NS;
    *at = (double)ns / 1e9;
    if (!*taken)
        refuse(err, "%s: '%s' is not a time; give a number and a unit, such as 3s", option, value);
    return true;
}

static bool take_value(struct tuneopt *o, const char *option, char *value, FILE *err) {
    bool taken = false;
    if (take_count(o, option, value, err, &taken)) return taken;
    if (take_real(o, option, value, err, &taken)) return taken;
    if (take_time(o, option, value, err, &taken)) return taken;
    if (strcmp(option, "--algorithm") == 0) return take_kinds(o, value, err);
    if (strcmp(option, "--task") == 0) return take_tasks(o, value, err);
    if (strcmp(option, "--mode") == 0) return take_modes(o, value, err);
    if (strcmp(option, "--gpus") == 0) return take_gpus(o, value, err);
    if (strcmp(option, "--seed") != 0)
        return refuse(err, "tune has no option %s; see salus-sim --help", option);
    if (quantity_parse(QUANTITY_COUNT, value, &o->config.tuning.seed) == 0) return true;
    return refuse(err, "--seed: '%s' is not a number", value);
}

/* ---- all options ----------------------------------------------------------------------------- */

void tuneopt_init(struct tuneopt *o) {
    *o = (struct tuneopt){.alpha = -1,
                          .beta = -1,
                          .costs = -1,
                          .config = {.seeds = 5,
                                     .tuning = {.seed = 1,
                                                .trials = 27,
                                                .concurrent = 8,
                                                .threshold = 0.1,
                                                .change_s = 3,
                                                .begin_s = 2,
                                                .noise = 0.1,
                                                .limit_s = MONTH_S}}};
    struct tunejobs_config *c = &o->config;
    for (; tuners_kind(c->kind_count); c->kind_count++)
        c->kinds[c->kind_count] = tuners_kind(c->kind_count);
    for (; c->mode_count < 3; c->mode_count++)
        c->modes[c->mode_count] = tunejobs_mode(c->mode_count);
    c->tasks[c->task_count++] = *work_task(0);
    c->gpu_count = sizeof(preset_gpus) / sizeof(*preset_gpus);
    memcpy(c->gpus, preset_gpus, sizeof(preset_gpus));
}

/* Applies values given for all tasks. */
static void override(struct tuneopt *o) {
    for (uint32_t i = 0; i < o->config.task_count; i++) {
        struct work_task *task = &o->config.tasks[i];
        if (o->alpha >= 0) task->alpha = o->alpha;
        if (o->beta >= 0) task->beta = o->beta;
        if (o->costs >= 0) task->costs = o->costs;
    }
}

bool tuneopt_take(struct tuneopt *o, char **argv, FILE *err) {
    struct args a = {.rest = argv + 1};
    for (enum args_kind kind; (kind = args_next(&a)) != ARGS_END;) {
        if (kind == ARGS_WORD)
            return refuse(err, "'%s' is not an option; see salus-sim --help", a.name);
        if (args_is(&a, "--json")) {
            o->json = true;
            continue;
        }
        if (!args_value(&a))
            return refuse(
                err, "%s: the option is unknown, or its value is missing; see salus-sim --help",
                a.name);
        if (!take_value(o, a.name, a.value, err)) return false;
    }
    override(o);
    return true;
}

void tuneopt_explain(FILE *out) {
    fputs(
        "tune: simulates a hyperparameter search whose trials share GPUs in several ways (thesis,\n"
        "chapter 3). Prints the time until the first trial reaches the target; for grid and "
        "random,\n"
        "until all trials have ended.\n"
        "  --algorithm LIST     search algorithms, separated by commas (all)\n",
        out);
    for (uint32_t i = 0; tuners_kind(i); i++)
        fprintf(out, "    %-18s %s\n", tuners_kind(i)->name, tuners_sentence(i));
    fputs("  --task LIST          what the trials train (cifar)\n", out);
    for (uint32_t i = 0; work_task(i); i++)
        fprintf(out, "    %-18s %s\n", work_task(i)->name, work_task(i)->sentence);
    fputs("  --mode LIST          how trials share GPUs (fifo,static,fluid)\n", out);
    for (uint32_t i = 0; tunejobs_mode(i); i++)
        fprintf(out, "    %-18s %s\n", tunejobs_mode(i)->name, tunejobs_mode(i)->sentence);
    fputs(
        "  --gpus LIST          numbers of GPUs (8)\n"
        "  --seed N, --seeds N  first seed, and number of jobs of each kind (1, 5)\n"
        "  --trials N           number of trials of grid and random (27)\n"
        "  --concurrent N       trials of asha and bohb that run at a time, except under fifo (8)\n"
        "  --packed N, --spread N   upper limits of c and d (what --alpha and --beta allow)\n"
        "  --threshold X        O_th of (3.1), from which c follows (0.1)\n"
        "  --alpha X, --beta X  overheads of (3.2), instead of the task's\n"
        "  --costs X            cost of the dearest configuration's epoch, relative to the "
        "cheapest's\n"
        "  --change TIME        time that a resize takes, epsilon (3s)\n"
        "  --begin TIME         time to set up a trial (2s)\n"
        "  --noise X            relative error of the predicted run times (0.1)\n"
        "  --json               print one JSON object\n"
        "\n",
        out);
}
