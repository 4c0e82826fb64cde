/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports the cluster's state to place.h: nodes with their GPUs, running jobs, and waiting jobs in
 * order.
 *
 * Owner: the round. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_CLUSTER_REPORT_H
#define DAEMON_PLACE_SLURM_PLACER_CLUSTER_REPORT_H

#include "daemon/place/place.h"
#include "daemon/place/slurm/placer/world.h"

struct cluster_report_config {
    struct place_config place;
    double util;        /* assumed utilisation of a job that gives none */
    uint64_t mem_bytes; /* assumed memory of a job that gives none */
    double slack;       /* fraction by which services may be slowed down */
    int64_t patience_s; /* a job that Slurm has not started within this time goes elsewhere */
};

/* Fate of a job in this round. */
enum cluster_report_fate {
    TELL_NOT,     /* nothing is done with the job now */
    TELL_STAYS,   /* the job stays on `node` and `gpu` */
    TELL_CHOOSES, /* the job is to be placed */
    /* The job is to be placed again, because its node failed; after all jobs with TELL_CHOOSES. */
    TELL_MOVES,
    TELL_KEEPS, /* the job has a node, but uses nothing of the node before it may begin */
    TELL_FREE,  /* the job waits for the placer, but only Slurm can place it */
    TELL_LEAVES /* the job has a node, but the placer no longer handles it */
};

struct cluster_report_job {
    enum cluster_report_fate fate;
    const char *refused; /* why no node can run the job; static; NULL: not refused */
    bool narrowed;       /* some of its nodes are excluded in this round */
    uint32_t node, gpu;  /* for TELL_STAYS */
    uint32_t class;      /* for TELL_CHOOSES and TELL_MOVES: label bit of its nodes */
};

struct cluster_report {
    const struct world *w;
    const struct cluster_report_config *config;
    struct place *place;
    struct cluster_report_job *jobs; /* per job of the world */
    const uint64_t *labels;          /* per node: the classes that may run there */
    const uint32_t *promised;        /* per node: shares of jobs that have not begun there */
};

/* Reports everything to place.h and lets it decide at the end. Returns 0 or -ENOMEM. Job and node
 * ids in place.h are indices of the world. */
int cluster_report_all(const struct cluster_report *t, int64_t now_s, struct place_answer *answer);

/* Tests whether place.h knows the node: its GPUs are known. */
bool cluster_report_node(const struct world_node *n);
/* Tests whether the node takes new jobs besides the promised ones. */
bool cluster_report_open(const struct world_node *n, uint32_t promised);

#endif
