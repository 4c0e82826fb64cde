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
        "       salus-sim cluster [FILE] [OPTION]...\n"
        "\n"
        "Values in parentheses are defaults.\n"
        "\n"
        "run: simulates each job alone, and the workload under each lane policy, in virtual time.\n"
        "FILE may be -, for standard input.\n"
        "  --policy LIST        lane policies, separated by commas (all)\n"
        "  --kernel POLICY      kernel policy (streams)\n"
        "  --seed N             seed of all random numbers (1)\n"
        "  --set KEY=VALUE      set lane, kernel or a parameter (see below); 1 and 0 mean yes and "
        "no,\n"
        "                       and thousandths are accepted for a percentage\n"
        "  --json               print one JSON object\n"
        "  --per-job            add a record for each job to the JSON object\n"
        "  --timeline FILE      write Chrome trace events (chrome://tracing, Perfetto)\n"
        "  --svg FILE           draw the timeline\n"
        "  --trace FILE         write every step as text, a line for each event and action\n"
        "  --rates FILE         write the iterations of each job in each window, as CSV\n"
        "  --window TIME        length of a window of --rates (1s)\n"
        "  --slos FILE          write targets, measured values, pauses and shares of each control\n"
        "                       period, as CSV\n"
        "  --check              check the scheduler's invariants after every step; slow\n"
        "With several policies, each file FILE.x becomes FILE-POLICY.x.\n"
        "\n"
        "compare: simulates a workload of kernels under each kernel policy, and each job alone.\n"
        "  --policy LIST        kernel policies, separated by commas (all)\n"
        "  --control LIST       controllers, each combined with each kernel policy (--set "
        "control)\n"
        "  --seeds N            number of seeds, from --seed on; prints means and deviations (1)\n"
        "  --svg FILE           draw the table\n"
        "  --contention SLOTS,LEFT   contention of the device, instead of the calibrated values\n"
        "  --seed, --set, --json, --check as above\n"
        "\n"
        "advise: tells whether the jobs of these files should share the device. Simulates each "
        "job\n"
        "alone, and all together under every policy that makes sense.\n"
        "  --goal GOAL          throughput, latency (of jobs that serve or have a priority) or "
        "fair\n"
        "                       (latency if such jobs run beside others, otherwise throughput)\n"
        "  --most-loss PART     with latency: how much longer than alone such jobs may take (10%)\n"
        "  --starts N           number of starts, each with other offsets between the jobs (10)\n"
        "  --svg FILE           draw the answer\n"
        "  --seed, --set, --contention, --json, --check as above\n"
        "\n"
        "check: checks a workload file and lists all errors.\n"
        "\n"
        "replay: repeats a recording of events ('salusctl record --events', --trace) and checks "
        "that\n"
        "the scheduler takes the same actions, line by line. Reads the file in a sandbox.\n"
        "  --any-build          accept a checkpoint of another build\n"
        "  --trust              read without sandbox and limits; only for files of trusted "
        "authors\n"
        "\n"
        "generate: writes a workload.\n"
        "  --kind KIND          kind of workload:\n",
        out);
    generate_explain(out);
    fputs("  --seed N             seed of all random numbers (1)\n"
          "  -o FILE              file to write (standard output)\n"
          "  --jobs N             random: number of jobs\n"
          "  --iterations N       random: mean number of iterations of a job\n"
          "  --durations FILE     salus-table2: run times to draw from, one per line\n"
          "  --think TIME         salus-fig13: mean time between requests (5s)\n"
          "  --demand U           demand of all jobs, instead of each job's own\n"
          "  --tables FOLDER      orion: folder of the kernel tables, MODEL.csv\n"
          "  --high MODEL         orion: add a high-priority job\n"
          "  --best MODEL         orion: add a best-effort job\n"
          "  --arrivals HOW       orion: arrivals of the job named before: closed (default),\n"
          "                       poisson:RATE or uniform:RATE (per second), gaps:FILE or\n"
          "                       shuffled:FILE (JSON)\n"
          "  --think TIME         orion: host time between iterations of the job named before (0)\n"
          "  --until TIME         orion: end of the run (60s)\n"
          "  --launch TIME        orion: host time from one launch to the next (5us)\n"
          "  --dispatch TIME      orion: time from a decision until the device can begin (5us)\n"
          "  --slice TIME         orion: kernels yield within this time (0: at the end of a wave)\n"
          "  --subgrids           orion: kernels can be suspended between waves\n"
          "  --full PART          orion: part of the SMs on which kernels of class memory run at "
          "full\n"
          "                       speed (1)\n"
          "  --right-size PART    orion: best-effort kernels get the fewest SMs on which they take "
          "at\n"
          "                       most this part longer (0: all that they fill)\n"
          "\n",
          out);
    serveopt_explain(out);
    tuneopt_explain(out);
    clusteropt_explain(out);
    fputs("Measures printed by run:\n", out);
    summary_explain(out);
    fputs("\nMeasures of each job with a latency target (slo=):\n", out);
    slos_explain(out);
    fputc('\n', out);
    policies_help(out);
    fputs(
        "\n  --help\n\n"
        "Exit status: 0 done, 1 failed, 2 usage, 3 the workload has errors, 4 the scheduler broke\n"
        "an invariant.\n",
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
    if (!c->opt.generate.kind)
        return simverb_fail(c, SIMCLI_USAGE,
                            "generate: --kind is missing; salus-sim --help lists the kinds");
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
            status = simverb_fail(
                &c, SIMCLI_USAGE,
                "a verb is missing or unknown; the verbs are run, compare, advise, check, replay, "
                "generate, serve, tune and cluster: see salus-sim --help");
    }
    simopt_finish(&c.opt);
    free(words);
    return status;
}
