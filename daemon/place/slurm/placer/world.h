/* SPDX-License-Identifier: Apache-2.0
 *
 * A moment of the cluster, as far as a placer must know it. Plain values: from slurmctld
 * (ctld.h), or from a test.
 *
 * Owner: who filled it in. Threads: any, as nobody changes it.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_WORLD_H
#define DAEMON_PLACE_SLURM_PLACER_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/place/slurm/note.h"
#include "daemon/place/slurm/placer/report.h"

struct world_node {
    const char *name;
    bool usable;          /* Slurm would start jobs there: it is up and not drained */
    bool reported;        /* `report` is there, and fresh */
    const char *features; /* by commas; NULL: none */
    uint32_t cpus;        /* that others than our jobs leave */
    uint32_t cpus_configured;
    uint64_t memory_bytes;        /* the machine's */
    uint32_t shares, shares_used; /* of the GRES */
    struct report report;
};

struct world_partition {
    const char *name;
    bool up;
    const bool *has; /* for each node, by its number */
};

enum world_state {
    WORLD_WAITS,  /* for us: it has a note, and no node */
    WORLD_PLACED, /* it has a node of ours, and Slurm has not started it */
    WORLD_RUNS
};

/* A job of several nodes is there once for each of them, while it runs. */
struct world_job {
    uint32_t id, uid;
    uint32_t task; /* WAITS: of an array, one that Slurm has not split off; else WORLD_NO_TASK */
    enum world_state state;
    struct note note;
    uint32_t cpus;
    int64_t since;         /* s since 1970: when it was submitted, or its user's begin time */
    int64_t begins;        /* s since 1970 */
    bool one_node;         /* it may not be spread over several */
    bool held;             /* by its user or an operator */
    bool limited;          /* it may not begin now on any node: a licence, a limit of its user's */
    bool depends;          /* on a job that has not ended, be it of its own array */
    const char *partition; /* several, by commas */
    const char *features;  /* that its node must have; NULL: none */
    const bool *excluded;  /* for each node; NULL: none is */
    uint32_t node;         /* RUNS: number of its node, or WORLD_ELSEWHERE */
    uint32_t shares;       /* of the GRES, that it has or asks for */
};

/* A job that ended, or was queued again since, after the device had refused memory to it. */
struct world_lack {
    uint32_t id;
    bool ended; /* with failure; else it waits with its old note */
    struct note note;
    uint64_t needed_bytes;
    int64_t at_ms; /* by its node's clock */
};

#define WORLD_ELSEWHERE UINT32_MAX
#define WORLD_NO_TASK UINT32_MAX

struct world {
    const struct world_node *nodes;
    size_t node_count;
    const struct world_partition *partitions;
    size_t partition_count;
    const struct world_job *jobs; /* in the order of `since` */
    size_t job_count;
    const struct world_lack *lacks; /* none of them is among `jobs` */
    size_t lack_count;
};

#endif
