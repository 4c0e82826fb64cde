/* SPDX-License-Identifier: Apache-2.0
 *
 * For each seed, runs every job alone, then all of them under each policy.
 */
#include "daemon/sim/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/control/controller.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sim/run/sim_run.h"

static void measure_add(struct measure *m, double value) {
    m->sum += value;
    m->squares += value * value;
    m->count++;
}

double measure_mean(const struct measure *m) {
    return m->count ? m->sum / m->count : 0;
}

double measure_spread(const struct measure *m) {
    if (m->count < 2) return 0;
    double mean = measure_mean(m), variance = (m->squares - m->sum * mean) / (m->count - 1);
    return variance > 0 ? sqrt(variance) : 0;
}

/* ---- one run --------------------------------------------------------------------------------- */

/* Results of one job in one run. */
struct outcome {
    double p50_ns, p95_ns, p99_ns, rate;
};

static struct outcome outcome_of(const struct workload_job *w, const struct sim_job_result *j) {
    struct outcome out = {0};
    double span_ns = j->end_ns == SIM_NEVER ? 0 : (double)(j->end_ns - w->arrival_ns);
    if (j->refused || span_ns <= 0) return out;
    out.p50_ns = latency_quantile(j->latency, 0.5);
    out.p95_ns = latency_quantile(j->latency, 0.95);
    out.p99_ns = latency_quantile(j->latency, 0.99);
    out.rate = (j->iterations + j->part) / span_ns * 1e9;
    return out;
}

static void add_job(struct compare_job *out, const struct sim_job_result *r,
                    const struct outcome *o, const struct outcome *alone) {
    measure_add(&out->rate, o->rate);
    measure_add(&out->part, alone->rate > 0 ? o->rate / alone->rate : 0);
    measure_add(&out->behind_ns, (double)r->behind_ns);
    if (o->p99_ns <= 0) return; /* no iteration was completed */
    measure_add(&out->p50_ns, o->p50_ns);
    measure_add(&out->p95_ns, o->p95_ns);
    measure_add(&out->p99_ns, o->p99_ns);
    if (alone->p99_ns <= 0) return;
    measure_add(&out->p95_ratio, o->p95_ns / alone->p95_ns);
    measure_add(&out->p99_ratio, o->p99_ns / alone->p99_ns);
}

static int run_alone(struct compare *c, const struct compare_config *config, uint64_t seed,
                     struct sim_result *r, struct outcome *alone, char *why) {
    struct sim_config sim = {.policy = config->policy,
                             .seed = seed,
                             .contention = config->contention,
                             .check = config->check};
    snprintf(sim.policy.kernel, POLICY_NAME_BYTES, "streams");
    for (uint32_t i = 0; i < c->w->count; i++) {
        struct workload one = *c->w;
        one.jobs = &c->w->jobs[i];
        one.count = 1;
        int err = sim_run(r, &one, &sim, why);
        if (err) return err;
        alone[i] = outcome_of(&one.jobs[0], &r->jobs[0]);
        add_job(&c->alone.jobs[i], &r->jobs[0], &alone[i], &alone[i]);
        c->alone.jobs[i].refused = r->jobs[0].refused;
        sim_result_finish(r);
    }
    return 0;
}

static void add_slos(struct compare_job *out, const struct workload *w,
                     const struct sim_job_result *r) {
    struct slos s;
    slos_of(&s, w, r);
#define X(field, decimals, heading, text) measure_add(&out->field, s.field);
    SLOS_FIELDS(X)
#undef X
}

static void add_run(struct compare_row *row, const struct workload *w, const struct sim_result *r,
                    const struct outcome *alone) {
    double total = 0, squares = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        struct outcome o = outcome_of(&w->jobs[i], &r->jobs[i]);
        double part = alone[i].rate > 0 ? o.rate / alone[i].rate : 0;
        add_job(&row->jobs[i], &r->jobs[i], &o, &alone[i]);
        add_slos(&row->jobs[i], w, &r->jobs[i]);
        total += part;
        squares += part * part;
    }
    measure_add(&row->total, total);
    measure_add(&row->fairness, squares > 0 ? total * total / (w->count * squares) : 0);
    measure_add(&row->used,
                r->end_ns > r->begin_ns ? r->busy_ns / (double)(r->end_ns - r->begin_ns) : 0);
}

static int run_seed(struct compare *c, const struct compare_config *config, uint64_t seed,
                    struct sim_result *r, struct outcome *alone, char *why) {
    int err = run_alone(c, config, seed, r, alone, why);
    for (uint32_t i = 0; i < c->count && !err; i++) {
        struct sim_config sim = {.policy = config->policy,
                                 .seed = seed,
                                 .contention = config->contention,
                                 .check = config->check};
        snprintf(sim.policy.kernel, POLICY_NAME_BYTES, "%s", c->rows[i].policy);
        if (c->rows[i].control)
            snprintf(sim.policy.control, POLICY_NAME_BYTES, "%s", c->rows[i].control);
        err = sim_run(r, c->w, &sim, why);
        if (err) return err;
        add_run(&c->rows[i], c->w, r, alone);
        sim_result_finish(r);
    }
    return err;
}

/* ---- all runs -------------------------------------------------------------------------------- */

/* Adds a row. `control` NULL: the configured controller. */
static int add_row(struct compare *c, const char *policy, const char *control, char *why) {
    if (c->count == COMPARE_ROWS) {
        snprintf(why, SIM_WHY_BYTES, "--policy: too many policies are given");
        return -EINVAL;
    }
    c->rows[c->count].policy = policy;
    c->rows[c->count++].control = control;
    return 0;
}

static int add_rows(struct compare *c, const struct policy *policy, const char *name,
                    const char *controls, char *why) {
    char names[256], *rest = names, *control;
    int err = 0;
    if (!policy) {
        snprintf(why, SIM_WHY_BYTES, "there is no kernel policy '%s'; see salus-sim --help", name);
        return -EINVAL;
    }
    if (!controls) return add_row(c, policy->name, NULL, why);
    snprintf(names, sizeof(names), "%s", controls);
    while (!err && (control = strtok_r(rest, ",", &rest))) {
        const struct controller *found = controller_find(control);
        if (!found)
            snprintf(why, SIM_WHY_BYTES, "there is no controller '%s'; see salus-sim --help",
                     control);
        err = found ? add_row(c, policy->name, found->name, why) : -EINVAL;
    }
    return err;
}

static int choose_rows(struct compare *c, const struct compare_config *config, char *why) {
    const char *policies = config->policies;
    char names[256], *rest = names, *name;
    int err = 0;
    if (!policies) {
        for (uint32_t i = 0; policy_at(i) && !err; i++)
            err = add_rows(c, policy_at(i), policy_at(i)->name, config->controls, why);
        return err;
    }
    snprintf(names, sizeof(names), "%s", policies);
    while (!err && (name = strtok_r(rest, ",", &rest)))
        err = add_rows(c, policy_find(name), name, config->controls, why);
    return err;
}

static int make_room(struct compare *c) {
    c->alone.jobs = calloc(c->w->count, sizeof(*c->alone.jobs));
    if (!c->alone.jobs) return -ENOMEM;
    for (uint32_t i = 0; i < c->count; i++) {
        c->rows[i].jobs = calloc(c->w->count, sizeof(*c->rows[i].jobs));
        if (!c->rows[i].jobs) return -ENOMEM;
    }
    return 0;
}

int compare_run(struct compare *out, const struct workload *w, const struct compare_config *config,
                char *why) {
    *out = (struct compare){.w = w, .alone.policy = "alone"};
    if (!workload_of_kernels(w)) {
        snprintf(why, SIM_WHY_BYTES,
                 "the workload has no kernels (its jobs have iteration=): record it with 'salusctl "
                 "record --kernels'");
        return -EINVAL;
    }
    int err = choose_rows(out, config, why);
    if (err) return err;
    struct outcome *alone = calloc(w->count, sizeof(*alone));
    /* Too large for the stack because of its histogram. */
    struct sim_result *r = malloc(sizeof(*r));
    snprintf(why, SIM_WHY_BYTES, "out of memory");
    err = alone && r ? make_room(out) : -ENOMEM;
    for (uint32_t i = 0; i < config->seeds && !err; i++)
        err = run_seed(out, config, config->seed + i, r, alone, why);
    free(alone);
    free(r);
    if (err) compare_finish(out);
    return err;
}

void compare_finish(struct compare *c) {
    free(c->alone.jobs);
    for (uint32_t i = 0; i < c->count; i++)
        free(c->rows[i].jobs);
    *c = (struct compare){0};
}
