/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the simulations and derives the verdict.
 */
#include "daemon/sim/compare/advise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/policy/policy.h"
#include "daemon/sim/base/prng.h"
#include "daemon/sim/report/alone.h"
#include "daemon/sim/run/sim_run.h"

static const char *const goals[] = {"throughput", "latency", "fair"};

const char *advise_goal_name(enum advise_goal goal) {
    return goals[goal];
}

enum advise_goal advise_goal_find(const char *name) {
    enum advise_goal goal = ADVISE_THROUGHPUT;
    while (goal < ADVISE_GOALS && strcmp(goals[goal], name) != 0)
        goal++;
    return goal;
}

bool advise_protects(const struct workload_job *j) {
    return workload_serves(j) || j->priority > 0;
}

void advise_label(const struct advise_row *row, char out[ADVISE_LABEL]) {
    snprintf(out, ADVISE_LABEL, "%s%s%s%s", row->lane, row->kernel ? "/" : "",
             row->kernel ? row->kernel : "", row->exclusive ? ", exclusive" : "");
}

static void range_add(struct advise_range *r, double value) {
    if (r->count == 0 || value < r->least) r->least = value;
    if (r->count == 0 || value > r->most) r->most = value;
    r->sum += value;
    r->count++;
}

/* ---- candidate policies ---------------------------------------------------------------------- */

static int add_row(struct advise *a, const char *lane, const char *kernel, bool exclusive) {
    struct advise_row *row = &a->rows[a->count];
    if (a->count == ADVISE_ROWS) return 0;
    *row = (struct advise_row){.lane = lane, .kernel = kernel, .exclusive = exclusive};
    row->slowdowns = calloc(a->w.count, sizeof(*row->slowdowns));
    if (!row->slowdowns) return -ENOMEM;
    a->count++;
    return 0;
}

/* The candidates: lanes side by side with each kernel policy; lanes taking turns; and, for
 * iterations, every lane policy. */
static int choose_rows(struct advise *a) {
    static const char *const lanes[] = {"fair", "pack", "srtf", "fifo"};
    bool kernels = workload_of_kernels(&a->w);
    int err = 0;
    for (uint32_t i = 0; kernels && policy_at(i) && !err; i++)
        err = add_row(a, "fair", policy_at(i)->name, false);
    for (size_t i = kernels ? 2 : 0; i < sizeof(lanes) / sizeof(lanes[0]) && !err; i++)
        err = add_row(a, lanes[i], kernels ? "streams" : NULL, false);
    return err ? err : add_row(a, "fair", kernels ? "streams" : NULL, true);
}

/* ---- one start ------------------------------------------------------------------------------- */

static double rate_of(const struct workload_job *w, const struct sim_job_result *r) {
    double span = r->end_ns == SIM_NEVER ? 0 : (double)(r->end_ns - w->arrival_ns);
    return span > 0 ? (r->iterations + r->part) / span : 0;
}

/* Computes the gain in throughput over running the jobs one after another. If all jobs end, it is
 * the ratio of the makespans; else the sum of each job's rate relative to alone. */
static double gain_of(const struct advise *a, const struct sim_result *r,
                      const struct sim_result *alone) {
    double sum = 0, span = (double)(r->end_ns - r->begin_ns);
    if (!a->by_rates) return span > 0 ? (double)(alone->end_ns - alone->begin_ns) / span : 0;
    for (uint32_t i = 0; i < r->count; i++) {
        double before = rate_of(&a->w.jobs[i], &alone->jobs[i]);
        if (before > 0) sum += rate_of(&a->w.jobs[i], &r->jobs[i]) / before;
    }
    return sum;
}

/* Tests whether the result meets the goal. `worst` is the largest slowdown among the jobs that
 * count. */
static bool fits(const struct advise *a, double gain, double worst) {
    if (gain < ADVISE_WORTH) return false;
    return a->goal != ADVISE_LATENCY || worst <= 1 + a->config->most_loss;
}

static bool counts(const struct advise *a, const struct workload_job *j) {
    return a->goal != ADVISE_LATENCY || advise_protects(j);
}

static int run_row(struct advise *a, struct advise_row *row, struct sim_config *sim,
                   struct sim_result *r, const struct sim_result *alone, char *why) {
    double worst = 0;
    snprintf(sim->policy.lane, POLICY_NAME_BYTES, "%s", row->lane);
    if (row->kernel) snprintf(sim->policy.kernel, POLICY_NAME_BYTES, "%s", row->kernel);
    sim->policy.exclusive = row->exclusive ? 1 : a->config->policy.exclusive;
    int err = sim_run(r, &a->w, sim, why);
    if (err) return err;
    for (uint32_t i = 0; i < a->w.count; i++) {
        const struct workload_job *j = &a->w.jobs[i];
        double slowdown = alone_slowdown(alone, r, &a->w, i);
        if (slowdown <= 0) continue;
        range_add(&row->slowdowns[j->number], slowdown);
        if (counts(a, j) && slowdown > worst) worst = slowdown;
    }
    double gain = gain_of(a, r, alone);
    range_add(&row->gain, gain);
    range_add(&row->makespan_s, (double)(r->end_ns - r->begin_ns) / 1e9);
    row->fits += fits(a, gain, worst);
    sim_result_finish(r);
    return 0;
}

static void note_alone(struct advise *a, const struct sim_result *alone) {
    range_add(&a->apart_s, (double)(alone->end_ns - alone->begin_ns) / 1e9);
    for (uint32_t i = 0; i < a->w.count; i++) {
        const struct workload_job *j = &a->w.jobs[i];
        const struct sim_job_result *r = &alone->jobs[i];
        if (r->refused && a->refused == UINT32_MAX) {
            a->refused = j->number;
            a->refused_why = r->refused;
        }
        if (r->refused || r->iterations == 0) continue;
        range_add(&a->alone_s[j->number], workload_serves(j)
                                              ? r->latency_ns / r->iterations / 1e9
                                              : (double)(r->end_ns - j->arrival_ns) / 1e9);
    }
}

/* Shifts the jobs of each file against the others by a random time; at the first start all begin at
 * once. */
static void shift(struct advise *a, uint32_t start) {
    uint64_t shifts[WORKLOAD_MERGE_FILES] = {0};
    for (uint32_t f = 1; f < a->files_count && start > 0; f++)
        shifts[f] = (uint64_t)(prng_unit(prng_at(a->config->seed, f, start)) * (double)a->shift_ns);
    workload_merge_shift(&a->w, a->files, a->files_count, shifts);
}

static int run_start(struct advise *a, uint32_t start, struct sim_result *r,
                     struct sim_result *alone, char *why) {
    struct sim_config sim = {.policy = a->config->policy,
                             .seed = a->config->seed + start,
                             .contention = a->config->contention,
                             .check = a->config->check};
    shift(a, start);
    snprintf(sim.policy.lane, POLICY_NAME_BYTES, "fair");
    int err = alone_run(alone, &a->w, &sim, why);
    if (err) return err;
    note_alone(a, alone);
    for (uint32_t i = 0; i < a->count && !err && a->refused == UINT32_MAX; i++)
        err = run_row(a, &a->rows[i], &sim, r, alone, why);
    sim_result_finish(alone);
    return err;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

/* The largest mean slowdown among the jobs that count. */
static double worst_of(const struct advise *a, const struct advise_row *row) {
    double worst = 0;
    for (uint32_t i = 0; i < a->w.count; i++) {
        double mean = advise_mean(&row->slowdowns[a->w.jobs[i].number]);
        if (counts(a, &a->w.jobs[i]) && mean > worst) worst = mean;
    }
    return worst;
}

/* Orders rows: those that meet the goal first, then those with any gain. */
static bool better(const struct advise *a, const struct advise_row *x, const struct advise_row *y) {
    double gain_x = advise_mean(&x->gain), gain_y = advise_mean(&y->gain);
    double worst_x = worst_of(a, x), worst_y = worst_of(a, y);
    bool kept_x = fits(a, gain_x, worst_x), kept_y = fits(a, gain_y, worst_y);
    bool worth_x = gain_x >= ADVISE_WORTH, worth_y = gain_y >= ADVISE_WORTH;
    if (kept_x != kept_y) return kept_x;
    if (worth_x != worth_y) return worth_x;
    if (a->goal == ADVISE_LATENCY && !kept_x && worst_x != worst_y) return worst_x < worst_y;
    if (a->goal == ADVISE_FAIR && worst_x != worst_y) return worst_x < worst_y;
    return gain_x > gain_y;
}

static void judge(struct advise *a) {
    for (uint32_t i = 1; i < a->count; i++)
        if (better(a, &a->rows[i], &a->rows[a->best])) a->best = i;
    const struct advise_row *best = &a->rows[a->best];
    a->together = a->refused == UINT32_MAX && fits(a, advise_mean(&best->gain), worst_of(a, best));
}

/* ---- all starts ------------------------------------------------------------------------------ */

static double guessed_part(const struct workload *w) {
    double all = 0, guessed = 0;
    for (uint32_t i = 0; i < w->kernels_count; i++) {
        const struct workload_kernel *k = &w->kernels[i];
        bool known = k->copy || w->sliced || k->class != SCHED_CLASS_UNKNOWN ||
                     k->compute_milli != WORKLOAD_BY_CLASS;
        all += (double)k->duration_ns;
        if (!known) guessed += (double)k->duration_ns;
    }
    return all > 0 ? guessed / all : 0;
}

static void look_at_jobs(struct advise *a) {
    bool some = false, every = true;
    uint64_t longest = 0;
    for (uint32_t i = 0; i < a->w.count; i++) {
        const struct workload_job *j = &a->w.jobs[i];
        const struct workload_sequence *q = j->kernels ? &a->w.sequences[j->sequence] : NULL;
        uint64_t ns = q ? q->total_ns + q->host_ns : j->iteration_ns;
        some |= advise_protects(j);
        every &= advise_protects(j);
        if (ns > longest) longest = ns;
    }
    a->by_rates = a->w.until_ns > 0;
    a->shift_ns = longest;
    a->goal = a->config->goal != ADVISE_GOALS ? a->config->goal
              : some && !every                ? ADVISE_LATENCY
                                              : ADVISE_THROUGHPUT;
    a->guessed = guessed_part(&a->w);
}

int advise_run(struct advise *out, const struct workload *files, const char *const *paths,
               uint32_t count, const struct advise_config *config, char *why) {
    struct sim_result *r = malloc(sizeof(*r)), *alone = malloc(sizeof(*alone));
    char unmerged[WORKLOAD_MERGE_WHY];
    *out = (struct advise){.config = config,
                           .files = files,
                           .paths = paths,
                           .files_count = count,
                           .refused = UINT32_MAX};
    int err = workload_merge(&out->w, files, count, unmerged);
    if (err) snprintf(why, SIM_WHY_BYTES, "%s", unmerged);
    if (!err) snprintf(why, SIM_WHY_BYTES, "out of memory");
    if (!err && out->w.count > ALONE_JOBS) {
        snprintf(why, SIM_WHY_BYTES, "the files have more than %u jobs together", ALONE_JOBS);
        err = -EINVAL;
    }
    if (!err) out->alone_s = calloc(out->w.count, sizeof(*out->alone_s));
    if (!err && (!r || !alone || !out->alone_s)) err = -ENOMEM;
    if (!err) err = choose_rows(out);
    if (!err) look_at_jobs(out);
    for (uint32_t i = 0; i < config->starts && !err && out->refused == UINT32_MAX; i++)
        err = run_start(out, i, r, alone, why);
    if (!err) shift(out, 0); /* restores the original arrivals and the order by file */
    if (!err) judge(out);
    free(r);
    free(alone);
    if (err) advise_finish(out);
    return err;
}

void advise_finish(struct advise *a) {
    for (uint32_t i = 0; i < a->count; i++)
        free(a->rows[i].slowdowns);
    free(a->alone_s);
    if (!a->w.arena) workload_finish(&a->w);
    *a = (struct advise){0};
}
