/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the options of a cluster with tables.
 */
#include "daemon/sim/verbs/clusteropt.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/args.h"
#include "daemon/sim/base/quantity.h"

#define SEEDS_MOST 1000u
#define GPUS_MOST 1000000u
#define TIME_MOST_NS 2592000000000000ull /* 30 days */
#define GIB (1ull << 30)
#define CURVE_MOST 1000.0
#define SECOND 1000000000ll

__attribute__((format(printf, 2, 3))) static bool refuse(FILE *err, const char *fmt, ...) {
    va_list ap;
    fputs("salus-sim: cluster: ", err);
    va_start(ap, fmt);
    vfprintf(err, fmt, ap);
    va_end(ap);
    fputc('\n', err);
    return false;
}

/* ---- values by type -------------------------------------------------------------------------- */

/* Destination and limits of an option's value; exactly one pointer is set. */
struct value {
    const char *name;
    double least, most;
    uint32_t *count;
    double *real;
    int64_t *time_ns;
    const char **text;
};

static bool take_real(FILE *err, const struct value *v, const char *text) {
    char *end;
    double x = strtod(text, &end);
    *v->real = x;
    if (end != text && !*end && x >= v->least && x <= v->most) return true;
    return refuse(err, "%s: '%s' is not a number in the allowed range; see salus-sim(1)", v->name,
                  text);
}

static bool take_count(FILE *err, const struct value *v, const char *text) {
    uint64_t n = 0;
    bool taken = quantity_parse(QUANTITY_COUNT, text, &n) == 0 && (double)n >= v->least &&
                 (double)n <= v->most;
    *v->count = (uint32_t)n;
    return taken || refuse(err, "%s: '%s' is not a number in the allowed range; see salus-sim(1)",
                           v->name, text);
}

static bool take_time(FILE *err, const struct value *v, const char *text) {
    uint64_t ns = 0;
    bool taken = quantity_parse(QUANTITY_TIME, text, &ns) == 0 && ns <= TIME_MOST_NS;
    *v->time_ns = (int64_t)ns;
    return taken || refuse(err, "%s: '%s' is not a time; give a number and a unit, such as 30s",
                           v->name, text);
}

/* Takes an option of these tables; *taken tells whether the option is one of them. */
static bool take_plain(struct clusteropt *o, const char *option, const char *text, FILE *err,
                       bool *taken) {
    struct clusters_config *c = &o->config;
    const struct value values[] = {{"--gpus", 1, GPUS_MOST, .count = &c->gpus},
                                   {"--per-node", 1, JOBSET_GPUS_A_NODE, .count = &c->per_node},
                                   {"--jobs", 1, JOBSET_JOBS_MOST, .count = &c->draw.jobs},
                                   {"--seeds", 1, SEEDS_MOST, .count = &c->seeds},
                                   {"--queues", 1, 16, .count = &c->place.queues},
                                   {"--batch", 1, GPUS_MOST, .count = &c->place.batch},
                                   {"--jobs-most", 1, GPUS_MOST, .count = &c->place.jobs_most},
                                   {"--util-most", 1, GPUS_MOST, .real = &c->place.util_most},
                                   {"--load", 0.001, 100, .real = &c->draw.load},
                                   {"--mean-gpus", 0.001, GPUS_MOST, .real = &c->draw.mean_gpus},
                                   {"--service-part", 0.001, 0.999, .real = &c->draw.service_part},
                                   {"--days", 0.01, 3650, .real = &c->draw.days},
                                   {"--slo", 0.1, 1000, .real = &c->draw.slo},
                                   {"--service-use", 0.001, 1, .real = &c->reading.service_use},
                                   {"--train-use", 0.001, 1, .real = &c->reading.train_use},
                                   {"--error", 0, 3, .real = &c->error.util},
                                   {"--memory-error", 0, 3, .real = &c->error.memory},
                                   {"--hold-error", 0, 1, .real = &c->rules.hold_error},
                                   {"--tolerance", 0, 10, .real = &c->rules.tolerance},
                                   {"--tangent", 0, 100, .real = &c->rules.tangent_from},
                                   {"--begin", .time_ns = &c->rules.begin_ns},
                                   {"--memory-end", .time_ns = &c->rules.memory_end_ns},
                                   {"--measure", .time_ns = &c->rules.measure_ns},
                                   {"--keep", .time_ns = &c->rules.keep_ns},
                                   {"--cut", .time_ns = &o->cut_ns},
                                   {"--nodes", .text = &c->nodes_path},
                                   {"--draw", .text = &c->draw.kind},
                                   {"--pods", .text = &c->pods_path},
                                   {"--write", .text = &o->write_path},
                                   {"--svg", .text = &o->svg_path}};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        const struct value *v = &values[i];
        if (strcmp(v->name, option) != 0) continue;
        if (v->text) *v->text = text;
        *taken = v->text    ? true
                 : v->count ? take_count(err, v, text)
                 : v->real  ? take_real(err, v, text)
                            : take_time(err, v, text);
        return true;
    }
    return false;
}

/* ---- special options ------------------------------------------------------------------------- */

static const char *find_policy(const char *name) {
    for (const char *const *p = place_policies(); *p; p++)
        if (strcmp(*p, name) == 0) return *p;
    return NULL;
}

static bool take_policies(struct clusteropt *o, char *list, FILE *err) {
    struct clusters_config *c = &o->config;
    c->policy_count = 0;
    for (char *word, *rest = list; (word = strsep(&rest, ","));) {
        const char *policy = find_policy(word);
        if (!policy)
            return refuse(err, "--policy: there is no policy '%s'; see salus-sim --help", word);
        if (c->policy_count == CLUSTERS_POLICIES)
            return refuse(err, "--policy: too many policies are given");
        c->policies[c->policy_count++] = policy;
    }
    return true;
}

/* Parses A2,A1,A0 of section 3.2. */
static bool take_curve(struct clusteropt *o, const char *text, FILE *err) {
    struct place_curve *c = &o->config.rules.curve;
    char more;
    int got = sscanf(text, "%lf,%lf,%lf%c", &c->a2, &c->a1, &c->a0, &more);
    const double all[] = {c->a2, c->a1, c->a0};
    bool taken = got == 3;
    for (int i = 0; taken && i < 3; i++)
        taken = all[i] >= -CURVE_MOST && all[i] <= CURVE_MOST;
    return taken || refuse(err, "--curve: '%s' is not three numbers such as 1.2,0,0", text);
}

static bool take_word(const char *option, const char *text, const char *const *words, int *out,
                      FILE *err) {
    for (int i = 0; words[i]; i++) {
        *out = i;
        if (strcmp(words[i], text) == 0) return true;
    }
    return refuse(err, "%s: '%s' is not a possible value; see salus-sim --help", option, text);
}

static bool take_memory(struct clusteropt *o, const char *text, FILE *err) {
    static const char *const words[] = {"sum", "lanes", NULL};
    int at;
    if (!take_word("--memory", text, words, &at, err)) return false;
    o->config.rules.memory = o->config.place.memory = at ? PLACE_MEMORY_LANES : PLACE_MEMORY_SUM;
    return true;
}

static bool take_speeds(struct clusteropt *o, const char *text, FILE *err) {
    static const char *const words[] = {"policy", "curve", "shares", NULL};
    int at;
    if (!take_word("--speeds", text, words, &at, err)) return false;
    o->config.speeds = (enum clusters_speeds)at;
    return true;
}

static bool take_bytes(struct clusteropt *o, const char *text, FILE *err) {
    uint64_t *bytes = &o->config.gpu_bytes;
    if (quantity_parse(QUANTITY_BYTES, text, bytes) == 0 && *bytes && *bytes <= JOBSET_BYTES_MOST)
        return true;
    return refuse(err, "--gpu-memory: '%s' is not a size such as 16GiB", text);
}

static bool take_value(struct clusteropt *o, const char *option, char *value, FILE *err) {
    bool taken;
    if (take_plain(o, option, value, err, &taken)) return taken;
    if (strcmp(option, "--policy") == 0) return take_policies(o, value, err);
    if (strcmp(option, "--curve") == 0) return take_curve(o, value, err);
    if (strcmp(option, "--memory") == 0) return take_memory(o, value, err);
    if (strcmp(option, "--speeds") == 0) return take_speeds(o, value, err);
    if (strcmp(option, "--gpu-memory") == 0) return take_bytes(o, value, err);
    if (strcmp(option, "--seed") != 0)
        return refuse(err, "cluster has no option %s; see salus-sim --help", option);
    if (quantity_parse(QUANTITY_COUNT, value, &o->config.seed) == 0) return true;
    return refuse(err, "--seed: '%s' is not a number", value);
}

/* ---- all options ----------------------------------------------------------------------------- */

void clusteropt_init(struct clusteropt *o) {
    *o = (struct clusteropt){
        .config = {.gpus = 12,
                   .per_node = 4,
                   .gpu_bytes = 16 * GIB,
                   .seed = 1,
                   .seeds = 1,
                   .error = {.util = 0.133, .memory = 0.1}, /* Horus, Table 4; ours */
                   .rules = {.curve = {1.16664, -0.00302, 4e-5},
                             .memory_end_ns = 30 * SECOND,
                             .measure_ns = 60 * SECOND,
                             .keep_ns = 600 * SECOND,
                             .hold_error = 0.01,
                             .tolerance = 0.02}}};
    struct clusters_config *c = &o->config;
    const char *const *all = place_policies();
    for (; all[c->policy_count] && c->policy_count < CLUSTERS_POLICIES; c->policy_count++)
        c->policies[c->policy_count] = all[c->policy_count];
}

static bool take_file(struct clusteropt *o, const char *path, FILE *err) {
    if (o->config.jobs_path) return refuse(err, "'%s': only one file of jobs can be given", path);
    o->config.jobs_path = path;
    return true;
}

/* Derives values from the given options. */
static bool complete(struct clusteropt *o, FILE *err) {
    struct clusters_config *c = &o->config;
    if (c->jobs_path && c->draw.kind)
        return refuse(err,
                      "FILE and --draw cannot be combined: jobs come from a file or are drawn");
    if (!c->draw.kind) c->draw.kind = "day";
    c->reading.slo = c->draw.slo;
    c->reading.length_most_s = (double)o->cut_ns / 1e9;
    c->rules.measure_needs = c->rules.measure_ns > 0;
    c->place.warm_ns = c->rules.measure_ns;
    return true;
}

bool clusteropt_take(struct clusteropt *o, char **argv, FILE *err) {
    struct args a = {.rest = argv + 1};
    for (enum args_kind kind; (kind = args_next(&a)) != ARGS_END;) {
        if (kind == ARGS_WORD) {
            if (!take_file(o, a.name, err)) return false;
            continue;
        }
        if (args_is(&a, "--json")) {
            o->json = true;
            continue;
        }
        if (args_is(&a, "--plan-slo")) {
            o->config.rules.plan_slo = true;
            continue;
        }
        if (args_is(&a, "--first-fit")) {
            o->config.place.first_fit = true;
            continue;
        }
        if (!args_value(&a))
            return refuse(
                err, "%s: the option is unknown, or its value is missing; see salus-sim --help",
                a.name);
        if (!take_value(o, a.name, a.value, err)) return false;
    }
    return complete(o, err);
}

void clusteropt_explain(FILE *out) {
    fputs("cluster: simulates the jobs of a cluster under each placement policy (Horus; GPUColo, "
          "section\n"
          "VIII). FILE is a table of jobs, Salus's or Alibaba's (docs/cluster.md).\n"
          "  --policy LIST        placement policies, separated by commas (all)\n",
          out);
    for (const char *const *p = place_policies(); *p; p++)
        fprintf(out, "    %s\n", *p);
    fputs("  --nodes FILE         table of the nodes; replaces the next three\n"
          "  --gpus N, --per-node N, --gpu-memory SIZE   GPUs in all, per node, and their memory\n"
          "                       (12, 4, 16GiB)\n"
          "  --draw KIND          kind of jobs to draw when no FILE is given (day)\n",
          out);
    jobset_draw_explain(out);
    fputs(
        "  --jobs N, --load X   day: number of jobs, and part of the GPUs' time they need (10000, "
        "0.9)\n"
        "  --pods FILE          gpucolo: table from which jobs are drawn\n"
        "  --mean-gpus X        gpucolo: mean number of GPUs in use (305.9)\n"
        "  --service-part X     gpucolo: part of the jobs that are services (0.75)\n"
        "  --days X             gpucolo: length of the trace (57)\n"
        "  --slo X              time that a service may take, as a multiple of its length "
        "alone\n"
        "                       (1; day: 1.5)\n"
        "  --plan-slo           tell the placer the share that an --slo below 1 needs\n"
        "  --first-fit          take the first GPU that fits, whatever the policy prefers\n"
        "  --service-use X, --train-use X   Alibaba's table: part of the request that jobs use "
        "(1)\n"
        "  --cut TIME           Alibaba's table: longest length of a job\n"
        "  --error X, --memory-error X   errors of the predicted use and memory, as standard\n"
        "                       deviations of their logarithms (0.133, 0.1)\n"
        "  --speeds WHICH       curve: all jobs of a GPU slow down alike; shares: services get "
        "what\n"
        "                       they were promised; policy: shares for alone, separate, gslice "
        "and\n"
        "                       gpucolo, curve for the others (policy)\n"
        "  --curve A2,A1,A0     slowdown of jobs as a polynomial of the demand above 1 "
        "(1.16664,-0.00302,4e-05)\n"
        "  --tangent X          demand from which the curve is a straight line (never)\n"
        "  --memory sum|lanes   how the memory of jobs on a GPU adds up (sum)\n"
        "  --queues N, --batch N   k and beta of Horus (the policy's, 15)\n"
        "  --jobs-most N, --util-most X   largest number of jobs on a GPU, and their utilisation "
        "(no limit)\n"
        "  --measure TIME       time after which a job's use is measured; 0: never (60s)\n"
        "  --begin TIME         set-up time of each start (0)\n"
        "  --memory-end TIME    time after which a job without enough memory ends (30s)\n"
        "  --keep TIME          interval of checkpoints: a stopped job loses its work since the "
        "last (10min)\n"
        "  --hold-error X, --tolerance X   shares: how exactly targets are held, and how much "
        "more\n"
        "                       counts as a violation (0.01, 0.02)\n"
        "  --seed N, --seeds N  first seed, and number of seeds (1, 1)\n"
        "  --write FILE         write the jobs of the first seed as a table, and simulate nothing\n"
        "  --svg FILE           draw the results\n"
        "  --json               print one JSON object\n"
        "\n",
        out);
}
