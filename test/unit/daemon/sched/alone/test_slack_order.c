/* SPDX-License-Identifier: Apache-2.0
 *
 * The slack policy compared with its model (slackscan.h): two schedulers get the same events of
 * random worlds, and must answer the same, action by action. A world has requests with unknown
 * kernels, with known ones, that pause for their host, that queue up or arrive in time; best-effort
 * jobs with kernels of many kinds and copies; and jobs that come, leave, pause and change their
 * class.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon/sched/core/check.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/sched.h"
#include "daemon/sched/state.h"
#include "test/lib/part.h"
#include "test/lib/sched/slackscan.h"

/* Replaces the daemon's table of policies, which does not contain the model. */
static bool modelled;

const struct policy *policy_at(uint32_t index) {
    if (index) return NULL;
    return modelled ? &slackscan : &pol_slack;
}

const struct policy *policy_find(const char *name) {
    return strcmp(name, "slack") == 0 ? policy_at(0) : NULL;
}

/* ---- a world --------------------------------------------------------------------------------- */

#define JOBS 48u
#define FLIGHT 64u /* most operations of a job on the device */
#define EVENTS (8u * JOBS)
#define KINDS 24u
#define REQUEST 12u /* most kernels of a request */

struct flight {
    uint64_t op, end_ns;
};

struct job {
    bool there, high, paused;
    struct sched_kernel steps[REQUEST]; /* kernels of a request */
    /* kernels submitted and completed, of the current iteration */
    uint32_t steps_count, sent, done;
    uint32_t iteration;
    uint64_t next_ns;   /* time of the job's next action */
    uint64_t period_ns; /* period of the requests; 0: at random */
    uint64_t due_ns;    /* due time of the next periodic request */
    struct flight flight[FLIGHT];
    uint32_t flying;
};

struct world {
    struct sched *ours, *model;
    struct job jobs[JOBS];
    struct sched_kernel kinds[KINDS];
    uint64_t seed, now_ns, arm_ns, next_op, ran, held;
    uint64_t print; /* checksum of the actions and their times */
    struct sched_event events[EVENTS];
    uint32_t count;
};

static uint32_t rnd(struct world *w, uint32_t below) {
    w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((w->seed >> 33) % below);
}

static struct sched_kernel kernel(struct world *w, uint32_t most_ns) {
    struct sched_kernel k = {.class = rnd(w, 3), .sms = 1 + rnd(w, rnd(w, 2) ? 30 : 200)};
    if (rnd(w, 10) == 0) return k; /* a kernel without a profile */
    k.mean_ns = 1000 + rnd(w, rnd(w, 3) ? 60000 : most_ns);
    k.tail_ns = k.mean_ns + rnd(w, 1000);
    if (rnd(w, 3) == 0) k.compute_milli = rnd(w, 900);
    return k;
}

static struct sched_event *say(struct world *w, enum sched_event_kind kind, uint32_t job) {
    struct sched_event *e = &w->events[w->count++];
    *e = (struct sched_event){.kind = kind, .job = job + 1};
    return e;
}

static struct sched_spec spec_of(const struct job *j) {
    return (struct sched_spec){.priority = j->high, .paused = j->paused, .request_ns = 0};
}

static void join(struct world *w, uint32_t job) {
    struct job *j = &w->jobs[job];
    *j = (struct job){.there = true, .high = job == 0 || rnd(w, 12) == 0};
    j->steps_count = 1 + rnd(w, REQUEST);
    for (uint32_t i = 0; i < j->steps_count; i++)
        j->steps[i] = j->high ? kernel(w, 60000) : w->kinds[rnd(w, KINDS)];
    j->period_ns = rnd(w, 4) ? 800000 + rnd(w, 1200000) : 0;
    j->next_ns = j->due_ns = w->now_ns + rnd(w, 100000);
    say(w, SCHED_JOINED, job)->spec = spec_of(j);
}

/* The time until the next request: none, until its period, or a random time. */
static uint64_t pause(struct world *w, struct job *j) {
    if (j->period_ns) {
        while (j->due_ns <= w->now_ns)
            j->due_ns += j->period_ns;
        return rnd(w, 100) ? j->due_ns : j->due_ns + rnd(w, 3000000);
    }
    return w->now_ns + (rnd(w, 3) ? rnd(w, 300000) : 0);
}

static void submit(struct world *w, uint32_t job) {
    struct job *j = &w->jobs[job];
    struct sched_event *e = say(w, SCHED_SUBMITTED, job);
    e->submitted.op = ++w->next_op;
    e->submitted.iteration = j->iteration;
    e->submitted.kernel = rnd(w, 12) ? j->steps[j->sent % j->steps_count]
                                     : (struct sched_kernel){.class = SCHED_CLASS_COPY};
    if (!j->high && rnd(w, 4) == 0 && e->submitted.kernel.class != SCHED_CLASS_COPY)
        e->submitted.kernel = w->kinds[rnd(w, KINDS)];
    j->sent++;
}

static void end_flights(struct world *w, uint32_t job) {
    struct job *j = &w->jobs[job];
    while (j->flying && j->flight[0].end_ns <= w->now_ns) {
        struct sched_event *e = say(w, SCHED_DONE, job);
        e->done.op = j->flight[0].op;
        e->done.busy_ns = 1000 + rnd(w, 20000);
        j->done++;
        memmove(j->flight, j->flight + 1, --j->flying * sizeof(*j->flight));
        if (w->count > EVENTS - 4 * JOBS) return;
    }
}

/* The host sends everything at once, or waits between two launches, sometimes too long for a
 * request. */
static void act(struct world *w, uint32_t job) {
    struct job *j = &w->jobs[job];
    end_flights(w, job);
    if (!j->there) {
        if (!j->flying && rnd(w, 40) == 0) join(w, job);
        return;
    }
    if (rnd(w, 3000) == 0 && job) {
        j->there = false;
        say(w, SCHED_LEFT, job);
        return;
    }
    if (rnd(w, 500) == 0) {
        if (rnd(w, 2) && job)
            j->high = !j->high;
        else
            j->paused = !j->paused;
        say(w, SCHED_SET, job)->spec = spec_of(j);
    }
    if (w->now_ns < j->next_ns) return;
    if (j->sent == j->steps_count && j->done == j->sent) {
        say(w, SCHED_BOUNDARY, job);
        j->iteration++;
        j->sent = j->done = 0;
        j->next_ns = pause(w, j);
    } else if (j->sent < j->steps_count) {
        submit(w, job);
        if (rnd(w, 4) == 0) j->next_ns = w->now_ns + rnd(w, rnd(w, 8) ? 30000 : 200000);
    }
}

/* ---- policy and model ------------------------------------------------------------------------ */

static struct sched *make(bool model, int foresee) {
    struct sched *s;
    struct sched_config config = {.policy = {.lane = "pack",
                                             .kernel = "slack",
                                             .exclusive = -1,
                                             .swap = -1,
                                             .by_class = -1,
                                             .by_size = -1,
                                             .priorities = -1,
                                             .slack = 30,
                                             .foresee = foresee}};
    modelled = model;
    cr_assert_eq(sched_create(&s, &config, NULL, 0), 0);
    modelled = false;
    return s;
}

static bool is_same(const struct sched_action *a, const struct sched_action *b) {
    if (a->kind != b->kind || a->job != b->job || a->lane != b->lane) return false;
    if (a->kind == SCHED_RUN) return a->op == b->op;
    return a->kind != SCHED_ARM || a->at_ns == b->at_ns;
}

static void fly(struct world *w, const struct sched_action *a) {
    struct job *j = &w->jobs[a->job - 1];
    uint64_t from = j->flying ? j->flight[j->flying - 1].end_ns : w->now_ns;
    cr_assert_lt(j->flying, FLIGHT);
    j->flight[j->flying++] = (struct flight){a->op, from + 1000 + rnd(w, 60000)};
    w->ran++;
    w->print = w->print * 6364136223846793005ull + (a->op ^ w->now_ns << 20);
}

static void step(struct world *w) {
    struct sched_actions ours, model;
    cr_assert_eq(sched_step(w->ours, w->now_ns, w->events, w->count, &ours), 0);
    cr_assert_eq(sched_step(w->model, w->now_ns, w->events, w->count, &model), 0);
    cr_assert_null(sched_check(w->ours), "%s", sched_check(w->ours));
    cr_assert_eq(ours.count, model.count, "at %lu: %u actions, the model has %u",
                 (unsigned long)w->now_ns, ours.count, model.count);
    for (uint32_t i = 0; i < ours.count; i++) {
        cr_assert(is_same(&ours.items[i], &model.items[i]), "at %lu, action %u: of job %u and %u",
                  (unsigned long)w->now_ns, i, ours.items[i].job, model.items[i].job);
        cr_assert_neq(ours.items[i].kind, SCHED_REJECT);
        if (ours.items[i].kind == SCHED_RUN) fly(w, &ours.items[i]);
        if (ours.items[i].kind == SCHED_ARM) w->arm_ns = ours.items[i].at_ns;
    }
    w->held += sched_view(w->ours)->waiting > 0;
}

static void play(struct world *w, uint64_t seed, uint32_t steps, int foresee) {
    *w = (struct world){.seed = seed, .arm_ns = UINT64_MAX};
    w->ours = make(false, foresee);
    w->model = make(true, foresee);
    for (uint32_t i = 0; i < KINDS; i++)
        w->kinds[i] = kernel(w, 600000);
    for (uint32_t i = 0; i < steps; i++) {
        w->count = 0;
        w->now_ns += rnd(w, 8) ? rnd(w, 4000) : rnd(w, 60000);
        if (w->arm_ns < w->now_ns) w->now_ns = w->arm_ns;
        if (w->arm_ns == w->now_ns) w->arm_ns = UINT64_MAX;
        for (uint32_t k = 0; k < JOBS && w->count <= EVENTS - 4 * JOBS; k++)
            act(w, (k + i) % JOBS);
        step(w);
    }
    sched_destroy(w->ours);
    sched_destroy(w->model);
}

Test(slack_order, queues_choose_as_the_scan_does) {
    static struct world w;
    uint64_t ran = 0, held = 0, worlds = part_of(12);
    for (uint64_t seed = 1; seed <= worlds; seed++) {
        play(&w, seed, 9000, 0);
        ran += w.ran;
        held += w.held;
    }
    cr_expect_gt(ran, worlds * 4000, "something ran: %lu", (unsigned long)ran);
    cr_expect_gt(held, worlds * 800, "somebody waited: %lu", (unsigned long)held);
}

Test(slack_order, so_they_do_with_requests_that_are_foreseen) {
    static struct world with, without;
    uint32_t other = 0, worlds = part_of(8);
    for (uint64_t seed = 1; seed <= worlds; seed++) {
        play(&with, seed, 12000, 1);
        play(&without, seed, 12000, 0);
        other += with.print != without.print;
    }
    cr_expect_gt(other, worlds / 2, "foreseeing changed %u worlds of %u", other, worlds);
}
