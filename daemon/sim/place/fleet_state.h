/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of fleet.h's cluster between two events: each job's state and speed, and the jobs on
 * each GPU. Private to daemon/sim/place.
 *
 * Owner: fleet_run. Thread: its owner's.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_STATE_H
#define DAEMON_SIM_PLACE_FLEET_STATE_H

#include "common/minheap.h"
#include "daemon/sim/place/fleet.h"

#define FLEET_NONE UINT32_MAX

enum fleet_job_state { FLEET_COMES, FLEET_WAITS, FLEET_RUNS, FLEET_ENDED, FLEET_REFUSED };

struct fleet_job {
    enum fleet_job_state state;
    bool doomed;   /* runs without enough memory */
    bool measured; /* the placer knows its true needs */
    bool pending;  /* a measurement of this run is scheduled */
    uint32_t run;  /* number of starts */
    uint32_t mark; /* number of the latest refresh that visited it */
    uint32_t seats;
    double had_s;     /* completed part of its length, kept from earlier runs */
    double left_s;    /* remaining work of this run, including set-up */
    double rate;      /* work per time; 1 is the speed alone */
    double hold;      /* SERVICE: factor at which its SLO is held */
    int64_t since_ns; /* RUNS: time up to which left_s is computed; WAITS: since when it waits */
    int64_t first_ns; /* time of its first start */
    int64_t waited_ns;
    int64_t end_ns; /* expected end at the present speed; key of the heap */
};

/* A job on a GPU. */
struct fleet_seat {
    uint32_t job, gpu;
    uint32_t next_of_job, next, before; /* `next` and `before` are in the GPU's list */
};

struct fleet_gpu {
    uint32_t first; /* the first element in `seats` */
    uint32_t jobs, services;
    uint64_t bytes; /* memory */
    double util;    /* total of its jobs; recomputed at each change, and so exact */
    bool dirty;
    double slowed;                /* CURVE: factor of the jobs' times */
    double crowded, extra, train; /* SHARES: see fleet_speed.c */
};

struct fleet {
    const struct jobset *set;
    const struct fleet_rules *rules;
    const struct fleet_placer *placer;
    struct fleet_result *result;
    char *why;

    struct fleet_job *jobs;
    struct fleet_gpu *gpus;
    struct fleet_seat *seats; /* a pool; free elements are linked by `next` */
    uint32_t seat_room, free_seat;
    struct minheap ends; /* running jobs, by end_ns and number */

    uint32_t *dirty; /* GPUs with changes */
    uint32_t dirty_count;
    uint32_t *changed; /* jobs on these GPUs */
    uint32_t changed_count;
    uint32_t mark;

    struct fleet_measure { /* a ring; each entry is due measure_ns after it was added */
        int64_t at_ns;
        uint32_t job, run;
    } * measures;
    uint32_t measure_room, measure_first, measure_count;

    struct place_event *events; /* events of the next step */
    struct place_job *arrivals; /* jobs that the events point to; same length */
    size_t event_count, event_room;
    struct place_answer answer;

    int64_t now_ns, begin_ns, last_end_ns;
    uint32_t next_arrival;
    uint32_t waiting;
    /* GPUs with any job now, GPUs with services now; and the sum of the GPUs' utilisations, each at
     * most 1. */
    uint32_t used, used_services;
    double util;
};

static inline bool fleet_ends_before(const void *jobs, uint32_t a, uint32_t b) {
    const struct fleet_job *j = (const struct fleet_job *)jobs;
    if (j[a].end_ns != j[b].end_ns) return j[a].end_ns < j[b].end_ns;
    return a < b;
}

#endif
