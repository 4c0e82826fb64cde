/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-serve-sim: finish rates of the policies by which batches are formed, as in the thesis's
 * Fig. 4.8: one to eight modes, deadlines of 1.5 to 5 times the 0.99 quantile of times alone.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/args.h"
#include "daemon/serve/sim/serving.h"

#define POLICIES_MOST 16u
#define MODES_MOST 8u

struct options {
    struct demand_spec demand;
    struct plan_config plan;
    uint32_t seeds, modes; /* modes: 0: one to eight */
    bool detail;
};

static const double slos[] = {1.5, 2, 3, 4, 5};

static const char usage[] =
    "usage: salus-serve-sim [OPTION...]\n"
    "  --modes N      applications, each with a mode of its own (1 to 8, one after the other)\n"
    "  --seeds N      worlds of each kind (5)\n"
    "  --requests N   of a world (20000)\n"
    "  --load X       of what the workers can serve in the best batches (0.7)\n"
    "  --bursty       the rate changes between 2.5 and 0.5 of its mean\n"
    "  --sigma MS     deviation within a mode (3)\n"
    "  --low MS, --high MS   the first mode and the last (10, 100)\n"
    "  --c0 MS, --c1 X       a batch takes c0 + c1 k l (25, 0.15)\n"
    "  --largest N    batch, a power of two (16)\n"
    "  --workers N    (1)\n"
    "  --b X          of the scores, a ms (1e-4)\n"
    "  --own          a request's batch has its own application for certain\n"
    "  --urgent       the batch size by the earliest deadline\n"
    "  --detail       what became of the requests, and how large batches were\n";

static bool take_number(struct args *a, double *out) {
    char *value = args_value(a), *end;
    if (!value) return false;
    *out = strtod(value, &end);
    return end != value && !*end && *out >= 0 && *out <= 1e9;
}

static bool take_flag(const struct args *a, struct options *o) {
    const struct {
        const char *name;
        bool *value;
    } flags[] = {{"--bursty", &o->demand.bursty},
                 {"--own", &o->plan.own},
                 {"--urgent", &o->plan.urgent},
                 {"--detail", &o->detail}};
    for (uint32_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (args_is(a, flags[i].name)) return *flags[i].value = true;
    return false;
}

static bool take_count(struct args *a, struct options *o) {
    const struct {
        const char *name;
        uint32_t *value;
        double most;
    } counts[] = {{"--modes", &o->modes, MODES_MOST},
                  {"--seeds", &o->seeds, 1000},
                  {"--requests", &o->demand.count, 1e7},
                  {"--largest", &o->demand.largest, PLAN_BATCH_MOST},
                  {"--workers", &o->demand.workers, PLAN_WORKERS}};
    double value;
    for (uint32_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        if (strcmp(a->name, counts[i].name) != 0) continue;
        if (!take_number(a, &value) || value < 1 || value > counts[i].most) return false;
        *counts[i].value = (uint32_t)value;
        return true;
    }
    return false;
}

static bool take_real(struct args *a, struct options *o) {
    const struct {
        const char *name;
        double *value;
    } reals[] = {{"--load", &o->demand.load},  {"--sigma", &o->demand.sigma_ms},
                 {"--low", &o->demand.low_ms}, {"--high", &o->demand.high_ms},
                 {"--c0", &o->demand.c0_ms},   {"--c1", &o->demand.c1},
                 {"--b", &o->plan.b_per_ms}};
    for (uint32_t i = 0; i < sizeof(reals) / sizeof(*reals); i++)
        if (strcmp(a->name, reals[i].name) == 0) return take_number(a, reals[i].value);
    return false;
}

struct rates {
    double sum, square;
    struct serving_result all;
};

static int run_world(const struct options *o, struct demand_spec spec, uint64_t seed,
                     struct rates *rates) {
    struct demand d;
    spec.seed = seed;
    int err = demand_init(&d, &spec);
    if (err) return err;
    for (uint32_t p = 0; !err && plan_policy_name(p); p++) {
        struct plan_config config = o->plan;
        struct serving_result r;
        config.policy = plan_policy_name(p);
        err = serving_run(&d, &spec, config, &r);
        if (err) break;
        double rate = (double)r.finished / spec.count;
        rates[p].sum += rate;
        rates[p].square += rate * rate;
        rates[p].all.batches += r.batches;
        rates[p].all.served_late += r.served_late;
        rates[p].all.timed_out += r.timed_out;
        rates[p].all.refused += r.refused;
        rates[p].all.finished += r.finished;
    }
    demand_finish(&d);
    return err;
}

static void print_detail(const char *name, const struct serving_result *r) {
    double all = (double)r->finished + r->served_late + r->timed_out + r->refused;
    printf(
        "      %-10s in time %.3f, served late %.3f, timed out %.3f, refused %.3f; a batch: %.2f\n",
        name, r->finished / all, r->served_late / all, r->timed_out / all, r->refused / all,
        (r->finished + (double)r->served_late) / (double)r->batches);
}

static int print_row(const struct options *o, uint32_t modes, double slo) {
    struct rates rates[POLICIES_MOST] = {0};
    struct demand_spec spec = o->demand;
    spec.modes = modes;
    spec.slo = slo;
    for (uint64_t seed = 1; seed <= o->seeds; seed++) {
        int err = run_world(o, spec, seed, rates);
        if (err) return err;
    }
    printf("%5u %5.1f", modes, slo);
    for (uint32_t p = 0; plan_policy_name(p); p++) {
        double mean = rates[p].sum / o->seeds, rest = rates[p].square / o->seeds - mean * mean;
        printf("  %.3f +-%.3f", mean, rest > 0 ? sqrt(rest) : 0);
    }
    printf("\n");
    for (uint32_t p = 0; o->detail && plan_policy_name(p); p++)
        print_detail(plan_policy_name(p), &rates[p].all);
    return 0;
}

static int print_figure(const struct options *o) {
    printf("modes   SLO");
    for (uint32_t p = 0; plan_policy_name(p); p++)
        printf("  %-14s", plan_policy_name(p));
    printf("\n");
    for (uint32_t modes = o->modes ? o->modes : 1; modes <= (o->modes ? o->modes : MODES_MOST);
         modes++)
        for (uint32_t i = 0; i < sizeof(slos) / sizeof(*slos); i++) {
            int err = print_row(o, modes, slos[i]);
            if (err) {
                fprintf(stderr, "salus-serve-sim: %s\n", strerror(-err));
                return 1;
            }
        }
    return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv) {
    struct args a = {.rest = argv + (argc > 0)};
    struct options o = {.seeds = 5,
                        .demand = {.low_ms = 10,
                                   .high_ms = 100,
                                   .sigma_ms = 3,
                                   .c0_ms = 25,
                                   .c1 = 0.15,
                                   .largest = 16,
                                   .load = 0.7,
                                   .count = 20000,
                                   .workers = 1}};
    for (enum args_kind kind; (kind = args_next(&a)) != ARGS_END;) {
        if (args_is(&a, "--help")) {
            fputs(usage, stdout);
            return 0;
        }
        if (kind == ARGS_OPTION && (take_flag(&a, &o) || take_count(&a, &o) || take_real(&a, &o)))
            continue;
        fprintf(stderr, "salus-serve-sim: not understood: %s\n%s", args_whole(&a), usage);
        return 2;
    }
    return print_figure(&o);
}
