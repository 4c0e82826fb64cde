/* SPDX-License-Identifier: Apache-2.0
 *
 * Options, and the three verbs.
 */
#include "daemon/sim/simcli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/generate.h"
#include "daemon/sim/quantity.h"
#include "daemon/sim/rates.h"
#include "daemon/sim/sim.h"
#include "daemon/sim/summary.h"
#include "daemon/sim/timeline.h"
#include "daemon/sim/trace.h"

#define MAX_POLICIES 16
#define CHROME_SPANS 200000
#define SVG_SPANS 20000
#define DEFAULT_POLICIES "fifo,pack,srtf,fair"

struct simcli {
    FILE *out, *err;
    const char *policies; /* separated by commas */
    struct sched_choice choice;
    struct generate_config generate;
    const char *output, *chrome, *svg, *trace, *rates;
    uint64_t window_ns;
    bool json, per_job, check;
};

__attribute__((format(printf, 3, 4))) static int fail(struct simcli *c, int status, const char *fmt,
                                                      ...) {
    va_list ap;
    fputs("salus-sim: ", c->err);
    va_start(ap, fmt);
    vfprintf(c->err, fmt, ap);
    va_end(ap);
    fputc('\n', c->err);
    return status;
}

static int print_help(FILE *out) {
    fputs("usage: salus-sim run FILE [OPTION]...\n"
          "       salus-sim check FILE\n"
          "       salus-sim generate --kind KIND [OPTION]...\n\n"
          "run: the workload under each policy, in virtual time. FILE may be -.\n"
          "  --policy LIST        lane policies, separated by commas (" DEFAULT_POLICIES ")\n"
          "  --seed N             of all that is random (1)\n"
          "  --set KEY=VALUE      the scheduler's choices: exclusive, swap (0, 1), max_lanes,\n"
          "                       overtakes, lease_factor, lease (a time), kernel (a policy)\n"
          "  --json               one JSON object\n"
          "  --per-job            in it, a record a job\n"
          "  --timeline FILE      Chrome trace events (chrome://tracing, Perfetto)\n"
          "  --svg FILE           the timeline as a picture\n"
          "  --trace FILE         every step as a line of text\n"
          "  --rates FILE         iterations of each job in each window, as CSV\n"
          "  --window TIME        of --rates (1s)\n"
          "  --check              the scheduler's invariants after every step; slow\n"
          "With several policies, FILE.x of the four files becomes FILE-POLICY.x.\n\n"
          "check: whether the file is a workload; lists all faults.\n\n"
          "generate: writes a workload.\n"
          "  --kind KIND\n",
          out);
    generate_explain(out);
    fputs("  --seed N, -o FILE, --jobs N, --iterations N\n"
          "  --durations FILE     salus-table2: run times to draw from, one a line\n"
          "  --think TIME         salus-fig13: mean time between requests (5s)\n"
          "  --demand U           of all jobs, instead of each one's own\n\n"
          "Measures:\n",
          out);
    summary_explain(out);
    fputs(
        "\n  --help\n\n"
        "Exit status: 0 done, 1 failed, 2 usage, 3 the workload has faults, 4 the scheduler broke\n"
        "a rule.\n",
        out);
    return SIMCLI_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

static int take_number(struct simcli *c, const char *option, enum quantity kind, const char *text,
                       uint64_t max, uint64_t *out) {
    if (quantity_parse(kind, text, out) == 0 && *out <= max) return SIMCLI_OK;
    return fail(c, SIMCLI_USAGE, "%s: '%s' is not %s", option, text,
                kind == QUANTITY_TIME ? "a time such as 5s" : "a number within its range");
}

static int take_set(struct simcli *c, char *pair) {
    char *value = strchr(pair, '=');
    uint64_t n = 0;
    int rc;
    if (!value) return fail(c, SIMCLI_USAGE, "--set: '%s' is not of the form key=value", pair);
    *value++ = '\0';
    if (strcmp(pair, "kernel") == 0) {
        c->choice.kernel = value;
        return SIMCLI_OK;
    }
    if (strcmp(pair, "lease") == 0)
        return take_number(c, "--set lease", QUANTITY_TIME, value, QUANTITY_MAX,
                           &c->choice.lease_ns);
    bool flag = strcmp(pair, "exclusive") == 0 || strcmp(pair, "swap") == 0;
    rc = take_number(c, pair, QUANTITY_COUNT, value, flag ? 1 : UINT32_MAX, &n);
    if (rc) return rc;
    if (strcmp(pair, "exclusive") == 0)
        c->choice.exclusive = (int)n;
    else if (strcmp(pair, "swap") == 0)
        c->choice.swap = (int)n;
    else if (strcmp(pair, "max_lanes") == 0)
        c->choice.max_lanes = (uint32_t)n;
    else if (strcmp(pair, "overtakes") == 0)
        c->choice.overtakes = (uint32_t)n;
    else if (strcmp(pair, "lease_factor") == 0)
        c->choice.lease_factor = (uint32_t)n;
    else
        return fail(c, SIMCLI_USAGE, "--set: there is no key '%s'", pair);
    return SIMCLI_OK;
}

/* Options with a text value: where it goes. */
static const char **text_option(struct simcli *c, const char *option) {
    const struct {
        const char *name;
        const char **at;
    } texts[] = {
        {"--policy", &c->policies},
        {"--kernel", &c->choice.kernel},
        {"--timeline", &c->chrome},
        {"--svg", &c->svg},
        {"--trace", &c->trace},
        {"--rates", &c->rates},
        {"--kind", &c->generate.kind},
        {"--output", &c->output},
        {"-o", &c->output},
        {"--durations", &c->generate.durations_path},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcmp(texts[i].name, option) == 0) return texts[i].at;
    return NULL;
}

static int take_value(struct simcli *c, const char *option, char *value) {
    struct generate_config *g = &c->generate;
    uint64_t n = 0;
    int rc;
    if (strcmp(option, "--set") == 0) return take_set(c, value);
    if (strcmp(option, "--seed") == 0)
        return take_number(c, option, QUANTITY_COUNT, value, UINT64_MAX, &g->seed);
    if (strcmp(option, "--window") == 0) {
        rc = take_number(c, option, QUANTITY_TIME, value, QUANTITY_MAX, &c->window_ns);
        return rc || c->window_ns ? rc : fail(c, SIMCLI_USAGE, "--window: not 0");
    }
    if (strcmp(option, "--think") == 0)
        return take_number(c, option, QUANTITY_TIME, value, WORKLOAD_MAX_TIME_NS, &g->think_ns);
    if (strcmp(option, "--demand") == 0) {
        rc = take_number(c, option, QUANTITY_MILLI, value, 1000, &n);
        g->demand_milli = (uint32_t)n;
        return rc;
    }
    bool jobs = strcmp(option, "--jobs") == 0;
    if (!jobs && strcmp(option, "--iterations") != 0)
        return fail(c, SIMCLI_USAGE, "there is no option %s", option);
    rc = take_number(c, option, QUANTITY_COUNT, value, WORKLOAD_MAX_JOBS, &n);
    *(jobs ? &g->jobs : &g->iterations) = (uint32_t)n;
    return rc;
}

static bool take_flag(struct simcli *c, const char *option) {
    if (strcmp(option, "--json") == 0)
        c->json = true;
    else if (strcmp(option, "--per-job") == 0)
        c->json = c->per_job = true;
    else if (strcmp(option, "--check") == 0)
        c->check = true;
    else
        return false;
    return true;
}

/* Fills `words` (of argc) with what is no option. */
static int take_options(struct simcli *c, int argc, char **argv, char **words, int *count) {
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' || strcmp(argv[i], "-") == 0) {
            words[(*count)++] = argv[i];
            continue;
        }
        if (take_flag(c, argv[i])) continue;
        if (i + 1 == argc)
            return fail(c, SIMCLI_USAGE, "%s: no such option, or its value is missing", argv[i]);
        const char **text = text_option(c, argv[i]);
        int rc = SIMCLI_OK;
        if (text)
            *text = argv[i + 1];
        else
            rc = take_value(c, argv[i], argv[i + 1]);
        if (rc) return rc;
        i++;
    }
    return SIMCLI_OK;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* FILE.x, or FILE-POLICY.x; NULL and said when it cannot be opened. */
static FILE *open_for(struct simcli *c, const char *path, const char *policy) {
    char full[4096];
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    if (dot && slash && dot < slash) dot = NULL;
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    bool one = strchr(c->policies, ',') == NULL;
    snprintf(full, sizeof(full), "%.*s%s%s%s", (int)stem, path, one ? "" : "-", one ? "" : policy,
             path + stem);
    FILE *f = fopen(full, "we");
    if (!f) fail(c, SIMCLI_FAILED, "%s: %s", full, strerror(errno));
    return f;
}

/* What one run is watched by. */
struct watched {
    struct sim_watch list[4];
    uint32_t count;
    struct timeline chrome, svg;
    struct rates rates;
    FILE *trace, *rates_file;
};

static int watch_begin(struct simcli *c, struct watched *o, const struct workload *w,
                       const char *policy) {
    *o = (struct watched){0};
    if (c->trace) {
        if (!(o->trace = open_for(c, c->trace, policy))) return SIMCLI_FAILED;
        o->list[o->count++] = (struct sim_watch){.self = o->trace, .stepped = trace_stepped};
    }
    if (c->rates) {
        if (!(o->rates_file = open_for(c, c->rates, policy))) return SIMCLI_FAILED;
        if (rates_init(&o->rates, w, c->window_ns, o->rates_file)) goto no_memory;
        o->list[o->count++] = (struct sim_watch){.self = &o->rates, .ran = rates_ran};
    }
    if (c->chrome) {
        if (timeline_init(&o->chrome, w->count, CHROME_SPANS)) goto no_memory;
        o->list[o->count++] = (struct sim_watch){.self = &o->chrome, .ran = timeline_ran};
    }
    if (c->svg) {
        if (timeline_init(&o->svg, w->count, SVG_SPANS)) goto no_memory;
        o->list[o->count++] = (struct sim_watch){.self = &o->svg, .ran = timeline_ran};
    }
    return SIMCLI_OK;
no_memory:
    return fail(c, SIMCLI_FAILED, "out of memory");
}

static int close_file(struct simcli *c, FILE *f) {
    bool bad = ferror(f);
    if (fclose(f) != 0 || bad) return fail(c, SIMCLI_FAILED, "a file could not be written");
    return SIMCLI_OK;
}

/* The files of a finished run; `r` is NULL when it failed. */
static int watch_end(struct simcli *c, struct watched *o, const struct workload *w,
                     const struct sim_result *r, const char *policy) {
    int rc = SIMCLI_OK;
    FILE *f;
    rates_finish(&o->rates);
    if (o->trace) rc |= close_file(c, o->trace);
    if (o->rates_file) rc |= close_file(c, o->rates_file);
    if (r && c->chrome && (f = open_for(c, c->chrome, policy))) {
        timeline_chrome(&o->chrome, w, r, f);
        rc |= close_file(c, f);
    }
    if (r && c->svg && (f = open_for(c, c->svg, policy))) {
        if (timeline_svg(&o->svg, w, r, policy, f)) rc = fail(c, SIMCLI_FAILED, "out of memory");
        rc |= close_file(c, f);
    }
    timeline_finish(&o->chrome);
    timeline_finish(&o->svg);
    return rc;
}

static int run_one(struct simcli *c, const struct workload *w, const char *policy,
                   struct summary *summary, bool first) {
    struct watched watched;
    struct sim_result *r = malloc(sizeof(*r)); /* its histogram is large */
    char why[SIM_WHY_BYTES];
    struct sim_config config = {.choice = c->choice, .seed = c->generate.seed, .check = c->check};
    config.choice.lane = policy;
    if (!r) return fail(c, SIMCLI_FAILED, "out of memory");
    int rc = watch_begin(c, &watched, w, policy), err = 0;
    config.watches = watched.list;
    config.watches_count = watched.count;
    if (rc == SIMCLI_OK) err = sim_run(r, w, &config, why);
    bool ran = rc == SIMCLI_OK && !err;
    if (err) rc = fail(c, err == -EPROTO ? SIMCLI_BROKEN : SIMCLI_FAILED, "%s: %s", policy, why);
    if (watch_end(c, &watched, w, ran ? r : NULL, policy) && rc == SIMCLI_OK) rc = SIMCLI_FAILED;
    if (ran && summary_make(summary, policy, w, r)) rc = fail(c, SIMCLI_FAILED, "out of memory");
    if (ran && c->json) {
        fputs(first ? "{" : ",{", c->out);
        summary_json(summary, c->out);
        if (c->per_job) {
            fputc(',', c->out);
            summary_json_jobs(w, r, c->out);
        }
        fputc('}', c->out);
    }
    if (ran) sim_result_finish(r);
    free(r);
    return rc;
}

static int read_workload(struct simcli *c, struct workload *w, const char *path) {
    struct buf errors;
    buf_init(&errors);
    int err = workload_read(w, path, &errors);
    for (char *line, *rest = (char *)buf_str(&errors); (line = strtok_r(rest, "\n", &rest));)
        fprintf(c->err, "%s:%s%s\n", path, err == -EINVAL ? "" : " ", line);
    buf_finish(&errors);
    if (err == -ENOMEM) fail(c, SIMCLI_FAILED, "out of memory");
    return !err ? SIMCLI_OK : err == -EINVAL ? SIMCLI_WORKLOAD : SIMCLI_FAILED;
}

static int verb_run(struct simcli *c, const char *path) {
    struct summary summaries[MAX_POLICIES];
    struct workload w;
    uint32_t count = 0;
    char *policies = strdup(c->policies), *rest = policies, *policy;
    int rc = policies ? read_workload(c, &w, path) : fail(c, SIMCLI_FAILED, "out of memory");
    if (rc) {
        free(policies);
        return rc;
    }
    if (c->json)
        fprintf(c->out, "{\"schema\":1,\"seed\":%llu,\"runs\":[",
                (unsigned long long)c->generate.seed);
    while (rc == SIMCLI_OK && (policy = strtok_r(rest, ",", &rest))) {
        if (count == MAX_POLICIES) rc = fail(c, SIMCLI_USAGE, "--policy: too many");
        if (rc == SIMCLI_OK) rc = run_one(c, &w, policy, &summaries[count], count == 0);
        count += rc == SIMCLI_OK;
    }
    if (c->json)
        fputs("]}\n", c->out);
    else
        summary_table(summaries, count, c->out);
    workload_finish(&w);
    free(policies);
    return rc;
}

/* ---- the other verbs ------------------------------------------------------------------------- */

static int verb_check(struct simcli *c, const char *path) {
    struct workload w;
    int rc = read_workload(c, &w, path);
    if (rc) return rc;
    fprintf(c->out, "%s: %u jobs\n", path, w.count);
    workload_finish(&w);
    return SIMCLI_OK;
}

static int verb_generate(struct simcli *c) {
    struct workload w;
    struct buf errors;
    FILE *f = c->out;
    if (!c->generate.kind) return fail(c, SIMCLI_USAGE, "generate: --kind is missing");
    buf_init(&errors);
    int rc = SIMCLI_OK, err = generate(&w, &c->generate, &errors);
    if (err)
        rc = fail(c, err == -EINVAL ? SIMCLI_USAGE : SIMCLI_FAILED, "%s: %.*s", c->generate.kind,
                  (int)errors.len - 1, buf_str(&errors));
    buf_finish(&errors);
    if (err) return rc;
    if (c->output && !(f = fopen(c->output, "we")))
        rc = fail(c, SIMCLI_FAILED, "%s: %s", c->output, strerror(errno));
    if (f) workload_write(&w, f);
    if (f && c->output) rc = close_file(c, f);
    workload_finish(&w);
    return rc;
}

int simcli_main(FILE *out, FILE *err, int argc, char **argv) {
    struct simcli c = {
        .out = out,
        .err = err,
        .policies = DEFAULT_POLICIES,
        .choice = {.exclusive = -1, .swap = -1, .priorities = -1, .by_class = -1, .by_size = -1},
        .generate = {.seed = 1},
        .window_ns = 1000000000};
    int count = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) return print_help(out);
    char **words = calloc((size_t)argc + 1, sizeof(*words));
    if (!words) return fail(&c, SIMCLI_FAILED, "out of memory");
    int rc = take_options(&c, argc, argv, words, &count);
    if (rc == SIMCLI_OK) {
        const char *verb = count ? words[0] : "";
        if (strcmp(verb, "run") == 0 && count == 2)
            rc = verb_run(&c, words[1]);
        else if (strcmp(verb, "check") == 0 && count == 2)
            rc = verb_check(&c, words[1]);
        else if (strcmp(verb, "generate") == 0 && count == 1)
            rc = verb_generate(&c);
        else
            rc = fail(&c, SIMCLI_USAGE, "run FILE, check FILE or generate; see --help");
    }
    free(words);
    return rc;
}
