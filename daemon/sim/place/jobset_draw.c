/* SPDX-License-Identifier: Apache-2.0
 *
 * One function per kind of workload.
 */
#include "daemon/sim/place/jobset_draw.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/sim/base/prng.h"

#define GIB 1073741824.0
#define MIB ((uint64_t)1 << 20)
#define DAY_S 86400.0
#define HORUS_JOBS 100u
#define HORUS_GAP_S 30.0
#define TRACE_JOBS 398u
#define TRACE_MEDIAN_S (300 * 60.0)
#define TRACE_SIGMA 1.01 /* for a mean of 500 min */
#define TRACE_MOST_S (7 * DAY_S)
#define PHILLY_SIGMA 1.86 /* as in daemon/sim/workload/generate.c */
#define DAY_JOBS 10000u

/* Streams of random numbers. */
enum {
    DRAW_GAP = 800,
    DRAW_LONG,
    DRAW_LENGTH,
    DRAW_HEAVY,
    DRAW_UTIL,
    DRAW_MEMORY,
    DRAW_GPUS,
    DRAW_KIND,
    DRAW_POD
};

struct drawing {
    struct jobset *set;
    const struct jobset_draw *draw;
    char *why;
    size_t cap;
};

static double unit(const struct drawing *d, unsigned stream, uint64_t n) {
    return prng_unit(prng_at(d->draw->seed, stream, n));
}

static double between(double least, double most, double u) {
    return least + (most - least) * u;
}

/* Log-uniform between the limits. */
static double log_between(double least, double most, double u) {
    return exp(between(log(least), log(most), u));
}

static double log_normal(const struct drawing *d, unsigned stream, uint64_t n, double median,
                         double sigma) {
    return median * exp(sigma * jobset_normal(d->draw->seed, stream, n));
}

static int fail(const struct drawing *d, const char *why) {
    snprintf(d->why, d->cap, "%s", why);
    return -EINVAL;
}

/* ---- common to all kinds --------------------------------------------------------------------- */

/* Three of five trainings are light, as in Fig. 1 of Horus: 51 % on average. */
static double train_util(const struct drawing *d, uint32_t n) {
    double u = unit(d, DRAW_UTIL, n);
    return unit(d, DRAW_HEAVY, n) < 0.6 ? between(0.05, 0.6, u) : between(0.6, 1, u);
}

/* Whole MiB; a quarter is persistent. */
static void needs_memory(struct jobset_need *need, double bytes, double least, double most) {
    uint64_t mib = (uint64_t)(fmin(fmax(bytes, least), most) / (double)MIB);
    need->persistent_bytes = mib / 4 * MIB;
    need->ephemeral_bytes = (mib - mib / 4) * MIB;
}

/* A power of two of GPUs, in tasks of 8 or of as many as a node has. */
static void needs_gpus(const struct drawing *d, struct jobset_job *j, uint32_t gpus) {
    uint32_t node = 1;
    for (uint32_t i = 0; i < d->set->node_count; i++)
        if (d->set->nodes[i].gpu_count > node) node = d->set->nodes[i].gpu_count;
    for (j->gpus = 8; j->gpus > gpus || j->gpus > node;)
        j->gpus /= 2;
    j->tasks = gpus / j->gpus;
}

/* Selects an index with probabilities that sum to 1. */
static uint32_t pick(const double *parts, uint32_t count, double u) {
    uint32_t i = 0;
    while (i + 1 < count && (u -= parts[i]) >= 0)
        i++;
    return i;
}

/* ---- Horus, Table 6 -------------------------------------------------------------------------- */

static int horus(const struct drawing *d, double long_part) {
    double at_s = 0;
    int err = 0;
    for (uint32_t i = 0; !err && i < HORUS_JOBS; i++) {
        bool is_long = unit(d, DRAW_LONG, i) < long_part;
        double u = unit(d, DRAW_LENGTH, i);
        struct jobset_job j = {.arrival_s = at_s,
                               .length_s =
                                   is_long ? log_between(800, 7200, u) : log_between(180, 800, u),
                               .tasks = 1,
                               .gpus = 1,
                               .slo = 1,
                               .is = {.util = train_util(d, i)}};
        needs_memory(&j.is, log_normal(d, DRAW_MEMORY, i, 1.8 * GIB, 0.5), 0.6 * GIB, 7.5 * GIB);
        err = jobset_add_job(d->set, &j);
        at_s -= HORUS_GAP_S * log(unit(d, DRAW_GAP, i));
    }
    return err;
}

static int horus_large(const struct drawing *d) {
    return horus(d, 0.6);
}

static int horus_small(const struct drawing *d) {
    return horus(d, 0.5);
}

/* ---- Horus, Table 7 -------------------------------------------------------------------------- */

static int horus_trace(const struct drawing *d) {
    static const double parts[] = {0.5,  0.1, 0.1,
                                   0.15, 0.1, 0.05}; /* probabilities of 1, 2, 4, 8, 16, 32 GPUs */
    int err = 0;
    for (uint32_t i = 0; !err && i < TRACE_JOBS; i++) {
        double length_s = log_normal(d, DRAW_LENGTH, i, TRACE_MEDIAN_S, TRACE_SIGMA);
        struct jobset_job j = {
            .length_s = fmin(length_s, TRACE_MOST_S), .slo = 1, .is = {.util = train_util(d, i)}};
        needs_gpus(d, &j, 1u << pick(parts, 6, unit(d, DRAW_GPUS, i)));
        needs_memory(&j.is, log_normal(d, DRAW_MEMORY, i, 4 * GIB, 0.6), 1 * GIB, 15 * GIB);
        err = jobset_add_job(d->set, &j);
    }
    return err;
}

/* ---- GPUColo, Fig. 12 and 13 ----------------------------------------------------------------- */

/* The jobs of one kind in the table to draw from. */
struct pods {
    const struct jobset *set;
    bool service;
    uint32_t count;
    double gpu_s; /* mean of length times GPUs */
};

static struct pods pods_of(const struct jobset *set, bool service) {
    struct pods p = {.set = set, .service = service};
    for (uint32_t i = 0; i < set->job_count; i++) {
        const struct jobset_job *j = &set->jobs[i];
        if (j->service != service) continue;
        p.count++;
        p.gpu_s += j->length_s * j->tasks * j->gpus;
    }
    if (p.count) p.gpu_s /= p.count;
    return p;
}

/* Selects a random job of the kind: guesses an index and searches from there, which takes a few
 * steps. */
static const struct jobset_job *any_pod(const struct pods *p, double u) {
    uint32_t at = (uint32_t)(u * p->set->job_count);
    while (p->set->jobs[at].service != p->service)
        at = (at + 1) % p->set->job_count;
    return &p->set->jobs[at];
}

/* Median memory is 2.5 GiB for services and 7 GiB for trainings (Table I), at most 32 GiB (section
 * VI). */
static int add_pod(const struct drawing *d, const struct pods *p, double at_s, uint32_t n) {
    struct jobset_job j = *any_pod(p, unit(d, DRAW_POD, n));
    double median = p->service ? 2.5 * GIB : 7 * GIB;
    j.arrival_s = at_s;
    if (d->draw->slo > 0) j.slo = d->draw->slo;
    needs_memory(&j.is, log_normal(d, DRAW_MEMORY, n, median, 0.5), 0.25 * GIB, 32 * GIB);
    return jobset_add_job(d->set, &j);
}

static double or_preset(double x, double preset) {
    return x > 0 ? x : preset;
}

/* Poisson arrivals at the rate at which jobs would use `mean_gpus` GPUs if each had its own: total
 * length times GPUs, divided by the time. */
static int gpucolo(const struct drawing *d) {
    const struct jobset_draw *w = d->draw;
    double end_s = or_preset(w->days, 57) * DAY_S, part = or_preset(w->service_part, 0.75);
    double from_s = or_preset(w->busy_from, 20) * DAY_S;
    double until_s = or_preset(w->busy_until, 40) * DAY_S;
    if (!w->pods)
        return fail(d, "--draw gpucolo draws from a table of pods: give it with --pods FILE");
    struct pods services = pods_of(w->pods, true), trainings = pods_of(w->pods, false);
    if (!services.count || !trainings.count)
        return fail(d, "the table of pods must have both services and trainings");
    double busy_s = fmax(0, fmin(until_s, end_s) - from_s);
    double a_job = part * services.gpu_s * (1 + busy_s / end_s) + (1 - part) * trainings.gpu_s;
    double gap_s = a_job / or_preset(w->mean_gpus, 305.9);
    uint32_t n = 0;
    int err = 0;
    for (double at_s = 0; !err && at_s < end_s; n++) {
        bool service = unit(d, DRAW_KIND, n) < part, busy = at_s >= from_s && at_s < until_s;
        for (int copies = service && busy ? 2 : 1; !err && copies; copies--)
            err = add_pod(d, service ? &services : &trainings, at_s, n);
        at_s -= gap_s * log(unit(d, DRAW_GAP, n));
    }
    return err;
}

/* ---- a day of a generic cluster -------------------------------------------------------------- */

static struct jobset_job day_job(const struct drawing *d, uint32_t i) {
    static const double parts[] = {0.8, 0.1, 0.05, 0.05}; /* probabilities of 1, 2, 4, 8 GPUs */
    struct jobset_job j = {.arrival_s = unit(d, DRAW_GAP, i) * DAY_S,
                           .length_s = log_normal(d, DRAW_LENGTH, i, 1, PHILLY_SIGMA),
                           .service = unit(d, DRAW_KIND, i) < 0.25,
                           .slo = or_preset(d->draw->slo, 1.5),
                           .is = {.util = train_util(d, i)}};
    if (j.service) j.is.util = between(0.05, 0.31, unit(d, DRAW_UTIL, i));
    needs_gpus(d, &j, 1u << pick(parts, 4, unit(d, DRAW_GPUS, i)));
    needs_memory(&j.is, log_normal(d, DRAW_MEMORY, i, 4 * GIB, 0.6), 0.5 * GIB, 15 * GIB);
    return j;
}

/* Lengths are scaled so that their total is `load` of the day's GPU time. */
static int day(const struct drawing *d) {
    uint32_t jobs = d->draw->jobs ? d->draw->jobs : DAY_JOBS, from = d->set->job_count;
    double asked_s = 0, has_s = d->set->gpu_count * DAY_S * or_preset(d->draw->load, 0.9);
    int err = 0;
    for (uint32_t i = 0; !err && i < jobs; i++) {
        struct jobset_job j = day_job(d, i);
        asked_s += j.length_s * j.tasks * j.gpus;
        err = jobset_add_job(d->set, &j);
    }
    for (uint32_t i = from; !err && i < d->set->job_count; i++)
        d->set->jobs[i].length_s = fmin(fmax(1, d->set->jobs[i].length_s * has_s / asked_s), DAY_S);
    return err ? err : jobset_sort(d->set);
}

/* ---- table of kinds -------------------------------------------------------------------------- */

static const struct {
    const char *name, *help;
    int (*make)(const struct drawing *d);
} kinds[] = {
    {"day", "--jobs jobs within a day that need --load of the GPUs' time; a quarter are services",
     day},
    {"horus-large", "100 trainings, 60 % of them above 800 s (Horus, Table 6)", horus_large},
    {"horus-small", "100 trainings, 50 % of them above 800 s (Horus, Table 6)", horus_small},
    {"horus-trace", "398 trainings of 1 to 32 GPUs at once (Table 7)", horus_trace},
    {"gpucolo", "57 days, drawn from --pods (GPUColo, Fig. 12, 13)", gpucolo},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

int jobset_draw(struct jobset *s, const struct jobset_draw *draw, char *why, size_t cap) {
    struct drawing d = {.set = s, .draw = draw, .why = why, .cap = cap};
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, draw->kind) == 0) return kinds[i].make(&d);
    return fail(&d, "the kind is unknown; salus-sim --help lists the kinds");
}

void jobset_draw_explain(FILE *out) {
    for (size_t i = 0; i < KINDS; i++)
        fprintf(out, "    %-18s %s\n", kinds[i].name, kinds[i].help);
}
