/* SPDX-License-Identifier: Apache-2.0
 *
 * Options, and the three verbs.
 */
#include "daemon/sim/simcli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/policies_help.h"
#include "daemon/sim/compare.h"
#include "daemon/sim/rates.h"
#include "daemon/sim/sim.h"
#include "daemon/sim/simopt.h"
#include "daemon/sim/simreplay.h"
#include "daemon/sim/slos.h"
#include "daemon/sim/summary.h"
#include "daemon/sim/timeline.h"
#include "daemon/sim/trace.h"
#include "daemon/sim/workload_file.h"

#define MAX_POLICIES 16
#define CHROME_SPANS 200000
#define SVG_SPANS 20000
/* ",fifo,pack": all of them. */
static const char lane_policies[] =
#define LANE_POLICY(name, sentence) "," #name
#include "common/policies.def"
    ;

struct simcli {
    FILE *out, *err;
    FILE *slos; /* rows of a table behind the first */
    struct simopt opt;
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
          "       salus-sim compare FILE [OPTION]...\n"
          "       salus-sim check FILE\n"
          "       salus-sim replay FILE [--any-build] [--trust]\n"
          "       salus-sim generate --kind KIND [OPTION]...\n\n"
          "run: the workload under each lane policy, in virtual time. FILE may be -.\n"
          "  --policy LIST        lane policies, separated by commas (all)\n"
          "  --kernel POLICY      the kernel policy (streams)\n"
          "  --seed N             of all that is random (1)\n"
          "  --set KEY=VALUE      lane, kernel, or a knob: below; also 1 and 0 for yes and no,\n"
          "                       and thousandths for a percentage\n"
          "  --json               one JSON object\n"
          "  --per-job            in it, a record a job\n"
          "  --timeline FILE      Chrome trace events (chrome://tracing, Perfetto)\n"
          "  --svg FILE           the timeline as a picture\n"
          "  --trace FILE         every step as text: a line an event, an action\n"
          "  --rates FILE         iterations of each job in each window, as CSV\n"
          "  --window TIME        of --rates (1s)\n"
          "  --slos FILE          each control period: targets, what was measured, pauses, shares\n"
          "  --check              the scheduler's invariants after every step; slow\n"
          "With several policies, FILE.x of these files becomes FILE-POLICY.x.\n\n"
          "compare: a workload of kernels under each kernel policy, and each job alone.\n"
          "  --policy LIST        kernel policies (all)\n"
          "  --control LIST       controllers, each with each of these (--set control)\n"
          "  --seeds N            so many seeds from --seed on: means and spreads (1)\n"
          "  --svg FILE           the table as a picture\n"
          "  --contention SLOTS,LEFT   of the device, instead of those calibrated\n"
          "  --seed, --set, --json, --check as above\n\n"
          "check: whether the file is a workload; lists all faults.\n\n"
          "replay: a recording of events ('salusctl record --events', --trace) through the\n"
          "scheduler again: the actions must be the same, line by line. It is read in a sandbox.\n"
          "  --any-build          also one that begins with another build's checkpoint\n"
          "  --trust              without sandbox and limits: whoever wrote it may do anything\n\n"
          "generate: writes a workload.\n"
          "  --kind KIND\n",
          out);
    generate_explain(out);
    fputs("  --seed N, -o FILE, --jobs N, --iterations N\n"
          "  --durations FILE     salus-table2: run times to draw from, one a line\n"
          "  --think TIME         salus-fig13: mean time between requests (5s)\n"
          "  --demand U           of all jobs, instead of each one's own\n"
          "  --tables FOLDER      orion: where MODEL.csv are\n"
          "  --high MODEL         orion: a high-priority job; --best MODEL: a best-effort one\n"
          "  --arrivals HOW       orion: of the job before: closed (default), poisson:RATE,\n"
          "                       uniform:RATE (a second), gaps:FILE, shuffled:FILE (JSON)\n"
          "  --think TIME         orion: of the job before: host time between iterations (0)\n"
          "  --until TIME         orion: (60s)\n"
          "  --launch TIME, --dispatch TIME   orion: (5us)\n"
          "  --slice TIME         orion: within which kernels can give way (0: not)\n\n"
          "Measures of run:\n",
          out);
    summary_explain(out);
    fputs("\nWhere a job has a target of latency (slo=), of each job:\n", out);
    slos_explain(out);
    fputc('\n', out);
    policies_help(out);
    fputs(
        "\n  --help\n\n"
        "Exit status: 0 done, 1 failed, 2 usage, 3 the workload has faults, 4 the scheduler broke\n"
        "a rule.\n",
        out);
    return SIMCLI_OK;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* FILE.x, or FILE-POLICY.x; NULL and said when it cannot be opened. */
static FILE *open_for(struct simcli *c, const char *path, const char *policy) {
    char full[4096];
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    if (dot && slash && dot < slash) dot = NULL;
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    bool one = strchr(c->opt.policies, ',') == NULL;
    snprintf(full, sizeof(full), "%.*s%s%s%s", (int)stem, path, one ? "" : "-", one ? "" : policy,
             path + stem);
    FILE *f = fopen(full, "we");
    if (!f) fail(c, SIMCLI_FAILED, "%s: %s", full, strerror(errno));
    return f;
}

/* What one run is watched by. */
struct watched {
    struct sim_watch list[5];
    uint32_t count;
    struct timeline chrome, svg;
    struct rates rates;
    struct slos_lines slos;
    FILE *trace, *rates_file;
};

static int watch_begin(struct simcli *c, struct watched *o, const struct workload *w,
                       const char *policy) {
    *o = (struct watched){0};
    if (c->opt.trace) {
        if (!(o->trace = open_for(c, c->opt.trace, policy))) return SIMCLI_FAILED;
        o->list[o->count++] =
            (struct sim_watch){.self = o->trace, .began = trace_began, .stepped = trace_stepped};
    }
    if (c->opt.rates) {
        if (!(o->rates_file = open_for(c, c->opt.rates, policy))) return SIMCLI_FAILED;
        if (rates_init(&o->rates, w, c->opt.window_ns, o->rates_file)) goto no_memory;
        o->list[o->count++] = (struct sim_watch){.self = &o->rates, .ran = rates_ran};
    }
    if (c->opt.slos) {
        if (!(o->slos.out = open_for(c, c->opt.slos, policy))) return SIMCLI_FAILED;
        o->slos.w = w;
        slos_lines_begin(o->slos.out);
        o->list[o->count++] = (struct sim_watch){.self = &o->slos, .controlled = slos_controlled};
    }
    if (c->opt.chrome) {
        if (timeline_init(&o->chrome, w->count, CHROME_SPANS)) goto no_memory;
        o->list[o->count++] = (struct sim_watch){.self = &o->chrome, .ran = timeline_ran};
    }
    if (c->opt.svg) {
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
    int status = SIMCLI_OK;
    FILE *f;
    rates_finish(&o->rates);
    if (o->trace) {
        trace_ended(o->trace);
        status |= close_file(c, o->trace);
    }
    if (o->rates_file) status |= close_file(c, o->rates_file);
    if (o->slos.out) status |= close_file(c, o->slos.out);
    if (r && c->opt.chrome && (f = open_for(c, c->opt.chrome, policy))) {
        timeline_chrome(&o->chrome, w, r, f);
        status |= close_file(c, f);
    }
    if (r && c->opt.svg && (f = open_for(c, c->opt.svg, policy))) {
        if (timeline_svg(&o->svg, w, r, policy, f))
            status = fail(c, SIMCLI_FAILED, "out of memory");
        status |= close_file(c, f);
    }
    timeline_finish(&o->chrome);
    timeline_finish(&o->svg);
    return status;
}

static int run_one(struct simcli *c, const struct workload *w, const char *policy,
                   struct summary *summary, bool first) {
    struct watched watched;
    struct sim_result *r = malloc(sizeof(*r)); /* its histogram is large */
    char why[SIM_WHY_BYTES];
    struct sim_config config = {
        .policy = c->opt.policy, .seed = c->opt.generate.seed, .check = c->opt.check};
    snprintf(config.policy.lane, POLICY_NAME_BYTES, "%s", policy);
    if (!r) return fail(c, SIMCLI_FAILED, "out of memory");
    int status = watch_begin(c, &watched, w, policy), err = 0;
    config.watches = watched.list;
    config.watches_count = watched.count;
    if (status == SIMCLI_OK) err = sim_run(r, w, &config, why);
    bool ran = status == SIMCLI_OK && !err;
    if (err)
        status = fail(c, err == -EPROTO ? SIMCLI_BROKEN : SIMCLI_FAILED, "%s: %s", policy, why);
    if (watch_end(c, &watched, w, ran ? r : NULL, policy) && status == SIMCLI_OK)
        status = SIMCLI_FAILED;
    if (ran && summary_make(summary, policy, w, r))
        status = fail(c, SIMCLI_FAILED, "out of memory");
    if (ran && c->opt.json) {
        fputs(first ? "{" : ",{", c->out);
        summary_json(summary, c->out);
        if (c->opt.per_job) {
            fputc(',', c->out);
            summary_json_jobs(w, r, c->out);
        }
        fputc('}', c->out);
    }
    if (ran && slos_any(w)) slos_table(policy, w, r, c->slos);
    if (ran) sim_result_finish(r);
    free(r);
    return status;
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

static void print_slos(struct simcli *c, const char *rows) {
    fputc('\n', c->out);
    slos_heading(c->out);
    fputs(rows, c->out);
}

static int verb_run(struct simcli *c, const char *path) {
    struct summary summaries[MAX_POLICIES];
    struct workload w;
    uint32_t count = 0;
    if (!c->opt.policies) c->opt.policies = &lane_policies[1];
    char *policies = strdup(c->opt.policies), *rest = policies, *policy, *slos = NULL;
    size_t slos_bytes = 0;
    c->slos = open_memstream(&slos, &slos_bytes);
    int status =
        policies && c->slos ? read_workload(c, &w, path) : fail(c, SIMCLI_FAILED, "out of memory");
    if (status) goto out;
    if (c->opt.json)
        fprintf(c->out, "{\"schema\":1,\"seed\":%llu,\"runs\":[",
                (unsigned long long)c->opt.generate.seed);
    while (status == SIMCLI_OK && (policy = strtok_r(rest, ",", &rest))) {
        if (count == MAX_POLICIES) status = fail(c, SIMCLI_USAGE, "--policy: too many");
        if (status == SIMCLI_OK) status = run_one(c, &w, policy, &summaries[count], count == 0);
        count += status == SIMCLI_OK;
    }
    fflush(c->slos);
    if (c->opt.json)
        fputs("]}\n", c->out);
    else
        summary_table(summaries, count, c->out);
    if (!c->opt.json && slos_bytes) print_slos(c, slos);
    workload_finish(&w);
out:
    if (c->slos) fclose(c->slos);
    free(slos);
    free(policies);
    return status;
}

/* ---- compare --------------------------------------------------------------------------------- */

static int write_comparison(struct simcli *c, const struct compare *compared,
                            const struct compare_config *config, const char *title) {
    if (c->opt.json)
        compare_json(compared, config, c->out);
    else
        compare_table(compared, c->out);
    if (!c->opt.svg) return SIMCLI_OK;
    FILE *f = fopen(c->opt.svg, "we");
    if (!f) return fail(c, SIMCLI_FAILED, "%s: %s", c->opt.svg, strerror(errno));
    compare_svg(compared, title, f);
    return close_file(c, f);
}

static int verb_compare(struct simcli *c, const char *path) {
    struct compare_config config = {.policy = c->opt.policy,
                                    .policies = c->opt.policies,
                                    .controls = c->opt.controls,
                                    .seed = c->opt.generate.seed,
                                    .seeds = c->opt.seeds,
                                    .contention = c->opt.contention,
                                    .check = c->opt.check};
    const char *slash = strrchr(path, '/');
    struct compare compared;
    struct workload w;
    char why[SIM_WHY_BYTES];
    int status = read_workload(c, &w, path);
    if (status) return status;
    int err = compare_run(&compared, &w, &config, why);
    if (err)
        status = fail(c, err == -EPROTO ? SIMCLI_BROKEN : SIMCLI_FAILED, "%s", why);
    else
        status = write_comparison(c, &compared, &config, slash ? slash + 1 : path);
    if (!err) compare_finish(&compared);
    workload_finish(&w);
    return status;
}

/* ---- the other verbs ------------------------------------------------------------------------- */

static int verb_replay(struct simcli *c, const char *path) {
    const struct simreplay what = {
        .path = path, .any_build = c->opt.any_build, .trust = c->opt.trust};
    return simreplay_run(&what, c->out, c->err);
}

static int verb_check(struct simcli *c, const char *path) {
    struct workload w;
    int status = read_workload(c, &w, path);
    if (status) return status;
    fprintf(c->out, "%s: %u jobs\n", path, w.count);
    workload_finish(&w);
    return SIMCLI_OK;
}

static int verb_generate(struct simcli *c) {
    struct workload w;
    struct buf errors;
    FILE *f = c->out;
    if (!c->opt.generate.kind) return fail(c, SIMCLI_USAGE, "generate: --kind is missing");
    buf_init(&errors);
    int status = SIMCLI_OK, err = generate(&w, &c->opt.generate, &errors);
    if (err)
        status = fail(c, err == -EINVAL ? SIMCLI_USAGE : SIMCLI_FAILED, "%s: %.*s",
                      c->opt.generate.kind, (int)errors.len - 1, buf_str(&errors));
    buf_finish(&errors);
    if (err) return status;
    if (c->opt.output && !(f = fopen(c->opt.output, "we")))
        status = fail(c, SIMCLI_FAILED, "%s: %s", c->opt.output, strerror(errno));
    if (f) workload_write(&w, f);
    if (f && c->opt.output) status = close_file(c, f);
    workload_finish(&w);
    return status;
}

int simcli_main(FILE *out, FILE *err, int argc, char **argv) {
    struct simcli c = {.out = out, .err = err};
    int count = 0, status = SIMCLI_USAGE;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) return print_help(out);
    char **words = calloc((size_t)argc + 1, sizeof(*words));
    if (!words) return fail(&c, SIMCLI_FAILED, "out of memory");
    simopt_init(&c.opt);
    if (simopt_take(&c.opt, argv, words, &count, err)) {
        const char *verb = count ? words[0] : "";
        if (strcmp(verb, "run") == 0 && count == 2)
            status = verb_run(&c, words[1]);
        else if (strcmp(verb, "compare") == 0 && count == 2)
            status = verb_compare(&c, words[1]);
        else if (strcmp(verb, "replay") == 0 && count == 2)
            status = verb_replay(&c, words[1]);
        else if (strcmp(verb, "check") == 0 && count == 2)
            status = verb_check(&c, words[1]);
        else if (strcmp(verb, "generate") == 0 && count == 1)
            status = verb_generate(&c);
        else
            status = fail(&c, SIMCLI_USAGE,
                          "run, compare, check or replay FILE, or generate; see --help");
    }
    free(words);
    return status;
}
