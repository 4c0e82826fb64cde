/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans one round of the placer: from the cluster's state to the actions for Slurm. Nothing is
 * stored between rounds: Slurm reports placed and running jobs each time, so that a restarted
 * placer continues without a difference. Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_ROUND_H
#define DAEMON_PLACE_SLURM_PLACER_ROUND_H

#include "daemon/place/slurm/placer/cluster_report.h"

/* Jobs that may run on the same nodes form a class. place.h has one label bit per class. A job of a
 * further class waits for a later round; each round assigns classes from a different job on. */
#define ROUND_CLASSES_MOST 64

enum round_kind {
    ROUND_PLACE,    /* place the job on `node` and `gpu`, and let it begin */
    ROUND_WITHDRAW, /* remove the job's node; the job waits again */
    ROUND_PUT_OFF,  /* postpone the job's begin time */
    ROUND_REFUSED,  /* no node can ever run the job, see why; the job keeps waiting */
    ROUND_FREE      /* let Slurm place the job now */
};

struct round_action {
    enum round_kind kind;
    size_t job; /* index in world.jobs */
    uint32_t node, gpu;
    const char *why; /* static */
};

struct round_answer {
    struct round_action *actions; /* in the order of execution */
    size_t count;
};

/* Returns 0, or -errno with the reason in `why`; after a failure there is nothing to finish. */
int round_plan(const struct world *w, const struct cluster_report_config *config, int64_t now_s,
               struct round_answer *out, char *why, size_t cap);
void round_finish(struct round_answer *out);

#endif
