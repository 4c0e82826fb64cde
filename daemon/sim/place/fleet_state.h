/* SPDX-License-Identifier: Apache-2.0
 *
 * What the world of fleet.h is between two moments: each job's state and speed, who is on which
 * GPU. Private to daemon/sim/place.
 *
 * Owner: fleet_run. Thread: its.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_STATE_H
#define DAEMON_SIM_PLACE_FLEET_STATE_H

#include "common/minheap.h"
#include "daemon/sim/place/fleet.h"

#define FLEET_NONE UINT32_MAX

enum fleet_job_state { FLEET_COMES, FLEET_WAITS, FLEET_RUNS, FLEET_ENDED, FLEET_REFUSED };

struct fleet_job {
    enum fleet_job_state state;
    bool doomed;   /* runs, and has not the memory */
    bool measured; /* the placer knows its needs */
    bool pending;  /* a measurement of this run is queued */
    uint32_t run;  /* how often it started */
    uint32_t mark; /* of the latest refresh that saw it */
    uint32_t seats;
    double had_s;     /* of its length, kept from earlier runs */
    double left_s;    /* to work in this run, set-up included */
    double rate;      /* seconds of work a second */
    double hold;      /* SERVICE: what its SLO is held at */
    int64_t since_ns; /* RUNS: up to when left_s is reckoned; WAITS: since when */
    int64_t first_ns; /* of its first start */
    int64_t waited_ns;
    int64_t end_ns; /* as it goes on now: the heap's key */
};

/* A job on a GPU. */
struct fleet_seat {
    uint32_t job, gpu;
    uint32_t next_of_job, next, before; /* the other two of the GPU */
};

struct fleet_gpu {
    uint32_t first; /* seat */
    uint32_t jobs, services;
    uint64_t bytes; /* what it has */
    double util;    /* of those that are on it; exact, taken anew at each change */
    bool dirty;
    double slowed;                /* CURVE: what everybody's time is multiplied with */
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
    struct fleet_seat *seats; /* a pool; free ones are linked by `next` */
    uint32_t seat_room, free_seat;
    struct minheap ends; /* of jobs that run, by end_ns and number */

    uint32_t *dirty; /* GPUs */
    uint32_t dirty_count;
    uint32_t *changed; /* jobs on these */
    uint32_t changed_count;
    uint32_t mark;

    struct fleet_measure { /* a ring: each is due measure_ns after it was put in */
        int64_t at_ns;
        uint32_t job, run;
    } * measures;
    uint32_t measure_room, measure_first, measure_count;

    struct place_event *events; /* of the next step */
    struct place_job *arrivals; /* what they point to, as many */
    size_t event_count, event_room;
    struct place_answer answer;

    int64_t now_ns, begin_ns, last_end_ns;
    uint32_t next_arrival;
    uint32_t waiting;
    /* Of all GPUs now: used by anybody, by services, by trainings alone; sum of utilisations, each
     * 1 at most. */
    uint32_t used, used_services;
    double util;
};

static inline bool fleet_ends_before(const void *jobs, uint32_t a, uint32_t b) {
    const struct fleet_job *j = (const struct fleet_job *)jobs;
    if (j[a].end_ns != j[b].end_ns) return j[a].end_ns < j[b].end_ns;
    return a < b;
}

#endif
