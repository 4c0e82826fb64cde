/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes, jobs, events and answers of the placement library (place.h).
 */
#ifndef DAEMON_PLACE_STATE_PLACE_TYPES_H
#define DAEMON_PLACE_STATE_PLACE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLACE_GPUS_A_NODE 64u
#define PLACE_TASKS_MOST 65536u /* limit of a job's GPUs, all tasks together */
#define PLACE_CURVES_MOST 16u

struct place;

/* Slowdown of jobs that share one GPU: a2 x^2 + a1 x + a0, where x is the excess of their total
 * utilisation over 1. The slowdown is 0 without an excess and where the polynomial is negative.
 * Coefficients come from section 3.2 of the paper or from a fit of observations. */
struct place_curve {
    double a2, a1, a0;
};

/* How memory on one GPU adds up. SUM: the paper's sum of all. LANES: Salus's lanes, where
 * persistent memory adds up and only the largest ephemeral memory counts, because jobs use it in
 * turns. */
enum place_memory { PLACE_MEMORY_SUM, PLACE_MEMORY_LANES };

/* Zero selects the default that each member names. */
struct place_config {
    const char *policy; /* name in policies.def; NULL: horus */
    enum place_memory memory;
    uint32_t queues; /* k of Algorithm 1; 0: the policy's (horus 1, horus-f 3) */
    /* Beta, jobs per round; 0: 15 (section 5.2). A step has as many rounds as needed to try all
     * waiting jobs. */
    uint32_t batch;
    double w_mem, w_util; /* omega of (7); both 0: 1 and 1 */
    /* Factor of a job's memory after it ended out of memory; 0: 1.5. The new value is at least the
     * memory that the job had. */
    double more;
    double drop;     /* PAB: a speed below (1 - drop) of the previous one triggers a stop; 0: 0.5 */
    int64_t warm_ns; /* PAB: speeds of a job count after it ran this long; 0: 60 s */
    /* separate: GPUs of services per GPU of trainings; 0: 5. Applied to whole nodes. */
    double separate_ratio;
    /* horus_f: how many later jobs may start before the longest waiting one gets reserved nodes. 0:
     * 100. */
    uint32_t patience;
    bool first_fit;     /* takes the first GPU that fits and ignores the policy's cost */
    uint32_t jobs_most; /* largest number of jobs on one GPU; 0: no limit */
    /* Limit of the total utilisation placed on one GPU, 1 or more; 0: no limit, but for gpucolo 1
     * where a training is on it. */
    double util_most;
    uint32_t curve_count; /* 0: one curve, the RTX 2080's of section 3.2 */
    struct place_curve curves[PLACE_CURVES_MOST];
};

enum place_kind { PLACE_TRAINING, PLACE_SERVICE };

struct place_job {
    uint64_t id;    /* the caller's name */
    uint32_t tasks; /* 1 or more; all of them start together */
    /* Per task; 1 or more, all on one node. Tasks may be on several nodes or on one, and no two
     * tasks of a job share a GPU. */
    uint32_t gpus;
    double util; /* per GPU, predicted or measured; above 0, at most 1 */
    uint64_t persistent_bytes, ephemeral_bytes; /* per GPU; Salus's P and E */
    uint32_t cpu_milli;                         /* per task */
    uint64_t memory_bytes;                      /* per task; memory of the node */
    uint64_t labels; /* may run on nodes that have one of these bits; 0: on any */
    enum place_kind kind;
    /* SERVICE: fraction by which it may be slowed down; 0: not at all. Used by gslice and
     * gpucolo. */
    double slack;
    bool alone; /* shares its GPUs with no other job */
    /* Start of its waiting time; 0, or later than now: the time of its event. Raises the weight of
     * such jobs' queues (horus_f), but does not change the order. */
    int64_t since_ns;
};

struct place_gpu {
    uint64_t memory_bytes;
    uint32_t curve; /* index in place_config.curves */
};

struct place_node {
    uint64_t id; /* the caller's name */
    uint32_t cpu_milli;
    uint64_t memory_bytes;
    uint64_t labels;
    uint32_t gpu_count;           /* 1 to PLACE_GPUS_A_NODE */
    const struct place_gpu *gpus; /* copied */
};

enum place_event_kind {
    PLACE_NODE,      /* node: is available and empty */
    PLACE_NODE_GONE, /* id: is no longer available; its jobs wait again, first in the order */
    PLACE_NODE_SHUT, /* id: gets no new job until PLACE_NODE_OPEN; running jobs continue */
    PLACE_NODE_OPEN, /* id: takes new jobs again */
    PLACE_JOB,       /* job: waits from now on */
    /* job, where: already runs, as a restarted caller finds it, even without free resources. For a
     * job that is already known, send GONE first. */
    PLACE_RUNS,
    PLACE_GONE, /* id: ended or was withdrawn; its resources are free */
    /* id, running: did not start, or died through no fault of its own; waits again at its turn. */
    PLACE_FAILED,
    /* id, running: ended out of memory; as PLACE_FAILED, and its demand grows by `more`. */
    PLACE_MEMORY,
    /* id, waiting or running: new measurements. No job is removed if they exceed the estimate. */
    PLACE_MEASURED,
    PLACE_TIME, /* only the time advances */
    PLACE_EVENTS
};

/* A GPU: its node's id and its number on the node. */
struct place_where {
    uint64_t node;
    uint32_t gpu;
};

/* The events of one step are applied in the array's order. */
struct place_event {
    enum place_event_kind kind;
    uint64_t id;
    const struct place_node *node;              /* for NODE */
    const struct place_job *job;                /* for JOB and RUNS */
    const struct place_where *where;            /* for RUNS: one entry per GPU of all tasks */
    double util;                                /* for MEASURED; 0: not known */
    uint64_t persistent_bytes, ephemeral_bytes; /* for MEASURED; both 0: not known */
    double speed; /* for MEASURED: iterations per second; 0: not known */
};

enum place_action_kind {
    PLACE_START, /* start on `where`, which has `count` entries */
    /* stop; the job already waits again, last in the order (pab). Its end is not reported as an
     * event. */
    PLACE_STOP,
    /* No node that was ever present can run the job; see why. Not sent before the first node. */
    PLACE_REFUSE,
};

struct place_action {
    enum place_action_kind kind;
    uint64_t id;
    const struct place_where *where; /* task by task */
    uint32_t count;
    double cost;     /* START: (7), summed over its GPUs, whichever cost the policy uses */
    const char *why; /* STOP, REFUSE; static */
};

/* An invalid event; it changed nothing. */
struct place_wrong {
    size_t event;    /* index in the step's events */
    const char *why; /* static */
};

/* Valid until the next call with the same struct place. */
struct place_answer {
    const struct place_action *actions; /* in the order of execution */
    size_t action_count;
    const struct place_wrong *wrong;
    size_t wrong_count;
    /* Latest time of the next step; INT64_MAX: only on an event. No present policy uses this. */
    int64_t wake_ns;
};

#endif
