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
#include <errno.h>
#include <stdlib.h>

#include "daemon/sched/policy/policy.h"

struct ticktock_job {
    uint32_t iteration;             /* that the numbers below are of */
    uint32_t started, ended, split; /* operations: sent, complete, in the forward pass */
    uint32_t next_split;
    uint64_t last_busy_ns, busy_ns; /* device time: of the iteration before, of this one so far */
    uint8_t side;
    bool seated;
};

struct ticktock {
    struct ticktock_job *jobs;
    uint32_t cap;
    uint32_t tick;
    uint32_t seated[2]; /* jobs on each side */
};

static int ticktock_init(void *self, const struct sched_state *st) {
    return 0;
}

static void ticktock_fini(void *self) {
    struct ticktock *t = self;
    free(t->jobs);
}

static int ticktock_reserve(void *self, uint32_t jobs) {
    struct ticktock *t = self;
    if (jobs <= t->cap) return 0;
    struct ticktock_job *grown = realloc(t->jobs, jobs * sizeof(*grown));
    if (!grown) return -ENOMEM;
    for (uint32_t i = t->cap; i < jobs; i++)
        grown[i] = (struct ticktock_job){0};
    t->jobs = grown;
    t->cap = jobs;
    return 0;
}

static bool ticktock_memory(void *self, memory_visit *visit, void *arg) {
    struct ticktock *t = self;
    return visit(arg, (void **)&t->jobs, t->cap * sizeof(*t->jobs));
}

/* Forward 0, backward 1: the pass that the job's next operation belongs to. */
static uint32_t ticktock_pass(const struct ticktock *t, uint32_t job) {
    return t->jobs[job].started >= t->jobs[job].split;
}

static bool ticktock_may(const struct ticktock *t, uint32_t job) {
    return ticktock_pass(t, job) == ((t->tick + t->jobs[job].side) & 1);
}

/* The next tick, when nothing runs and all who have work wait for it. */
static void ticktock_settle(struct ticktock *t, const struct sched_state *st) {
    bool waits = false;
    if (st->running) return;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        if (state_oldest(st, job) == SCHED_NONE) continue;
        if (ticktock_may(t, job)) return;
        waits = true;
    }
    if (waits) t->tick++;
}

static bool ticktock_alone(const struct sched_state *st, uint32_t job) {
    return st->waiting + st->running == st->jobs[job].waiting + st->jobs[job].running;
}

/* Its numbers begin anew with an iteration. */
static void ticktock_follow(struct ticktock *t, const struct sched_state *st, uint32_t job) {
    struct ticktock_job *j = &t->jobs[job];
    if (j->iteration == st->jobs[job].iteration) return;
    j->iteration = st->jobs[job].iteration;
    j->split = j->next_split;
    j->last_busy_ns = j->busy_ns;
    j->busy_ns = 0;
    j->started = j->ended = j->next_split = 0;
}

static void ticktock_moved(void *self, const struct sched_state *st, uint32_t op) {
    ticktock_follow(self, st, st->ops[op].job);
    ticktock_settle(self, st);
}

static void ticktock_started(void *self, const struct sched_state *st, uint32_t op) {
    struct ticktock *t = self;
    ticktock_follow(t, st, st->ops[op].job);
    t->jobs[st->ops[op].job].started++;
}

static void ticktock_ended(void *self, const struct sched_state *st, uint32_t op) {
    struct ticktock *t = self;
    struct ticktock_job *j = &t->jobs[st->ops[op].job];
    j->ended++;
    j->busy_ns = st->jobs[st->ops[op].job].iteration_busy_ns;
    if (3 * j->busy_ns <= j->last_busy_ns) j->next_split = j->ended;
    ticktock_settle(t, st);
}

/* Every job has a seat while it is there, on the side that has fewer. */
static void ticktock_seat(struct ticktock *t, struct ticktock_job *j, bool there) {
    if (there == j->seated) return;
    if (!there) {
        t->seated[j->side]--;
        *j = (struct ticktock_job){0};
        return;
    }
    j->seated = true;
    j->side = t->seated[1] < t->seated[0];
    t->seated[j->side]++;
}

static void ticktock_turned(void *self, const struct sched_state *st, uint32_t job) {
    struct ticktock *t = self;
    ticktock_seat(t, &t->jobs[job], !st->jobs[job].left);
    ticktock_follow(t, st, job);
    ticktock_settle(t, st);
}

static uint32_t ticktock_pick(void *self, const struct sched_state *st) {
    const struct ticktock *t = self;
    uint32_t best = SCHED_NONE;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        uint32_t op = state_oldest(st, job);
        if (op == SCHED_NONE || (!ticktock_may(t, job) && !ticktock_alone(st, job))) continue;
        if (best == SCHED_NONE || st->ops[op].arrival < st->ops[best].arrival) best = op;
    }
    return best;
}

const struct policy pol_ticktock = {
    .name = "ticktock",
    .priv_size = sizeof(struct ticktock),
    .init = ticktock_init,
    .fini = ticktock_fini,
    .reserve = ticktock_reserve,
    .memory = ticktock_memory,
    .enqueue = ticktock_moved,
    .dequeue = ticktock_moved,
    .started = ticktock_started,
    .pick = ticktock_pick,
    .ended = ticktock_ended,
    .turned = ticktock_turned,
};
