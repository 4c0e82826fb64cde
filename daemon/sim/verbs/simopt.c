/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses options and the keys of --set with tables.
 */
#include "daemon/sim/verbs/simopt.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/args.h"
#include "daemon/policy/parameters.h"
#include "daemon/policy/policies.h"
#include "daemon/sim/base/quantity.h"

#define MAX_SEEDS 1000u

void simopt_init(struct simopt *o) {
    *o = (struct simopt){
        .seeds = 1,
        .starts = 10,
        .most_loss_milli = 100,
        .generate = {.seed = 1,
                     .orion = {.until_ns = 60000000000, .launch_ns = 5000, .dispatch_ns = 5000}},
        .window_ns = 1000000000};
    parameters_clear(&o->policy);
}

void simopt_finish(struct simopt *o) {
    free(o->generate.orion.jobs);
    o->generate.orion.jobs = NULL;
}

__attribute__((format(printf, 2, 3))) static bool refuse(FILE *err, const char *fmt, ...) {
    va_list ap;
    fputs("salus-sim: ", err);
    va_start(ap, fmt);
    vfprintf(err, fmt, ap);
    va_end(ap);
    fputc('\n', err);
    return false;
}

static bool take_number(FILE *err, const char *option, enum quantity kind, const char *text,
                        uint64_t max, uint64_t *out) {
    if (quantity_parse(kind, text, out) == 0 && *out <= max) return true;
    return refuse(err, "%s: '%s' is not %s", option, text,
                  kind == QUANTITY_TIME ? "a time such as 5s"
                                        : "a number in the allowed range; see salus-sim(1)");
}

/* ---- --set ----------------------------------------------------------------------------------- */

/* Parses "2.5%", or thousandths such as "25". */
static bool take_part(FILE *err, const char *option, char *text, uint64_t *milli) {
    size_t n = strlen(text);
    if (n == 0 || text[n - 1] != '%')
        return take_number(err, option, QUANTITY_COUNT, text, UINT32_MAX, milli);
    text[n - 1] = '\0';
    bool taken = take_number(err, option, QUANTITY_MILLI, text, 1000000, milli);
    *milli /= 100; /* from thousandths of a percent to thousandths */
    return taken;
}

/* Also accepts 0 and 1 for no and yes, thousandths, and decimal times. The scheduler checks the
 * bounds. */
static bool take_parameter(struct policy_config *c, const struct parameter *k, char *value,
                           FILE *err) {
    uint64_t n = 0;
    bool taken = true;
    switch (k->type) {
    case PARAMETERS_TIME:
        taken = take_number(err, k->name, QUANTITY_TIME, value, QUANTITY_MAX, &n);
        break;
    case PARAMETERS_COUNT:
        taken = take_number(err, k->name, QUANTITY_COUNT, value, UINT32_MAX, &n);
        break;
    case PARAMETERS_PART: taken = take_part(err, k->name, value, &n); break;
    case PARAMETERS_SWITCH:
    case PARAMETERS_AUTO:
        if (parameters_parse(k, value, (int64_t *)&n))
            taken = take_number(err, k->name, QUANTITY_COUNT, value, 1, &n);
        break;
    }
    if (taken) parameters_put(c, k, (int64_t)n);
    return taken;
}

static bool take_set(struct simopt *o, char *pair, FILE *err) {
    char *value = strchr(pair, '=');
    if (!value) return refuse(err, "--set: '%s' is not of the form key=value", pair);
    *value++ = '\0';
    for (int grain = 0; grain < POLICIES_GRAINS; grain++)
        if (strcmp(pair, policies_grain_name((enum policies_grain)grain)) == 0) {
            char *names[] = {o->policy.lane, o->policy.kernel, o->policy.control};
            snprintf(names[grain], POLICY_NAME_BYTES, "%s", value);
            return true;
        }
    const struct parameter *k = parameters_find(pair);
    return k ? take_parameter(&o->policy, k, value, err)
             : refuse(err, "--set: there is no key '%s'; salus-sim --help lists the keys", pair);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Destination of an option with a text value. */
static const char **text_option(struct simopt *o, const char *option) {
    const struct {
        const char *name;
        const char **at;
    } texts[] = {
        {"--policy", &o->policies},
        {"--timeline", &o->chrome},
        {"--svg", &o->svg},
        {"--trace", &o->trace},
        {"--rates", &o->rates},
        {"--slos", &o->slos},
        {"--control", &o->controls},
        {"--goal", &o->goal},
        {"--kind", &o->generate.kind},
        {"--output", &o->output},
        {"-o", &o->output},
        {"--durations", &o->generate.durations_path},
        {"--tables", &o->generate.orion.tables},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcmp(texts[i].name, option) == 0) return texts[i].at;
    return NULL;
}

/* An option with a number up to max. */
struct number_option {
    const char *name;
    enum quantity kind;
    uint64_t max;
    uint64_t *at;      /* 64-bit destination */
    uint32_t *at_less; /* or 32-bit destination */
};

static bool number_option(struct simopt *o, const char *option, struct number_option *out) {
    struct generate_config *g = &o->generate;
    const struct number_option numbers[] = {
        {"--seed", QUANTITY_COUNT, UINT64_MAX, &g->seed, NULL},
        {"--seeds", QUANTITY_COUNT, MAX_SEEDS, NULL, &o->seeds},
        {"--starts", QUANTITY_COUNT, MAX_SEEDS, NULL, &o->starts},
        {"--window", QUANTITY_TIME, QUANTITY_MAX, &o->window_ns, NULL},
        {"--think", QUANTITY_TIME, WORKLOAD_MAX_TIME_NS,
         g->orion.count ? &g->orion.jobs[g->orion.count - 1].think_ns : &g->think_ns, NULL},
        {"--until", QUANTITY_TIME, WORKLOAD_MAX_TIME_NS, &g->orion.until_ns, NULL},
        {"--launch", QUANTITY_TIME, WORKLOAD_MAX_TIME_NS, &g->orion.launch_ns, NULL},
        {"--dispatch", QUANTITY_TIME, WORKLOAD_MAX_TIME_NS, &g->orion.dispatch_ns, NULL},
        {"--slice", QUANTITY_TIME, WORKLOAD_MAX_TIME_NS, &g->orion.slice_ns, NULL},
        {"--full", QUANTITY_MILLI, 1000, NULL, &g->orion.full_milli},
        {"--right-size", QUANTITY_MILLI, 1000, NULL, &g->orion.right_milli},
        {"--demand", QUANTITY_MILLI, 1000, NULL, &g->demand_milli},
        {"--jobs", QUANTITY_COUNT, WORKLOAD_MAX_JOBS, NULL, &g->jobs},
        {"--iterations", QUANTITY_COUNT, WORKLOAD_MAX_JOBS, NULL, &g->iterations},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        *out = numbers[i];
        if (strcmp(numbers[i].name, option) == 0) return true;
    }
    return false;
}

/* Takes a job of a generated workload; --arrivals applies to the job before it. */
static bool take_job(struct simopt *o, const char *option, char *value, FILE *err) {
    struct generate_orion *g = &o->generate.orion;
    if (strcmp(option, "--arrivals") == 0) {
        if (g->count == 0)
            return refuse(err, "--arrivals: give --high or --best before it, to name the job");
        g->jobs[g->count - 1].arrivals = value;
        return true;
    }
    if (g->count == WORKLOAD_MAX_KERNEL_JOBS)
        return refuse(err, "%s: at most %u jobs can be given", option, WORKLOAD_MAX_KERNEL_JOBS);
    if (g->count == g->cap) {
        uint32_t cap = g->cap ? 2 * g->cap : 64;
        struct generate_job *more = realloc(g->jobs, cap * sizeof(*more));
        if (!more) return refuse(err, "out of memory");
        g->jobs = more;
        g->cap = cap;
    }
    g->jobs[g->count++] =
        (struct generate_job){.model = value, .high = strcmp(option, "--high") == 0};
    return true;
}

/* Parses "1.143,0.868": slots, and the remaining fraction of a unit. */
static bool take_contention(struct simopt *o, char *value, FILE *err) {
    char *left = strchr(value, ',');
    uint64_t slots_milli = 0, left_milli = 0;
    if (!left) return refuse(err, "--contention: '%s' is not of the form SLOTS,LEFT", value);
    *left++ = '\0';
    if (!take_number(err, "--contention", QUANTITY_MILLI, value, 2000, &slots_milli) ||
        !take_number(err, "--contention", QUANTITY_MILLI, left, 1000, &left_milli))
        return false;
    if (slots_milli < 1000 || left_milli == 0)
        return refuse(err,
                      "--contention: SLOTS must be from 1 to 2, and LEFT above 0 and at most 1");
    o->contention = (struct kdev_contention){.slots = (double)slots_milli / 1e3,
                                             .left = (double)left_milli / 1e3};
    return true;
}

static bool take_value(struct simopt *o, const char *option, char *value, FILE *err) {
    const char **text = text_option(o, option);
    struct number_option n;
    uint64_t number = 0;
    if (text) {
        *text = value;
        return true;
    }
    if (strcmp(option, "--kernel") == 0) {
        snprintf(o->policy.kernel, sizeof(o->policy.kernel), "%s", value);
        return true;
    }
    if (strcmp(option, "--set") == 0) return take_set(o, value, err);
    if (strcmp(option, "--most-loss") == 0) {
        bool taken = take_part(err, option, value, &number);
        o->most_loss_milli = (uint32_t)number;
        return taken;
    }
    if (strcmp(option, "--contention") == 0) return take_contention(o, value, err);
    if (strcmp(option, "--high") == 0 || strcmp(option, "--best") == 0 ||
        strcmp(option, "--arrivals") == 0)
        return take_job(o, option, value, err);
    if (!number_option(o, option, &n))
        return refuse(err, "this verb has no option %s; see salus-sim --help", option);
    if (!take_number(err, option, n.kind, value, n.max, &number)) return false;
    if (n.at)
        *n.at = number;
    else
        *n.at_less = (uint32_t)number;
    if (o->window_ns == 0 || o->seeds == 0 || o->starts == 0)
        return refuse(err, "%s: not 0", option);
    return true;
}

static bool take_flag(struct simopt *o, const struct args *a) {
    if (args_is(a, "--json"))
        o->json = true;
    else if (args_is(a, "--per-job"))
        o->json = o->per_job = true;
    else if (args_is(a, "--check"))
        o->check = true;
    else if (args_is(a, "--any-build"))
        o->any_build = true;
    else if (args_is(a, "--subgrids"))
        o->generate.orion.subgrids = true;
    else if (args_is(a, "--trust"))
        o->trust = true;
    else
        return false;
    return true;
}

bool simopt_take(struct simopt *o, char **argv, char **words, int *count, FILE *err) {
    struct args a = {.rest = argv + 1};
    enum args_kind kind;
    *count = 0;
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_WORD) {
            words[(*count)++] = a.name;
            continue;
        }
        if (take_flag(o, &a)) continue;
        if (!args_value(&a))
            return refuse(
                err, "%s: the option is unknown, or its value is missing; see salus-sim --help",
                a.name);
        if (!take_value(o, a.name, a.value, err)) return false;
    }
    return true;
}
