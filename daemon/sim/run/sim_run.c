/* SPDX-License-Identifier: Apache-2.0
 *
 * The main loop. Each turn finds the time of the next event, collects the events in the scheduler's
 * order, runs the step and carries out its actions. The loop ends when every job has left or the
 * time limit is reached.
 */
#include "daemon/sim/run/sim_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/sched/core/check.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/state.h"
#include "daemon/sim/run/sim_action.h"
#include "daemon/sim/run/sim_job.h"
#include "daemon/sim/run/sim_slo.h"

#define TIME_MAX (UINT64_MAX >> 2)
#define DEPTH_LEAST 64u /* the scheduler may raise a cap to this by itself */

static int step(struct sim *s) {
    struct sched_actions actions;
    int err = sched_step(s->sched, s->now_ns, s->events, s->events_count, &actions);
    if (err) return sim_fail(s, err, "sched_step: error %d", err);
    s->r->steps++;
    for (uint32_t i = 0; i < s->config->watches_count; i++) {
        const struct sim_watch *watch = &s->config->watches[i];
        if (watch->stepped)
            watch->stepped(watch->self, s->now_ns, s->events, s->events_count, &actions);
    }
    sim_note_slos(s);
    const char *broken = s->config->check ? sched_check(s->sched) : NULL;
    if (broken) return sim_fail(s, -EPROTO, "sched_check: %s", broken);
    err = sim_carry_out(s, &actions);
    return err ? err : sim_answer(s, &actions);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t next_time(struct sim *s) {
    uint64_t at = earlier(earlier(device_next(s->dev), s->armed_ns),
                          earlier(timers_next(&s->offers), timers_next(&s->ends)));
    at = earlier(at, earlier(timers_next(&s->moments), timers_next(&s->arrivals)));
    if (s->arrived < s->w->count) at = earlier(at, s->w->jobs[s->arrived].arrival_ns);
    return at > s->now_ns || at == SIM_NEVER ? at : s->now_ns;
}

static int stuck(struct sim *s) {
    uint32_t first = 0, others = 0;
    struct sched_job_view view = {0};
    for (uint32_t i = s->w->count; i-- > 0;)
        if (s->jobs[i].state != SIM_LEFT) {
            first = i;
            others++;
        }
    sched_job(s->sched, first + 1, &view);
    return sim_fail(s, -EPROTO,
                    "the simulation is stuck after %" PRIu64
                    " ns: %s and %u more jobs never continue (%s)",
                    s->now_ns, s->w->jobs[first].name, others - 1, reason_why(view.why));
}

static void stop(struct sim *s) {
    s->now_ns = s->w->until_ns;
    device_finished(s->dev, s->now_ns, s->done); /* updates its integrals */
    sim_cut(s);
}

static int loop(struct sim *s) {
    while (s->left < s->w->count) {
        uint64_t at = next_time(s);
        if (s->w->until_ns && at >= s->w->until_ns) {
            stop(s);
            break;
        }
        if (at == SIM_NEVER) return stuck(s);
        if (at > TIME_MAX) return sim_fail(s, -EOVERFLOW, "the virtual time exceeds 146 years");
        s->now_ns = at;
        s->events_count = 0;
        int err = sim_gather(s);
        while (!err && s->events_count > 0)
            err = step(s);
        if (err) return err;
    }
    return 0;
}

/* ---- create and destroy ---------------------------------------------------------------------- */

static uint64_t duration_of(const struct workload *w, const struct workload_job *j) {
    uint64_t each_ns =
        j->kernels ? w->sequences[j->sequence].busy_ns : workload_busy_ns(j, j->iteration_ns);
    return each_ns * j->iterations;
}

static void fill_specs(struct sim *s) {
    for (uint32_t i = 0; i < s->w->count; i++) {
        const struct workload_job *j = &s->w->jobs[i];
        s->specs[i] = (struct sched_spec){.weight = j->weight,
                                          .priority = j->priority,
                                          .group = j->group,
                                          .user = j->user,
                                          .unknown = j->unknown,
                                          .admit_timeout_ns = j->admit_timeout_ns,
                                          .request_ns = j->request_ns,
                                          .slo_ns = j->slo_ns,
                                          .slo_of = j->slo_of};
        if (!j->unknown) {
            s->specs[i].persistent_bytes = j->persistent_bytes;
            s->specs[i].ephemeral_bytes = j->ephemeral_bytes;
        }
        if (j->hint != WORKLOAD_HINT_NONE) s->specs[i].iterations = j->iterations;
        if (j->hint == WORKLOAD_HINT_DURATION) s->specs[i].duration_ns = duration_of(s->w, j);
    }
}

static uint32_t most_ops(const struct workload *w, const struct workload_job *j) {
    uint32_t ops = w->sequences[j->sequence].count, burst = w->sequences[j->burst_sequence].count;
    return j->burst && burst > ops ? burst : ops;
}

static int init_jobs(struct sim *s) {
    for (uint32_t i = 0; i < s->w->count; i++) {
        const struct workload_job *j = &s->w->jobs[i];
        struct sim_job_result *r = &s->r->jobs[i];
        r->admitted_ns = r->first_run_ns = r->end_ns = SIM_NEVER;
        s->jobs[i].ops = s->jobs[i].most_ops = 1;
        s->slos |= j->slo_ns > 0;
        if (!j->kernels) continue;
        s->jobs[i].most_ops = most_ops(s->w, j);
        r->latency = calloc(1, sizeof(*r->latency));
        if (!r->latency) return -ENOMEM;
    }
    return 0;
}

static int init_sim(struct sim *s) {
    uint32_t n = s->w->count;
    struct sched_config config = {.policy = s->config->policy,
                                  .capacity_bytes = s->w->memory_bytes,
                                  .chunk_bytes = SIM_CHUNK_BYTES,
                                  .sms = s->w->sms,
                                  .share_sms = s->w->share_sms,
                                  .slice_ns = s->w->subgrids ? SCHED_WAVES : s->w->slice_ns,
                                  .share_users = s->w->share_users};
    int err = sched_create(&s->sched, &config, s->why, SIM_WHY_BYTES);
    if (err) return err;
    for (uint32_t i = 0; i < s->config->watches_count; i++)
        if (s->config->watches[i].began)
            s->config->watches[i].began(s->config->watches[i].self, &config);
    s->depth = sched_policy_config(s->sched)->inflight_cap;
    if (s->depth < DEPTH_LEAST) s->depth = DEPTH_LEAST;
    s->r->jobs = calloc(n, sizeof(*s->r->jobs));
    s->jobs = calloc(n, sizeof(*s->jobs));
    s->specs = calloc(n, sizeof(*s->specs));
    s->done = calloc(n, sizeof(*s->done));
    if (!s->r->jobs || !s->jobs || !s->specs || !s->done || timers_init(&s->offers, n) ||
        timers_init(&s->ends, n) || timers_init(&s->moments, n) || timers_init(&s->arrivals, n) ||
        init_jobs(s) || device_create(&s->dev, s->w, s->depth, s->config->contention) ||
        memcheck_init(&s->mem, s->w, SIM_CHUNK_BYTES))
        return sim_fail(s, -ENOMEM, "out of memory");
    fill_specs(s);
    return 0;
}

int sim_run(struct sim_result *out, const struct workload *w, const struct sim_config *config,
            char *why) {
    struct sim s = {.w = w, .config = config, .r = out, .armed_ns = SIM_NEVER, .why = why};
    *out = (struct sim_result){.count = w->count, .begin_ns = w->jobs[0].arrival_ns};
    *why = '\0';
    int err = init_sim(&s);
    if (!err) err = loop(&s);
    out->end_ns = s.now_ns;
    if (s.dev) {
        out->active_ns = device_active_ns(s.dev);
        out->running_ns = device_running_ns(s.dev);
    }
    out->lanes_ns = s.mem.lanes_ns;
    sched_destroy(s.sched);
    device_destroy(s.dev);
    memcheck_finish(&s.mem);
    free(s.jobs);
    free(s.specs);
    free(s.done);
    timers_finish(&s.offers);
    timers_finish(&s.ends);
    timers_finish(&s.moments);
    timers_finish(&s.arrivals);
    free(s.events);
    if (err) sim_result_finish(out);
    return err;
}

void sim_result_finish(struct sim_result *r) {
    for (uint32_t i = 0; r->jobs && i < r->count; i++)
        free(r->jobs[i].latency);
    free(r->jobs);
    r->jobs = NULL;
}
