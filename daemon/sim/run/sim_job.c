/* SPDX-License-Identifier: Apache-2.0
 *
 * Models the jobs: when their iterations begin, which operation they offer next, and what they
 * report when operations end. A job has at most one operation waiting at the scheduler. The next
 * one is offered when that one was submitted to the device and the client has launched it.
 */
#include "daemon/sim/run/sim_job.h"

#include <math.h>
#include <stdlib.h>

#include "daemon/sim/base/prng.h"

/* A job's streams of random numbers. */
enum { DRAW_DURATION, DRAW_THINK, DRAW_GAP, DRAWS };

/* Appends an event. The caller has reserved four per job. */
static struct sched_event *say(struct sim *s, enum sched_event_kind kind, uint32_t job) {
    struct sched_event *e = &s->events[s->events_count++];
    *e = (struct sched_event){.kind = kind, .job = job + 1};
    return e;
}

static int reserve(struct sim *s, uint32_t more) {
    uint32_t cap = s->events_cap ? s->events_cap : 64;
    if (s->events_count + more <= s->events_cap) return 0;
    while (cap < s->events_count + more)
        cap *= 2;
    struct sched_event *events = realloc(s->events, cap * sizeof(*events));
    if (!events) return sim_fail(s, -ENOMEM, "out of memory");
    s->events = events;
    s->events_cap = cap;
    return 0;
}

static struct sched_need need_of(const struct sim *s, uint32_t job) {
    return (struct sched_need){s->specs[job].persistent_bytes, s->specs[job].ephemeral_bytes};
}

/* ---- times ----------------------------------------------------------------------------------- */

static double draw(const struct sim *s, uint32_t job, int what) {
    uint64_t stream = (uint64_t)s->w->jobs[job].number * DRAWS + (unsigned)what;
    return prng_unit(prng_at(s->config->seed, stream, s->jobs[job].iteration));
}

uint64_t sim_duration(const struct sim *s, uint32_t job) {
    const struct workload_job *j = &s->w->jobs[job];
    if (!j->jitter_milli) return j->iteration_ns;
    double part = (2 * draw(s, job, DRAW_DURATION) - 1) * j->jitter_milli / 1000;
    uint64_t ns = (uint64_t)((double)j->iteration_ns * (1 + part));
    return ns ? ns : 1;
}

static uint64_t random_time(const struct sim *s, uint32_t job, int what, uint64_t mean_ns) {
    return (uint64_t)(-log(draw(s, job, what)) * (double)mean_ns);
}

static uint64_t think_of(const struct sim *s, uint32_t job) {
    const struct workload_job *j = &s->w->jobs[job];
    return j->host_ns +
           (j->think_random ? random_time(s, job, DRAW_THINK, j->think_ns) : j->think_ns);
}

/* Time from the arrival of the previous request to that of this one. */
static uint64_t gap_of(const struct sim *s, uint32_t job) {
    const struct workload_job *j = &s->w->jobs[job];
    if (j->arrivals == WORKLOAD_FIXED) return j->every_ns;
    if (j->arrivals == WORKLOAD_POISSON) return random_time(s, job, DRAW_GAP, j->every_ns);
    const struct workload_gaps *g = &s->w->gaps[j->gaps];
    uint32_t n = j->arrivals == WORKLOAD_GAPS ? s->jobs[job].iteration % g->count
                                              : (uint32_t)(draw(s, job, DRAW_GAP) * g->count);
    return s->w->gap_ns[g->first + n];
}

/* ---- boundaries ------------------------------------------------------------------------------ */

static void pass(struct sim *s, uint32_t job) {
    if (iteration_gate_pass(&s->jobs[job].iteration_gate) && s->specs[job].unknown) {
        s->specs[job].unknown = false;
        say(s, SCHED_MEASURED, job)->need = need_of(s, job);
    }
    say(s, SCHED_BOUNDARY, job);
}

/* Passes the boundary between the completed iteration and the next one if that is possible now;
 * else looks again when its waiting time is over. */
static void look(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    if (!iteration_gate_over(&j->iteration_gate)) return;
    if (!iteration_gate_waits(&j->iteration_gate, s->now_ns)) {
        pass(s, job);
    } else if (!j->waits) {
        j->waits = true;
        timers_add(&s->moments, j->iteration_gate.begun_ns + ITERATION_GATE_MOMENT_NS, job);
    }
}

static void end_moments(struct sim *s) {
    while (timers_next(&s->moments) <= s->now_ns) {
        uint32_t job = timers_take(&s->moments);
        s->jobs[job].waits = false;
        if (s->jobs[job].state == SIM_ADMITTED) look(s, job);
    }
}

/* Tells the scheduler which jobs have their memory now. */
static void end_arrivals(struct sim *s) {
    while (timers_next(&s->arrivals) <= s->now_ns) {
        uint32_t job = timers_take(&s->arrivals);
        struct sim_job *j = &s->jobs[job];
        j->comes = j->there_ns > s->now_ns; /* the memory was swapped out and in again */
        if (j->comes)
            timers_add(&s->arrivals, j->there_ns, job);
        else if (j->state == SIM_ADMITTED)
            say(s, SCHED_HELD, job);
    }
}

/* ---- offering operations --------------------------------------------------------------------- */

/* The job's client launches the next operation. */
static void launch(struct sim *s, uint32_t job) {
    iteration_gate_send(&s->jobs[job].iteration_gate);
    look(s, job);
}

static void submit(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    struct sched_event *e = say(s, SCHED_SUBMITTED, job);
    e->submitted.op = (uint64_t)j->iteration * j->most_ops + j->offered;
    e->submitted.iteration = j->iteration_gate.reading;
    e->submitted.kernel.class = SCHED_CLASS_COPY;
    if (s->w->jobs[job].kernels) {
        const struct workload_sequence *q = &s->w->sequences[j->sequence];
        const struct workload_kernel *k = &s->w->kernels[q->first + j->offered];
        e->submitted.kernel = s->w->jobs[job].priority > 0 ? k->profile : k->fit;
    }
    j->offered++;
}

/* Computes when the client launches the next operation, having turned to it at launched_ns. This
 * adds the client's work before the launch, and the launch itself except for an iteration's first
 * operation. */
static void plan_launch(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    const struct workload_job *w = &s->w->jobs[job];
    if (!w->kernels) return;
    j->launched_ns += s->w->kernels[s->w->sequences[j->sequence].first + j->offered].host_ns;
    if (j->offered > 0) j->launched_ns += w->launch_ns;
}

static bool launches_now(const struct sim *s, uint32_t job) {
    return s->jobs[job].launched_ns <= s->now_ns;
}

static void offer_launched(struct sim *s, uint32_t job) {
    plan_launch(s, job);
    if (launches_now(s, job)) {
        launch(s, job);
        submit(s, job);
    } else {
        timers_add(&s->offers, s->jobs[job].launched_ns, job);
    }
}

static bool waits(const struct sim *s, uint32_t job) {
    const struct sim_job *j = &s->jobs[job];
    return s->w->jobs[job].kernels && j->offered < j->ops &&
           s->w->kernels[s->w->sequences[j->sequence].first + j->offered].waits;
}

/* Selects the kernels of the iteration that begins. */
static void choose_sequence(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    const struct workload_job *w = &s->w->jobs[job];
    if (!w->kernels) return;
    bool burst = j->begun_ns >= w->burst_from_ns && j->begun_ns < w->burst_until_ns;
    j->sequence = burst ? w->burst_sequence : w->sequence;
    j->ops = s->w->sequences[j->sequence].count;
}

/* In a closed loop, the first iteration is wanted when the job may begin, and the next after the
 * previous one has ended plus think time. Requests of an open loop arrive independently and wait
 * for the previous one. */
static void plan_iteration(struct sim *s, uint32_t job, bool first) {
    struct sim_job *j = &s->jobs[job];
    const struct workload_job *w = &s->w->jobs[job];
    if (w->arrivals == WORKLOAD_CLOSED) {
        j->asked_ns = j->begun_ns = s->now_ns + (first ? w->start_ns : think_of(s, job));
    } else {
        j->arrived_ns = (first ? w->arrival_ns : j->arrived_ns) + gap_of(s, job);
        j->asked_ns = j->arrived_ns;
        uint64_t ready_ns = s->now_ns + (first ? w->start_ns : 0);
        j->begun_ns = j->arrived_ns > ready_ns ? j->arrived_ns : ready_ns;
    }
    choose_sequence(s, job);
    j->launched_ns = j->begun_ns;
}

/* ---- ending operations ----------------------------------------------------------------------- */

static uint64_t busy_of(const struct sim *s, uint32_t job) {
    const struct sim_job *j = &s->jobs[job];
    const struct workload_job *w = &s->w->jobs[job];
    if (!w->kernels) return workload_busy_ns(w, j->duration_ns);
    return workload_kernel_busy_ns(s->w,
                                   &s->w->kernels[s->w->sequences[j->sequence].first + j->ended]);
}

/* Updates the statistics and sends DONE. Returns true if the iteration is complete. */
static bool end_operation(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    struct sched_event *e = say(s, SCHED_DONE, job);
    e->done.op = (uint64_t)j->iteration * j->most_ops + j->ended;
    e->done.busy_ns = busy_of(s, job);
    /* Only an idle job's lane memory counts. */
    bool within = j->ended + 1 == j->handed && j->ended + 1 < j->ops;
    e->done.lane_bytes = within ? s->w->jobs[job].ephemeral_bytes : 0;
    s->r->jobs[job].busy_ns += e->done.busy_ns;
    s->r->busy_ns += (double)e->done.busy_ns;
    s->r->operations++;
    (void)iteration_gate_end(&j->iteration_gate, j->iteration_gate.reading);
    j->ended++;
    if (j->ended == j->handed) memcheck_stopped(&s->mem, j->lane);
    if (j->ended == j->ops) return true;
    if (j->ended == j->offered && waits(s, job)) {
        j->launched_ns = s->now_ns;
        offer_launched(s, job);
    }
    return false;
}

/* Excludes the time between launches, which overlaps with the previous kernels. */
static uint64_t alone_ns(const struct workload_sequence *q) {
    return q->total_ns + q->host_ns - q->tail_ns;
}

static void count_latency(struct sim *s, uint32_t job) {
    const struct sim_job *j = &s->jobs[job];
    const struct workload_job *w = &s->w->jobs[job];
    uint64_t ns = s->now_ns - j->asked_ns;
    s->r->jobs[job].latency_ns += (double)ns;
    if (s->r->jobs[job].latency) latency_add(s->r->jobs[job].latency, ns);
    if (!workload_serves(w)) return;
    latency_add(&s->r->latency, ns);
    s->r->latency_alone_ns +=
        (double)(w->kernels ? alone_ns(&s->w->sequences[j->sequence]) : j->duration_ns);
}

static void end_iteration(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    s->r->jobs[job].iterations++;
    s->r->iterations++;
    count_latency(s, job);
    for (uint32_t i = 0; i < s->config->watches_count; i++) {
        const struct sim_watch *watch = &s->config->watches[i];
        if (watch->ran) watch->ran(watch->self, job, j->lane, j->started_ns, s->now_ns);
    }
    j->iteration++;
    j->offered = j->handed = j->ended = 0;
}

static bool is_over(const struct sim *s, uint32_t job) {
    return s->w->jobs[job].iterations && s->jobs[job].iteration == s->w->jobs[job].iterations;
}

static void leave(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    say(s, SCHED_LEFT, job);
    if (j->state == SIM_ADMITTED) memcheck_left(&s->mem, job, s->now_ns);
    j->state = SIM_LEFT;
    s->r->jobs[job].end_ns = s->now_ns;
    s->left++;
}

/* An iteration is complete, and its client turns to the next one. The last iteration has no
 * boundary, because as in a worker no iteration follows. */
static void turn_to_next(struct sim *s, uint32_t job) {
    if (is_over(s, job)) return;
    if (s->w->jobs[job].boundaries) iteration_gate_begin(&s->jobs[job].iteration_gate, s->now_ns);
    plan_iteration(s, job, false);
    plan_launch(s, job);
    if (launches_now(s, job))
        launch(s, job);
    else
        look(s, job);
}

/* Offers the job's first operation, planned by turn_to_next. */
static void offer_first(struct sim *s, uint32_t job) {
    if (launches_now(s, job))
        submit(s, job);
    else
        timers_add(&s->offers, s->jobs[job].launched_ns, job);
}

/* Host time after the operations of an iteration before it counts as ended; for the last iteration,
 * also the time until the job ends. */
static uint64_t host_behind(const struct sim *s, uint32_t job) {
    const struct workload_job *w = &s->w->jobs[job];
    uint64_t ns = w->kernels ? s->w->sequences[s->jobs[job].sequence].tail_ns : 0;
    return ns + (is_over(s, job) ? w->finish_ns : 0);
}

/* Handles operations that the device has finished; `done` keeps the jobs whose iteration is
 * complete. */
static void end_operations(struct sim *s) {
    uint32_t complete = 0;
    for (uint32_t i = 0; i < s->done_count; i++)
        if (end_operation(s, s->done[i])) s->done[complete++] = s->done[i];
    s->done_count = complete;
    for (uint32_t i = 0; i < complete; i++)
        end_iteration(s, s->done[i]);
    complete = 0;
    for (uint32_t i = 0; i < s->done_count; i++) {
        uint64_t more_ns = host_behind(s, s->done[i]);
        if (more_ns)
            timers_add(&s->ends, s->now_ns + more_ns, s->done[i]);
        else
            s->done[complete++] = s->done[i];
    }
    while (timers_next(&s->ends) <= s->now_ns)
        s->done[complete++] = timers_take(&s->ends);
    s->done_count = complete;
}

int sim_gather(struct sim *s) {
    s->done_count = 0;
    if (s->now_ns >= device_next(s->dev))
        s->done_count = device_finished(s->dev, s->now_ns, s->done);
    uint32_t due = 0;
    while (s->arrived + due < s->w->count && s->w->jobs[s->arrived + due].arrival_ns <= s->now_ns)
        due++;
    if (reserve(s, 4 * (s->done_count + s->ends.jobs.count) + due + 3 * s->offers.jobs.count +
                       2 * s->moments.jobs.count + s->arrivals.jobs.count + 1))
        return -ENOMEM;
    end_operations(s);
    for (uint32_t i = 0; i < s->done_count; i++)
        turn_to_next(s, s->done[i]);
    for (uint32_t i = 0; i < s->done_count; i++)
        if (is_over(s, s->done[i])) leave(s, s->done[i]);
    for (; due > 0; due--) {
        s->jobs[s->arrived].state = SIM_WAITING;
        say(s, SCHED_JOINED, s->arrived)->spec = s->specs[s->arrived];
        s->arrived++;
    }
    for (uint32_t i = 0; i < s->done_count; i++)
        if (!is_over(s, s->done[i])) offer_first(s, s->done[i]);
    while (timers_next(&s->offers) <= s->now_ns) {
        uint32_t job = timers_take(&s->offers);
        launch(s, job);
        submit(s, job);
    }
    end_moments(s);
    end_arrivals(s);
    if (s->armed_ns <= s->now_ns) {
        s->armed_ns = SIM_NEVER;
        say(s, SCHED_TIME, 0)->job = 0;
    }
    return 0;
}

/* ---- answers to actions ---------------------------------------------------------------------- */

/* Asks for the memory that an unknown job turns out to need. Other jobs begin their first
 * iteration. */
static void ask(struct sim *s, uint32_t job) {
    s->specs[job].persistent_bytes = s->w->jobs[job].persistent_bytes;
    s->specs[job].ephemeral_bytes = s->w->jobs[job].ephemeral_bytes;
    s->jobs[job].asks = true;
    struct sched_event *e = say(s, SCHED_ASKED, job);
    e->need = need_of(s, job);
    e->patient = true;
}

static void begin_first(struct sim *s, uint32_t job) {
    plan_iteration(s, job, true);
    offer_launched(s, job);
}

/* Offers the next operation after the previous one was submitted, unless the client waits for that
 * one. */
static void offer_next(struct sim *s, uint32_t job) {
    const struct sim_job *j = &s->jobs[job];
    if (j->offered < j->ops && !waits(s, job)) offer_launched(s, job);
}

int sim_answer(struct sim *s, const struct sched_actions *actions) {
    const struct sched_action *a = actions->items, *end = a + actions->count;
    s->events_count = 0;
    if (reserve(s, actions->count)) return -ENOMEM;
    for (a = actions->items; a < end; a++)
        if (a->kind == SCHED_ADMIT && s->w->jobs[a->job - 1].unknown) ask(s, a->job - 1);
    for (a = actions->items; a < end; a++)
        if (a->kind == SCHED_REFUSE || a->kind == SCHED_DENY) leave(s, a->job - 1);
    for (a = actions->items; a < end; a++)
        if (a->kind == SCHED_RUN)
            offer_next(s, a->job - 1);
        else if (a->kind == SCHED_GRANT ||
                 (a->kind == SCHED_ADMIT && !s->w->jobs[a->job - 1].unknown))
            begin_first(s, a->job - 1);
    return 0;
}

void sim_cut(struct sim *s) {
    for (uint32_t i = 0; i < s->w->count; i++) {
        struct sim_job *j = &s->jobs[i];
        struct sim_job_result *r = &s->r->jobs[i];
        if (j->state == SIM_LEFT) continue;
        r->cut = true;
        r->end_ns = s->now_ns;
        r->part = j->ops ? (double)j->ended / j->ops : 0;
        if (j->asked_ns && j->asked_ns < s->now_ns) r->behind_ns = s->now_ns - j->asked_ns;
        if (j->state == SIM_ADMITTED) memcheck_left(&s->mem, i, s->now_ns);
    }
}
