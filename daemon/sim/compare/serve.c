/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs all policies in one world after another.
 */
#include "daemon/sim/compare/serve.h"

#include <errno.h>
#include <string.h>

#include "daemon/sim/run/sim.h"
#include "daemon/sim/serve/serving.h"

static void measure_add(struct measure *m, double value) {
    m->sum += value;
    m->squares += value * value;
    m->count++;
}

/* ---- candidate policies ---------------------------------------------------------------------- */

static const char *policy_named(const char *name, size_t bytes) {
    for (uint32_t i = 0; plan_policy_name(i); i++)
        if (strlen(plan_policy_name(i)) == bytes && strncmp(plan_policy_name(i), name, bytes) == 0)
            return plan_policy_name(i);
    return NULL;
}

static int refuse_policy(const char *name, size_t bytes, char *why) {
    int used = snprintf(why, SIM_WHY_BYTES, "--policy: '%.*s' is not one of", (int)bytes, name);
    for (uint32_t i = 0; plan_policy_name(i) && used < SIM_WHY_BYTES; i++)
        used += snprintf(why + used, (size_t)(SIM_WHY_BYTES - used), " %s", plan_policy_name(i));
    return -EINVAL;
}

static int fill_policies(struct serve *s, const char *list, char *why) {
    for (uint32_t i = 0; !list && plan_policy_name(i); i++)
        s->policies[s->policy_count++] = plan_policy_name(i);
    while (list) {
        size_t bytes = strcspn(list, ",");
        const char *name = policy_named(list, bytes);
        if (!name || s->policy_count == SERVE_POLICIES) return refuse_policy(list, bytes, why);
        s->policies[s->policy_count++] = name;
        list = list[bytes] ? list + bytes + 1 : NULL;
    }
    return 0;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void note(struct serve_cell *cell, const struct demand_spec *spec,
                 const struct serving_result *r) {
    double served = (double)r->finished + r->served_late;
    double time_ns = (double)r->end_ns * spec->workers;
    measure_add(&cell->finished, (double)r->finished / spec->count);
    measure_add(&cell->late, (double)r->served_late / spec->count);
    measure_add(&cell->timed_out, (double)r->timed_out / spec->count);
    measure_add(&cell->refused, (double)r->refused / spec->count);
    measure_add(&cell->batch, r->batches ? served / (double)r->batches : 0);
    measure_add(&cell->busy, r->end_ns ? (double)r->busy_ns / time_ns : 0);
}

/* Describes why a world is impossible, in the scheduler's words or in ours. */
static int explain(int err, const struct plan_config *config, char *why) {
    struct plan *p = NULL;
    if (err == -EDOM)
        snprintf(why, SIM_WHY_BYTES,
                 "--lognormal: no lognormal distribution has this mean and this 0.99 quantile");
    else if (err != -EINVAL || plan_create(&p, config, why, SIM_WHY_BYTES) == 0)
        snprintf(why, SIM_WHY_BYTES, "%s", strerror(-err));
    plan_destroy(p);
    return err;
}

static int run_world(struct serve *s, const struct serve_config *c, uint32_t slo, uint64_t seed,
                     char *why) {
    struct demand_spec spec = c->demand;
    struct plan_config config = c->plan;
    struct demand d;
    spec.slo = c->slos[slo];
    spec.seed = seed;
    int err = serving_demand_init(&d, &spec);
    if (err) return explain(err, &config, why);
    measure_add(&s->p99_ns, d.p99_ns);
    measure_add(&s->capacity, d.capacity);
    for (uint32_t i = 0; !err && i < s->policy_count; i++) {
        struct serving_result r;
        config.policy = s->policies[i];
        err = serving_run(&d, &spec, config, &r);
        if (!err) note(&s->cells[slo][i], &spec, &r);
    }
    serving_demand_finish(&d);
    return err ? explain(err, &config, why) : 0;
}

int serve_run(struct serve *out, const struct serve_config *config, serve_progress_fn *progress,
              void *arg, char *why) {
    *out = (struct serve){0};
    int err = fill_policies(out, config->policies, why);
    for (uint32_t i = 0; !err && i < config->slo_count; i++)
        for (uint32_t seed = 0; !err && seed < config->seeds; seed++) {
            progress(arg, i * config->seeds + seed, config->slo_count * config->seeds);
            err = run_world(out, config, i, config->seed + seed, why);
        }
    return err;
}
