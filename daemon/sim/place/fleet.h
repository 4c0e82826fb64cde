/* SPDX-License-Identifier: Apache-2.0
 *
 * A cluster in virtual time: jobs come, whoever places them (place.h) says where each goes, and
 * they run as fast as what is beside them lets them. What happens between two moments is reckoned,
 * not gone through: a moment is a job that comes or ends, a measurement, or when the placer asked
 * to be woken, and only jobs are touched on whose GPUs somebody came or went.
 *
 * A job that ends and one that comes at the same moment are one step: ends by the job's number,
 * then measurements, then arrivals.
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

/* What jobs on one GPU are to each other. */
enum fleet_speeds {
    FLEET_CURVE,  /* all are slowed down alike, by the curve (Horus, section 3.2) */
    FLEET_SHARES, /* services get what they promise, trainings what is left (GPUColo) */
};

/* Who places: place_step of a place, or a test's. */
struct fleet_placer {
    int (*step)(void *self, int64_t now_ns, const struct place_event *events, size_t count,
                struct place_answer *answer);
    void *self;
};

struct fleet_rules {
    enum fleet_speeds speeds;
    struct place_curve curve; /* CURVE: the true one */
    double tangent_from;      /* over-commitment from which it goes on straight; 0: nowhere */
    enum place_memory memory; /* how what is truly used adds up */
    int64_t begin_ns;         /* set-up of each start, which goes as fast as the job does */
    int64_t memory_end_ns;    /* so long after its start a job ends that has not the memory */
    int64_t measure_ns;       /* so long after it starts, or its speed changes, a job is measured;
                                 0: never */
    bool measure_needs;       /* and the placer is told once what it truly needs */
    bool measure_speed;       /* and at each change its speed */
    bool plan_slo;         /* the placer is told of a service what its SLO takes where that is more
                              than its utilisation: SLOs below 1 */
    int64_t keep_ns;       /* who is stopped has whole multiples of that of its work; 0: nothing */
    double hold_error;     /* SHARES: a service is held at its SLO times 1 + this, normal */
    double tolerance;      /* a service that takes more than its SLO times 1 + this violates it */
    double separate_ratio; /* of `separate_gpus` below; 0: 5 */
    uint64_t seed;         /* of hold_error */
};

struct fleet_spread { /* over jobs */
    double mean, median, deviation;
};

struct fleet_day {
    double used_gpus;              /* mean of the day */
    double separate_gpus;          /* the same, had services and trainings GPUs of their own in the
                                      ratio, as many as the dearer kind asks for */
    uint32_t services, violations; /* of services that came that day and ended */
};

struct fleet_result {
    double makespan_s;            /* from the first arrival to the last end */
    struct fleet_spread wait_s;   /* all of a job's waiting */
    struct fleet_spread first_s;  /* until its first start */
    struct fleet_spread jct_s;    /* from its first start to its end */
    struct fleet_spread slowdown; /* that over its length, set-up included */
    double used_gpus;             /* GPUs that somebody is on, mean over the makespan */
    double separate_gpus;
    double util;       /* of all GPUs, mean over the makespan: a GPU's utilisations, 1 at most */
    double work_gpu_s; /* lengths times GPUs of the jobs that ended */
    double set_up_gpu_s, lost_gpu_s; /* worked for set-ups; worked and not kept */
    double worked_gpu_s;             /* all that was worked, by speeds and times */
    double busiest_gpus;
    uint32_t ended, refused;
    uint32_t stranded; /* still wait when nothing can happen any more */
    uint32_t services, violations;
    uint32_t hopeless;           /* services whose SLO takes more than a GPU of their own */
    uint32_t stops, memory_ends; /* of running jobs, by the placer and for want of memory */
    uint64_t steps, starts;
    uint32_t day_count;
    struct fleet_day *days; /* from the first arrival on */
};

#endif
