/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler itself: its state and everything that a step uses. Three folders implement it.
 *
 * dispatch gives out turns (turn.h), balances the jobs that have them (share.h), chooses the next
 * operation and informs the kernel policy (ready.h), and owns that policy's memory
 * (policy_memory.h). admission admits jobs (admit.h) and serves their requests for more memory
 * (grow.h). core takes events and runs operations (step.c), reserves memory before a step
 * (step_memory.h), creates and destroys the scheduler, changes its policies (life.h), and connects
 * the controller (control_loop.h). Only these folders and record include this header.
 */
#ifndef DAEMON_SCHED_CORE_H
#define DAEMON_SCHED_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/control/controller.h"
#include "daemon/sched/policy/lane_policy.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/state.h"

#define SCHED_LEASE_LEAST_NS \
    10000000ull /* least lease from learned iterations, unless lease_ns is shorter */

/* A policy configuration that is ready to take effect. */
struct sched_entry {
    const struct policy *policy; /* NULL: no change is prepared */
    struct sched_own own;
    const struct lane_policy *lane_policy;
    const struct controller *controller;
    void *controller_own; /* memory of a new controller; NULL: no new one */
    struct policy_config config;
};

struct sched {
    struct sched_state st;
    const struct policy *policy;
    const struct lane_policy *lane_policy;
    const struct controller *controller;
    void *controller_own;
    struct policy_config config; /* with every default filled in */
    struct sched_entry entry;    /* reserved for SCHED_POLICY of this step */
    struct sched_action *actions;
    uint32_t actions_cap, actions_count;
    uint32_t dirty; /* first of the list of domains to look at, in the order in which they became
                       dirty */
    uint32_t last_dirty;
    bool share_users;    /* lanes take jobs of different users */
    bool one_user;       /* jobs of two users are never admitted at the same time */
    bool look;           /* memory became free or a job arrived: look at the pending jobs */
    uint64_t releases;   /* counts, from 1, how often jobs left or changed their needs */
    uint64_t admit_at;   /* earliest time at which a pending job times out */
    uint64_t begun;      /* number of jobs ever admitted */
    uint64_t measure_at; /* earliest time at which an unknown job's current needs are taken as
                            measured */
    uint64_t part_at;    /* earliest time at which memory reserved for an unknown job expires */
    uint64_t grow_at; /* time at which the grower is denied its memory; SCHED_NEVER: no job grows */
    bool several_users; /* jobs of more than one user have joined */
    bool gather;        /* other processes of an admitted job's run may have to be admitted too */
    /* Earliest time at which an admitted job will have been idle for so long that a waiting job may
     * take its memory. */
    uint64_t idle_at;
    uint64_t paced_at;  /* earliest time at which a job's pause ends */
    uint64_t steps_at;  /* time of the next step of jobs whose share alternates; SCHED_NEVER: none
                           alternates */
    uint64_t period_at; /* end of the control period; SCHED_NEVER: there is none */
    uint64_t period_from_ns; /* start of the control period */
    uint64_t crew;           /* hash of the jobs that the period concerns and of their targets */
    uint32_t cycles;         /* iterations of the best-effort jobs in this period */
    uint64_t armed_at;
};

/* Appends an action. step_memory_reserve has allocated space for it before the step began. */
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
