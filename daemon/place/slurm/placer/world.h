/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot of the cluster as a placer needs it. Plain values, from slurmctld (ctld.h) or from a
 * test.
 *
 * Owner: the code that filled it in. Threads: any; the data is constant.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_WORLD_H
#define DAEMON_PLACE_SLURM_PLACER_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/place/slurm/job_note.h"
#include "daemon/place/slurm/placer/report.h"

struct world_node {
    const char *name;
    bool usable;          /* Slurm would start jobs there: the node is up and not drained */
    bool reported;        /* `report` is valid and recent */
    const char *features; /* separated by commas; NULL: none */
    uint32_t cpus;        /* CPUs that jobs of others leave */
    uint32_t cpus_configured;
    uint64_t memory_bytes;        /* memory of the machine */
    uint32_t shares, shares_used; /* total and used shares of the GRES */
    struct report report;
};

struct world_partition {
    const char *name;
    bool up;
    const bool *has; /* flag per node index */
};

enum world_state {
    WORLD_WAITS,  /* waits for the placer: the job has a note without a node */
    WORLD_PLACED, /* placed: the job has a node of ours, and Slurm has not started it */
    WORLD_RUNS
};

/* One job. A running job of several nodes is listed once per node. */
struct world_job {
    uint32_t id, uid;
    uint32_t task; /* WAITS: task of an array that Slurm has not split off; else WORLD_NO_TASK */
    enum world_state state;
    struct note note;
    uint32_t cpus;
    int64_t since;  /* s since 1970: the later of its submission and its user's begin time */
    int64_t begins; /* s since 1970 */
    bool one_node;  /* the job must not spread over several nodes */
    bool held;      /* the job is held by its user or an operator */
    /* The job may not begin now on any node, because of a licence or a limit of its user. */
    bool limited;
    bool depends; /* the job depends on one that has not ended, possibly of its own array */
    const char *partition; /* names separated by commas */
    const char *features;  /* features that the job's node must have; NULL: none */
    const bool *excluded;  /* flag per node; NULL: none is excluded */
    uint32_t node;         /* RUNS: index of the job's node, or WORLD_ELSEWHERE */
    uint32_t shares;       /* shares of the GRES that the job has or requests */
};

/* A job that ended for lack of device memory, and may have been queued again since. */
struct world_lack {
    uint32_t id;
    bool ended; /* the job ended with a failure; else it waits with its old note */
    struct note note;
    uint64_t needed_bytes;
    int64_t at_ms; /* end of the job, in ms since 1970 by its node's clock */
};

#define WORLD_ELSEWHERE UINT32_MAX
#define WORLD_NO_TASK UINT32_MAX

struct world {
    const struct world_node *nodes;
    size_t node_count;
    const struct world_partition *partitions;
    size_t partition_count;
    const struct world_job *jobs; /* ordered by `since` */
    size_t job_count;
    const struct world_lack *lacks; /* no job of `lacks` is in `jobs` */
    size_t lack_count;
};

#endif
