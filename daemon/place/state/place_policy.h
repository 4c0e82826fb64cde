/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy seam: in which order jobs are tried, which GPUs may have one, and which of those is
 * taken. A policy is a file pol_<name>.c and a line of policies.def; it has no memory of its own
 * but what jobs have for it. Whatever may be NULL is said.
 *
 * Jobs that fit less where more is on a GPU: what does not fit now must not fit after another job
 * came (place_state.h, `failures`).
 *
 * Owner: none, they are tables. Thread: the caller's.
 */
#ifndef DAEMON_PLACE_STATE_PLACE_POLICY_H
#define DAEMON_PLACE_STATE_PLACE_POLICY_H

#include "daemon/place/state/place_state.h"

enum policy_order {
    POLICY_STRICT,  /* as they wait; whoever finds no place holds up all behind it */
    POLICY_IN_TURN, /* as they wait; whoever finds no place is passed by */
    POLICY_ROUNDS,  /* Algorithm 1 */
};

struct place_policy {
    const char *name;
    enum policy_order order;
    uint32_t queues; /* k, where the configuration says nothing */
    bool by_util;    /* the index is ordered by utilisation, not by memory */
    bool one_shelf;  /* utilisation is no matter: the index has one shelf (index.h) */
    bool fills;      /* costs are the less the more is on a GPU: tasks of several GPUs have an index
                        of nodes (hosts.h) */
    bool separates;  /* nodes are for services or for trainings */
    bool fair;       /* nobody is passed by for ever (keep.h) */
    double util_most; /* where the configuration says nothing; 0: no limit */

    /* Nobody can come to this GPU. NULL: only where one is that shares with nobody. */
    bool (*closed)(const struct gpus_use *use);
    /* Beside memory. NULL: within the configuration's util_most. */
    bool (*fits)(const struct place *p, const struct demand *d, const struct gpu *gpu);
    /* GPUs of this curve that would want more of their time never fit. NULL: util_most. */
    uint64_t (*limit)(const struct place *p, const struct demand *d, const struct place_curve *c);
    /* A service that wants more of a GPU's time does not fit there, for `within_ppm` is what
     * services may want together by the slack of those that are on it. NULL: whatever it wants. */
    uint64_t (*room)(const struct place *p, const struct gpus_use *use, uint64_t within_ppm);
    /* The least is taken; of equals the first that came. NULL, both: all are equal. */
    double (*cost)(const struct place *p, const struct demand *d, const struct gpu *gpu);
    /* No GPU of a branch costs less, and none is below the costs of all. */
    double (*bound)(const struct place *p, const struct demand *d, const struct index_kind *kind,
                    const struct gpus_span *span);

    /* A job has begun to run; its seats are its GPUs. NULL: no matter. */
    void (*started)(struct place *p, uint32_t job);
    /* So many iterations a second, > 0, of a job that runs. NULL: no matter. */
    void (*measured)(struct place *p, uint32_t job, double speed);
};

#endif
