/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the jobs of every seed under every policy.
 */
#include "daemon/sim/compare/clusters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/place/fleet_placer.h"
#include "daemon/sim/place/fleet_run.h"
#include "daemon/sim/run/sim.h"

#define POD_MOST_S (5 * 86400.0)

/* Data that is read once: nodes, jobs, and a table to draw jobs from. */
struct base {
    struct jobset set, pods;
};

static int fail(struct buf *errors, int err, const char *what, const char *why) {
    buf_printf(errors, "%s: %s\n", what, why);
    return err;
}

/* Appends the errors of a file, each with the file's name in front. */
static int name_file(struct buf *errors, struct buf *lines, const char *path, int err) {
    if (err == -ENOMEM) return fail(errors, err, path, "out of memory");
    for (char *line, *rest = (char *)buf_str(lines); err && (line = strtok_r(rest, "\n", &rest));)
        buf_printf(errors, "%s:%s%s\n", path, err == -EINVAL ? "" : " ", line);
    return err;
}

/* ---- nodes and jobs -------------------------------------------------------------------------- */

static int read_nodes(struct base *b, const struct clusters_config *c, struct buf *errors) {
    struct buf lines;
    if (!c->nodes_path)
        return jobset_add_gpus(&b->set, c->gpus, c->per_node, c->gpu_bytes)
                   ? fail(errors, -EINVAL, "--gpus", "the cluster has too many nodes")
                   : 0;
    buf_init(&lines);
    int err =
        name_file(errors, &lines, c->nodes_path, jobset_read_nodes(&b->set, c->nodes_path, &lines));
    buf_finish(&lines);
    return err;
}

static int read_jobs(struct jobset *to, const struct jobset_rules *rules, const char *path,
                     struct buf *errors) {
    struct buf lines;
    if (!path) return 0;
    buf_init(&lines);
    int err = name_file(errors, &lines, path, jobset_read_jobs(to, rules, path, &lines));
    buf_finish(&lines);
    return err;
}

/* Rules for the table that jobs are drawn from, as in GPUColo (section VI): failed jobs are dropped
 * and each GPU is a separate task. Lengths are limited, so that no single job dominates the
 * experiment. */
static struct jobset_rules pod_rules(const struct clusters_config *c) {
    struct jobset_rules rules = c->reading;
    rules.whole_tasks = rules.drop_failed = true;
    if (rules.length_most_s <= 0) rules.length_most_s = POD_MOST_S;
    return rules;
}

static int read_base(struct base *b, const struct clusters_config *c, struct buf *errors) {
    const struct jobset_rules pods = pod_rules(c);
    jobset_init(&b->set);
    jobset_init(&b->pods);
    int err = read_nodes(b, c, errors);
    if (!err) err = read_jobs(&b->set, &c->reading, c->jobs_path, errors);
    if (!err) err = read_jobs(&b->pods, &pods, c->pods_path, errors);
    if (!err && !b->set.gpu_count) err = fail(errors, -EINVAL, "cluster", "the cluster has no GPU");
    return err;
}

static void finish_base(struct base *b) {
    jobset_finish(&b->set);
    jobset_finish(&b->pods);
}

static int copy(struct jobset *to, const struct jobset *from) {
    int err = 0;
    *to = *from;
    to->nodes = NULL;
    to->jobs = NULL;
    to->node_count = to->job_count = to->gpu_count = to->node_room = to->job_room = 0;
    for (uint32_t i = 0; !err && i < from->node_count; i++)
        err = jobset_add_node(to, &from->nodes[i]);
    for (uint32_t i = 0; !err && i < from->job_count; i++)
        err = jobset_add_job(to, &from->jobs[i]);
    return err;
}

/* Copies the base and applies a seed. */
static int make_set(struct jobset *out, const struct base *b, const struct clusters_config *c,
                    uint64_t seed, struct buf *errors) {
    struct jobset_draw draw = c->draw;
    struct jobset_error error = c->error;
    char why[SIM_WHY_BYTES] = "out of memory";
    int err = copy(out, &b->set);
    draw.seed = error.seed = seed;
    draw.pods = &b->pods;
    if (!err && !c->jobs_path) err = jobset_draw(out, &draw, why, sizeof(why));
    if (err == -E2BIG) return fail(errors, -EINVAL, c->draw.kind, "the cluster has too many jobs");
    if (err) return fail(errors, err, c->draw.kind, why);
    jobset_tell(out, &error);
    return 0;
}

int clusters_set(struct jobset *out, const struct clusters_config *config, struct buf *errors) {
    struct base b;
    jobset_init(out);
    int err = read_base(&b, config, errors);
    if (!err) err = make_set(out, &b, config, config->seed, errors);
    finish_base(&b);
    return err;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void add(struct measure *m, double x) {
    m->sum += x;
    m->squares += x * x;
    m->count++;
}

static int add_days(struct clusters_cell *cell, const struct fleet_result *r) {
    if (r->day_count > cell->day_count) {
        struct fleet_day *grown = realloc(cell->days, r->day_count * sizeof(*grown));
        if (!grown) return -ENOMEM;
        memset(&grown[cell->day_count], 0, (r->day_count - cell->day_count) * sizeof(*grown));
        cell->days = grown;
        cell->day_count = r->day_count;
    }
    for (uint32_t i = 0; i < r->day_count; i++) {
        cell->days[i].used_gpus += r->days[i].used_gpus;
        cell->days[i].separate_gpus += r->days[i].separate_gpus;
        cell->days[i].services += r->days[i].services;
        cell->days[i].violations += r->days[i].violations;
    }
    return 0;
}

static int take(struct clusters_cell *cell, const struct fleet_result *r) {
#define X(field, from, name, text) add(&cell->field, from);
    CLUSTERS_FIELDS(X)
#undef X
    return add_days(cell, r);
}

/* Under GPUColo's policies services get the shares that they need; under Horus's, all jobs slow
 * down alike. */
static enum fleet_speeds speeds_of(const struct clusters_config *c, const char *policy) {
    static const char *const shares[] = {"alone", "separate", "gslice", "gpucolo"};
    if (c->speeds != CLUSTERS_BY_POLICY)
        return c->speeds == CLUSTERS_SHARES ? FLEET_SHARES : FLEET_CURVE;
    for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++)
        if (strcmp(shares[i], policy) == 0) return FLEET_SHARES;
    return FLEET_CURVE;
}

static int run_policy(struct clusters_cell *cell, const struct jobset *set,
                      const struct clusters_config *c, const char *policy, uint64_t seed,
                      struct buf *errors) {
    struct place_config place = c->place;
    struct fleet_rules rules = c->rules;
    char why[SIM_WHY_BYTES];
    struct fleet_result r;
    struct place *p;
    place.policy = policy;
    rules.seed = seed;
    rules.speeds = speeds_of(c, policy);
    /* services beside services slow down as their shares shrink */
    if (rules.speeds == FLEET_SHARES) {
        place.curve_count = 1;
        place.curves[0] = (struct place_curve){.a1 = 1};
    }
    rules.measure_speed = strcmp(policy, "pab") == 0;
    int err = place_create(&p, &place, why, sizeof(why));
    if (err) return fail(errors, err, policy, why);
    struct fleet_placer placer = fleet_placer_of(p);
    err = fleet_run(set, &rules, &placer, &r, why);
    place_destroy(p);
    if (err) return fail(errors, err, policy, why);
    err = take(cell, &r);
    fleet_result_finish(&r);
    return err ? fail(errors, err, policy, "out of memory") : 0;
}

static int run_seed(struct clusters *out, const struct base *b, const struct clusters_config *c,
                    uint32_t seed, clusters_progress_fn *progress, void *arg, struct buf *errors) {
    struct jobset set;
    int err = make_set(&set, b, c, c->seed + seed, errors);
    if (!seed) {
        out->jobs = set.job_count;
        out->nodes = set.node_count;
        out->gpus = set.gpu_count;
        out->passed_over = set.passed_over;
    }
    for (uint32_t i = 0; !err && i < c->policy_count; i++) {
        progress(arg, seed * c->policy_count + i + 1, c->seeds * c->policy_count);
        err = run_policy(&out->cells[i], &set, c, c->policies[i], c->seed + seed, errors);
    }
    jobset_finish(&set);
    return err;
}

int clusters_run(struct clusters *out, const struct clusters_config *config,
                 clusters_progress_fn *progress, void *arg, struct buf *errors) {
    struct base b;
    *out = (struct clusters){0};
    int err = read_base(&b, config, errors);
    for (uint32_t seed = 0; !err && seed < config->seeds; seed++)
        err = run_seed(out, &b, config, seed, progress, arg, errors);
    finish_base(&b);
    if (err) clusters_finish(out);
    return err;
}

void clusters_finish(struct clusters *c) {
    for (uint32_t i = 0; i < CLUSTERS_POLICIES; i++) {
        free(c->cells[i].days);
        c->cells[i].days = NULL;
    }
}
