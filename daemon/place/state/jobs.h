/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs by place and by name, and those that wait, in order.
 *
 * The order is that in which jobs were told; whoever waits again keeps its turn. Two exceptions:
 * jobs of a node that went away go before all others, and a job that a policy stopped goes last. A
 * job waits from when it was told on, but counts as having waited no longer than whoever is before
 * it and no shorter than whoever is behind, so that the order is one of waiting times as well.
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

/* Another job, as it runs since a certain start: a later one is not meant. */
struct jobs_other {
    uint32_t job; /* JOBS_NONE: nobody */
    uint64_t start;
};

struct job {
    uint64_t id;
    struct demand demand;
    enum jobs_state state;

    /* WAITING. */
    uint64_t turn;
    int64_t told_ns, since_ns;
    bool first;            /* its node went away: before all that are not */
    uint32_t next, before; /* in the order */
    uint64_t tried; /* it found no place as things were then (place_state.h, `changes`); 0: new */
    uint64_t overtaken; /* later ones that started before it (keep.h) */

    /* RUNNING. */
    uint64_t start; /* a number of its own */
    int64_t started_ns;
    uint32_t first_seat;

    /* Policy pab's (pol_pab.c). */
    double speed, before_speed;
    struct jobs_other newcomer, shunned;

    uint32_t next_free;
};

struct jobs {
    struct job *at;
    uint32_t used, capacity, count, free;
    struct slotmap ids;
    uint64_t turns, starts;
    uint64_t gpus; /* of all jobs but the refused ones */

    uint32_t first, last, waiting; /* the order */
    uint32_t untried;              /* of those that wait: `tried` is 0 */
};

void jobs_init(struct jobs *j);
void jobs_finish(struct jobs *j);
/* So many more. 0 or -ENOMEM. */
int jobs_reserve(struct jobs *j, uint64_t more);

/* JOBS_NONE: there is none. */
uint32_t jobs_find(const struct jobs *j, uint64_t id);
/* One that neither waits nor runs yet, and counts as told at that time; room must be reserved. */
uint32_t jobs_add(struct jobs *j, uint64_t id, const struct demand *d, int64_t told_ns);
/* It may wait, but must not run. */
void jobs_remove(struct jobs *j, uint32_t place);
void jobs_refuse(struct jobs *j, uint32_t place);

/* Into the order: where its turn is, before all others, or as if it were told now. */
void jobs_wait(struct jobs *j, uint32_t place);
void jobs_wait_first(struct jobs *j, uint32_t place);
void jobs_wait_last(struct jobs *j, uint32_t place, int64_t now_ns);
/* It runs, and is out of the order if it was in it. */
void jobs_run(struct jobs *j, uint32_t place, int64_t now_ns);

bool jobs_goes_before(const struct jobs *j, uint32_t a, uint32_t b);
void jobs_set_tried(struct jobs *j, uint32_t place, uint64_t tried);

/* Whether that job runs as it did. */
bool jobs_is_there(const struct jobs *j, const struct jobs_other *other);

#endif
