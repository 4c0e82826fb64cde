/* SPDX-License-Identifier: Apache-2.0
 *
 * What people ask the scheduler for: jobs, lanes, the policy in effect, and what a fault is called.
 */
#ifndef DAEMON_SCHED_CORE_VIEW_H
#define DAEMON_SCHED_CORE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/sched.h"

struct sched_state;

struct sched_job_view {
    uint32_t lane;      /* SCHED_NO_LANE while it waits */
    uint32_t position;  /* in the queue for admission, from 1; 0: admitted */
    enum sched_why why; /* why it does not run now; NONE: it may */
    bool turn;          /* it has its lane's turn */
    bool swapped;
    uint64_t persistent_bytes, ephemeral_bytes; /* granted */
    uint32_t weight;
    int32_t priority;
    uint64_t iterations, iteration_ns; /* completed; mean device time of one, 0: none yet */
    uint32_t demand_milli;             /* of the device, that it uses alone; 0: never was alone */
    uint32_t iteration_milli;    /* the same of its iterations, from their first operation on */
    uint64_t busy_ns, waited_ns; /* received; from JOINED to ADMIT */
    uint64_t request_ns;         /* latency of a request alone, given or learnt; 0: not yet */
    uint32_t inflight_cap;       /* K of this job now */
    uint64_t slo_ns;             /* its promise; 0: none, and 0 in the next four */
    uint32_t slo_of;
    uint64_t measured_ns; /* of the latest control period that had a request; 0: none yet */
    uint64_t periods, violations, stuck; /* periods with requests; in which the promise was not
                                            kept, and in which nothing could be done about it */
    uint64_t pause_ns;                   /* after each of its iterations */
    uint32_t sms;                        /* of the device's multiprocessors; 0: all */
};

struct sched_lane_view {
    uint32_t lane;
    uint64_t bytes;
    uint32_t jobs;
    uint32_t holder; /* job id; 0: none has the turn */
    uint64_t switches, busy_ns;
};

/* false: no such job. */
bool sched_job(const struct sched *s, uint32_t job, struct sched_job_view *out);
/* Fills up to `cap` lanes in ascending order of their number; returns how many there are. */
uint32_t sched_lanes(const struct sched *s, struct sched_lane_view *out, uint32_t cap);
const struct policy_config *sched_policy_config(const struct sched *s);
/* SM_THRESHOLD in effect: as chosen, or as found by search so far. 0 under other policies. */
uint32_t sched_sm_threshold(const struct sched *s);

/* Static; "?" for a number that is none. */
const char *sched_fault_text(enum sched_fault fault);

/* All that it knows, for tests and simulations. */
const struct sched_state *sched_view(const struct sched *s);

#endif
