/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy interface: the order in which jobs are tried, the GPUs that a job may use, and the
 * choice among them. A policy is a file pol_<name>.c and a line of policies.def. It has no state of
 * its own except in the jobs. Each member says if it may be NULL.
 *
 * A GPU with more jobs fits fewer jobs: a job that does not fit now must not fit after another job
 * was added (place_state.h, `failures`).
 *
 * Owner: none, these are tables. Thread: the caller's.
 */
#ifndef DAEMON_PLACE_STATE_PLACE_POLICY_H
#define DAEMON_PLACE_STATE_PLACE_POLICY_H

#include "daemon/place/state/place_state.h"

enum policy_order {
    POLICY_STRICT,  /* waiting order; a job that finds no place blocks all later ones */
    POLICY_IN_TURN, /* waiting order; a job that finds no place is skipped */
    POLICY_ROUNDS,  /* Algorithm 1 */
};

struct place_policy {
    const char *name;
    enum policy_order order;
    uint32_t queues; /* k, the default of the configuration */
    bool by_util;    /* the index is ordered by utilisation, not by memory */
    bool one_shelf;  /* utilisation does not matter: the index has one shelf (index.h) */
    bool fills; /* fuller GPUs cost less: tasks of several GPUs use an index of nodes (hosts.h) */
    bool separates;   /* nodes are for services or for trainings */
    bool fair;        /* jobs that are skipped too often get reserved nodes (node_reservation.h) */
    double util_most; /* default of the configuration; 0: no limit */

    /* True if no job can be added to this GPU. NULL: only if one of its jobs shares with no
     * other. */
    bool (*closed)(const struct gpus_use *use);
    /* Tests conditions besides memory. NULL: within the configuration's util_most. */
    bool (*fits)(const struct place *p, const struct demand *d, const struct gpu *gpu);
    /* A GPU with this curve never fits if its utilisation would exceed this limit. NULL:
     * util_most. */
    uint64_t (*limit)(const struct place *p, const struct demand *d, const struct place_curve *c);
    /* A service that wants more of the GPU's time than this does not fit. `within_ppm` is the
     * utilisation that the slack of the services on the GPU allows. NULL: no limit. */
    uint64_t (*room)(const struct place *p, const struct gpus_use *use, uint64_t within_ppm);
    /* The GPU with the least cost is taken; among equals the first that arrived. NULL (both
     * functions): all are equal. */
    double (*cost)(const struct place *p, const struct demand *d, const struct gpu *gpu);
    /* A lower bound of the costs of those GPUs of a branch that fit the job. NULL with `cost`. */
    double (*bound)(const struct place *p, const struct demand *d, const struct index_kind *kind,
                    const struct gpus_span *span);

    /* Called when a job has begun to run; its list has its GPUs. May be NULL. */
    void (*started)(struct place *p, uint32_t job);
    /* Called with a running job's speed, in iterations per second, > 0. May be NULL. */
    void (*measured)(struct place *p, uint32_t job, double speed);
};

#endif
