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
#define PLACE_TASKS_MOST 65536u /* GPUs of one job, all tasks together */
#define PLACE_CURVES_MOST 16u

struct place;

/* By how much jobs on one GPU are slowed down: a2 x^2 + a1 x + a0, where x is by how much their
 * utilisations together exceed 1; 0 where they do not, and where it would be negative. The paper's
 * of section 3.2, or fitted from observations. */
struct place_curve {
    double a2, a1, a0;
};

/* How memory on one GPU adds up: the paper's sum of all, or Salus's lanes, where what is persistent
 * adds up and what is of an iteration is used in turns (the largest counts). */
enum place_memory { PLACE_MEMORY_SUM, PLACE_MEMORY_LANES };

/* Zero: what is said of it. */
struct place_config {
    const char *policy; /* of policies.def; NULL: horus */
    enum place_memory memory;
    uint32_t queues;       /* k of Algorithm 1; 0: the policy's (horus 1, horus-f 3) */
    uint32_t batch;        /* beta, jobs a round; 0: 15 (section 5.2). A step has as many rounds as
                              it takes to try all that wait */
    double w_mem, w_util;  /* omega of (7); both 0: 1 and 1 */
    double more;           /* memory after an out-of-memory end, times this; 0: 1.5. At least what
                              the job had there */
    double drop;           /* PAB: a speed below (1 - drop) of the one before; 0: 0.5 */
    int64_t warm_ns;       /* PAB: no speed counts before a job ran so long; 0: 60 s */
    double separate_ratio; /* separate: GPUs of services for each of trainings; 0: 5. By nodes */
    uint32_t patience; /* horus_f: so many later jobs may start before the one that waits longest;
                          then nodes are kept for it. 0: 100 */
    bool first_fit;    /* the first GPU that fits is taken, whatever the policy's cost says of it */
    uint32_t jobs_most;   /* on one GPU; 0: no limit */
    double util_most;     /* of what is placed on one GPU together, 1 or more; 0: no limit, gpucolo:
                             1, where a training is on it */
    uint32_t curve_count; /* 0: one, the RTX 2080's of section 3.2 */
    struct place_curve curves[PLACE_CURVES_MOST];
};

enum place_kind { PLACE_TRAINING, PLACE_SERVICE };

struct place_job {
    uint64_t id;    /* the caller's name */
    uint32_t tasks; /* 1 or more; all of them start together */
    uint32_t gpus;  /* of each task; 1 or more, all on one node. Tasks may be on several, or on one,
                       and no two of a job share a GPU */
    double util;    /* of each of its GPUs, predicted or measured; above 0, at most 1 */
    uint64_t persistent_bytes, ephemeral_bytes; /* of each of its GPUs; Salus's P and E */
    uint32_t cpu_milli;                         /* of each task */
    uint64_t memory_bytes;                      /* of each task, of the node's */
    uint64_t labels; /* may run on nodes that have one of these; 0: on any */
    enum place_kind kind;
    double slack; /* SERVICE: by which part it may be slowed down; 0: not at all. gslice, gpucolo */
    bool alone;   /* shares its GPUs with nobody */
    int64_t since_ns; /* it waits since then already; 0, or later than now: since it is told. That
                         makes queues of such jobs weigh more (horus_f), and is nobody's turn */
};

struct place_gpu {
    uint64_t memory_bytes;
    uint32_t curve; /* of place_config's */
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
    PLACE_NODE,      /* node: is there, empty */
    PLACE_NODE_GONE, /* id: is not; what ran there waits again, first */
    PLACE_NODE_SHUT, /* id: gets no new job until PLACE_NODE_OPEN; what runs goes on */
    PLACE_NODE_OPEN, /* id */
    PLACE_JOB,       /* job: waits from now on */
    PLACE_RUNS,     /* job, where: it runs already, where a restarted caller finds it, be there room
                       or not. Of a job that was told say GONE first */
    PLACE_GONE,     /* id: ended or was withdrawn; what it had is free */
    PLACE_FAILED,   /* id, which runs: did not start, or died of no fault of its own: waits again,
                       in its turn */
    PLACE_MEMORY,   /* id, which runs: ended for want of memory: the same, and it wants `more` */
    PLACE_MEASURED, /* id, which waits or runs: what was measured of it meanwhile. Nobody has to go
                       where it is more than was thought */
    PLACE_TIME,     /* nothing but the time */
    PLACE_EVENTS
};

/* A GPU by its node's name and its number there. */
struct place_where {
    uint64_t node;
    uint32_t gpu;
};

/* Simultaneous events are taken in the array's order. */
struct place_event {
    enum place_event_kind kind;
    uint64_t id;
    const struct place_node *node;              /* NODE */
    const struct place_job *job;                /* JOB, RUNS */
    const struct place_where *where;            /* RUNS: as many as its tasks have GPUs */
    double util;                                /* MEASURED; 0: not known */
    uint64_t persistent_bytes, ephemeral_bytes; /* MEASURED; both 0: not known */
    double speed;                               /* MEASURED: iterations a second; 0: not known */
};

enum place_action_kind {
    PLACE_START,  /* on `where`, of which there are `count` */
    PLACE_STOP,   /* stop it; it waits again already, last (pab). Its end is no event */
    PLACE_REFUSE, /* it can never run on the nodes that were ever there, once there were some: why
                   */
};

struct place_action {
    enum place_action_kind kind;
    uint64_t id;
    const struct place_where *where; /* task by task */
    uint32_t count;
    double cost;     /* START: (7), of all its GPUs together, whatever the policy goes by */
    const char *why; /* STOP, REFUSE; static */
};

/* An event that cannot be: it changed nothing. */
struct place_wrong {
    size_t event;    /* its number in the step */
    const char *why; /* static */
};

/* Valid until the next call with this place. */
struct place_answer {
    const struct place_action *actions; /* in the order in which they are to be done */
    size_t action_count;
    const struct place_wrong *wrong;
    size_t wrong_count;
    int64_t wake_ns; /* step again then at the latest; INT64_MAX: when something happens. No policy
                        of today waits for a time */
};

#endif
