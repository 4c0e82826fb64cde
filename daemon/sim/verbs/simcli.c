/* SPDX-License-Identifier: Apache-2.0
 *
 * Dispatches the verbs, and implements all except run.
 */
#include "daemon/sim/verbs/simcli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/policy/policies_help.h"
#include "daemon/sim/compare/compare.h"
#include "daemon/sim/compare/compare_svg.h"
#include "daemon/sim/compare/compare_text.h"
#include "daemon/sim/report/slos.h"
#include "daemon/sim/report/summary.h"
#include "daemon/sim/verbs/clusteropt.h"
#include "daemon/sim/verbs/serveopt.h"
#include "daemon/sim/verbs/simadvise.h"
#include "daemon/sim/verbs/simcluster.h"
#include "daemon/sim/verbs/simreplay.h"
#include "daemon/sim/verbs/simrun.h"
#include "daemon/sim/verbs/simserve.h"
#include "daemon/sim/verbs/simtune.h"
#include "daemon/sim/verbs/simverb.h"
#include "daemon/sim/verbs/tuneopt.h"
#include "daemon/sim/workload/workload_file.h"

static int print_help(FILE *out) {
    fputs(
        "usage: salus-sim run FILE [OPTION]...\n"
        "       salus-sim compare FILE [OPTION]...\n"
        "       salus-sim advise FILE FILE... [OPTION]...\n"
        "       salus-sim check FILE\n"
        "       salus-sim replay FILE [--any-build] [--trust]\n"
        "       salus-sim generate --kind KIND [OPTION]...\n"
        "       salus-sim serve [OPTION]...\n"
        "       salus-sim tune [OPTION]...\n"
        "       salus-sim cluster [FILE] [OPTION]...\n\n"
        "run: each job alone, and the workload under each lane policy, in virtual time.\n"
        "FILE may be -.\n"
        "  --policy LIST        lane policies, separated by commas (all)\n"
        "  --kernel POLICY      the kernel policy (streams)\n"
        "  --seed N             of all that is random (1)\n"
        "  --set KEY=VALUE      lane, kernel, or a parameter: below; also 1 and 0 for yes and no,\n"
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
        "advise: whether the jobs of these files should share the device, in sentences: each\n"
        "alone, and all of them under every policy that makes sense.\n"
        "  --goal GOAL          throughput, latency (of those that serve or have a priority) or\n"
        "                       fair (by the jobs: latency where there are such beside others)\n"
        "  --most-loss PART     latency: so much longer than alone at most (10%)\n"
        "  --starts N           so many, each at another moment (10)\n"
        "  --svg FILE           the answer as a picture\n"
        "  --seed, --set, --contention, --json, --check as above\n\n"
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
          "  --slice TIME         orion: within which kernels can give way (0: not)\n"
          "  --subgrids           orion: they can stand still between waves\n"
          "  --full PART          orion: kernels of class memory are at full speed on that part\n"
          "                       of the SMs (1)\n"
          "  --right-size PART    orion: best-effort kernels get the fewest SMs at which they\n"
          "                       take no more than that part longer (0: all that they fill)\n\n",
          out);
    serveopt_explain(out);
    tuneopt_explain(out);
    clusteropt_explain(out);
    fputs("Measures of run:\n", out);
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

/* ---- compare --------------------------------------------------------------------------------- */

static int write_comparison(struct simcli *c, const struct compare *compared,
                            const struct compare_config *config, const char *title) {
    if (c->opt.json)
        compare_json(compared, config, c->out);
    else
        compare_table(compared, c->out);
    if (!c->opt.svg) return SIMCLI_OK;
    FILE *f = fopen(c->opt.svg, "we");
    if (!f) return simverb_fail(c, SIMCLI_FAILED, "%s: %s", c->opt.svg, strerror(errno));
    compare_svg(compared, title, f);
    return simverb_close(c, f);
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
    int status = simverb_read(c, &w, path);
    if (status) return status;
    int err = compare_run(&compared, &w, &config, why);
    if (err)
        status = simverb_fail(c, err == -EPROTO ? SIMCLI_BROKEN : SIMCLI_FAILED, "%s", why);
    else
        status = write_comparison(c, &compared, &config, slash ? slash + 1 : path);
    if (!err) compare_finish(&compared);
    workload_finish(&w);
    return status;
}

/* ---- other verbs ----------------------------------------------------------------------------- */

static int verb_replay(struct simcli *c, const char *path) {
    const struct simreplay what = {
        .path = path, .any_build = c->opt.any_build, .trust = c->opt.trust};
    return simreplay_run(&what, c->out, c->err);
}

static int verb_check(struct simcli *c, const char *path) {
    struct workload w;
    int status = simverb_read(c, &w, path);
    if (status) return status;
    fprintf(c->out, "%s: %u jobs\n", path, w.count);
    workload_finish(&w);
    return SIMCLI_OK;
}

static int verb_generate(struct simcli *c) {
    struct workload w;
    struct buf errors;
    FILE *f = c->out;
    if (!c->opt.generate.kind) return simverb_fail(c, SIMCLI_USAGE, "generate: --kind is missing");
    buf_init(&errors);
    int status = SIMCLI_OK, err = generate(&w, &c->opt.generate, &errors);
    if (err)
        status = simverb_fail(c, err == -EINVAL ? SIMCLI_USAGE : SIMCLI_FAILED, "%s: %.*s",
                              c->opt.generate.kind, (int)errors.len - 1, buf_str(&errors));
    buf_finish(&errors);
    if (err) return status;
    if (c->opt.output && !(f = fopen(c->opt.output, "we")))
        status = simverb_fail(c, SIMCLI_FAILED, "%s: %s", c->opt.output, strerror(errno));
    if (f) workload_write(&w, f);
    if (f && c->opt.output) status = simverb_close(c, f);
    workload_finish(&w);
    return status;
}

int simcli_main(FILE *out, FILE *err, int argc, char **argv) {
    struct simcli c = {.out = out, .err = err};
    int count = 0, status = SIMCLI_USAGE;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) return print_help(out);
    if (argc > 1 && strcmp(argv[1], "serve") == 0) return simserve_verb(&c, argv + 1);
    if (argc > 1 && strcmp(argv[1], "tune") == 0) return simtune_verb(&c, argv + 1);
    if (argc > 1 && strcmp(argv[1], "cluster") == 0) return simcluster_verb(&c, argv + 1);
    char **words = calloc((size_t)argc + 1, sizeof(*words));
    if (!words) return simverb_fail(&c, SIMCLI_FAILED, "out of memory");
    simopt_init(&c.opt);
    if (simopt_take(&c.opt, argv, words, &count, err)) {
        const char *verb = count ? words[0] : "";
        if (strcmp(verb, "run") == 0 && count == 2)
            status = simrun_verb(&c, words[1]);
        else if (strcmp(verb, "compare") == 0 && count == 2)
            status = verb_compare(&c, words[1]);
        else if (strcmp(verb, "advise") == 0)
            status = simadvise_verb(&c, words + 1, count - 1);
        else if (strcmp(verb, "replay") == 0 && count == 2)
            status = verb_replay(&c, words[1]);
        else if (strcmp(verb, "check") == 0 && count == 2)
            status = verb_check(&c, words[1]);
        else if (strcmp(verb, "generate") == 0 && count == 1)
            status = verb_generate(&c);
        else
            status = simverb_fail(&c, SIMCLI_USAGE,
                                  "run, compare, check or replay FILE, advise FILE..., generate, "
                                  "serve, tune or cluster; see --help");
    }
    simopt_finish(&c.opt);
    free(words);
    return status;
}
