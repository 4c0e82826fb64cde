/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares of the device: the scheduler itself with worlds of trainings and services, in lanes. The
 * device runs one operation after the other; the test sets its time.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/check.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/state.h"

#define US 1000ull
#define MS (1000 * US)
#define JOBS 8
#define QUEUE 4096
#define PHASE_NS (10000 * MS)
#define NEVER UINT64_MAX

struct job {
    /* Parameters of the job. */
    uint32_t weight, ops; /* operations of an iteration */
    /* duration of one operation; time from the end of an iteration to the next */
    uint64_t op_ns, think_ns;
    uint64_t period_ns; /* mean time between a service's requests; 0: a training */
    uint64_t persistent, ephemeral;
    bool ahead; /* submits the next iteration before this one has ended */
    int32_t priority;
    uint64_t slo_ns;
    uint64_t endless_from; /* time from which the job's operations never end; 0: they always end */
    /* The job's progress. */
    bool here, admitted;
    /* current iteration; its submitted operations; its operations that are not complete */
    uint32_t iteration, sent, left;
    uint64_t wake_ns, arrives_ns;
    uint64_t used_ns; /* device time */
};

struct world {
    struct sched *s;
    uint64_t now_ns, seed, timer_ns;
    struct job jobs[JOBS];
    struct {
        uint32_t job;
        uint64_t op, ns;
    } queue[QUEUE];
    uint32_t head, tail;
    uint64_t done_ns; /* completion time of the queue's head */
    uint64_t next_op;
    /* device time; time in which the device idled while an operation waited */
    uint64_t busy_ns, idle_ns;
    struct sched_event events[QUEUE];
    uint32_t count;
};

static uint64_t rnd(struct world *w, uint64_t below) {
    w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (w->seed >> 33) % below;
}

static struct sched_event *event(struct world *w, uint32_t job, enum sched_event_kind kind) {
    cr_assert_lt(w->count, QUEUE);
    struct sched_event *e = &w->events[w->count++];
    *e = (struct sched_event){.kind = kind, .job = job};
    return e;
}

static struct world *begin(struct policy_config policy, uint64_t seed) {
    struct world *w = calloc(1, sizeof(*w));
    char why[160] = "";
    if (!policy.exclusive) policy.exclusive = -1;
    policy.swap = policy.priorities = policy.by_class = policy.by_size = -1;
    struct sched_config config = {.policy = policy, .capacity_bytes = 1000, .chunk_bytes = 1};
    cr_assert_eq(sched_create(&w->s, &config, why, sizeof(why)), 0, "%s", why);
    w->seed = seed;
    w->done_ns = w->timer_ns = NEVER;
    return w;
}

static void end(struct world *w) {
    sched_destroy(w->s);
    free(w);
}

/* ---- the jobs' behaviour --------------------------------------------------------------------- */

static void join(struct world *w, uint32_t job, struct job j) {
    j.here = true;
    j.wake_ns = w->now_ns;
    j.arrives_ns = w->now_ns;
    w->jobs[job] = j;
    event(w, job, SCHED_JOINED)->spec = (struct sched_spec){.weight = j.weight,
                                                            .priority = j.priority,
                                                            .slo_ns = j.slo_ns,
                                                            .persistent_bytes = j.persistent,
                                                            .ephemeral_bytes = j.ephemeral};
}

static void leave(struct world *w, uint32_t job) {
    w->jobs[job].here = false;
    event(w, job, SCHED_LEFT);
}

static void send_iteration(struct world *w, uint32_t job) {
    struct job *j = &w->jobs[job];
    for (uint32_t i = 0; i < j->ops; i++) {
        struct sched_event *e = event(w, job, SCHED_SUBMITTED);
        e->submitted.op = w->next_op++;
        e->submitted.kernel = (struct sched_kernel){.mean_ns = j->op_ns, .sms = 1};
        e->submitted.iteration = j->sent;
    }
    if (j->sent++ == j->iteration) j->left = j->ops;
}

/* Requests arrive independently of the answers to earlier ones. */
static uint64_t next_request(struct world *w, struct job *j) {
    j->arrives_ns += j->period_ns;
    return j->arrives_ns > w->now_ns ? j->arrives_ns : w->now_ns;
}

static void wake(struct world *w, uint32_t job) {
    struct job *j = &w->jobs[job];
    j->wake_ns = NEVER;
    if (!j->here) return;
    while (j->sent <= j->iteration + j->ahead)
        send_iteration(w, job);
}

static void op_done(struct world *w, uint32_t job) {
    struct job *j = &w->jobs[job];
    if (!j->here || --j->left) return;
    event(w, job, SCHED_BOUNDARY);
    j->iteration++;
    if (j->sent > j->iteration) j->left = j->ops;
    j->wake_ns = j->period_ns ? next_request(w, j) : w->now_ns + j->think_ns;
}

/* ---- the device ------------------------------------------------------------------------------ */

static void start_head(struct world *w) {
    uint32_t job = w->queue[w->head % QUEUE].job;
    bool ends = !w->jobs[job].endless_from || w->now_ns < w->jobs[job].endless_from;
    bool runs = w->head != w->tail && ends;
    w->done_ns = runs ? w->now_ns + w->queue[w->head % QUEUE].ns : NEVER;
}

static void finish_head(struct world *w) {
    uint32_t at = w->head++ % QUEUE, job = w->queue[at].job;
    struct sched_event *e = event(w, job, SCHED_DONE);
    e->done.op = w->queue[at].op;
    e->done.busy_ns = w->queue[at].ns;
    w->jobs[job].used_ns += w->queue[at].ns;
    w->busy_ns += w->queue[at].ns;
    start_head(w);
    op_done(w, job);
}

static void carry_out(struct world *w, const struct sched_action *a) {
    if (a->kind == SCHED_REJECT) cr_assert_fail("%s", sched_fault_text(a->rejected.fault));
    if (a->kind == SCHED_ARM) w->timer_ns = a->at_ns;
    if (a->kind != SCHED_RUN) return;
    bool idle = w->head == w->tail;
    uint32_t at = w->tail++ % QUEUE;
    cr_assert_leq(w->tail - w->head, QUEUE);
    w->queue[at].job = a->job;
    w->queue[at].op = a->op;
    w->queue[at].ns = w->jobs[a->job].op_ns;
    if (idle) start_head(w);
}

static void step(struct world *w) {
    struct sched_actions actions;
    if (w->timer_ns <= w->now_ns) w->timer_ns = NEVER;
    cr_assert_eq(sched_step(w->s, w->now_ns, w->events, w->count, &actions), 0);
    w->count = 0;
    for (uint32_t i = 0; i < actions.count; i++)
        carry_out(w, &actions.items[i]);
    const char *broken = sched_check(w->s);
    cr_assert_null(broken, "%s", broken);
}

static bool one_waits(const struct world *w) {
    return sched_view(w->s)->waiting > 0;
}

static void run_until(struct world *w, uint64_t end_ns) {
    step(w);
    for (;;) {
        uint64_t next = w->done_ns < w->timer_ns ? w->done_ns : w->timer_ns;
        for (uint32_t i = 0; i < JOBS; i++)
            if (w->jobs[i].here && w->jobs[i].wake_ns < next) next = w->jobs[i].wake_ns;
        if (next < w->now_ns) next = w->now_ns;
        if (next >= end_ns) break;
        if (w->head == w->tail && one_waits(w)) w->idle_ns += next - w->now_ns;
        w->now_ns = next;
        if (w->done_ns <= next) finish_head(w);
        for (uint32_t i = 0; i < JOBS; i++)
            if (w->jobs[i].here && w->jobs[i].wake_ns <= next) wake(w, i);
        step(w);
    }
    w->now_ns = end_ns;
}

static void clear_counts(struct world *w) {
    w->busy_ns = w->idle_ns = 0;
    for (uint32_t i = 0; i < JOBS; i++)
        w->jobs[i].used_ns = 0;
}

/* ---- due shares ------------------------------------------------------------------------------ */

/* Device time that the job would use alone during PHASE_NS. */
static double demand(const struct job *j) {
    double work = (double)j->ops * (double)j->op_ns;
    if (j->period_ns) return PHASE_NS / (double)j->period_ns * work;
    return j->ahead ? PHASE_NS : PHASE_NS * work / (work + (double)j->think_ns);
}

/* Weighted max-min shares of the device time: a job that wants less than its part gets all it
 * wants, and the others share the rest by their weights. */
static void dues(const struct world *w, double due[JOBS]) {
    double left = (double)w->busy_ns, weights = 0;
    bool open[JOBS];
    for (uint32_t i = 0; i < JOBS; i++) {
        open[i] = w->jobs[i].here;
        due[i] = 0;
        if (open[i]) weights += w->jobs[i].weight;
    }
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < JOBS; i++) {
            double want = demand(&w->jobs[i]);
            if (!open[i] || want > left * w->jobs[i].weight / weights) continue;
            due[i] = want;
            left -= want;
            weights -= w->jobs[i].weight;
            open[i] = false;
            again = true;
        }
    }
    for (uint32_t i = 0; i < JOBS; i++)
        if (open[i]) due[i] = left * w->jobs[i].weight / weights;
}

/* Expects that each job got its due share of the device time since the latest clear_counts. */
static void expect_shares(struct world *w, const char *what) {
    double due[JOBS];
    dues(w, due);
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct job *j = &w->jobs[i];
        if (!j->here) continue;
        double got = (double)j->used_ns, wrong = got > due[i] ? got - due[i] : due[i] - got;
        /* The measurement may contain one iteration more or less. */
        double bound = due[i] * 0.05 + (double)(j->ops * j->op_ns);
        cr_expect_leq(wrong, bound, "%s: job %u of weight %u got %.0f ms and was due %.0f ms", what,
                      i, j->weight, got / MS, due[i] / MS);
    }
}

/* ---- trainings ------------------------------------------------------------------------------- */

static struct job training(uint32_t weight, uint32_t ops, uint64_t op_ns, uint64_t think_ns) {
    return (struct job){.weight = weight, .ops = ops, .op_ns = op_ns, .think_ns = think_ns};
}

static struct job pipelined(uint32_t weight, uint32_t ops, uint64_t op_ns) {
    struct job j = training(weight, ops, op_ns, 0);
    j.ahead = true;
    return j;
}

Test(sched_share, weights_count_between_lanes) {
    struct world *w = begin((struct policy_config){0}, 1);
    join(w, 0, pipelined(9, 4, MS));
    join(w, 1, pipelined(1, 4, MS));
    run_until(w, PHASE_NS);
    expect_shares(w, "pipelined");
    cr_expect_eq(w->idle_ns, 0, "nobody waits while the device idles");
    end(w);
}

/* The job's host turns a result into the next launch. If others' kernels were started meanwhile,
 * the job would get only every other turn. */
Test(sched_share, a_short_pause_loses_nothing) {
    struct world *w = begin((struct policy_config){0}, 1);
    join(w, 0, training(9, 1, 8 * MS, 300 * US));
    join(w, 1, training(1, 1, 8 * MS, 300 * US));
    run_until(w, PHASE_NS);
    expect_shares(w, "pausing");
    cr_expect_lt(w->idle_ns, PHASE_NS / 20, "idled for %" PRIu64 " ms", w->idle_ns / MS);
    end(w);
}

/* Three jobs in two lanes; one of them has little work between two pauses. */
static struct world *little_work(uint64_t think_ns, struct job b) {
    struct world *w = begin((struct policy_config){.max_lanes = 2}, 1);
    struct job a = training(8, 10, 500 * US, think_ns), c = training(8, 5, 2 * MS, think_ns);
    a.ephemeral = 100;
    b.ephemeral = 150;
    c.ephemeral = 300;
    join(w, 0, a);
    join(w, 1, b);
    join(w, 2, c);
    run_until(w, PHASE_NS);
    return w;
}

Test(sched_share, little_work_and_a_pause_nearly_as_long_lose_nothing) {
    struct world *w = little_work(500 * US, training(5, 3, 250 * US, 500 * US));
    expect_shares(w, "little work");
    cr_expect_lt(w->idle_ns, PHASE_NS / 20, "idled for %" PRIu64 " ms", w->idle_ns / MS);
    end(w);
}

Test(sched_share, a_twentieth_of_the_time_is_spent_on_pauses_at_most) {
    struct world *w = little_work(700 * US, training(9, 3, 250 * US, 700 * US));
    cr_expect_lt(w->idle_ns, PHASE_NS * 6 / 100, "idled for %" PRIu64 " ms", w->idle_ns / MS);
    cr_expect_gt(w->idle_ns, PHASE_NS * 4 / 100, "idled for %" PRIu64 " ms", w->idle_ns / MS);
    end(w);
}

/* The device does not wait for a job with long pauses. */
Test(sched_share, long_pauses_are_others) {
    struct world *w = begin((struct policy_config){0}, 1);
    join(w, 0, training(9, 1, 8 * MS, 8 * MS));
    join(w, 1, pipelined(1, 4, MS));
    run_until(w, PHASE_NS);
    cr_expect_lt(w->idle_ns, PHASE_NS / 200, "idled for %" PRIu64 " ms", w->idle_ns / MS);
    cr_expect_gt(w->jobs[0].used_ns, PHASE_NS * 45 / 100,
                 "it is served at once when it comes back");
    end(w);
}

/* Jobs 0 and 1 share a lane, job 2 has one of its own: each gets a third. */
Test(sched_share, a_lane_of_two_is_two) {
    struct world *w = begin((struct policy_config){.max_lanes = 2}, 1);
    for (uint32_t i = 0; i < 3; i++) {
        struct job j = pipelined(1, 10, MS);
        j.ephemeral = i == 2 ? 500 : 300;
        join(w, i, j);
    }
    run_until(w, PHASE_NS);
    struct sched_job_view a, b, c;
    sched_job(w->s, 0, &a);
    sched_job(w->s, 1, &b);
    sched_job(w->s, 2, &c);
    cr_expect(a.lane == b.lane || b.lane == c.lane || a.lane == c.lane);
    expect_shares(w, "two lanes of three jobs");
    end(w);
}

static void try_newcomer(struct policy_config policy) {
    struct world *w = begin(policy, 1);
    join(w, 0, pipelined(1, 4, MS));
    run_until(w, 10 * PHASE_NS);
    join(w, 1, pipelined(1, 4, MS));
    clear_counts(w);
    run_until(w, w->now_ns + PHASE_NS / 10);
    expect_shares(w, "after a newcomer");
    leave(w, 1);
    clear_counts(w);
    run_until(w, w->now_ns + PHASE_NS);
    cr_expect_gt(w->busy_ns, PHASE_NS - 2 * MS, "who stays gets all");
    end(w);
}

Test(sched_share, a_newcomer_neither_starves_nor_is_starved) {
    try_newcomer((struct policy_config){0});
    try_newcomer((struct policy_config){.exclusive = 1});
}

/* Device time that an absent job did not want is not made up for. */
Test(sched_share, who_was_away_comes_back_with_a_tenth_of_a_lease_at_most) {
    struct world *w = begin((struct policy_config){.lease_ns = 1000 * MS}, 1);
    join(w, 0, pipelined(1, 4, MS));
    join(w, 1, pipelined(1, 4, MS));
    run_until(w, PHASE_NS);
    w->jobs[1].ahead = false;
    w->jobs[1].think_ns = PHASE_NS;
    run_until(w, 2 * PHASE_NS);
    w->jobs[1].ahead = true;
    w->jobs[1].think_ns = 0;
    w->jobs[1].wake_ns = w->now_ns;
    clear_counts(w);
    run_until(w, w->now_ns + 1000 * MS);
    cr_expect_leq(w->jobs[1].used_ns, 500 * MS + 60 * MS);
    cr_expect_geq(w->jobs[1].used_ns, 500 * MS);
    end(w);
}

/* ---- services -------------------------------------------------------------------------------- */

static struct job service(uint32_t weight, uint32_t ops, uint64_t op_ns, uint64_t period_ns) {
    return (struct job){.weight = weight, .ops = ops, .op_ns = op_ns, .period_ns = period_ns};
}

Test(sched_share, a_service_gets_what_it_wants_of_its_part) {
    struct world *w = begin((struct policy_config){0}, 1);
    join(w, 0, service(1, 4, 500 * US, 20 * MS));
    join(w, 1, pipelined(1, 10, MS));
    run_until(w, PHASE_NS);
    expect_shares(w, "a service of a tenth");
    cr_expect_lt(w->idle_ns, PHASE_NS / 500, "idled for %" PRIu64 " us", w->idle_ns / US);
    end(w);
}

/* Device time of a service that wants four fifths of the device and whose due share is a tenth. */
static uint64_t served(const char *lane, const char *control, int32_t priority, uint64_t slo_ns) {
    struct policy_config policy = {.inflight_cap = 1};
    snprintf(policy.lane, sizeof(policy.lane), "%s", lane);
    snprintf(policy.control, sizeof(policy.control), "%s", control);
    struct world *w = begin(policy, 1);
    struct job j = service(1, 4, MS, 5 * MS);
    j.priority = priority;
    j.slo_ns = slo_ns;
    join(w, 0, j);
    join(w, 1, pipelined(9, 10, MS));
    run_until(w, PHASE_NS);
    uint64_t used_ns = w->jobs[0].used_ns;
    end(w);
    return used_ns;
}

/* The job gets as much as under pack, which does not balance jobs by weight. */
Test(sched_share, high_priority_is_not_held_back) {
    uint64_t fair_ns = served("fair", "open", 1, 0), pack_ns = served("pack", "open", 1, 0);
    cr_expect_geq(fair_ns, pack_ns);
    cr_expect_gt(fair_ns, PHASE_NS * 4 / 10, "%" PRIu64 " ms", fair_ns / MS);
}

/* A latency goal counts only if a controller holds it. */
Test(sched_share, a_promise_is_not_held_back_where_a_controller_keeps_it) {
    uint64_t kept_ns = served("fair", "gpucolo", 0, 100 * MS);
    uint64_t open_ns = served("fair", "open", 0, 100 * MS);
    cr_expect_gt(kept_ns, PHASE_NS * 4 / 10, "%" PRIu64 " ms", kept_ns / MS);
    cr_expect_lt(open_ns, PHASE_NS * 2 / 10, "%" PRIu64 " ms", open_ns / MS);
}

/* ---- hostile jobs ---------------------------------------------------------------------------- */

/* A kernel that does not end is charged while it runs: the device would run others beside it. */
Test(sched_share, a_kernel_without_an_end_holds_nobody_back) {
    struct world *w = begin((struct policy_config){0}, 1);
    struct job j = training(9, 1, MS, 0);
    j.endless_from = PHASE_NS;
    join(w, 0, j);
    join(w, 1, training(1, 8, MS, 0));
    run_until(w, 2 * PHASE_NS);
    cr_expect_eq(sched_view(w->s)->waiting, 0, "the other one's operations are sent");
    cr_expect_gt(w->tail - w->head, 1);
    end(w);
}

/* ---- mixes ----------------------------------------------------------------------------------- */

static struct job any_job(struct world *w) {
    uint64_t op_ns = (50 + rnd(w, 5000)) * US;
    struct job j = pipelined(1 + (uint32_t)rnd(w, 9), 1 + (uint32_t)rnd(w, 10), op_ns);
    uint64_t work = j.ops * op_ns;
    uint32_t kind = (uint32_t)rnd(w, 4);
    if (kind == 0) { /* the host pauses for up to an eighth of the work */
        j.ahead = false;
        j.think_ns = rnd(w, work / 8 < MS ? work / 8 : MS);
    } else if (kind == 1) { /* a service of at most a twentieth of the device */
        j = service(j.weight, j.ops, op_ns, work * (20 + rnd(w, 80)));
    }
    if (rnd(w, 2)) j.ephemeral = 100 + rnd(w, 100);
    j.persistent = rnd(w, 50);
    return j;
}

static void run_mix(uint64_t seed) {
    char what[64];
    struct world *w = begin((struct policy_config){0}, seed);
    struct policy_config policy = {.max_lanes = (uint32_t)rnd(w, 4)};
    end(w);
    w = begin(policy, seed);
    uint32_t count = 2 + (uint32_t)rnd(w, 5);
    for (uint32_t i = 0; i < count; i++)
        join(w, i, any_job(w));
    for (uint32_t phase = 0; phase < 3; phase++) {
        if (phase == 1) join(w, count, any_job(w));
        if (phase == 2) leave(w, (uint32_t)rnd(w, count));
        run_until(w, w->now_ns + PHASE_NS / 10);
        clear_counts(w);
        run_until(w, w->now_ns + PHASE_NS);
        snprintf(what, sizeof(what), "mix %" PRIu64 ", phase %u", seed, phase);
        expect_shares(w, what);
        cr_expect_lt(w->idle_ns, PHASE_NS / 20, "%s: idled for %" PRIu64 " ms", what,
                     w->idle_ns / MS);
    }
    end(w);
}

Test(sched_share, twenty_mixes_get_what_they_are_due) {
    for (uint64_t seed = 1; seed <= 20; seed++)
        run_mix(seed);
}
