/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler: its state and what it steps with. Its parts are three rooms. dispatch gives out
 * turns (turn.h), levels the jobs that have them (share.h), knows whose operation is next and tells
 * the kernel policy (ready.h), and has that policy's memory (policy_memory.h). admission lets jobs
 * in (admit.h) and has what admitted ones ask for (grow.h). core takes events and runs operations
 * (step.c), reserves what a step may need (room.h), begins, ends and changes policies (life.h), and
 * is for the controller what these are for policies (govern.h). Only these rooms and record include
 * this.
 */
#ifndef DAEMON_SCHED_CORE_H
#define DAEMON_SCHED_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/control/controller.h"
#include "daemon/sched/policy/lane_policy.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/state.h"

#define SCHED_LEASE_LEAST_NS 10000000ull /* of learned iterations, when lease_ns is not less */

/* Another policy, ready to be entered. */
struct sched_entry {
    const struct policy *policy; /* NULL: none is to be */
    struct sched_own own;
    const struct lane_policy *lane_policy;
    const struct controller *controller;
    void *controller_own; /* of another controller than now */
    struct policy_config config;
};

struct sched {
    struct sched_state st;
    const struct policy *policy;
    const struct lane_policy *lane_policy;
    const struct controller *controller;
    void *controller_own;
    struct policy_config config; /* with every default filled in */
    struct sched_entry entry;    /* reserved for POLICY of this step */
    struct sched_action *actions;
    uint32_t actions_cap, actions_count;
    uint32_t dirty; /* list of domains to look at, in the order in which they became so */
    uint32_t last_dirty;
    bool share_users;    /* lanes take jobs of different users */
    bool one_user;       /* nor are jobs of two users admitted at a time */
    bool look;           /* memory came back or somebody came: look at the pending jobs */
    uint64_t releases;   /* times that jobs left or changed what they need, from 1 */
    uint64_t admit_at;   /* no pending job times out before */
    uint64_t begun;      /* jobs that were ever admitted */
    uint64_t measure_at; /* no unknown job is taken as it is before */
    uint64_t part_at;    /* nothing that is kept for an unknown job comes free before, by time */
    uint64_t grow_at;    /* the grower is told that there is no memory; SCHED_NEVER: none waits */
    bool several_users;  /* there were jobs of more than one */
    bool gather;         /* processes of a run may have to follow one that was admitted */
    uint64_t
        idle_at; /* somebody waits, and no admitted job will have been idle for a lease before */
    uint64_t paced_at;       /* nobody's pause ends before */
    uint64_t steps_at;       /* shares that go by steps take the next one; SCHED_NEVER: none does */
    uint64_t period_at;      /* the control period is over; SCHED_NEVER: there is none */
    uint64_t period_from_ns; /* its begin */
    uint64_t crew;           /* whose it was, as a hash */
    uint32_t cycles;         /* iterations of the others in it */
    uint64_t armed_at;
};

/* Room was reserved before the step began. */
static inline struct sched_action *sched_emit(struct sched *s, enum sched_action_kind kind,
                                              uint32_t job) {
    struct sched_action *a = &s->actions[s->actions_count++];
    *a = (struct sched_action){.kind = kind, .lane = SCHED_NO_LANE};
    if (job != SCHED_NONE) {
        a->job = s->st.jobs[job].id;
        a->lane = s->st.jobs[job].lane;
    }
    return a;
}

#endif
