/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler as a pure step function: no clock, no threads, no device, no system call. Time
 * arrives with the events; the answer is a list of actions that the caller must carry out in order.
 * The worker, the unit tests and the simulator run this same object code.
 *
 * Three decisions are taken here, each in a place of its own:
 *   admission   which job may begin, in which lane (lane.h: Salus, section 3.3.2, Algorithm 1);
 *   turn        which job of a lane runs its next iteration (lane_policy.h: Salus, section 4);
 *   operation   which operation of the jobs that have a turn goes next (policy.h).
 *
 * A job's operations belong to iterations, numbered from 0 by the caller. An operation is offered
 * (SUBMITTED) once it is eligible: it heads its stream and everything it depends on is complete or
 * dispatched before it on the same stream. It may belong to the job's current iteration or to the
 * next one. When all operations of the current iteration are complete, the caller says BOUNDARY.
 * Within a lane one iteration runs at a time; lanes run side by side (Salus, section 3.3).
 *
 * Everything that a step goes by is in its events, by value: a record of them, fed to the same code
 * again, gives the same actions (record.h). The order of simultaneous events does not matter, but
 * for those of one kind and for what a job says before it leaves: enum sched_event_kind.
 *
 * An event that cannot be is a caller's bug. It changes nothing and is answered by REJECT, which
 * says why; all other events of the step count.
 */
#ifndef DAEMON_SCHED_SCHED_H
#define DAEMON_SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/policy_config.h"
#include "daemon/policy/reason.h"

struct sched;

/* Which of the device's units bounds a kernel, by the 60 % rule (Orion, section 5.2). COPY: it is
 * no kernel but a copy or a fill, needs no SM, and nothing else is said of it. */
enum sched_class {
    SCHED_CLASS_UNKNOWN,
    SCHED_CLASS_COMPUTE,
    SCHED_CLASS_MEMORY,
    SCHED_CLASS_COPY,
};

#define SCHED_MILLI_MAX 0x7fffu

/* What is known of a kernel launched with one grid, block and shared memory, when it is offered. */
struct sched_kernel {
    uint64_t mean_ns, tail_ns; /* its time alone on the device: mean, 0.99 quantile; 0: not known */
    uint32_t sms; /* that its blocks fill, ceil(blocks / blocks per SM): may exceed the device's */
    uint32_t class : 2;                             /* enum sched_class */
    uint32_t compute_milli : 15, memory_milli : 15; /* of the peaks, alone; both 0: not known */
};

/* What of a job's requests is held against its promise. */
enum sched_slo_of { /* texts: reason_slo_of */
#define X(name, text) SCHED_SLO_##name,
                    REASON_SLO_OF(X)
#undef X
                        SCHED_SLO_KINDS
};

/* What a job asks for and what is known of it. Bytes are rounded up to the device's chunks. */
struct sched_spec {
    uint64_t persistent_bytes; /* P: kept over iterations */
    uint64_t ephemeral_bytes;  /* E: peak within an iteration */
    uint32_t weight;           /* fair: its part; 0: 1 */
    int32_t priority;          /* higher goes first under every policy */
    uint32_t group;            /* jobs of one group never share a lane; 0: none */
    uint32_t user;             /* jobs of different users never share one, but for share_users */
    uint32_t run; /* jobs of one run and user are admitted together or refused; 0: of none */
    bool unknown; /* P and E are not: it begins with none and asks, until SCHED_MEASURED */
    bool paused;
    bool fixed;                /* some of its memory cannot leave the device: never swapped out */
    uint64_t iterations;       /* in all; 0: not known */
    uint64_t duration_ns;      /* device time that it needs in all; 0: not known */
    uint64_t admit_timeout_ns; /* refused when it waited so long; 0: never */
    uint64_t request_ns;       /* latency of a request (iteration) alone; 0: to be learnt */
    uint64_t slo_ns;           /* that its requests shall take no longer: its promise; 0: none */
    uint32_t slo_of;           /* enum sched_slo_of: what of them */
};

/* P and E of a job, as it is. Bytes. */
struct sched_need {
    uint64_t persistent_bytes, ephemeral_bytes;
};

/* Simultaneous events are taken in this order, whatever their order in the array; those of one kind
 * in the array's. A freed place is seen before anybody asks for it. Only LEFT waits: it is taken
 * last when its job joined, was set or submitted something before it in the array. */
enum sched_event_kind {
    SCHED_POLICY,    /* policy: other policies from now on; of several the last one that is valid */
    SCHED_DONE,      /* job, done: complete, however it ended */
    SCHED_ASKED,     /* job, need, patient: its P and E are to grow to these; GRANT or DENY at
                        once, or, where it is patient, WAIT and later one of the two */
    SCHED_MEASURED,  /* job, need: its P and E are these, as measured; never more than granted */
    SCHED_BOUNDARY,  /* job: its current iteration is complete, no ephemeral page is in use */
    SCHED_LEFT,      /* job: gone; its waiting operations are forgotten, running ones still end */
    SCHED_JOINED,    /* job, spec: wants to be admitted */
    SCHED_SET,       /* job, spec: weight, priority, paused, iterations, duration_ns, request_ns,
                        slo_ns, slo_of */
    SCHED_FIXED,     /* job: is fixed from now on */
    SCHED_WANTED,    /* job: swapped out, and it would do something now */
    SCHED_HELD,      /* job: the memory that it was given is on its way until now */
    SCHED_SUBMITTED, /* job, submitted: eligible */
    SCHED_TIME,      /* nothing but the time: what ARM asked for */
    SCHED_EVENTS
};

struct sched_event {
    enum sched_event_kind kind;
    uint32_t job;
    union {
        struct {
            uint64_t op; /* the caller's name for it; returned by RUN */
            struct sched_kernel kernel;
            uint32_t iteration; /* the job's current one or the next */
        } submitted;
        struct {
            uint64_t op, busy_ns;
            uint64_t lane_bytes; /* ephemeral memory that the job has in use behind it */
        } done;
        struct {
            struct sched_need need;
            bool patient; /* ASKED: it can wait for the answer */
        };
        struct sched_spec spec;
        struct policy_config policy;
    };
};

#define SCHED_NO_LANE UINT32_MAX

enum sched_action_kind {
    SCHED_RUN,      /* hand `op` of `job` to the device now */
    SCHED_ADMIT,    /* job may begin, in `lane`; before any RUN of it */
    SCHED_REFUSE,   /* job will never be admitted: `why`; it stays until LEFT */
    SCHED_GRANT,    /* answer to ASKED; after WAIT, what was asked for is reserved from now on */
    SCHED_DENY,     /* answer to ASKED, or after WAIT */
    SCHED_WAIT,     /* answer to ASKED: GRANT or DENY will come */
    SCHED_MOVE,     /* job now belongs to `lane`; it has no ephemeral page in use */
    SCHED_LANE,     /* `lane` now has `bytes`; less only when none of its pages is in use */
    SCHED_SWITCH,   /* job has the turn in `lane` from now on */
    SCHED_SPILL,    /* job lost its turn within an iteration: take its ephemeral pages elsewhere */
    SCHED_RESTORE,  /* bring them back: it is about to get the turn again */
    SCHED_SWAP_OUT, /* take the job's persistent chunks to host memory; it has no page in a lane */
    SCHED_SWAP_IN,  /* and back, at the same addresses */
    SCHED_LEVEL,    /* from now on job's operations have this `level` of the device's priorities */
    SCHED_SHARE,    /* from now on job's kernels have `sms` of the multiprocessors; 0: all, as it
                       begins */
    SCHED_STILL, /* job's kernels that are on the device stand still from the end of their slice on,
                    or go on (`still` 0); only where the device has slices */
    SCHED_ARM,   /* step again at `at_ns`, at the latest; replaces any earlier ARM */
    SCHED_REJECT, /* an event of `job` (as it said) could not be: `rejected`; it changed nothing */
    SCHED_ACTIONS
};

/* TOO_LARGE and TIMEOUT: refused. MEMORY, ORDER, UNKNOWN: waits for admission. The rest: admitted.
 */
enum sched_why { /* texts: reason_why */
#define X(name, text) SCHED_WHY_##name,
                 REASON_WHY(X)
#undef X
};

/* Why an event cannot be: X(NAME, text). */
/* clang-format off */
#define SCHED_FAULTS(X)                                                       \
    X(NONE, "")                                                               \
    X(KIND, "there is no such kind of event")                                 \
    X(NO_JOB, "there is no such job")                                         \
    X(TWICE, "there is such a job already")                                   \
    X(GONE, "the job has left")                                               \
    X(ITERATION, "it belongs to neither the current iteration nor the next")  \
    X(NO_OPERATION, "no such operation of the job runs")                      \
    X(WITHIN, "the job is not admitted, or within an iteration")              \
    X(POLICY, "there is no such policy, or a number is out of range")
/* clang-format on */
enum sched_fault {
#define X(name, text) SCHED_FAULT_##name,
    SCHED_FAULTS(X)
#undef X
};

struct sched_action {
    enum sched_action_kind kind;
    uint32_t job;
    uint32_t lane; /* of the job; SCHED_NO_LANE: none */
    union {
        uint64_t op;
        uint64_t at_ns;
        uint64_t bytes; /* LANE; SWAP_OUT and SWAP_IN: how much, for the record */
        enum sched_why why;
        uint32_t sms;
        uint32_t still;
        uint32_t level; /* 1: before those of level 0, where the device can; 0: jobs begin there */
        struct {
            enum sched_event_kind event;
            enum sched_fault fault;
        } rejected;
    };
};

struct sched_actions {
    struct sched_action *items; /* owned by the scheduler, valid until the next step */
    uint32_t count;
};

#define SCHED_WAVES \
    UINT64_MAX /* as slice_ns: at the end of a wave of theirs, if it is not the last */

struct sched_config {
    struct policy_config policy;
    uint64_t capacity_bytes; /* C: the device's memory; 0: without bound */
    uint64_t chunk_bytes;    /* 0: 2 MiB */
    uint32_t sms;            /* of the device; 0: 80 */
    uint32_t share_sms;      /* shares of it go by steps of so many; 0: by each */
    uint64_t slice_ns; /* within which its kernels can be made to stand still; 0: they cannot */
    bool share_users;  /* lanes take jobs of different users */
    bool one_user;     /* nor has the device jobs of two users at a time */
};

#endif
