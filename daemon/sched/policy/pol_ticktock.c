/* SPDX-License-Identifier: Apache-2.0
 *
 * Tick-Tock (Wavelet) as the Orion paper implements it (sections 6.1, 6.2.2): training jobs run the
 * forward and the backward pass of their iterations in opposite order, "synchronizing at the
 * beginning and end of the forward and backward passes". Jobs are divided into two sides. In a tick
 * one side runs forward passes, the other backward passes, and the next tick begins when every job
 * that has work has finished its pass. The end of a pass is not reported: the forward pass is
 * assumed to be the first third of an iteration's device time, as measured in the previous
 * iteration, since a backward pass costs twice as much. A job that is alone is not held back.
 *
 * A baseline: each decision examines all jobs.
 */
#include "daemon/sched/policy/policy.h"

struct job {
    uint32_t iteration;             /* iteration that the numbers below belong to */
    uint32_t started, ended, split; /* operations: sent, completed, in the forward pass */
    uint32_t next_split;
    uint64_t last_busy_ns, busy_ns; /* device time: of the previous iteration, of this one so far */
    uint8_t side;
    bool seated;
};

struct ticktock {
    uint32_t tick;
    uint32_t seated[2]; /* number of jobs on each side */
};

static struct job *job_of(const struct sched_state *st, uint32_t job) {
    return (struct job *)st->own.jobs + job;
}

/* The job's next operation belongs to the pass (forward 0, backward 1) of its side in this tick. */
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

/* Begins the next tick if all jobs that have work wait for it. */
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

/* A tick does not end while operations run. */
static void settle(const struct sched_state *st) {
    if (!st->running) look(st);
}

/* Resets the job's numbers at a new iteration. */
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

/* Assigns a job to the side with fewer jobs, or removes it. */
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
