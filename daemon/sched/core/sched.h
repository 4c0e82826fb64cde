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
 * Simultaneous events are taken in the order of the array; the caller sorts: DONE first, then
 * ASKED and BOUNDARY, LEFT, JOINED, SUBMITTED, so that a freed place is seen before anybody asks
 * for it.
 */
#ifndef DAEMON_SCHED_CORE_SCHED_H
#define DAEMON_SCHED_CORE_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/reason.h"

struct sched;

/* Which of the device's units bounds a kernel, by the 60 % rule (Orion, section 5.2). */
enum sched_class { SCHED_CLASS_UNKNOWN, SCHED_CLASS_COMPUTE, SCHED_CLASS_MEMORY };

/* What is known of a kernel launched with one grid, block and shared memory. The caller's: it stays
 * until DONE of every operation that names it, and may be changed between steps as more is learnt.
 */
struct sched_kernel {
    uint64_t mean_ns, tail_ns; /* its time alone on the device: mean, 0.99 quantile; 0: not known */
    uint32_t sms; /* that its blocks fill, ceil(blocks / blocks per SM): may exceed the device's */
    uint16_t compute_milli, memory_milli; /* of the device's peaks, alone; both 0: not known */
    uint8_t class;                        /* enum sched_class */
};

/* What a job asks for and what is known of it. Bytes are rounded up to the device's chunks. */
struct sched_spec {
    uint64_t persistent_bytes; /* P: kept over iterations */
    uint64_t ephemeral_bytes;  /* E: peak within an iteration */
    uint32_t weight;           /* fair: its part; 0: 1 */
    int32_t priority;          /* higher goes first under every policy */
    uint32_t group;            /* jobs of one group never share a lane; 0: none */
    uint32_t user;             /* jobs of different users never share one, but for share_users */
    bool unknown;              /* P and E are not: it takes what is free, until SCHED_WORD */
    bool paused;
    uint64_t iterations;       /* in all; 0: not known */
    uint64_t duration_ns;      /* device time that it needs in all; 0: not known */
    uint64_t admit_timeout_ns; /* refused when it waited so long; 0: never */
    uint64_t request_ns;       /* latency of a request (iteration) alone; 0: to be learnt */
};

enum sched_event_kind {
    SCHED_JOINED,    /* job, spec: wants to be admitted */
    SCHED_LEFT,      /* job: gone; its waiting operations are forgotten, running ones still end */
    SCHED_SUBMITTED, /* job, op, iteration: eligible; kernel: NULL for a copy or a fill */
    SCHED_DONE,      /* job, op: complete, however it ended; busy_ns */
    SCHED_BOUNDARY,  /* job: its current iteration is complete, no ephemeral page is in use */
    SCHED_ASKED,     /* job, spec: its P and E are to grow to these; GRANT or DENY, at once */
    SCHED_WORD,      /* job, spec: its P and E are these, as measured; never more than granted */
    SCHED_SET,       /* job, spec: weight, priority, paused, iterations, duration_ns, request_ns */
    SCHED_TIME,      /* nothing but the time: what ARM asked for */
};

struct sched_event {
    enum sched_event_kind kind;
    uint32_t job;
    uint64_t op; /* the caller's name for it; returned by SCHED_RUN */
    uint64_t busy_ns;
    const struct sched_spec *spec; /* read during the step only */
    const struct sched_kernel *kernel;
    uint32_t iteration;
};

enum sched_action_kind {
    SCHED_RUN,      /* hand `op` of `job` to the device now */
    SCHED_ADMIT,    /* job may begin, in `lane`; before any RUN of it */
    SCHED_REFUSE,   /* job will never be admitted: `why`; it stays until LEFT */
    SCHED_GRANT,    /* answer to ASKED */
    SCHED_DENY,     /* answer to ASKED */
    SCHED_MOVE,     /* job now belongs to `lane`; it has no ephemeral page in use */
    SCHED_LANE,     /* `lane` now has `bytes`; less only when none of its pages is in use */
    SCHED_SWITCH,   /* job has the turn in `lane` from now on */
    SCHED_SPILL,    /* job lost its turn within an iteration: take its ephemeral pages elsewhere */
    SCHED_RESTORE,  /* bring them back: it is about to get the turn again */
    SCHED_SWAP_OUT, /* take the job's persistent chunks to host memory; it is at a boundary */
    SCHED_SWAP_IN,  /* and back, at the same addresses */
    SCHED_LEVEL,    /* from now on job's operations have this `level` of the device's priorities */
    SCHED_ARM,      /* step again at `at_ns`, at the latest; replaces any earlier ARM */
};

/* TOO_LARGE and TIMEOUT: refused. MEMORY, ORDER, UNKNOWN: waits for admission. The rest: admitted.
 */
enum sched_why { /* texts: reason_why */
#define X(name, text) SCHED_WHY_##name,
                 REASON_WHY(X)
#undef X
};

struct sched_action {
    enum sched_action_kind kind;
    uint32_t job;
    uint64_t op;
    uint32_t lane;
    enum sched_why why;
    uint64_t bytes; /* LANE; SWAP_OUT and SWAP_IN: how much, for the record */
    uint64_t at_ns;
    uint32_t level; /* 1: before those of level 0, where the device can; 0 is where jobs begin */
};

struct sched_actions {
    struct sched_action *items; /* owned by the scheduler, valid until the next step */
    uint32_t count;
};

/* The choice of policies. Numbers: -1 or 0 as said: the policy's own default. */
struct sched_choice {
    const char *lane;      /* fifo, pack, srtf, fair; NULL: fair */
    const char *kernel;    /* streams, temporal, ticktock, reef, orion; NULL: streams */
    int exclusive;         /* 1: one lane runs at a time; -1: default (fifo, srtf 1; others 0) */
    int swap;              /* 1: persistent memory may go to host memory; -1: 0 */
    uint32_t max_lanes;    /* 0: as many as memory allows */
    uint32_t overtakes;    /* how often a waiting job may be overtaken; 0: 16 */
    uint32_t lease_factor; /* lease of a turn, in learned iterations; 0: 10 */
    uint64_t lease_ns;     /* lease of a job without a learned iteration; 0: 1 s */
    /* Kernel policies. A job of priority above 0 is high-priority, every other is best-effort. */
    uint32_t inflight_cap;  /* K: operations of one job on the device; 0: 16 */
    uint64_t preempt_ns;    /* K is adapted so that those of a best-effort job end within; 0: no */
    int priorities;         /* 1: high-priority jobs have the device's; -1: default */
    int by_class;           /* orion: 1: by class; -1: 1 */
    int by_size;            /* orion: 1: by SMs needed; -1: 1 */
    uint32_t sm_threshold;  /* orion: SM_THRESHOLD; 0: the device's SMs, then searched */
    uint32_t dur_threshold; /* orion: DUR_THRESHOLD, thousandths of a request; 0: 25 */
    uint32_t slack;         /* slack: what a request may lose, thousandths; 0: 10 */
    uint32_t lookahead;     /* slack: kernels of the request that it looks at; 0: 64 */
    uint32_t reef_queue;    /* reef: best-effort kernels on the device; 0: 12 */
};

#define SCHED_LEASE_FACTOR_MAX 1000u
#define SCHED_CAP_MAX 4096u
#define SCHED_PREEMPT_NS_MAX 10000000000ull
#define SCHED_SM_THRESHOLD_MAX (1u << 20)
#define SCHED_DUR_THRESHOLD_MAX 1000u
#define SCHED_QUEUE_MAX 4096u
#define SCHED_SLACK_MAX 1000u
#define SCHED_LOOKAHEAD_MAX 8192u
#define SCHED_LEASE_NS_MAX (3600ull * 1000000000)

struct sched_config {
    struct sched_choice choice;
    uint64_t capacity_bytes; /* C: the device's memory; 0: without bound */
    uint64_t chunk_bytes;    /* 0: 2 MiB */
    uint32_t sms;            /* of the device; 0: 80 */
    bool share_users;        /* lanes take jobs of different users */
};

/* -EINVAL and a sentence in `why` (>= 160 bytes, or NULL) when there is no such policy or a number
 * is out of range. */
int sched_create(struct sched **out, const struct sched_config *config, char *why,
                 size_t why_bytes);
void sched_destroy(struct sched *s);

/* Another policy from the next step on; no operation and no place in a queue is lost. On failure
 * nothing changes. */
int sched_choose(struct sched *s, const struct sched_choice *choice, char *why, size_t why_bytes);

/* 0, or -ENOMEM with the state unchanged. Events that name unknown jobs are a caller's bug:
 * -EINVAL. */
int sched_step(struct sched *s, uint64_t now_ns, const struct sched_event *events, uint32_t count,
               struct sched_actions *out);

/* ---- what people ask -------------------------------------------------------------------------
 */

#define SCHED_NO_LANE UINT32_MAX

struct sched_job_view {
    uint32_t lane;      /* SCHED_NO_LANE while it waits */
    uint32_t position;  /* in the queue for admission, from 1; 0: admitted */
    enum sched_why why; /* why it does not run now; NONE: it may */
    bool turn;          /* it has its lane's turn */
    bool swapped;
    uint64_t persistent_bytes, ephemeral_bytes; /* granted */
    uint32_t weight;
    int32_t priority;
    uint64_t iterations, iteration_ns; /* completed; mean device time of one, 0: none yet */
    uint32_t demand_milli; /* of the device, that its iterations use alone; 0: never was alone */
    uint64_t busy_ns, waited_ns; /* received; from JOINED to ADMIT */
    uint64_t request_ns;         /* latency of a request alone, given or learnt; 0: not yet */
    uint32_t inflight_cap;       /* K of this job now */
};

struct sched_lane_view {
    uint32_t lane;
    uint64_t bytes;
    uint32_t jobs;
    uint32_t holder; /* job id; 0: none has the turn */
    uint64_t switches, busy_ns;
};

/* false: no such job. */
bool sched_job(const struct sched *s, uint32_t job, struct sched_job_view *out);
/* Fills up to `cap` lanes in ascending order of their number; returns how many there are. */
uint32_t sched_lanes(const struct sched *s, struct sched_lane_view *out, uint32_t cap);
const struct sched_choice *sched_chosen(const struct sched *s);
/* SM_THRESHOLD in effect: as chosen, or as found by search so far. 0 under other policies. */
uint32_t sched_sm_threshold(const struct sched *s);

#endif
