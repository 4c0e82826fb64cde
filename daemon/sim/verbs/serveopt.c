/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the options of a world with tables.
 */
#include "daemon/sim/verbs/serveopt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/args.h"
#include "daemon/sim/base/quantity.h"

#define MODES_MOST 8u
#define SEEDS_MOST 1000u
#define REQUESTS_MOST 10000000u
#define TIME_MOST_NS 3600000000000ull
#define REAL_MOST 1e6
#define MS 1e6

static const double preset_slos[] = {1.5, 2, 3, 4, 5};

void serveopt_init(struct serveopt *o) {
    *o = (struct serveopt){.config = {.seeds = 5,
                                      .seed = 1,
                                      .demand = {.modes = 3,
                                                 .low_ms = 10,
                                                 .high_ms = 100,
                                                 .sigma_ms = 3,
                                                 .c0_ms = 25,
                                                 .c1 = 0.15,
                                                 .largest = 16,
                                                 .load = 0.7,
                                                 .count = 10000,
                                                 .workers = 1}}};
    o->config.slo_count = sizeof(preset_slos) / sizeof(*preset_slos);
    memcpy(o->config.slos, preset_slos, sizeof(preset_slos));
}

void serveopt_finish(struct serveopt *o) {
    gaps_finish(&o->gaps);
}

void serveopt_explain(FILE *out) {
    fputs(
        "serve: simulates requests to a served model and prints the part of them that finish "
        "before\n"
        "their deadline, for each policy of salus-serve.\n"
        "  --policy LIST        policies, separated by commas (all)\n"
        "  --slo LIST           deadlines, as multiples of the 0.99 quantile of times alone\n"
        "                       (1.5,2,3,4,5)\n"
        "  --modes N            number of applications, each with its own mode, from --low to "
        "--high (3)\n"
        "  --low TIME, --high TIME   first and last mode; a single mode lies in the middle (10ms, "
        "100ms)\n"
        "  --sigma TIME[,TIME]  deviation of the first mode, and of the last if it differs (3ms)\n"
        "  --lognormal MEAN,P99 draw times alone with this mean and 0.99 quantile, instead of "
        "modes\n"
        "  --c0 TIME, --c1 X    a batch of k takes c0 + c1 k l; l: longest time alone (25ms, "
        "0.15)\n"
        "  --overhead TIME      additional time for each request of a batch (0)\n"
        "  --largest N          largest batch; sizes are powers of two (16)\n"
        "  --workers N          number of workers (1)\n"
        "  --load X             rate of requests, relative to the workers' best capacity (0.7)\n"
        "  --arrivals HOW       poisson (default), bursty, or gaps:FILE (JSON), scaled to the "
        "load\n"
        "  --requests N         number of requests in a world (10000)\n"
        "  --seed N, --seeds N  first seed, and number of worlds of each kind (1, 5)\n"
        "  --unknown            start each world without known times of requests\n"
        "  --set KEY=VALUE      parameter of orloj: b (per ms, 1e-4), own, urgent (yes, no); of "
        "infer5:\n"
        "                       ahead, grace (10ms), plain\n"
        "  --detail             print also late, timed-out and refused requests, and batch sizes\n"
        "  --json               print one JSON object\n"
        "\n",
        out);
}

__attribute__((format(printf, 2, 3))) static bool refuse(FILE *err, const char *fmt, ...) {
    va_list ap;
    fputs("salus-sim: serve: ", err);
    va_start(ap, fmt);
    vfprintf(err, fmt, ap);
    va_end(ap);
    fputc('\n', err);
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool take_real(FILE *err, const char *option, const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    if (end != text && !*end && *out >= 0 && *out <= REAL_MOST) return true;
    return refuse(err, "%s: '%s' is not a number in the allowed range; see salus-sim(1)", option,
                  text);
}

static bool take_ns(FILE *err, const char *option, const char *text, uint64_t *out) {
    if (quantity_parse(QUANTITY_TIME, text, out) == 0 && *out <= TIME_MOST_NS) return true;
    return refuse(err, "%s: '%s' is not a time; give a number and a unit, such as 5ms", option,
                  text);
}

static bool take_ms(FILE *err, const char *option, const char *text, double *out) {
    uint64_t ns = 0;
    bool taken = take_ns(err, option, text, &ns);
    *out = (double)ns / MS;
    return taken;
}

static bool take_slos(struct serveopt *o, char *list, FILE *err) {
    o->config.slo_count = 0;
    for (char *word, *rest = list; (word = strsep(&rest, ","));) {
        double *slo = &o->config.slos[o->config.slo_count];
        if (o->config.slo_count++ == SERVE_SLOS)
            return refuse(err, "--slo: at most %u deadlines can be given", SERVE_SLOS);
        if (!take_real(err, "--slo", word, slo)) return false;
        if (*slo == 0) return refuse(err, "--slo: a deadline must be above 0");
    }
    return true;
}

/* Parses "TIME,TIME"; a missing second time is 0. */
static bool take_pair(FILE *err, const char *option, char *value, double *first, double *second) {
    char *comma = strchr(value, ',');
    *second = 0;
    if (comma) *comma++ = '\0';
    return take_ms(err, option, value, first) && (!comma || take_ms(err, option, comma, second));
}

static bool take_sigma(struct serveopt *o, char *value, FILE *err) {
    struct demand_spec *d = &o->config.demand;
    double last_ms;
    if (!take_pair(err, "--sigma", value, &d->sigma_ms, &last_ms)) return false;
    if (last_ms > 0 && d->sigma_ms == 0)
        return refuse(err, "--sigma: the first deviation must be above 0");
    d->widening = last_ms > 0 ? last_ms / d->sigma_ms : 0;
    return true;
}

static bool take_arrivals(struct serveopt *o, const char *how, FILE *err) {
    struct demand_spec *d = &o->config.demand;
    d->bursty = strcmp(how, "bursty") == 0;
    d->gaps = NULL;
    gaps_finish(&o->gaps);
    if (d->bursty || strcmp(how, "poisson") == 0) return true;
    if (strncmp(how, "gaps:", 5) != 0)
        return refuse(err, "--arrivals: '%s' is not poisson, bursty or gaps:FILE", how);
    FILE *f = fopen(how + 5, "re");
    if (!f) return refuse(err, "%s: %s", how + 5, strerror(errno));
    int failed = gaps_read(&o->gaps, f);
    fclose(f);
    if (failed)
        return refuse(err, "%s: number %u of the list is not a time in seconds", how + 5,
                      o->gaps.count + 1);
    d->gaps = o->gaps.s;
    d->gap_count = o->gaps.count;
    return true;
}

/* ---- --set ----------------------------------------------------------------------------------- */

static bool take_set(struct serveopt *o, char *pair, FILE *err) {
    struct plan_config *p = &o->config.plan;
    const struct {
        const char *name;
        bool *at;
    } switches[] = {{"own", &p->own}, {"urgent", &p->urgent}, {"plain", &p->plain}};
    char *value = strchr(pair, '=');
    if (!value) return refuse(err, "--set: '%s' is not of the form key=value", pair);
    *value++ = '\0';
    if (strcmp(pair, "b") == 0) return take_real(err, "--set b", value, &p->b_per_ms);
    if (strcmp(pair, "ahead") == 0) return take_ns(err, "--set ahead", value, &p->ahead_ns);
    if (strcmp(pair, "grace") == 0) return take_ns(err, "--set grace", value, &p->grace_ns);
    for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
        if (strcmp(switches[i].name, pair) != 0) continue;
        *switches[i].at = strcmp(value, "yes") == 0 || strcmp(value, "1") == 0;
        if (*switches[i].at || strcmp(value, "no") == 0 || strcmp(value, "0") == 0) return true;
        return refuse(err, "--set %s: '%s' is not yes or no", pair, value);
    }
    return refuse(err, "--set: there is no key '%s'; see salus-sim(1)", pair);
}

/* ---- options --------------------------------------------------------------------------------- */

static bool take_count(struct serveopt *o, const char *option, const char *value, FILE *err,
                       bool *taken) {
    struct serve_config *c = &o->config;
    const struct {
        const char *name;
        uint64_t most;
        uint32_t *at;
    } counts[] = {{"--modes", MODES_MOST, &c->demand.modes},
                  {"--seeds", SEEDS_MOST, &c->seeds},
                  {"--requests", REQUESTS_MOST, &c->demand.count},
                  {"--largest", PLAN_BATCH_MOST, &c->demand.largest},
                  {"--workers", PLAN_WORKERS, &c->demand.workers}};
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        if (strcmp(counts[i].name, option) != 0) continue;
        *taken = quantity_parse(QUANTITY_COUNT, value, &n) == 0 && n >= 1 && n <= counts[i].most;
        *counts[i].at = (uint32_t)n;
        if (!*taken)
            refuse(err, "%s: '%s' is not a number in the allowed range; see salus-sim(1)", option,
                   value);
        return true;
    }
    return false;
}

static bool take_time(struct serveopt *o, const char *option, const char *value, FILE *err,
                      bool *taken) {
    struct demand_spec *d = &o->config.demand;
    const struct {
        const char *name;
        double *at;
    } times[] = {{"--low", &d->low_ms},
                 {"--high", &d->high_ms},
                 {"--c0", &d->c0_ms},
                 {"--overhead", &d->overhead_ms}};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        if (strcmp(times[i].name, option) != 0) continue;
        *taken = take_ms(err, option, value, times[i].at);
        return true;
    }
    return false;
}

static bool take_value(struct serveopt *o, const char *option, char *value, FILE *err) {
    struct demand_spec *d = &o->config.demand;
    bool taken = false;
    if (take_count(o, option, value, err, &taken)) return taken;
    if (take_time(o, option, value, err, &taken)) return taken;
    if (strcmp(option, "--load") == 0) return take_real(err, option, value, &d->load);
    if (strcmp(option, "--c1") == 0) return take_real(err, option, value, &d->c1);
    if (strcmp(option, "--slo") == 0) return take_slos(o, value, err);
    if (strcmp(option, "--sigma") == 0) return take_sigma(o, value, err);
    if (strcmp(option, "--lognormal") == 0)
        return take_pair(err, option, value, &d->mean_ms, &d->p99_ms);
    if (strcmp(option, "--arrivals") == 0) return take_arrivals(o, value, err);
    if (strcmp(option, "--set") == 0) return take_set(o, value, err);
    if (strcmp(option, "--seed") == 0) {
        if (quantity_parse(QUANTITY_COUNT, value, &o->config.seed) == 0) return true;
        return refuse(err, "--seed: '%s' is not a number", value);
    }
    if (strcmp(option, "--policy") != 0)
        return refuse(err, "serve has no option %s; see salus-sim --help", option);
    o->config.policies = value;
    return true;
}

static bool take_flag(struct serveopt *o, const struct args *a) {
    if (args_is(a, "--json"))
        o->json = true;
    else if (args_is(a, "--detail"))
        o->detail = true;
    else if (args_is(a, "--unknown"))
        o->config.demand.unknown = true;
    else
        return false;
    return true;
}

/* Checks conditions on several options. */
static bool check(const struct serveopt *o, FILE *err) {
    const struct demand_spec *d = &o->config.demand;
    if (d->load == 0) return refuse(err, "--load: the load must be above 0");
    if (d->low_ms > d->high_ms) return refuse(err, "--low is above --high");
    if (d->c0_ms == 0 && d->c1 == 0)
        return refuse(err, "--c0 and --c1 cannot both be 0: batches would take no time");
    return true;
}

bool serveopt_take(struct serveopt *o, char **argv, FILE *err) {
    struct args a = {.rest = argv + 1};
    for (enum args_kind kind; (kind = args_next(&a)) != ARGS_END;) {
        if (kind == ARGS_WORD)
            return refuse(err, "'%s' is not an option; see salus-sim --help", a.name);
        if (take_flag(o, &a)) continue;
        if (!args_value(&a))
            return refuse(
                err, "%s: the option is unknown, or its value is missing; see salus-sim --help",
                a.name);
        if (!take_value(o, a.name, a.value, err)) return false;
    }
    return check(o, err);
}
