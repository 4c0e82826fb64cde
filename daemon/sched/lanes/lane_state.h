/* SPDX-License-Identifier: Apache-2.0
 *
 * What lane.c keeps, for the files that share it: lane.c changes it, lane_find.c looks for a lane,
 * lane_plan.c reorganises, lane_check.c recomputes. Jobs and lanes live in arrays and are named by
 * index, so that growing moves them without trouble. Owner and thread: those of lane.h.
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
    uint32_t prev, next;             /* members of its lane */
    uint32_t group_prev, group_next; /* admitted members of its group */
    bool swapped;
};

struct lane {
    uint64_t size_bytes;
    uint64_t need_bytes; /* max E of the members that are present: what it may shrink to */
    uint64_t stamp;      /* equals the latest lanes_bar: a member of that group is here */
    uint32_t top;        /* present members with E == need_bytes */
    uint32_t members;    /* swapped ones included */
    uint32_t head;
    uint32_t user; /* of all its members */
    bool open, draining;
};

/* A lane by what it is sorted by. */
struct lane_rank {
    uint64_t size_bytes;
    uint32_t members, lane;
};

struct lanes {
    uint64_t capacity_bytes, chunk_bytes;
    uint64_t used_bytes;  /* sum of P over present jobs + sum of L over open lanes */
    uint64_t aside_bytes; /* of the free ones, those that no newcomer gets */
    uint64_t stamp;
    struct lane_job *jobs;
    struct lane *lanes;
    struct lane_rank *ranks; /* lane_plan.c's, between no two calls */
    uint32_t cap;            /* slots of the three arrays: no more lanes than jobs */
    uint32_t count;          /* lanes are numbered below this */
    uint32_t open, draining; /* how many are */
    uint32_t max_lanes;
    uint32_t free_hint;    /* no free lane number lies below */
    struct slotmap groups; /* group -> one of its admitted jobs */
    bool share;            /* everybody counts as user 0 */
};

/* What a member asks of its lane now. */
static inline uint64_t lanes_present(const struct lane_job *j) {
    return j->swapped ? 0 : j->ephemeral_bytes;
}

static inline uint64_t lanes_free(const struct lanes *l) {
    return l->capacity_bytes - l->used_bytes;
}

/* For newcomers. */
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
