/* SPDX-License-Identifier: Apache-2.0
 *
 * Every invariant of the scheduler, recomputed from scratch.
 */
#include "daemon/sched/core/check.h"

#include "daemon/sched/admission/grow.h"
#include "daemon/sched/core.h"
#include "daemon/sched/core/cap.h"
#include "daemon/sched/core/control_loop.h"
#include "daemon/sched/dispatch/ready.h"
#include "daemon/sched/dispatch/ready_check.h"
#include "daemon/sched/dispatch/share.h"
#include "daemon/sched/dispatch/turn.h"
#include "daemon/sched/lanes/lane_check.h"

static const char *wrong_lists(const struct sched_state *st, uint32_t job) {
    const struct sched_job *j = &st->jobs[job];
    uint32_t waiting = 0, running = 0;
    for (uint32_t list = 0; list < SCHED_LISTS; list++) {
        uint32_t prev = SCHED_NONE;
        for (uint32_t op = j->head[list]; op != SCHED_NONE; prev = op, op = st->ops[op].next) {
            const struct sched_op *o = &st->ops[op];
            if (o->job != job || o->list != list || o->prev != prev)
                return "an operation is on another job's list";
            if (list == SCHED_RUNNING) {
                if (++running > st->running) return "a list is a circle";
                continue;
            }
            if (prev != SCHED_NONE && st->ops[prev].arrival >= o->arrival)
                return "a list is not in order of arrival";
            if (++waiting > st->waiting) return "a list is a circle";
        }
        if (j->tail[list] != prev) return "a list does not end at its tail";
    }
    return waiting == j->waiting && running == j->running ? NULL
                                                          : "a job's operations were miscounted";
}

static const char *wrong_turn(const struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    const struct sched_job *j = &st->jobs[job];
    const struct sched_domain *d = state_domain(st, j->lane);
    if (lanes_of(st->lanes, job) != j->lane) return "a job's lane does not list it";
    if (j->running && !j->turn) return "a job runs without a turn";
    if (j->turn && (j->swapped || j->spilled)) return "a job has a turn and no memory";
    if (j->turn && st->lane[j->lane].inside != job)
        return "a job has a turn in a lane that another job occupies";
    if (j->turn && d->holder != job && !j->revoked)
        return "a job has a turn that was never granted";
    if (j->turn && j->revoked && !j->running) return "a revoked turn did not end";
    if (d->holder == job && !j->turn) return "the holder of a turn is not marked as one";
    bool ready =
        !j->left && !j->turn && !j->swapped && !j->spec.paused && !j->paced_ns && state_wants(j);
    if (!j->swapped && ready != j->node.in) return "a ready job is not queued for a turn";
    if (!ready || d->holder != SCHED_NONE) return NULL;
    uint32_t inside = st->lane[st->jobs[d->ready].lane].inside;
    bool blocked = inside != SCHED_NONE && st->jobs[inside].revoked;
    return blocked || turn_kept_until(s, d) > st->now_ns
               ? NULL
               : "a turn is free while a job waits for one";
}

static const char *wrong_job(const struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    const struct sched_job *j = &st->jobs[job];
    if (jobmap_find(&st->map, j->id) != job)
        return "the table of jobs does not find a job by its ID";
    if (j->cap != cap_of(st, j)) return "a job's memory limit is wrong";
    if (j->left && (j->waiting || !j->running)) return "a job that left still counts as admitted";
    if (!j->admitted && (j->running || j->turn)) return "a job runs that was not admitted";
    if (j->refused && (j->admitted || j->node.in)) return "a refused job still waits for admission";
    if (j->still && (!j->running || !st->slice_ns || state_high(j)))
        return "a job is paused without need, or cannot be paused";
    const char *broken = j->admitted ? wrong_turn(s, job) : NULL;
    if (!broken) broken = control_loop_check(s, job);
    return broken ? broken : wrong_lists(st, job);
}

/* Within a lane one iteration runs at a time, of the job that has the turn, and without share_users
 * all jobs are one user's. */
static const char *wrong_lanes(const struct sched *s) {
    const struct sched_state *st = &s->st;
    for (uint32_t a = st->admitted; a != SCHED_NONE; a = st->jobs[a].admitted_next)
        for (uint32_t b = st->jobs[a].admitted_next; b != SCHED_NONE;
             b = st->jobs[b].admitted_next) {
            const struct sched_job *x = &st->jobs[a], *y = &st->jobs[b];
            if (x->spec.user != y->spec.user && s->one_user) return "two users share a device";
            if (x->lane != y->lane) continue;
            if (x->running && y->running) return "two jobs run in one lane";
            if (x->spec.user != y->spec.user && !s->share_users) return "two users share a lane";
        }
    return lanes_check(st->lanes);
}

/* A job that waits to grow lacks memory; no job of a run that has begun waits for admission. */
static const char *wrong_waits(const struct sched *s) {
    const struct sched_state *st = &s->st;
    uint32_t unknown = 0;
    if (st->grower != SCHED_NONE && !st->jobs[st->grower].admitted)
        return "a job that is not admitted waits to grow";
    if (st->grower != SCHED_NONE && !grow_missing(s)) return "a job waits for memory that is free";
    if ((st->grower == SCHED_NONE) != (s->grow_at == SCHED_NEVER))
        return "a wait for memory has no timeout, or a timeout has no wait";
    for (uint32_t a = st->admitted; a != SCHED_NONE; a = st->jobs[a].admitted_next) {
        const struct sched_job *x = &st->jobs[a];
        unknown += x->spec.unknown;
        for (uint32_t b = 0; x->spec.run && !x->left && b < st->jobs_cap; b++) {
            const struct sched_job *y = &st->jobs[b];
            if (!y->used || y->admitted || y->refused || y->left || y->spec.paused) continue;
            if (y->spec.run == x->spec.run && y->spec.user == x->spec.user)
                return "a job waits for admission though its run has started";
        }
    }
    return unknown == st->unknown_count ? NULL : "jobs without a reservation were miscounted";
}

static uint32_t queue_length(const struct sched_state *st, uint32_t root, uint32_t limit) {
    if (root == SCHED_NONE || limit == 0) return 0;
    uint32_t count = 1;
    for (uint32_t c = st->jobs[root].node.child; c != SCHED_NONE && count < limit;
         c = st->jobs[c].node.next)
        count += queue_length(st, c, limit - count);
    return count;
}

static const char *wrong_counts(const struct sched *s) {
    const struct sched_state *st = &s->st;
    uint32_t pending = 0, queued = 0, admitted = 0, turns = 0;
    for (uint32_t i = 0; i < st->jobs_cap; i++) {
        const struct sched_job *j = &st->jobs[i];
        if (!j->used) continue;
        pending += j->node.in && (!j->admitted || j->swapped);
        queued += j->node.in && j->admitted && !j->swapped;
        admitted += j->admitted;
        turns += j->turn;
    }
    if (pending != st->pending_count || queue_length(st, st->pending, st->jobs_used + 1) != pending)
        return "the queue for admission lost a job";
    if (admitted != st->admitted_count) return "admitted jobs were miscounted";
    if (turns != st->turns) return "turns were miscounted";
    for (uint32_t i = 0; i <= st->jobs_cap; i++)
        queued -= queue_length(st, st->domains[i].ready, st->jobs_used + 1);
    return queued == 0 ? NULL : "a queue for a turn lost a job";
}

const char *sched_check(const struct sched *s) {
    const struct sched_state *st = &s->st;
    uint32_t waiting = 0, running = 0, active = 0, jobs = 0, ops = 0;
    for (uint32_t i = 0; i < st->jobs_cap; i++) {
        if (!st->jobs[i].used) continue;
        const char *broken = wrong_job(s, i);
        if (broken) return broken;
        waiting += st->jobs[i].waiting;
        running += st->jobs[i].running;
        active += st->jobs[i].running > 0;
        jobs++;
    }
    for (uint32_t i = 0; i < st->ops_cap; i++)
        ops += st->ops[i].job != SCHED_NONE;
    if (jobs != st->jobs_used || jobs != st->map.count) return "jobs were miscounted";
    if (waiting != st->waiting || ops != waiting + running || ops != st->ops_used)
        return "waiting operations were lost";
    if (running != st->running || active != st->active) return "running operations were miscounted";
    const char *broken = wrong_counts(s);
    if (!broken) broken = wrong_lanes(s);
    if (!broken) broken = wrong_waits(s);
    if (broken) return broken;
    if (ready_pick(s) != SCHED_NONE) return "a runnable operation was left waiting";
    broken = ready_check(s);
    if (!broken) broken = share_check(s);
    return !broken && s->policy->check ? s->policy->check(st) : broken;
}
