/* SPDX-License-Identifier: Apache-2.0
 *
 * One function per kind of workload. docs/results/2026-11-simulator.md gives the parameters and the
 * reasons for them.
 */
#include "daemon/sim/workload/generate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/base/prng.h"
#include "daemon/sim/workload/models.h"
#include "daemon/sim/workload/workload_file.h"

#define SECOND 1000000000ull

/* Salus, Table 2. */
#define TABLE2_JOBS 100
#define TABLE2_MEAN_NS 182040000000.0          /* FIFO's makespan of 303.4 min / 100 */
#define TABLE2_WINDOW_NS (40ull * 60 * SECOND) /* window of arrivals */
/* Philly's median of 1186 s and 90th percentile of 12860 s, as a log-normal distribution. */
#define PHILLY_SIGMA 1.86

/* Streams of random numbers. */
enum { DRAW_MODEL, DRAW_BATCH, DRAW_DURATION, DRAW_ARRIVAL, DRAW_NORMAL, DRAW_MEMORY };

struct generator {
    struct workload *w;
    const struct generate_config *config;
    struct buf *errors;
    uint32_t cap;
};

static double unit(const struct generator *g, int what, uint64_t n) {
    return prng_unit(prng_at(g->config->seed, (unsigned)what, n));
}

static uint32_t below(const struct generator *g, int what, uint64_t n, uint32_t bound) {
    return (uint32_t)(unit(g, what, n) * bound);
}

static int fail(const struct generator *g, int err, const char *text) {
    buf_printf(g->errors, "%s\n", text);
    return err;
}

static int room(struct generator *g, uint32_t jobs) {
    g->w->jobs = calloc(jobs, sizeof(*g->w->jobs));
    g->cap = jobs;
    return g->w->jobs ? 0 : fail(g, -ENOMEM, "out of memory");
}

/* Adds a job. Jobs must be added in order of arrival. */
static int add(struct generator *g, const struct workload_job *job, const char *name,
               const char *label, uint64_t arrival_ns) {
    char full[WORKLOAD_MAX_NAME_BYTES + 1];
    struct workload_job *j = &g->w->jobs[g->w->count];
    *j = *job;
    j->number = g->w->count++;
    snprintf(full, sizeof(full), "%s%s%s", name, *label ? "_" : "", label);
    j->name = arena_strdup(g->w->arena, full);
    j->arrival_ns = arrival_ns;
    if (g->config->demand_milli) j->demand_milli = g->config->demand_milli;
    return j->name ? 0 : fail(g, -ENOMEM, "out of memory");
}

/* ---- durations ------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Reads the positive numbers of a file. The caller frees *out. */
static int read_durations(const struct generator *g, double **out, uint32_t *count) {
    FILE *f = fopen(g->config->durations_path, "re");
    char line[64];
    uint32_t cap = 0, lines = 0;
    int err = 0;
    *out = NULL;
    *count = 0;
    if (!f) return fail(g, -errno, strerror(errno));
    while (!err && fgets(line, sizeof(line), f)) {
        char *end;
        double value = strtod(line, &end);
        bool number = end != line && (*end == '\n' || *end == '\r' || !*end) && isfinite(value);
        if (!number && lines++ > 0)
            err = fail(g, -EINVAL, "--durations: a line of the file is not a number");
        if (!number || value <= 0) continue;
        if (*count == cap) {
            double *more = realloc(*out, (cap = cap ? 2 * cap : 1024) * sizeof(**out));
            if (!more) err = fail(g, -ENOMEM, "out of memory");
            if (!more) break;
            *out = more;
        }
        (*out)[(*count)++] = value;
    }
    fclose(f);
    if (!err && *count == 0) err = fail(g, -EINVAL, "--durations: the file has no positive number");
    return err;
}

/* Writes `count` durations to `out`, relative to their mean. */
static int draw_durations(const struct generator *g, double *out, uint32_t count) {
    double *file = NULL, sum = 0;
    uint32_t n = 0;
    int err = g->config->durations_path ? read_durations(g, &file, &n) : 0;
    for (uint32_t i = 0; !err && i < count; i++) {
        double u = unit(g, DRAW_DURATION, i), v = unit(g, DRAW_NORMAL, i);
        double normal = sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
        out[i] = file ? file[(uint32_t)(u * n)] : exp(PHILLY_SIGMA * normal);
        sum += out[i];
    }
    for (uint32_t i = 0; !err && i < count; i++)
        out[i] *= count / sum;
    free(file);
    return err;
}

/* ---- kinds of workloads ---------------------------------------------------------------------- */

static int table2(struct generator *g) {
    double durations[TABLE2_JOBS], arrivals[TABLE2_JOBS];
    int err = draw_durations(g, durations, TABLE2_JOBS);
    if (!err) err = room(g, TABLE2_JOBS);
    for (uint32_t i = 0; i < TABLE2_JOBS; i++)
        arrivals[i] = unit(g, DRAW_ARRIVAL, i) * (double)TABLE2_WINDOW_NS;
    qsort(arrivals, TABLE2_JOBS, sizeof(arrivals[0]), by_value);
    for (uint32_t i = 0; !err && i < TABLE2_JOBS; i++) {
        struct workload_job job;
        const struct model *m = &models[below(g, DRAW_MODEL, i, models_count)];
        uint32_t batch = below(g, DRAW_BATCH, i, MODEL_BATCHES);
        model_train(&job, m, batch, (uint64_t)(durations[i] * TABLE2_MEAN_NS));
        err = add(g, &job, m->name, m->labels[batch], (uint64_t)arrivals[i]);
    }
    return err;
}

/* `count` equal jobs, `every_ns` apart, with a duration of `duration_ns` each. */
static int equal(struct generator *g, const char *name, uint32_t batch, uint32_t count,
                 uint64_t every_ns, uint64_t duration_ns) {
    const struct model *m = model_find(name);
    struct workload_job job;
    int err = room(g, count);
    model_train(&job, m, batch, duration_ns);
    for (uint32_t i = 0; !err && i < count; i++)
        err = add(g, &job, m->name, m->labels[batch], i * every_ns);
    return err;
}

static int fig11(struct generator *g) {
    return equal(g, "inception3", 1, 3, 15 * SECOND, 30 * SECOND);
}

static int fig12_superres(struct generator *g) {
    return equal(g, "superres", 2, 300, 0, 60 * SECOND);
}

static int fig12_resnet50(struct generator *g) {
    return equal(g, "resnet50", 1, 300, 0, 60 * SECOND);
}

/* 14 networks with 3 instances each, and random requests for about 1000 times the mean pause. */
static int fig13(struct generator *g) {
    uint64_t think_ns = g->config->think_ns ? g->config->think_ns : 5 * SECOND;
    int err = room(g, 3 * models_count);
    for (uint32_t i = 0; !err && i < 3 * models_count; i++) {
        static const char *const instances[] = {"a", "b", "c"};
        const struct model *m = &models[i / 3];
        struct workload_job job;
        if (strcmp(m->name, "seq2seq") == 0)
            continue; /* the sizes of seq2seq are different networks */
        model_serve(&job, m, 1000);
        job.think_ns = think_ns;
        job.think_random = true;
        job.hint = WORKLOAD_HINT_NONE;
        err = add(g, &job, m->name, instances[i % 3], 0);
    }
    return err;
}

/* A load test: small jobs with Poisson arrivals at 0.7 of the device's capacity. */
static int random_jobs(struct generator *g) {
    uint32_t jobs = g->config->jobs ? g->config->jobs : 1000;
    uint32_t iterations = g->config->iterations ? g->config->iterations : 100;
    double at = 0;
    int err = jobs > WORKLOAD_MAX_JOBS
                  ? fail(g, -EINVAL, "--jobs: the workload would have too many jobs")
                  : room(g, jobs);
    for (uint32_t i = 0; !err && i < jobs; i++) {
        uint32_t n = 1 + below(g, DRAW_DURATION, i, 2 * iterations - 1);
        struct workload_job job = {
            .persistent_bytes = (uint64_t)(1 + below(g, DRAW_MEMORY, i, 300)) << 20,
            .ephemeral_bytes = (uint64_t)(1 + below(g, DRAW_MEMORY, i + jobs, 4000)) << 20,
            .iteration_ns = 1000000 + below(g, DRAW_BATCH, i, 20000000),
            .iterations = n,
            .weight = 1,
            .demand_milli = 300 + 100 * below(g, DRAW_MODEL, i, 8),
            .boundaries = true};
        at += -log(unit(g, DRAW_ARRIVAL, i)) * iterations * 11000000.0 * 0.65 / 0.7;
        err = add(g, &job, "random", "", (uint64_t)at);
    }
    if (!err && at > (double)WORKLOAD_MAX_TIME_NS)
        err = fail(g, -EINVAL, "the last job would arrive after more than 1000 h");
    return err;
}

/* The workload is parsed and gets its own arena, so the old one is freed first. */
static int orion(struct generator *g) {
    workload_finish(g->w);
    return generate_orion(g->w, &g->config->orion, g->errors);
}

static const struct {
    const char *name, *help;
    int (*make)(struct generator *g);
} kinds[] = {
    {"salus-table2", "100 training jobs within 40 minutes", table2},
    {"salus-fig11", "three equal jobs at 0, 15 and 30 s", fig11},
    {"salus-fig12-superres", "300 jobs superres_128 at once", fig12_superres},
    {"salus-fig12-resnet50", "300 jobs resnet50_50 at once", fig12_resnet50},
    {"salus-fig13", "42 models that serve requests", fig13},
    {"orion", "jobs of kernels from the tables in --tables", orion},
    {"random", "--jobs jobs of about --iterations iterations each", random_jobs},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int generate(struct workload *out, const struct generate_config *config, struct buf *errors) {
    struct generator g = {.w = out, .config = config, .errors = errors};
    if (workload_init(out)) return fail(&g, -ENOMEM, "out of memory");
    for (size_t i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].name, config->kind) != 0) continue;
        int err = kinds[i].make(&g);
        if (err) workload_finish(out);
        return err;
    }
    workload_finish(out);
    return fail(&g, -EINVAL, "--kind: the kind is unknown; salus-sim --help lists the kinds");
}

void generate_explain(FILE *out) {
    for (size_t i = 0; i < KINDS; i++)
        fprintf(out, "  %-22s %s\n", kinds[i].name, kinds[i].help);
}
