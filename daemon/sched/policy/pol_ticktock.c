/* SPDX-License-Identifier: Apache-2.0
 *
 * Tick-Tock (Wavelet) as the Orion paper implements it (sections 6.1, 6.2.2): training jobs take
 * the forward and the backward pass of their iterations in opposite order, "synchronizing at the
 * beginning and end of the forward and backward passes". Jobs sit on two sides; in a tick one side
 * runs forward passes, the other backward ones, and the next tick begins when everybody who has
 * work has done his. Where a pass ends is not told to us: the forward pass is taken for the first
 * third of an iteration's device time, as seen in the iteration before, since a backward pass costs
 * twice as much. A job that is alone is not held.
 *
 * A baseline: a decision looks at all jobs.
 */
#include "daemon/sched/policy/policy.h"

struct job {
    uint32_t iteration;             /* that the numbers below are of */
    uint32_t started, ended, split; /* operations: sent, complete, in the forward pass */
    uint32_t next_split;
    uint64_t last_busy_ns, busy_ns; /* device time: of the iteration before, of this one so far */
    uint8_t side;
    bool seated;
};

struct ticktock {
    uint32_t tick;
    uint32_t seated[2]; /* jobs on each side */
};

static struct job *job_of(const struct sched_state *st, uint32_t job) {
    return (struct job *)st->own.jobs + job;
}

/* The pass that the job's next operation belongs to (forward 0, backward 1) is its side's. */
static bool in_step(const struct sched_state *st, uint32_t job) {
    const struct ticktock *t = st->own.policy;
    const struct job *j = job_of(st, job);
    return (j->started >= j->split) == ((t->tick + j->side) & 1);
}

static bool alone(const struct sched_state *st, uint32_t job) {
    return st->waiting + st->running == st->jobs[job].waiting + st->jobs[job].running;
}

static bool may(const struct sched_state *st, uint32_t op) {
    uint32_t job = st->ops[op].job;
    return in_step(st, job) || alone(st, job);
}

/* The next tick, if all who have work wait for it. */
static __attribute__((noinline)) void look(const struct sched_state *st) {
    struct ticktock *t = st->own.policy;
    bool waits = false;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        if (state_oldest(st, job) == SCHED_NONE) continue;
        if (in_step(st, job)) return;
        waits = true;
    }
    if (waits) t->tick++;
}

/* No tick ends while something runs. */
static void settle(const struct sched_state *st) {
    if (!st->running) look(st);
}

/* Its numbers begin anew with an iteration. */
static struct job *follow(const struct sched_state *st, uint32_t job) {
    struct job *j = job_of(st, job);
    if (j->iteration == st->jobs[job].iteration) return j;
    j->iteration = st->jobs[job].iteration;
    j->split = j->next_split;
    j->last_busy_ns = j->busy_ns;
    j->busy_ns = 0;
    j->started = j->ended = j->next_split = 0;
    return j;
}

static void submitted(const struct sched_state *st, uint32_t op) {
    follow(st, st->ops[op].job);
    settle(st);
}

static void started(const struct sched_state *st, uint32_t op) {
    follow(st, st->ops[op].job)->started++;
}

static void ended(const struct sched_state *st, uint32_t op) {
    struct job *j = job_of(st, st->ops[op].job);
    j->ended++;
    j->busy_ns = st->jobs[st->ops[op].job].iteration_busy_ns;
    if (3 * j->busy_ns <= j->last_busy_ns) j->next_split = j->ended;
    settle(st);
}

/* Every job has a seat while it is there, on the side that has fewer. */
static void seat(struct ticktock *t, struct job *j, bool there) {
    if (there == j->seated) return;
    if (!there) {
        t->seated[j->side]--;
        *j = (struct job){0};
        return;
    }
    j->seated = true;
    j->side = t->seated[1] < t->seated[0];
    t->seated[j->side]++;
}

static void changed(const struct sched_state *st, uint32_t job) {
    seat(st->own.policy, job_of(st, job), !st->jobs[job].left);
    follow(st, job);
    settle(st);
}

const struct policy pol_ticktock = {
    .name = "ticktock",
    .own_bytes = sizeof(struct ticktock),
    .job_bytes = sizeof(struct job),
    .may = may,
    .submitted = submitted,
    .started = started,
    .ended = ended,
    .changed = changed,
};
