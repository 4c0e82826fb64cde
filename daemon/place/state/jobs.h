/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs by index and by id, and the order of the waiting ones.
 *
 * The order is that of the events PLACE_JOB; a job that waits again keeps its turn. There are two
 * exceptions: jobs of a node that disappeared go first, and a job that a policy stopped goes last.
 * A job waits from its event on. Its waiting time counts as at most that of the job before it and
 * at least that of the job after it. The order is therefore also one of waiting times.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_STATE_JOBS_H
#define DAEMON_PLACE_STATE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/slotmap.h"
#include "daemon/place/state/demand.h"

#define JOBS_NONE UINT32_MAX

enum jobs_state { JOBS_WAITING, JOBS_RUNNING, JOBS_REFUSED };

/* Refers to another job's present run; a later run of that job does not match. */
struct jobs_other {
    uint32_t job; /* JOBS_NONE: none */
    uint64_t start;
};

struct job {
    uint64_t id;
    struct demand demand;
    enum jobs_state state;

    /* For WAITING. */
    uint64_t turn;
    int64_t told_ns, since_ns;
    bool first;            /* the job's node disappeared: the job goes before all other jobs */
    uint32_t next, before; /* in the order */
    uint64_t tried;        /* place.changes at the time when the job last found no place; 0: new */
    uint64_t overtaken; /* number of later jobs that started before this job (node_reservation.h) */

    /* For RUNNING. */
    uint64_t start; /* unique number of this run */
    int64_t started_ns;
    uint32_t first_seat;

    /* For policy pab (pol_pab.c). */
    double speed, before_speed;
    struct jobs_other newcomer, shunned;

    uint32_t next_free;
};

struct jobs {
    struct job *at;
    uint32_t used, capacity, count, free;
    struct slotmap ids;
    uint64_t turns, starts;
    uint64_t gpus; /* GPUs of all jobs except refused ones */

    uint32_t first, last, waiting; /* the order */
    uint32_t untried;              /* number of waiting jobs with `tried` 0 */
};

void jobs_init(struct jobs *j);
void jobs_finish(struct jobs *j);
/* Reserves memory for this many more jobs. Returns 0 or -ENOMEM. */
int jobs_reserve(struct jobs *j, uint64_t more);

/* JOBS_NONE if there is no job with this id. */
uint32_t jobs_find(const struct jobs *j, uint64_t id);
/* Adds a job that neither waits nor runs yet, reported at that time; memory must be reserved. */
uint32_t jobs_add(struct jobs *j, uint64_t id, const struct demand *d, int64_t told_ns);
/* The job may wait, but must not run. */
void jobs_remove(struct jobs *j, uint32_t place);
void jobs_refuse(struct jobs *j, uint32_t place);

/* Insert the job into the order: at its turn, before all others, or as if it were reported now. */
void jobs_wait(struct jobs *j, uint32_t place);
void jobs_wait_first(struct jobs *j, uint32_t place);
void jobs_wait_last(struct jobs *j, uint32_t place, int64_t now_ns);
/* Makes the job run; removes it from the order if it waited. */
void jobs_run(struct jobs *j, uint32_t place, int64_t now_ns);

bool jobs_goes_before(const struct jobs *j, uint32_t a, uint32_t b);
void jobs_set_tried(struct jobs *j, uint32_t place, uint64_t tried);

/* Tests whether that job is still in the same run. */
bool jobs_is_there(const struct jobs *j, const struct jobs_other *other);

#endif
