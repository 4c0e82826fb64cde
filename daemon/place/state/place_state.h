/* SPDX-License-Identifier: Apache-2.0
 *
 * All that is known of a cluster, and what a step says.
 *
 * Owner: who called place_create. Thread: the owner's.
 */
#ifndef DAEMON_PLACE_STATE_PLACE_STATE_H
#define DAEMON_PLACE_STATE_PLACE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/minheap.h"
#include "daemon/place/state/gpus.h"
#include "daemon/place/state/hosts.h"
#include "daemon/place/state/index.h"
#include "daemon/place/state/jobs.h"
#include "daemon/place/state/kmeans.h"
#include "daemon/place/state/makes.h"
#include "daemon/place/state/nodes.h"
#include "daemon/place/state/place_types.h"

#define STATE_FAILURES 64u
#define STATE_FREED 16u

struct place_policy;

/* Nodes that have more to give than they had (freed.h). */
struct state_freed {
    uint32_t nodes[STATE_FREED], count; /* above STATE_FREED: too many to be named */
    /* The most that one of them has: CPU, memory, and of a GPU what is persistent, or all, of a job
     * may be. */
    uint64_t cpu_milli, memory_bytes, persistent_bytes, bytes;
};

/* What goes first in a search, the least. */
struct state_key {
    double cost;
    uint64_t turn;
};

/* Of one search (search.h): all room for it, and what was found. */
struct state_search {
    double best; /* where the only task would cost least, so far: what costs more is passed by */
    struct minheap heap;
    uint32_t items_capacity;
    struct state_key *keys;
    uint32_t keys_capacity;
    uint32_t *found; /* GPUs, task by task */
    uint32_t found_capacity;
    uint32_t *touched; /* nodes */
    uint32_t touched_capacity, touched_count;
    uint64_t limit_ppm[PLACE_CURVES_MOST]; /* a GPU that would want more does not fit */
};

/* Of one round of Algorithm 1 (rounds.c), by waiting jobs. */
struct state_rounds {
    uint32_t *jobs;
    uint32_t jobs_capacity;
    uint32_t *sorted; /* by queue */
    uint32_t sorted_capacity;
    struct kmeans_point *points;
    uint32_t points_capacity;
    uint8_t *clusters;
    uint32_t clusters_capacity;
};

struct state_answer {
    struct place_action *actions;
    uint32_t actions_capacity;
    struct place_where *where;
    uint32_t where_capacity;
    struct place_wrong *wrong;
    uint32_t wrong_capacity;
    size_t action_count, where_count, wrong_count;
};

/* What curve_within said latest. */
struct state_within {
    double slack;
    uint64_t ppm; /* 0: it was not asked */
};

struct place {
    struct place_config config; /* nothing in it is 0 for "what is said" any more */
    const struct place_policy *policy;
    struct state_within within[PLACE_CURVES_MOST];
    uint64_t util_most_ppm; /* UINT64_MAX: as much as there is */
    int64_t now_ns;

    struct nodes nodes;
    struct gpus gpus;
    struct makes makes;
    struct index index;
    struct hosts hosts;
    struct jobs jobs;
    uint64_t turns;        /* of nodes */
    uint64_t side_gpus[2]; /* by enum place_kind */

    uint64_t changes; /* goes up when there may be room where there was none; from 1 */
    uint64_t passed;  /* `changes` when all that waited were tried */
    struct state_freed freed, freed_next; /* for this pass, and since it began */
    /* What found no place since then: whoever wants no less finds none either. */
    struct demand failures[STATE_FAILURES];
    uint32_t failure_count;
    uint64_t failures_of; /* `changes` */

    uint32_t kept_for; /* the job that nodes are kept for (keep.h); JOBS_NONE: nobody */
    size_t judged;     /* actions of this step that keep.c has looked at */

    struct state_search search;
    struct state_rounds rounds;
    struct state_answer answer;
};

#endif
