/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole state of a cluster, and the answer of a step.
 *
 * Owner: the caller of place_create. Thread: the owner's.
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
#include "daemon/place/state/node_models.h"
#include "daemon/place/state/nodes.h"
#include "daemon/place/state/place_types.h"

#define STATE_FAILURES 64u
#define STATE_FREED 16u

struct place_policy;

/* Nodes with more free resources than before (freed.h). */
struct state_freed {
    uint32_t nodes[STATE_FREED], count; /* count above STATE_FREED: too many nodes to list */
    /* Maxima over these nodes: free CPU, free memory, and per GPU the persistent and the total
     * memory that a job may have. */
    uint64_t cpu_milli, memory_bytes, persistent_bytes, bytes;
};

/* Sort key of a search, ascending. */
struct state_key {
    double cost;
    uint64_t turn;
};

/* Memory and results of one search (search.h). */
struct state_search {
    double best; /* best cost so far for the only task; higher costs are skipped */
    struct minheap heap;
    uint32_t items_capacity;
    struct state_key *keys;
    uint32_t keys_capacity;
    uint32_t *found; /* GPUs, task by task */
    uint32_t found_capacity;
    uint32_t *touched; /* nodes whose `met` or `taken` is set */
    uint32_t touched_capacity, touched_count;
    /* per curve: a GPU does not fit if its utilisation would exceed this. */
    uint64_t limit_ppm[PLACE_CURVES_MOST];
};

/* Memory of Algorithm 1 (rounds.c): arrays with one element per waiting job. */
struct state_rounds {
    uint32_t *jobs;
    uint32_t jobs_capacity;
    uint32_t *sorted; /* grouped by queue */
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

/* The latest result of curve_within. */
struct state_within {
    double slack;
    uint64_t ppm; /* 0: no result yet */
};

struct place {
    struct place_config config; /* defaults are filled in */
    const struct place_policy *policy;
    struct state_within within[PLACE_CURVES_MOST];
    uint64_t util_most_ppm; /* UINT64_MAX: no limit */
    int64_t now_ns;

    struct nodes nodes;
    struct gpus gpus;
    struct node_models makes;
    struct index index;
    struct hosts hosts;
    struct jobs jobs;
    uint64_t turns;        /* number of nodes that were added so far */
    uint64_t side_gpus[2]; /* GPUs of each side of policy separate, by enum place_kind */

    uint64_t changes; /* incremented when resources may have been freed; starts at 1 */
    uint64_t passed;  /* value of `changes` when all waiting jobs were tried */
    struct state_freed freed, freed_next; /* nodes freed before this pass began, and since then */
    /* Demands that found no place since resources were last freed; a job that wants no less finds
     * none either. */
    struct demand failures[STATE_FAILURES];
    uint32_t failure_count;
    uint64_t failures_of; /* the value of `changes` for which `failures` holds */

    uint32_t kept_for; /* the job with reserved nodes (node_reservation.h); JOBS_NONE: none */
    size_t judged;     /* number of this step's actions that node_reservation.c has examined */

    struct state_search search;
    struct state_rounds rounds;
    struct state_answer answer;
};

#endif
