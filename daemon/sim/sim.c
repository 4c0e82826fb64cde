/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop: the earliest time at which anything happens, its events in the scheduler's order, the
 * step, its actions; again until every job has left.
 */
#include "daemon/sim/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/sched/state.h"
#include "daemon/sim/memcheck.h"
#include "daemon/sim/prng.h"
#include "daemon/sim/simdev.h"
#include "daemon/sim/timers.h"

#define TIME_MAX (UINT64_MAX >> 2)

/* Streams of random numbers: two a job. */
enum { DRAW_DURATION, DRAW_THINK, DRAWS };

enum job_state { JOB_ABSENT, JOB_WAITING, JOB_ADMITTED, JOB_LEFT };

struct sim_job {
    uint64_t submitted_ns, started_ns, duration_ns;
    uint32_t iteration; /* the one that is offered or runs */
    uint32_t lane;
    uint8_t state;
    bool offered, running, asks;
};

struct sim {
    const struct workload *w;
    const struct sim_config *config;
    struct sim_result *r;
    struct sched *sched;
    struct simdev *dev;
    struct memcheck mem;
    struct sim_job *jobs;
    struct sched_spec *specs;
    struct timers thinking;
    struct timers copying; /* operations handed over, behind a copy */
    uint32_t *done;        /* jobs whose iteration ended now */
    uint32_t done_count, arrived, left;
    struct sched_event *events;
    uint32_t events_count, events_cap;
    uint64_t now_ns, armed_ns, link_free_ns;
    char *why;
};

__attribute__((format(printf, 3, 4))) static int fail(struct sim *s, int err, const char *fmt,
                                                      ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->why, SIM_WHY_BYTES, fmt, ap);
    va_end(ap);
    return err;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* At most four a job at a time, reserved by the caller. */
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
    if (!events) return fail(s, -ENOMEM, "out of memory");
    s->events = events;
    s->events_cap = cap;
    return 0;
}

static double draw(const struct sim *s, uint32_t job, int what, uint32_t n) {
    return prng_unit(prng_at(s->config->seed, (uint64_t)job * DRAWS + (unsigned)what, n));
}

static uint64_t duration_of(const struct sim *s, uint32_t job) {
    const struct workload_job *j = &s->w->jobs[job];
    if (!j->jitter_milli) return j->iteration_ns;
    double part =
        (2 * draw(s, job, DRAW_DURATION, s->jobs[job].iteration) - 1) * j->jitter_milli / 1000;
    uint64_t ns = (uint64_t)((double)j->iteration_ns * (1 + part));
    return ns ? ns : 1;
}

static uint64_t think_of(const struct sim *s, uint32_t job) {
    const struct workload_job *j = &s->w->jobs[job];
    if (!j->think_random) return j->think_ns;
    double ns = -log(draw(s, job, DRAW_THINK, s->jobs[job].iteration)) * (double)j->think_ns;
    return (uint64_t)ns;
}

static void submit(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    struct sched_event *e = say(s, SCHED_SUBMITTED, job);
    e->op = j->iteration;
    e->iteration = s->w->jobs[job].boundaries ? j->iteration : 0;
    j->offered = true;
    j->submitted_ns = s->now_ns;
}

/* An iteration ended: the books, and DONE. */
static void end_iteration(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    struct sim_job_result *r = &s->r->jobs[job];
    struct sched_event *e = say(s, SCHED_DONE, job);
    e->op = j->iteration;
    e->busy_ns = workload_busy_ns(&s->w->jobs[job], j->duration_ns);
    r->busy_ns += e->busy_ns;
    r->iterations++;
    s->r->iterations++;
    s->r->busy_ns += (double)e->busy_ns;
    if (s->w->jobs[job].think_ns) {
        latency_add(&s->r->latency, s->now_ns - j->submitted_ns);
        s->r->latency_alone_ns += (double)j->duration_ns;
    }
    for (uint32_t i = 0; i < s->config->watches_count; i++) {
        const struct sim_watch *watch = &s->config->watches[i];
        if (watch->ran) watch->ran(watch->self, job, j->lane, j->started_ns, s->now_ns);
    }
    memcheck_stopped(&s->mem, j->lane);
    j->running = false;
    j->iteration++;
}

static bool is_over(const struct sim *s, uint32_t job) {
    return s->jobs[job].iteration == s->w->jobs[job].iterations;
}

static void leave(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    say(s, SCHED_LEFT, job);
    if (j->state == JOB_ADMITTED) memcheck_left(&s->mem, job, s->now_ns);
    j->state = JOB_LEFT;
    s->r->jobs[job].end_ns = s->now_ns;
    s->left++;
}

/* The last iteration has none: as for a worker, nothing begins after it. */
static void end_boundaries(struct sim *s) {
    for (uint32_t i = 0; i < s->done_count; i++) {
        uint32_t job = s->done[i];
        const struct workload_job *j = &s->w->jobs[job];
        if (j->unknown && s->jobs[job].iteration == SIM_MEASURED_AFTER) {
            s->specs[job].unknown = false;
            say(s, SCHED_WORD, job)->spec = &s->specs[job];
        }
        if (j->boundaries && !is_over(s, job)) say(s, SCHED_BOUNDARY, job);
    }
}

/* In the order that sched.h asks for. */
static int gather(struct sim *s) {
    if (s->now_ns >= simdev_next(s->dev))
        s->done_count = simdev_finished(s->dev, s->now_ns, s->done);
    else
        s->done_count = 0;
    uint32_t due = 0;
    while (s->arrived + due < s->w->count && s->w->jobs[s->arrived + due].arrival_ns <= s->now_ns)
        due++;
    if (reserve(s, 4 * s->done_count + due + s->thinking.count + 1)) return -ENOMEM;
    for (uint32_t i = 0; i < s->done_count; i++)
        end_iteration(s, s->done[i]);
    end_boundaries(s);
    for (uint32_t i = 0; i < s->done_count; i++)
        if (is_over(s, s->done[i])) leave(s, s->done[i]);
    for (; due > 0; due--) {
        s->jobs[s->arrived].state = JOB_WAITING;
        say(s, SCHED_JOINED, s->arrived)->spec = &s->specs[s->arrived];
        s->arrived++;
    }
    for (uint32_t i = 0; i < s->done_count; i++) {
        uint32_t job = s->done[i];
        if (is_over(s, job)) continue;
        uint64_t think_ns = think_of(s, job);
        if (think_ns)
            timers_add(&s->thinking, s->now_ns + think_ns, job);
        else
            submit(s, job);
    }
    while (timers_next(&s->thinking) <= s->now_ns)
        submit(s, timers_take(&s->thinking));
    if (s->armed_ns <= s->now_ns) {
        s->armed_ns = SIM_NEVER;
        say(s, SCHED_TIME, 0)->job = 0;
    }
    return 0;
}

/* ---- actions --------------------------------------------------------------------------------- */

static void begin(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    struct sim_job_result *r = &s->r->jobs[job];
    j->started_ns = s->now_ns;
    j->duration_ns = duration_of(s, job);
    if (r->first_run_ns == SIM_NEVER) r->first_run_ns = s->now_ns;
    simdev_start(s->dev, s->now_ns, job, j->duration_ns);
}

static int on_run(struct sim *s, uint32_t job, uint64_t op) {
    struct sim_job *j = &s->jobs[job];
    if (j->state != JOB_ADMITTED || !j->offered || op != j->iteration)
        return fail(s, -EPROTO, "operation %" PRIu64 " of %s was run without being offered", op,
                    s->w->jobs[job].name);
    j->offered = false;
    j->running = true;
    const char *broken = memcheck_started(&s->mem, job, j->lane);
    if (broken) return fail(s, -EPROTO, "%s: %s", s->w->jobs[job].name, broken);
    if (s->link_free_ns > s->now_ns)
        timers_add(&s->copying, s->link_free_ns, job);
    else
        begin(s, job);
    return 0;
}

static void copy(struct sim *s, uint64_t bytes) {
    uint64_t rate = s->w->link_bytes;
    uint64_t ns =
        bytes / rate * 1000000000u + (uint64_t)((double)(bytes % rate) * 1e9 / (double)rate);
    if (s->link_free_ns < s->now_ns) s->link_free_ns = s->now_ns;
    s->link_free_ns += ns;
    s->r->copied_bytes += bytes;
}

static int on_admit(struct sim *s, uint32_t job, uint32_t lane) {
    struct sim_job *j = &s->jobs[job];
    if (j->state != JOB_WAITING || lane >= s->w->count)
        return fail(s, -EPROTO, "%s was admitted twice, or to no lane", s->w->jobs[job].name);
    j->state = JOB_ADMITTED;
    j->lane = lane;
    s->r->jobs[job].admitted_ns = s->now_ns;
    memcheck_admitted(&s->mem, job, lane, s->now_ns);
    return 0;
}

static int on_move(struct sim *s, uint32_t job, uint32_t lane) {
    struct sim_job *j = &s->jobs[job];
    if (j->state != JOB_ADMITTED || j->running || lane >= s->w->count)
        return fail(s, -EPROTO, "%s was moved while it runs, or to no lane", s->w->jobs[job].name);
    j->lane = lane;
    memcheck_moved(&s->mem, job, lane, s->now_ns);
    return 0;
}

static int on_answer(struct sim *s, uint32_t job, bool granted) {
    if (s->jobs[job].state != JOB_ADMITTED || !s->jobs[job].asks)
        return fail(s, -EPROTO, "%s was answered without having asked", s->w->jobs[job].name);
    s->jobs[job].asks = false;
    if (granted) {
        memcheck_granted(&s->mem, job);
        return 0;
    }
    s->r->jobs[job].refused = SCHED_WHY_MEMORY;
    s->r->refused++;
    return 0;
}

static int carry_out_one(struct sim *s, const struct sched_action *a) {
    uint32_t job = a->job - 1;
    bool of_job = a->kind != SCHED_LANE && a->kind != SCHED_ARM;
    if (of_job && job >= s->w->count) return fail(s, -EPROTO, "an action for job %u", a->job);
    switch (a->kind) {
    case SCHED_RUN: return on_run(s, job, a->op);
    case SCHED_ADMIT: return on_admit(s, job, a->lane);
    case SCHED_REFUSE:
        s->r->jobs[job].refused = a->why;
        s->r->refused++;
        break;
    case SCHED_MOVE: return on_move(s, job, a->lane);
    case SCHED_LANE:
        if (a->lane >= s->w->count) return fail(s, -EPROTO, "there is no lane %u", a->lane);
        memcheck_lane(&s->mem, a->lane, a->bytes);
        break;
    case SCHED_SWITCH: s->r->switches++; break;
    case SCHED_SPILL:
    case SCHED_RESTORE: copy(s, s->w->jobs[job].ephemeral_bytes); break;
    case SCHED_SWAP_OUT:
    case SCHED_SWAP_IN:
        copy(s, s->w->jobs[job].persistent_bytes);
        memcheck_swapped(&s->mem, job, a->kind == SCHED_SWAP_OUT);
        break;
    case SCHED_GRANT:
    case SCHED_DENY: return on_answer(s, job, a->kind == SCHED_GRANT);
    case SCHED_ARM: s->armed_ns = a->at_ns; break;
    case SCHED_LEVEL: break; /* iterations have none */
    }
    return 0;
}

/* An unknown job asks for what it turns out to need; the others offer their first iteration. */
static void ask(struct sim *s, uint32_t job) {
    s->specs[job].persistent_bytes = s->w->jobs[job].persistent_bytes;
    s->specs[job].ephemeral_bytes = s->w->jobs[job].ephemeral_bytes;
    s->jobs[job].asks = true;
    say(s, SCHED_ASKED, job)->spec = &s->specs[job];
}

/* What jobs say to an action at once, in the order that sched.h asks for. */
static void answer(struct sim *s, const struct sched_actions *actions) {
    const struct sched_action *a = actions->items, *end = a + actions->count;
    for (a = actions->items; a < end; a++)
        if (a->kind == SCHED_ADMIT && s->w->jobs[a->job - 1].unknown) ask(s, a->job - 1);
    for (a = actions->items; a < end; a++)
        if (a->kind == SCHED_REFUSE || a->kind == SCHED_DENY) leave(s, a->job - 1);
    for (a = actions->items; a < end; a++)
        if (a->kind == SCHED_GRANT || (a->kind == SCHED_ADMIT && !s->w->jobs[a->job - 1].unknown))
            submit(s, a->job - 1);
}

static int carry_out(struct sim *s, const struct sched_actions *actions) {
    for (uint32_t i = 0; i < actions->count; i++) {
        int err = carry_out_one(s, &actions->items[i]);
        if (err) return err;
    }
    const char *broken = memcheck_all(&s->mem);
    if (broken) return fail(s, -EPROTO, "%s", broken);
    s->events_count = 0;
    if (reserve(s, actions->count)) return -ENOMEM;
    answer(s, actions);
    return 0;
}

static int step(struct sim *s) {
    struct sched_actions actions;
    int err = sched_step(s->sched, s->now_ns, s->events, s->events_count, &actions);
    if (err) return fail(s, err, "sched_step: error %d", err);
    s->r->steps++;
    for (uint32_t i = 0; i < s->config->watches_count; i++) {
        const struct sim_watch *watch = &s->config->watches[i];
        if (watch->stepped)
            watch->stepped(watch->self, s->now_ns, s->events, s->events_count, &actions);
    }
    const char *broken = s->config->check ? sched_check(s->sched) : NULL;
    if (broken) return fail(s, -EPROTO, "sched_check: %s", broken);
    return carry_out(s, &actions);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t next_time(struct sim *s) {
    uint64_t at = earlier(simdev_next(s->dev), s->armed_ns);
    at = earlier(at, earlier(timers_next(&s->thinking), timers_next(&s->copying)));
    if (s->arrived < s->w->count) at = earlier(at, s->w->jobs[s->arrived].arrival_ns);
    return at > s->now_ns || at == SIM_NEVER ? at : s->now_ns;
}

static int stuck(struct sim *s) {
    uint32_t first = 0, others = 0;
    struct sched_job_view view = {0};
    for (uint32_t i = s->w->count; i-- > 0;)
        if (s->jobs[i].state != JOB_LEFT) {
            first = i;
            others++;
        }
    sched_job(s->sched, first + 1, &view);
    return fail(s, -EPROTO, "stuck after %" PRIu64 " ns: %s and %u more never go on (%s)",
                s->now_ns, s->w->jobs[first].name, others - 1, reason_why(view.why));
}

static int loop(struct sim *s) {
    while (s->left < s->w->count) {
        uint64_t at = next_time(s);
        if (at == SIM_NEVER) return stuck(s);
        if (at > TIME_MAX) return fail(s, -EOVERFLOW, "more than 146 years of virtual time");
        s->now_ns = at;
        s->events_count = 0;
        int err = gather(s);
        while (timers_next(&s->copying) <= at)
            begin(s, timers_take(&s->copying));
        while (!err && s->events_count > 0)
            err = step(s);
        if (err) return err;
    }
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void fill_specs(struct sim *s) {
    for (uint32_t i = 0; i < s->w->count; i++) {
        const struct workload_job *j = &s->w->jobs[i];
        s->specs[i] = (struct sched_spec){.weight = j->weight,
                                          .priority = j->priority,
                                          .group = j->group,
                                          .unknown = j->unknown,
                                          .admit_timeout_ns = j->admit_timeout_ns};
        if (!j->unknown) {
            s->specs[i].persistent_bytes = j->persistent_bytes;
            s->specs[i].ephemeral_bytes = j->ephemeral_bytes;
        }
        if (j->hint != WORKLOAD_HINT_NONE) s->specs[i].iterations = j->iterations;
        if (j->hint == WORKLOAD_HINT_DURATION)
            s->specs[i].duration_ns = workload_busy_ns(j, j->iteration_ns) * j->iterations;
    }
}

static int sim_init(struct sim *s) {
    uint32_t n = s->w->count;
    struct sched_config config = {.choice = s->config->choice,
                                  .capacity_bytes = s->w->memory_bytes,
                                  .chunk_bytes = SIM_CHUNK_BYTES};
    s->r->jobs = calloc(n, sizeof(*s->r->jobs));
    s->jobs = calloc(n, sizeof(*s->jobs));
    s->specs = calloc(n, sizeof(*s->specs));
    s->done = calloc(n, sizeof(*s->done));
    s->thinking.heap = calloc(n, sizeof(*s->thinking.heap));
    s->copying.heap = calloc(n, sizeof(*s->copying.heap));
    if (!s->r->jobs || !s->jobs || !s->specs || !s->done || !s->thinking.heap || !s->copying.heap ||
        simdev_create(&s->dev, s->w) || memcheck_init(&s->mem, s->w))
        return fail(s, -ENOMEM, "out of memory");
    fill_specs(s);
    for (uint32_t i = 0; i < n; i++)
        s->r->jobs[i].admitted_ns = s->r->jobs[i].first_run_ns = s->r->jobs[i].end_ns = SIM_NEVER;
    return sched_create(&s->sched, &config, s->why, SIM_WHY_BYTES);
}

int sim_run(struct sim_result *out, const struct workload *w, const struct sim_config *config,
            char *why) {
    struct sim s = {.w = w, .config = config, .r = out, .armed_ns = SIM_NEVER, .why = why};
    *out = (struct sim_result){.count = w->count, .begin_ns = w->jobs[0].arrival_ns};
    *why = '\0';
    int err = sim_init(&s);
    if (!err) err = loop(&s);
    out->end_ns = s.now_ns;
    if (s.dev) {
        out->active_ns = simdev_active_ns(s.dev);
        out->running_ns = simdev_running_ns(s.dev);
    }
    out->lanes_ns = s.mem.lanes_ns;
    sched_destroy(s.sched);
    simdev_destroy(s.dev);
    memcheck_finish(&s.mem);
    free(s.jobs);
    free(s.specs);
    free(s.done);
    free(s.thinking.heap);
    free(s.copying.heap);
    free(s.events);
    if (err) sim_result_finish(out);
    return err;
}

void sim_result_finish(struct sim_result *r) {
    free(r->jobs);
    r->jobs = NULL;
}
