/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries of the scheduler's state: jobs, lanes, the policy in effect, and the texts of faults.
 */
#ifndef DAEMON_SCHED_CORE_VIEW_H
#define DAEMON_SCHED_CORE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/sched.h"

struct sched_state;

struct sched_job_view {
    uint32_t lane;      /* SCHED_NO_LANE while the job waits */
    uint32_t position;  /* place in the admission queue, from 1; 0: not in it */
    enum sched_why why; /* reason why it does not run now; NONE: it may */
    bool turn;          /* the job has its lane's turn */
    bool swapped;
    uint64_t persistent_bytes, ephemeral_bytes; /* granted */
    uint32_t weight;
    int32_t priority;
    uint64_t iterations, iteration_ns; /* completed; mean device time of one, 0: none yet */
    uint32_t demand_milli; /* thousandths of the device that it uses alone; 0: it never ran alone */
    uint32_t iteration_milli; /* the same over its iterations only, from their first operation on */
    uint64_t busy_ns, waited_ns; /* device time received; time from JOINED to ADMIT */
    uint64_t request_ns;         /* latency of a request alone, given or learned; 0: unknown yet */
    uint32_t inflight_cap;       /* current K of this job */
    uint64_t slo_ns; /* latency target; 0: none, and the members up to `stuck` are 0 too */
    uint32_t slo_of;
    uint64_t measured_ns; /* in the latest control period that had a request; 0: none yet */
    uint64_t periods, violations,
        stuck; /* periods with requests; periods that missed the target; those of the latter in
                  which others had nothing left to give up */
    uint64_t pause_ns; /* pause after each of its iterations */
    uint32_t sms;      /* multiprocessors that it may use; 0: all */
};

struct sched_lane_view {
    uint32_t lane;
    uint64_t bytes;
    uint32_t jobs;
    uint32_t holder; /* job id; 0: no job has the turn */
    uint64_t switches, busy_ns;
};

/* Describes the job. Returns false when there is no such job. */
bool sched_job(const struct sched *s, uint32_t job, struct sched_job_view *out);
/* Fills up to `cap` lanes in ascending order; returns the number of open lanes. */
uint32_t sched_lanes(const struct sched *s, struct sched_lane_view *out, uint32_t cap);
const struct policy_config *sched_policy_config(const struct sched *s);
/* True when the kernel policy decides by class, so that each completion can change what runs. */
bool sched_decides_by_class(const struct sched *s);
/* SM_THRESHOLD in effect: as configured, or as the search found it so far. 0 under other policies.
 */
uint32_t sched_sm_threshold(const struct sched *s);

/* Returns a static string; "?" for an invalid number. */
const char *sched_fault_text(enum sched_fault fault);

/* The complete state, for tests and simulations. */
const struct sched_state *sched_view(const struct sched *s);

#endif
