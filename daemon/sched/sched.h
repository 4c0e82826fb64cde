/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler as a pure step function: no clock, no threads, no device, no system call. Events
 * carry the time; the result is a list of actions that the caller carries out in order. The worker,
 * the unit tests and the simulator run the same object code.
 *
 * The scheduler takes three decisions, each in its own module:
 *   admission   which job may begin, in which lane (lane.h: Salus, section 3.3.2, Algorithm 1);
 *   turn        which job of a lane runs its next iteration (lane_policy.h: Salus, section 4);
 *   operation   which operation of the jobs that have a turn goes next (policy.h).
 *
 * A job's operations belong to iterations, which the caller numbers from 0. The caller offers an
 * operation (SUBMITTED) once it is eligible: it heads its stream, and everything it depends on is
 * complete or was dispatched before it on the same stream. It belongs to the job's current
 * iteration or to the next one. The caller sends BOUNDARY when all operations of the current
 * iteration are complete. Within a lane one iteration runs at a time; lanes run side by side
 * (Salus, section 3.3).
 *
 * Events hold all input of a step by value: replaying recorded events on the same code gives the
 * same actions (record/replay.h). The order of simultaneous events matters only among events of one
 * kind, and between a job's LEFT and its earlier events: see enum sched_event_kind.
 *
 * An impossible event is a bug of the caller. It changes nothing and is answered by REJECT with the
 * reason; all other events of the step take effect.
 */
#ifndef DAEMON_SCHED_SCHED_H
#define DAEMON_SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/policy_config.h"
#include "daemon/policy/reason.h"

struct sched;

/* The unit of the device that bounds a kernel, by the 60 % rule (Orion, section 5.2). COPY marks a
 * copy or a fill, which needs no SM and has no other fields set. */
enum sched_class {
    SCHED_CLASS_UNKNOWN,
    SCHED_CLASS_COMPUTE,
    SCHED_CLASS_MEMORY,
    SCHED_CLASS_COPY,
};

#define SCHED_MILLI_MAX 0x7fffu

/* The profile of a kernel launched with one grid, block and shared memory, at its submission. */
struct sched_kernel {
    uint64_t mean_ns,
        tail_ns; /* duration alone on the device: mean and 0.99 quantile; 0: unknown */
    /* SMs that its blocks fill, ceil(blocks / blocks per SM); may exceed the device's. */
    uint32_t sms;
    uint32_t class : 2; /* enum sched_class */
    uint32_t compute_milli : 15,
        memory_milli : 15; /* parts of the peak rates, alone; both 0: unknown */
};

/* The statistic of a job's request latencies that its target bounds. */
enum sched_slo_of { /* texts: reason_slo_of */
#define X(name, text) SCHED_SLO_##name,
                    REASON_SLO_OF(X)
#undef X
                        SCHED_SLO_KINDS
};

/* A job's requirements and what is known of it. Bytes are rounded up to the device's chunks. */
struct sched_spec {
    uint64_t persistent_bytes; /* P: kept over iterations */
    uint64_t ephemeral_bytes;  /* E: peak within an iteration */
    uint32_t weight;           /* weight under the fair policy; 0: 1 */
    int32_t priority;          /* a higher priority goes first under every policy */
    uint32_t group;            /* jobs of one group never share a lane; 0: no group */
    uint32_t user; /* jobs of different users never share a lane, unless share_users is set */
    /* Jobs of one run and user are admitted together or refused together; 0: no run. */
    uint32_t run;
    bool unknown; /* P and E are unknown: the job begins with none and asks for memory, until
                     SCHED_MEASURED */
    bool paused;
    bool fixed; /* some of its memory cannot leave the device: the job is never swapped out */
    uint64_t iterations;       /* iterations in all; 0: unknown */
    uint64_t duration_ns;      /* device time that the job needs in all; 0: unknown */
    uint64_t admit_timeout_ns; /* refuse the job when it has waited this long; 0: never */
    uint64_t request_ns;       /* latency of a request (iteration) alone; 0: learned */
    uint64_t slo_ns;           /* latency target of its requests; 0: none */
    uint32_t slo_of;           /* enum sched_slo_of: statistic that slo_ns bounds */
};

/* P and E of a job in bytes. */
struct sched_need {
    uint64_t persistent_bytes, ephemeral_bytes;
};

/* A step takes events in this order of kinds, and events of one kind in the order of the array. So
 * a place becomes free before a job asks for it. LEFT is the exception: it is taken last when its
 * job joined, was set or submitted something earlier in the array. */
enum sched_event_kind {
    SCHED_POLICY, /* policy: new policy configuration; the last valid one of a step takes effect */
    SCHED_DONE,   /* job, done: an operation ended, successfully or not */
    SCHED_ASKED,  /* job, need, patient: asks to raise P and E to these values; the answer is GRANT
                     or DENY at once, or for a patient job WAIT and later one of the two */
    SCHED_MEASURED, /* job, need: measured P and E; never more than granted */
    SCHED_BOUNDARY, /* job: its current iteration is complete, and no ephemeral page is in use */
    SCHED_LEFT, /* job: the client left; its waiting operations are dropped, running ones still end
                 */
    SCHED_JOINED, /* job, spec: a new job wants to be admitted */
    SCHED_SET,    /* job, spec: new weight, priority, paused, iterations, duration_ns, request_ns,
                     slo_ns, slo_of */
    SCHED_FIXED,  /* job: spec.fixed is set from now on */
    SCHED_WANTED, /* job: a swapped-out job has something to do now */
    SCHED_HELD,   /* job: memory that it was given has just arrived, all of it or a part */
    SCHED_SUBMITTED, /* job, submitted: an operation is eligible */
    SCHED_TIME,      /* time has passed, as ARM requested */
    SCHED_EVENTS
};

struct sched_event {
    enum sched_event_kind kind;
    uint32_t job;
    union {
        struct {
            uint64_t op; /* the caller's name of the operation; returned by RUN */
            struct sched_kernel kernel;
            uint32_t iteration; /* the job's current iteration or the next */
        } submitted;
        struct {
            uint64_t op, busy_ns;
            uint64_t lane_bytes; /* ephemeral memory that the job still uses after this operation */
        } done;
        struct {
            struct sched_need need;
            bool patient; /* ASKED: the job can wait for the answer */
        };
        struct sched_spec spec;
        struct policy_config policy;
    };
};

#define SCHED_NO_LANE UINT32_MAX

enum sched_action_kind {
    SCHED_RUN,      /* submit `op` of `job` to the device now */
    SCHED_ADMIT,    /* the job may begin, in `lane`; precedes every RUN of it */
    SCHED_REFUSE,   /* the job will never be admitted, because of `why`; it exists until LEFT */
    SCHED_GRANT,    /* answer to ASKED; after WAIT, the memory is reserved from now on */
    SCHED_DENY,     /* answer to ASKED, at once or after WAIT */
    SCHED_WAIT,     /* answer to ASKED: GRANT or DENY will follow */
    SCHED_MOVE,     /* the job now belongs to `lane`; it has no ephemeral page in use */
    SCHED_LANE,     /* `lane` now has `bytes`; shrinks only when none of its pages is in use */
    SCHED_SWITCH,   /* the job has the turn in `lane` from now on */
    SCHED_SPILL,    /* the job lost its turn within an iteration: move its ephemeral pages to host
                       memory */
    SCHED_RESTORE,  /* move its ephemeral pages back: the job is about to get the turn again */
    SCHED_SWAP_OUT, /* move the job's persistent chunks to host memory; it has no page in a lane */
    SCHED_SWAP_IN,  /* move the job's persistent chunks back, to the same addresses */
    SCHED_LEVEL,    /* the job's operations have the device's stream priority `level` from now on */
    SCHED_SHARE,    /* the job's kernels use `sms` multiprocessors from now on; 0: all, which is the
                       initial state */
    SCHED_STILL,    /* the job's kernels on the device are preempted at the end of their slice, or
                       resume (`still` 0); only where the device has slices */
    SCHED_ARM,      /* step again at `at_ns` at the latest; replaces any earlier ARM */
    SCHED_REJECT,   /* an event of `job` was impossible and changed nothing: `rejected` */
    SCHED_ACTIONS
};

/* Reasons why a job does not run. TOO_LARGE, TIMEOUT and RUN: refused. MEMORY, ORDER, UNKNOWN, USER
 * and PART: waits for admission. PAUSED: waits for admission or is admitted. All others: admitted.
 */
enum sched_why { /* texts: reason_why */
#define X(name, text) SCHED_WHY_##name,
                 REASON_WHY(X)
#undef X
};

/* Reasons why an event is rejected: X(NAME, text). */
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
    uint32_t lane; /* lane of the job; SCHED_NO_LANE: none */
    union {
        uint64_t op;
        uint64_t at_ns;
        uint64_t bytes; /* LANE: new size; SWAP_OUT and SWAP_IN: amount, for the record only */
        enum sched_why why;
        uint32_t sms;
        uint32_t still;
        uint32_t level; /* 1: ahead of level 0 where the device supports it; 0: initial level */
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

#define SCHED_WAVES                                                                             \
    UINT64_MAX /* value of slice_ns: kernels can be preempted at the end of each wave of blocks \
                  but the last */

struct sched_config {
    struct policy_config policy;
    uint64_t capacity_bytes; /* C: the device's memory; 0: unlimited */
    uint64_t chunk_bytes;    /* 0: 2 MiB */
    uint32_t sms;            /* SMs of the device; 0: 80 */
    uint32_t share_sms;      /* granularity of shares in SMs; 0: one SM */
    uint64_t slice_ns;       /* time within which the device can preempt a kernel; 0: it cannot */
    bool share_users;        /* lanes take jobs of different users */
    bool one_user;           /* jobs of two users are never on the device at the same time */
};

#endif
