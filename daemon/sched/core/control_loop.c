/* SPDX-License-Identifier: Apache-2.0
 *
 * Latency targets, control periods, and their effect on each job.
 */
#include "daemon/sched/core/control_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/dispatch/turn.h"

/* ---- services -------------------------------------------------------------------------------- */

int control_loop_reserve(struct sched *s, uint32_t more) {
    struct sched_state *st = &s->st;
    uint32_t cap = st->services_cap ? st->services_cap : 4;
    if (more <= st->services_cap - st->services_used) return 0;
    while (cap < st->services_used + more)
        cap *= 2;
    struct service *grown = realloc(st->services, cap * sizeof(*grown));
    if (!grown) return -ENOMEM;
    st->services = grown;
    for (uint32_t i = cap; i-- > st->services_cap; st->free_service = i) {
        service_begin(&grown[i], SERVICE_NONE);
        grown[i].next_free = st->free_service;
    }
    st->services_cap = cap;
    return 0;
}

/* The longest iteration of a best-effort job together with its pause. */
static uint64_t cycle_ns(const struct sched_state *st) {
    uint64_t most_ns = 0;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        const struct sched_job *j = &st->jobs[job];
        uint64_t ns = j->lap_ns + j->pause_ns;
        if (controller_yields(j) && ns > most_ns) most_ns = ns;
    }
    return most_ns;
}

/* Begins a control period, unless no job has a latency target. */
static void begin_period(struct sched *s) {
    struct sched_state *st = &s->st;
    s->cycles = 0;
    s->period_from_ns = st->now_ns;
    s->period_at = SCHED_NEVER;
    if (!st->services_used) return;
    s->period_at = st->now_ns + s->config.period_ns + CONTROL_LOOP_PATIENCE_NS +
                   s->config.period_cycles * cycle_ns(st);
}

static void take_service(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    uint32_t service = st->free_service;
    st->free_service = st->services[service].next_free;
    service_begin(&st->services[service], job);
    st->jobs[job].service = service;
    if (st->services_used++ == 0) begin_period(s);
}

void control_loop_forget(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    uint32_t service = st->jobs[job].service;
    if (service == SCHED_NONE) return;
    service_begin(&st->services[service], SERVICE_NONE);
    st->services[service].next_free = st->free_service;
    st->free_service = service;
    st->jobs[job].service = SCHED_NONE;
    if (--st->services_used == 0)
        s->period_at = st->now_ns; /* the next look lifts all pauses and shares */
}

/* Starts measuring the job's new target afresh; measurements for the previous one are dropped. */
void control_loop_promise(struct sched *s, uint32_t job) {
    const struct sched_job *j = &s->st.jobs[job];
    if (!j->spec.slo_ns)
        control_loop_forget(s, job);
    else if (j->service == SCHED_NONE)
        take_service(s, job);
    else
        service_begin(&s->st.services[j->service], job);
}

static uint32_t percent_of(const struct sched_job *j) {
    static const uint8_t percents[] = {
        [SCHED_SLO_MEAN] = 0, [SCHED_SLO_P50] = 50, [SCHED_SLO_P95] = 95, [SCHED_SLO_P99] = 99};
    return j->spec.slo_of < sizeof(percents) ? percents[j->spec.slo_of] : 0;
}

/* ---- pauses and shares ----------------------------------------------------------------------- */

/* Begins the job's pause after an iteration. Under a sticky lane policy a job keeps its turn until
 * it leaves, so that no other job would gain by the pause. */
static void pace(struct sched *s, struct sched_job *j) {
    uint64_t pause_ns = j->pause_ns + j->restart_ns;
    j->restart_ns = 0;
    if (pause_ns == 0 || s->lane_policy->sticky) return;
    j->paced_ns = s->st.now_ns + pause_ns;
    if (j->paced_ns < s->paced_at) s->paced_at = j->paced_ns;
}

static void end_pauses(struct sched *s) {
    struct sched_state *st = &s->st;
    if (st->now_ns < s->paced_at) return;
    s->paced_at = SCHED_NEVER;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        struct sched_job *j = &st->jobs[job];
        if (j->paced_ns > st->now_ns && j->paced_ns < s->paced_at) s->paced_at = j->paced_ns;
        if (j->paced_ns == 0 || j->paced_ns > st->now_ns) continue;
        j->paced_ns = 0;
        turn_update(s, job);
    }
}

static void share(struct sched *s, uint32_t job, uint32_t sms) {
    struct sched_job *j = &s->st.jobs[job];
    if (sms == j->sms) return;
    j->sms = sms;
    sched_emit(s, SCHED_SHARE, job)->sms = sms;
}

/* Shares have a granularity (share_sms). A job alternates between the steps below and above its
 * part, so that their mean over time is that part. Each step is shorter than most requests, which
 * therefore experience the mean. */
static uint32_t step_below(const struct sched_state *st, const struct sched_job *j) {
    return (uint32_t)(j->part * st->sms / st->share_sms) * st->share_sms;
}

/* The job's part lies between two steps. Below the smallest step there is none to alternate with.
 */
static bool is_between(const struct sched_state *st, const struct sched_job *j) {
    uint32_t below = step_below(st, j);
    return below && below < j->part * st->sms;
}

/* Adds what the job lacked of its part since its latest step was chosen. */
static void owe(const struct sched_state *st, struct sched_job *j) {
    double ns = (double)(st->now_ns - j->chosen_ns), has = j->sms ? j->sms : st->sms;
    double most = (double)st->share_sms * CONTROL_LOOP_STEP_NS;
    double owed = j->owed + (j->part * st->sms - has) * ns;
    j->owed = owed > most ? most : owed < -most ? -most : owed;
    j->chosen_ns = st->now_ns;
}

static uint32_t choose(const struct sched_state *st, const struct sched_job *j) {
    uint32_t below = step_below(st, j);
    bool up = below == 0 || (is_between(st, j) && j->owed >= 0);
    uint32_t sms = below + (up ? st->share_sms : 0);
    return sms < st->sms ? sms : 0;
}

static void next_steps(struct sched *s) {
    struct sched_state *st = &s->st;
    if (st->now_ns < s->steps_at) return;
    s->steps_at = SCHED_NEVER;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        struct sched_job *j = &st->jobs[job];
        if (j->part <= 0 || j->left) continue;
        owe(st, j);
        share(s, job, choose(st, j));
        if (is_between(st, j)) s->steps_at = st->now_ns + CONTROL_LOOP_STEP_NS;
    }
}

/* Lets the job alternate around its part; control_loop_look chooses its steps from now on. */
static void want_step(struct sched *s, uint32_t job, double part) {
    struct sched_job *j = &s->st.jobs[job];
    if (j->part <= 0) j->owed = 0;
    if (j->part <= 0) j->chosen_ns = s->st.now_ns;
    owe(&s->st, j);
    j->part = part;
    s->steps_at = s->st.now_ns;
}

static uint32_t rounded(const struct sched_state *st, double part) {
    return part > 0 ? controller_sms(st, part) : 0;
}

static void want_share(struct sched *s, uint32_t job, double part) {
    const struct sched_state *st = &s->st;
    if (part >= 1) part = 0;
    if (part > 0 && st->share_sms > 1) {
        want_step(s, job, part);
        return;
    }
    s->st.jobs[job].part = part;
    share(s, job, rounded(st, part));
}

void control_loop_change(struct sched *s) {
    struct sched_state *st = &s->st;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        st->jobs[job].pause_ns = st->jobs[job].restart_ns = 0;
        want_share(s, job, 0);
    }
    begin_period(s);
}

/* ---- periods --------------------------------------------------------------------------------- */

static bool has_served(const struct sched *s, const struct service *v) {
    const struct sched_job *j = &s->st.jobs[v->job];
    uint32_t enough = service_enough(percent_of(j));
    if (enough < s->config.period_requests) enough = s->config.period_requests;
    bool asked = j->admitted && !j->left && !j->spec.paused && (j->running || j->waiting);
    return v->fresh >= enough || (v->fresh == 0 && !asked);
}

/* Every service that received requests has completed enough of them, and at least one received
 * some. */
static bool have_served(const struct sched *s) {
    const struct sched_state *st = &s->st;
    uint32_t asked = 0;
    for (uint32_t i = 0; i < st->services_cap; i++) {
        if (st->services[i].job == SERVICE_NONE) continue;
        if (!has_served(s, &st->services[i])) return false;
        asked += st->services[i].fresh > 0;
    }
    return asked > 0;
}

/* A best-effort job will reach a boundary: one that an operator has paused will not. */
static bool has_cycles(const struct sched *s) {
    const struct sched_state *st = &s->st;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        const struct sched_job *j = &st->jobs[job];
        if (controller_yields(j) && (j->running || (j->waiting && !j->spec.paused))) return true;
    }
    return false;
}

void control_loop_boundary(struct sched *s, uint32_t job, bool served) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    pace(s, j);
    if (st->services_used == 0) return;
    bool cycle = controller_yields(j);
    if (served && !cycle && controller_serves(j))
        service_served(&st->services[j->service], j->request_ns);
    s->cycles += cycle;
    if (st->now_ns < s->period_from_ns + s->config.period_ns || !have_served(s)) return;
    if (cycle ? s->cycles >= s->config.period_cycles : !has_cycles(s)) s->period_at = st->now_ns;
}

/* Makes this service the ruling one if its relative error is larger. The earlier service wins a
 * tie. */
static void measure(struct sched *s, struct controlled *now, uint32_t service) {
    const struct service *v = &s->st.services[service];
    const struct sched_job *j = &s->st.jobs[v->job];
    uint64_t measured_ns = service_measure(v, percent_of(j));
    if (measured_ns == 0 || !j->admitted || j->left) return;
    struct controlled other = {.target_ns = j->spec.slo_ns, .measured_ns = measured_ns};
    if (now->ruling != SCHED_NONE && controller_error(&other) <= controller_error(now)) return;
    now->ruling = v->job;
    now->target_ns = other.target_ns;
    now->measured_ns = other.measured_ns;
    now->percent = percent_of(j);
}

/* Adds a job to the hash, which changes when the jobs or their targets change. */
static uint64_t mix(uint64_t crew, const struct sched_job *j) {
    crew = (crew ^ j->id) * 0x9e3779b97f4a7c15u;
    crew = (crew ^ j->spec.slo_ns) * 0x9e3779b97f4a7c15u;
    return (crew ^ j->spec.slo_of) * 0x9e3779b97f4a7c15u;
}

static struct controlled survey(struct sched *s) {
    const struct sched_state *st = &s->st;
    struct controlled now = {.st = st, .ruling = SCHED_NONE};
    uint64_t crew = 0;
    now.period_ns = st->now_ns - s->period_from_ns;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        const struct sched_job *j = &st->jobs[job];
        if (j->left) continue;
        crew = mix(crew, j);
        now.services += controller_serves(j);
        now.others += !controller_serves(j);
        if (controller_yields(j) && j->lap_ns > now.cycle_ns) now.cycle_ns = j->lap_ns;
    }
    now.changed = crew != s->crew;
    s->crew = crew;
    for (uint32_t i = 0; i < st->services_cap; i++)
        if (st->services[i].job != SERVICE_NONE) measure(s, &now, i);
    return now;
}

static void answer(struct sched *s, const struct controlled *now, uint32_t job) {
    const struct controller *c = s->controller;
    const struct sched_state *st = &s->st;
    struct sched_job *j = &s->st.jobs[job];
    uint32_t before = rounded(st, j->part);
    if (j->left) return;
    j->pause_ns = c->pause ? c->pause(s->controller_own, now, job) : 0;
    want_share(s, job, c->part ? c->part(s->controller_own, now, job) : 0);
    if (before != rounded(st, j->part) && c->restart) j->restart_ns = c->restart(now);
}

/* Compares the service's measurement with its target. A difference within slo_band counts as none.
 */
static void keep(struct sched *s, struct service *v, bool stuck) {
    const struct sched_job *j = &s->st.jobs[v->job];
    uint64_t measured_ns = service_measure(v, percent_of(j));
    double most_ns = (double)j->spec.slo_ns * (1 + s->config.slo_band / 1e3);
    bool violated = (double)measured_ns > most_ns;
    service_measured(v, measured_ns, violated, stuck && violated);
}

static void end_period(struct sched *s) {
    struct sched_state *st = &s->st;
    const struct controller *c = s->controller;
    struct controlled now = survey(s);
    if (c->step) c->step(s->controller_own, &now);
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next)
        answer(s, &now, job);
    bool stuck = c->stuck && c->stuck(s->controller_own);
    for (uint32_t i = 0; i < st->services_cap; i++)
        if (st->services[i].job != SERVICE_NONE) keep(s, &st->services[i], stuck);
    begin_period(s);
}

/* The last target was withdrawn: clears the controller's memory, so that it starts anew with the
 * next one. */
static void end_control(struct sched *s) {
    if (s->controller->own_bytes) memset(s->controller_own, 0, s->controller->own_bytes);
    control_loop_change(s);
}

void control_loop_look(struct sched *s) {
    end_pauses(s);
    if (s->st.now_ns >= s->period_at) {
        if (s->st.services_used)
            end_period(s);
        else
            end_control(s);
    }
    next_steps(s);
}

/* ---- invariants ------------------------------------------------------------------------------ */

const char *control_loop_check(const struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    const struct sched_job *j = &st->jobs[job];
    if ((j->service != SCHED_NONE) != (j->spec.slo_ns != 0)) return "a latency target was lost";
    if (j->service != SCHED_NONE && st->services[j->service].job != job)
        return "a service belongs to another job";
    if (j->paced_ns && j->paced_ns < s->paced_at) return "a pause has no timeout";
    if (st->share_sms > 1 && is_between(st, j) && !j->left && s->steps_at == SCHED_NEVER)
        return "a job with a share is paused";
    if (j->sms % st->share_sms) return "a job has a share that the device does not support";
    if (!st->services_used && (j->pause_ns || j->sms || j->part > 0) && j->admitted && !j->left)
        return "a job is slowed down for no other job";
    return NULL;
}
