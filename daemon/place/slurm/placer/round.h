/* SPDX-License-Identifier: Apache-2.0
 *
 * One round of the placer: from a moment of the cluster to what is to be said to Slurm. Nothing is
 * kept between two rounds: what was placed and what runs is told by Slurm each time, so that a
 * placer that was killed goes on as if it had not been. Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_ROUND_H
#define DAEMON_PLACE_SLURM_PLACER_ROUND_H

#include "daemon/place/slurm/placer/tell.h"

/* Jobs that may run on the same nodes are a class, of which place.h has as many as bits; a job of
 * yet another class waits for a later round: in each they are given out from another job on. */
#define ROUND_CLASSES_MOST 64

enum round_kind {
    ROUND_PLACE,    /* on that node and GPU, and let it begin */
    ROUND_WITHDRAW, /* take its node away; it waits again */
    ROUND_PUT_OFF,  /* its begin time */
    ROUND_REFUSED,  /* it can run nowhere: why. It waits on */
    ROUND_FREE      /* Slurm places it itself, and now */
};

struct round_action {
    enum round_kind kind;
    size_t job; /* its number in the world */
    uint32_t node, gpu;
    const char *why; /* static */
};

struct round_answer {
    struct round_action *actions; /* in the order in which they are to be done */
    size_t count;
};

/* 0 or -errno, with the reason in `why`; then there is nothing to finish. */
int round_plan(const struct world *w, const struct tell_config *config, int64_t now_s,
               struct round_answer *out, char *why, size_t cap);
void round_finish(struct round_answer *out);

#endif
