/* SPDX-License-Identifier: Apache-2.0
 *
 * A cluster in virtual time. Jobs arrive, a placer (place.h) decides where each goes, and they run
 * as fast as the other jobs on their GPUs allow. Time advances from event to event: a job that
 * arrives or ends, a measurement, or a wake-up that the placer asked for. Only jobs are updated on
 * whose GPUs a job came or went.
 *
 * Simultaneous ends and arrivals form one step: ends by the job's number, then measurements, then
 * arrivals.
 *
 * Owner: the caller. Thread: any. The result is a function of the jobs, the rules and the placer.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_H
#define DAEMON_SIM_PLACE_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/place/place.h"
#include "daemon/sim/place/jobset.h"

#define FLEET_WHY_BYTES 256u
#define FLEET_DAY_S 86400.0

/* How jobs on one GPU affect each other. */
enum fleet_speeds {
    FLEET_CURVE,  /* all are slowed down alike, by the curve (Horus, section 3.2) */
    FLEET_SHARES, /* services get what their SLO needs, trainings the rest (GPUColo) */
};

/* The placer: place_step of a struct place, or a test's function. */
struct fleet_placer {
    int (*step)(void *self, int64_t now_ns, const struct place_event *events, size_t count,
                struct place_answer *answer);
    void *self;
};

struct fleet_rules {
    enum fleet_speeds speeds;
    struct place_curve curve; /* CURVE: the true curve */
    double tangent_from; /* over-commitment from which the curve continues straight; 0: never */
    enum place_memory memory; /* how true memory use adds up */
    int64_t begin_ns;         /* set-up time of each start, at the job's speed */
    int64_t memory_end_ns;    /* time after which a job without enough memory fails */
    /* Time after its start, or after a change of its speed, at which a job is measured; 0:
     * never. */
    int64_t measure_ns;
    bool measure_needs; /* a measurement reports once the true needs to the placer */
    bool measure_speed; /* and the speed at each change */
    /* For SLOs below 1, the placer is told what a service's SLO needs where that exceeds its
     * utilisation. */
    bool plan_slo;
    int64_t keep_ns; /* a stopped job keeps whole multiples of this of its work; 0: nothing */
    /* SHARES: a service is held at its SLO times 1 + this, normally distributed. */
    double hold_error;
    double tolerance; /* a service violates its SLO if it takes more than the SLO times 1 + this */
    double separate_ratio; /* for `separate_gpus` below; 0: 5 */
    uint64_t seed;         /* seed of hold_error */
};

struct fleet_spread { /* over jobs */
    double mean, median, deviation;
};

struct fleet_day {
    double used_gpus; /* mean over the day */
    /* The same if services and trainings had separate GPUs in the ratio, as many as the kind with
     * the larger demand requires. */
    double separate_gpus;
    uint32_t services, violations; /* counts over services that arrived that day and ended */
};

struct fleet_result {
    double makespan_s;            /* from the first arrival to the last end */
    struct fleet_spread wait_s;   /* total waiting time of a job */
    struct fleet_spread first_s;  /* until its first start */
    struct fleet_spread jct_s;    /* from its first start to its end */
    struct fleet_spread slowdown; /* JCT relative to its length; includes set-up */
    double used_gpus;             /* GPUs with at least one job, mean over the makespan */
    double separate_gpus;
    /* Utilisation of all GPUs, mean over the makespan; a GPU's total counts as at most 1. */
    double util;
    double work_gpu_s;               /* lengths times GPUs of the jobs that ended */
    double set_up_gpu_s, lost_gpu_s; /* GPU time spent on set-up; GPU time of lost work */
    double worked_gpu_s;             /* GPU time of all work, by speeds and times */
    double busiest_gpus;
    uint32_t ended, refused;
    uint32_t stranded; /* jobs that still wait when no event can happen any more */
    uint32_t services, violations;
    uint32_t hopeless; /* services whose SLO needs more than a whole GPU */
    /* Running jobs that the placer stopped; jobs that ended for lack of memory. */
    uint32_t stops, memory_ends;
    uint64_t steps, starts;
    uint32_t day_count;
    struct fleet_day *days; /* from the first arrival on */
};

#endif
