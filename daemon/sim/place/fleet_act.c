/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out the placer's actions and checks each against the contract of place.h.
 */
#include "daemon/sim/place/fleet_act.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "daemon/sim/place/fleet_placement.h"
#include "daemon/sim/place/fleet_tally.h"

#define NS 1e9

int fleet_fail(struct fleet *f, int err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->why, FLEET_WHY_BYTES, fmt, ap);
    va_end(ap);
    return err;
}

/* ---- work ------------------------------------------------------------------------------------ */

static double gpus_of(const struct fleet *f, uint32_t job) {
    return (double)f->set->jobs[job].tasks * f->set->jobs[job].gpus;
}

void fleet_act_settle(struct fleet *f, uint32_t job) {
    struct fleet_job *j = &f->jobs[job];
    double worked = fmin(j->left_s, j->rate * (double)(f->now_ns - j->since_ns) / NS);
    j->left_s -= worked;
    j->since_ns = f->now_ns;
    f->result->worked_gpu_s += worked * gpus_of(f, job);
}

/* Accounts for work of this run that is lost, and for its set-up. */
static void lose(struct fleet *f, uint32_t job) {
    struct fleet_job *j = &f->jobs[job];
    double begin_s = (double)f->rules->begin_ns / NS, keep_s = (double)f->rules->keep_ns / NS;
    double length_s = f->set->jobs[job].length_s;
    double did_s = length_s - j->had_s + begin_s - j->left_s; /* in this run */
    double set_up_s = fmin(did_s, begin_s), has_s = j->had_s + did_s - set_up_s;
    double kept_s = keep_s > 0 ? fmax(j->had_s, floor(has_s / keep_s) * keep_s) : 0;
    f->result->set_up_gpu_s += set_up_s * gpus_of(f, job);
    f->result->lost_gpu_s += (has_s - kept_s) * gpus_of(f, job);
    j->had_s = kept_s;
}

static void complete(struct fleet *f, uint32_t job) {
    struct fleet_job *j = &f->jobs[job];
    f->result->worked_gpu_s += j->left_s * gpus_of(f, job); /* less than the speed times 1 ns */
    f->result->set_up_gpu_s += (double)f->rules->begin_ns / NS * gpus_of(f, job);
    j->left_s = 0;
    j->end_ns = f->now_ns;
}

void fleet_act_leave(struct fleet *f, uint32_t job, enum fleet_job_state state) {
    struct fleet_job *j = &f->jobs[job];
    uint32_t at = f->ends.place[job];
    fleet_act_settle(f, job);
    if (at != MINHEAP_NONE) minheap_remove(&f->ends, at, fleet_ends_before, f->jobs);
    fleet_placement_leave(f, job);
    j->rate = 0;
    j->doomed = j->pending = false;
    j->state = state;
    if (state == FLEET_ENDED) {
        complete(f, job);
        fleet_tally_job(f, job);
        return;
    }
    lose(f, job);
    f->waiting++;
}

/* ---- actions --------------------------------------------------------------------------------- */

/* Ids of jobs and nodes are their indices plus 1. */
static uint32_t number_of(uint64_t id, uint32_t count) {
    return id >= 1 && id <= count ? (uint32_t)(id - 1) : FLEET_NONE;
}

static int seat_all(struct fleet *f, uint32_t job, const struct place_action *a) {
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t node = number_of(a->where[i].node, f->set->node_count);
        if (node == FLEET_NONE || a->where[i].gpu >= f->set->nodes[node].gpu_count)
            return fleet_fail(f, -EPROTO, "job %" PRIu32 " is placed on a GPU that does not exist",
                              job + 1);
        int err = fleet_placement_take(f, job, f->set->nodes[node].first_gpu + a->where[i].gpu);
        if (err) return fleet_fail(f, err, "out of memory");
    }
    return 0;
}

/* Marks a job for failure if one of its GPUs lacks the memory. */
static void doom(struct fleet *f, uint32_t job) {
    struct fleet_job *j = &f->jobs[job];
    bool fits = true;
    for (uint32_t at = j->seats; fits && at != FLEET_NONE; at = f->seats[at].next_of_job)
        fits = fleet_placement_fits(f, f->seats[at].gpu);
    if (fits) return;
    j->doomed = true;
    j->end_ns = f->now_ns + f->rules->memory_end_ns;
    minheap_add(&f->ends, job, fleet_ends_before, f->jobs);
}

static int start(struct fleet *f, uint32_t job, const struct place_action *a) {
    struct fleet_job *j = &f->jobs[job];
    const struct jobset_job *is = &f->set->jobs[job];
    if (j->state != FLEET_WAITS)
        return fleet_fail(f, -EPROTO, "job %" PRIu32 " is started but does not wait", job + 1);
    if (a->count != (uint64_t)is->tasks * is->gpus)
        return fleet_fail(f, -EPROTO,
                          "job %" PRIu32 " gets %" PRIu32 " GPUs, not what it asked for", job + 1,
                          a->count);
    int err = seat_all(f, job, a);
    if (err) return err;
    j->waited_ns += f->now_ns - j->since_ns;
    if (!j->run++) j->first_ns = f->now_ns;
    j->state = FLEET_RUNS;
    j->since_ns = f->now_ns;
    j->left_s = is->length_s - j->had_s + (double)f->rules->begin_ns / NS;
    f->waiting--;
    f->result->starts++;
    doom(f, job);
    return 0;
}

static int stop(struct fleet *f, uint32_t job) {
    if (f->jobs[job].state != FLEET_RUNS)
        return fleet_fail(f, -EPROTO, "job %" PRIu32 " is stopped but does not run", job + 1);
    fleet_act_leave(f, job, FLEET_WAITS);
    f->result->stops++;
    return 0;
}

static int refuse(struct fleet *f, uint32_t job) {
    if (f->jobs[job].state != FLEET_WAITS)
        return fleet_fail(f, -EPROTO, "job %" PRIu32 " is refused but does not wait", job + 1);
    f->jobs[job].state = FLEET_REFUSED;
    f->waiting--;
    f->result->refused++;
    return 0;
}

static int act(struct fleet *f, const struct place_action *a) {
    uint32_t job = number_of(a->id, f->next_arrival);
    if (job == FLEET_NONE)
        return fleet_fail(f, -EPROTO, "an action names a job that does not exist");
    switch (a->kind) {
    case PLACE_START: return start(f, job, a);
    case PLACE_STOP: return stop(f, job);
    case PLACE_REFUSE: return refuse(f, job);
    }
    return fleet_fail(f, -EPROTO, "an action is of no known kind");
}

int fleet_act(struct fleet *f) {
    int err = 0;
    for (size_t i = 0; !err && i < f->answer.action_count; i++)
        err = act(f, &f->answer.actions[i]);
    return err;
}
