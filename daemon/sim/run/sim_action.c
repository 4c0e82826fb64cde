/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out the scheduler's actions like a worker, and checks a worker's guarantees.
 */
#include "daemon/sim/run/sim_action.h"
#include "daemon/sched/core/view.h"
#include "daemon/sim/run/sim_job.h"

static int on_run(struct sim *s, uint32_t job, uint64_t op) {
    struct sim_job *j = &s->jobs[job];
    const struct workload_job *w = &s->w->jobs[job];
    struct sim_job_result *r = &s->r->jobs[job];
    if (j->state != SIM_ADMITTED || j->handed == j->offered ||
        op != (uint64_t)j->iteration * j->most_ops + j->handed)
        return sim_fail(s, -EPROTO, "operation %" PRIu64 " of %s was run without being offered", op,
                        w->name);
    if (j->handed - j->ended == s->depth)
        return sim_fail(s, -EPROTO, "%s has more on the device than any cap allows", w->name);
    const char *broken = j->handed == j->ended ? memcheck_started(&s->mem, job, j->lane) : NULL;
    if (broken) return sim_fail(s, -EPROTO, "%s: %s", w->name, broken);
    uint64_t ready_ns = s->now_ns + s->w->dispatch_ns;
    if (s->link_free_ns > ready_ns) ready_ns = s->link_free_ns;
    if (j->handed == 0) j->started_ns = ready_ns;
    if (r->first_run_ns == SIM_NEVER) r->first_run_ns = ready_ns;
    if (w->kernels) {
        uint32_t first = s->w->sequences[j->sequence].first;
        device_kernel(s->dev, s->now_ns, job, ready_ns, first + j->handed, j->level);
    } else {
        j->duration_ns = sim_duration(s, job);
        device_iteration(s->dev, s->now_ns, job, ready_ns, j->duration_ns);
    }
    j->handed++;
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

/* The job's memory is available when the link has copied it. */
static void comes(struct sim *s, uint32_t job) {
    struct sim_job *j = &s->jobs[job];
    j->there_ns = s->link_free_ns;
    if (!j->comes) timers_add(&s->arrivals, j->there_ns, job);
    j->comes = true;
}

static int on_admit(struct sim *s, uint32_t job, uint32_t lane) {
    struct sim_job *j = &s->jobs[job];
    if (j->state != SIM_WAITING || lane >= s->w->count)
        return sim_fail(s, -EPROTO, "%s was admitted twice, or to no lane", s->w->jobs[job].name);
    j->state = SIM_ADMITTED;
    j->lane = lane;
    s->r->jobs[job].admitted_ns = s->now_ns;
    memcheck_admitted(&s->mem, job, lane, s->now_ns);
    return 0;
}

static int on_move(struct sim *s, uint32_t job, uint32_t lane) {
    struct sim_job *j = &s->jobs[job];
    if (j->state != SIM_ADMITTED || j->handed != j->ended || lane >= s->w->count)
        return sim_fail(s, -EPROTO, "%s was moved while it runs, or to no lane",
                        s->w->jobs[job].name);
    j->lane = lane;
    memcheck_moved(&s->mem, job, lane, s->now_ns);
    return 0;
}

static int on_answer(struct sim *s, uint32_t job, bool granted) {
    if (s->jobs[job].state != SIM_ADMITTED || !s->jobs[job].asks)
        return sim_fail(s, -EPROTO, "%s was answered without having asked", s->w->jobs[job].name);
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
    if (of_job && job >= s->w->count) return sim_fail(s, -EPROTO, "an action for job %u", a->job);
    switch (a->kind) {
    case SCHED_RUN: return on_run(s, job, a->op);
    case SCHED_ADMIT: return on_admit(s, job, a->lane);
    case SCHED_REFUSE:
        s->r->jobs[job].refused = a->why;
        s->r->refused++;
        break;
    case SCHED_MOVE: return on_move(s, job, a->lane);
    case SCHED_LANE:
        if (a->lane >= s->w->count) return sim_fail(s, -EPROTO, "there is no lane %u", a->lane);
        memcheck_lane(&s->mem, a->lane, a->bytes);
        break;
    case SCHED_SWITCH: s->r->switches++; break;
    case SCHED_SPILL:
    case SCHED_RESTORE: copy(s, s->w->jobs[job].ephemeral_bytes); break;
    case SCHED_SWAP_OUT:
    case SCHED_SWAP_IN:
        copy(s, s->w->jobs[job].persistent_bytes);
        memcheck_swapped(&s->mem, job, a->kind == SCHED_SWAP_OUT);
        if (a->kind == SCHED_SWAP_IN) comes(s, job);
        break;
    case SCHED_GRANT:
    case SCHED_DENY: return on_answer(s, job, a->kind == SCHED_GRANT);
    case SCHED_ARM: s->armed_ns = a->at_ns; break;
    case SCHED_SHARE: device_share(s->dev, job, a->sms); break;
    case SCHED_LEVEL: s->jobs[job].level = a->level; break;
    case SCHED_STILL: device_still(s->dev, s->now_ns, job, a->still); break;
    case SCHED_REJECT:
        return sim_fail(s, -EPROTO, "an event of %s: %s", s->w->jobs[job].name,
                        sched_fault_text(a->rejected.fault));
    case SCHED_WAIT: /* the answer comes later */
    case SCHED_ACTIONS: break;
    }
    return 0;
}

int sim_carry_out(struct sim *s, const struct sched_actions *actions) {
    for (uint32_t i = 0; i < actions->count; i++) {
        int err = carry_out_one(s, &actions->items[i]);
        if (err) return err;
    }
    const char *broken = memcheck_all(&s->mem);
    return broken ? sim_fail(s, -EPROTO, "%s", broken) : 0;
}
