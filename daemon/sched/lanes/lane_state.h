/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the lanes, for the files that share it: lane.c changes it, lane_find.c searches it,
 * lane_plan.c reorganises, lane_check.c recomputes. Jobs and lanes live in arrays and are referred
 * to by index, so that the arrays can move when they grow. Owner and thread: those of lane.h.
 */
#ifndef DAEMON_SCHED_LANES_LANE_STATE_H
#define DAEMON_SCHED_LANES_LANE_STATE_H

#include <stdbool.h>

#include "daemon/sched/jobmap.h"
#include "daemon/sched/lanes/lane_need.h"

struct lane_job {
    uint64_t persistent_bytes, ephemeral_bytes;
    uint32_t group, user;
    uint32_t lane;                   /* LANE_NONE: not admitted */
    uint32_t prev, next;             /* neighbours in its lane's list */
    uint32_t group_prev, group_next; /* neighbours in its group's list of admitted members */
    bool swapped;
};

struct lane {
    uint64_t size_bytes;
    uint64_t need_bytes; /* max E of the present members: the size to which the lane may shrink */
    uint64_t stamp;      /* == lanes.stamp: holds a member of the latest lanes_bar's group */
    uint32_t top;        /* number of present members with E == need_bytes */
    uint32_t members;    /* number of members, including swapped-out ones */
    uint32_t head;
    uint32_t user; /* user of all its members */
    bool open, draining;
};

/* A lane with its sort keys. */
struct lane_rank {
    uint64_t size_bytes;
    uint32_t members, lane;
};

struct lanes {
    uint64_t capacity_bytes, chunk_bytes;
    uint64_t used_bytes;  /* sum of P over present jobs + sum of L over open lanes */
    uint64_t aside_bytes; /* free bytes that no new job gets */
    uint64_t stamp;
    struct lane_job *jobs;
    struct lane *lanes;
    struct lane_rank *ranks; /* scratch space of lane_plan.c */
    uint32_t cap;            /* slots of the three arrays: there are never more lanes than jobs */
    uint32_t count;          /* all lane numbers are below this */
    uint32_t open, draining; /* numbers of open and of draining lanes */
    uint32_t max_lanes;
    uint32_t free_hint;    /* no free lane number is below this */
    struct slotmap groups; /* group -> one of its admitted jobs */
    bool share;            /* all jobs count as user 0's */
};

/* Ephemeral bytes that a member needs of its lane now. */
static inline uint64_t lanes_present(const struct lane_job *j) {
    return j->swapped ? 0 : j->ephemeral_bytes;
}

static inline uint64_t lanes_free(const struct lanes *l) {
    return l->capacity_bytes - l->used_bytes;
}

/* Free memory that a new job may use. */
static inline uint64_t lanes_room(const struct lanes *l) {
    uint64_t free_bytes = lanes_free(l);
    return free_bytes > l->aside_bytes ? free_bytes - l->aside_bytes : 0;
}

static inline uint64_t lanes_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline bool lanes_barred(const struct lanes *l, uint32_t lane) {
    return l->lanes[lane].stamp == l->stamp;
}

#endif
