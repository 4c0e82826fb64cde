/* SPDX-License-Identifier: Apache-2.0
 *
 * The cluster's moment in the words of place.h: nodes with their GPUs, what is on them, and what
 * waits, each in its turn.
 *
 * Owner: the round. Thread: its.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_TELL_H
#define DAEMON_PLACE_SLURM_PLACER_TELL_H

#include "daemon/place/place.h"
#include "daemon/place/slurm/placer/world.h"

struct tell_config {
    struct place_config place;
    double util;        /* of a job of which it is not known */
    uint64_t mem_bytes; /* the same */
    double slack;       /* by which services may be slowed down */
    int64_t patience_s; /* a job that Slurm has not started for so long goes elsewhere */
};

/* What becomes of a job in this round. */
enum tell_fate {
    TELL_NOT,     /* it is not for us now */
    TELL_STAYS,   /* it is on `node` and `gpu` */
    TELL_CHOOSES, /* it is to be placed */
    TELL_MOVES,   /* the same, and it has a node, which did not work; behind all that choose */
    TELL_KEEPS,   /* it has a node, and takes nothing of it before it may begin */
    TELL_FREE,    /* it waits for us, and only Slurm can place it */
    TELL_LEAVES   /* it has a node, and is not for us any more */
};

struct tell_job {
    enum tell_fate fate;
    const char *refused; /* it can run on no node: why; static */
    bool narrowed;       /* of its nodes some are left out in this round */
    uint32_t node, gpu;  /* STAYS */
    uint32_t class;      /* CHOOSES, MOVES: bit of its nodes' labels */
};

struct tell {
    const struct world *w;
    const struct tell_config *config;
    struct place *place;
    struct tell_job *jobs;    /* for each of the world's */
    const uint64_t *labels;   /* for each node: the classes that may run there */
    const uint32_t *promised; /* for each node: shares of jobs that have not begun there */
};

/* Tells the place all of it and lets it decide at last; 0 or -ENOMEM. A job's name there is its
 * number in the world, a node's as well. */
int tell_all(const struct tell *t, int64_t now_s, struct place_answer *answer);

/* Whether place.h is told of the node: its GPUs are known. */
bool tell_node(const struct world_node *n);
/* Whether new jobs may go there, beside what was promised. */
bool tell_open(const struct world_node *n, uint32_t promised);

#endif
