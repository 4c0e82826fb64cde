/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's state: jobs, their waiting operations in order of arrival, and the turns. Jobs
 * and operations live in arrays and are referred to by slot, so that the arrays can move when they
 * grow. Policies read this; only the scheduler's own files write it.
 */
#ifndef DAEMON_SCHED_STATE_H
#define DAEMON_SCHED_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/minheap.h"
#include "daemon/sched/control/service.h"
#include "daemon/sched/jobmap.h"
#include "daemon/sched/lanes/lane.h"
#include "daemon/sched/queue/classes.h"
#include "daemon/sched/queue/ranked.h"
#include "daemon/sched/sched.h"

/* 1: every step ends with sched_check and aborts when that fails. Costs O(state) per step. */
#ifndef SCHED_CHECK
#ifdef __SANITIZE_ADDRESS__
#define SCHED_CHECK 1
#else
#define SCHED_CHECK 0
#endif
#endif

#define SCHED_NONE UINT32_MAX
#define SCHED_NEVER UINT64_MAX

/* A job's waiting operations form four lists: memory operations and kernels, of its current and of
 * its next iteration. Iterations alternate between the two halves, so that no entry moves when one
 * begins. A fifth list holds the operations on the device, in the order of submission. */
enum sched_list { SCHED_MEMORY, SCHED_KERNEL, SCHED_KINDS };
#define SCHED_RUNNING (2 * SCHED_KINDS)
#define SCHED_LISTS (SCHED_RUNNING + 1)

struct sched_op { /* fits one cache line */
    uint64_t name, arrival;
    struct sched_kernel kernel;
    uint64_t expected_ns; /* running: device time that it was expected to need when it was sent */
    uint32_t job;         /* slot; SCHED_NONE while the entry is free */
    uint32_t prev, next;
    uint32_t list; /* below SCHED_LISTS */
};

_Static_assert(sizeof(struct sched_op) == 64, "every operation touches one line");

/* A job's node in a pairing heap (job_heap.h). */
struct order_node {
    uint64_t rank, arrival;
    int32_t priority;
    uint32_t child, next, prev; /* prev: left sibling, or the parent of a leftmost child */
    bool in;
};

struct sched_job { /* fields that every operation touches come first */
    uint32_t id;
    uint32_t running, waiting; /* numbers of operations */
    uint32_t cap;              /* K: no operation is sent to the device while this many run */
    uint32_t head[SCHED_LISTS], tail[SCHED_LISTS];
    uint32_t iteration; /* the iteration whose operations may run */
    uint32_t lane;      /* SCHED_NO_LANE until admitted */
    bool used, left;
    bool admitted, refused;
    bool turn;    /* the job's operations may run */
    bool revoked; /* has the turn but starts nothing; the turn ends when no operation of it runs */
    bool spilled, swapped;
    bool wanted;    /* swapped: the job has something to do, though no operation waits */
    bool requested; /* an operation of the current iteration has arrived, at request_at_ns */
    uint8_t level;  /* stream priority of the device */
    bool still;     /* the job's kernels on the device are preempted */

    uint64_t number;                     /* owned by the lane policy */
    uint64_t busy_ns, iteration_busy_ns; /* device time: in all, and of the current iteration */
    uint64_t request_at_ns,
        done_ns; /* arrival of the iteration's first operation; end of the latest operation */
    uint64_t kernels_ns; /* expected time of its kernels that ended in the current iteration */
    uint64_t op_ns;      /* mean device time of an operation */
    struct sched_spec spec;

    struct order_node node; /* in its domain's queue when ready, in the pending queue while it waits
                               for admission */
    uint64_t joined_ns, admitted_ns, turn_ns, deadline_ns;
    uint64_t began_ns; /* time since which an operation of it has been on the device */
    uint64_t burst_ns,
        burst_from_ns;   /* mean device time between two pauses; busy_ns at the latest pause */
    uint32_t missed;     /* number of consecutive pauses for which the device waited in vain */
    uint32_t unawaited;  /* number of pauses since the latest miss without such a wait */
    uint64_t held_ns;    /* time since which its memory has been there */
    uint64_t lane_bytes; /* ephemeral memory in use when its latest operation ended */
    uint64_t iterations, iteration_ns; /* number completed; mean device time of one */
    uint64_t lap_ns; /* mean time from the turn to the end of the iteration's work */
    uint64_t alone_ns,
        alone_busy_ns;      /* laps during which no other job had a turn, and device time in them */
    uint64_t alone_host_ns; /* host time before these laps, until an operation arrived */
    uint64_t boundary_ns;   /* end of the latest lap; 0: none */
    uint64_t request_done_ns;    /* end of the latest complete request */
    uint64_t request_ns, gap_ns; /* latency of that request; gap between its arrival and the end of
                                    the request before */
    uint64_t request_kernels_ns; /* kernels_ns of that request */
    uint64_t alone_request_ns;   /* mean latency of requests that ran alone on the device */
    uint64_t begun;              /* number in order of admission */
    uint64_t measure_ns;   /* unknown job: time at which its current needs are taken as measured */
    uint64_t wait_tried;   /* value of `releases` when it last waited in vain for more memory */
    struct sched_need ask; /* memory that the growing job asks for */
    uint32_t leader;       /* slot of the first job of its user (parts.h) */
    uint64_t user_bytes;   /* leader: memory that the admitted jobs of its user hold */
    uint64_t swap_tried; /* value of `releases` when others were last swapped out for it in vain */
    uint32_t overtaken;  /* number of later jobs that were admitted before it */
    uint32_t admitted_prev, admitted_next; /* neighbours in the list of admitted jobs */
    uint32_t service; /* slot of its latency measurements; SCHED_NONE: it has no target */
    uint32_t sms;     /* SMs that it may use; 0: all */
    double part;      /* part of all SMs that it shall have on average; 0: all */
    double
        owed; /* SMs times ns that it lacks of that part as of chosen_ns, where shares alternate */
    uint64_t chosen_ns;
    uint64_t pause_ns;   /* pause after each iteration */
    uint64_t restart_ns; /* additional pause after the next iteration */
    uint64_t paced_ns;   /* end of its current pause; 0: it is not paused */
    enum sched_why why;  /* why it waits for admission */
    uint32_t next_free;
};

/* A scope in which one job at a time has the turn: a lane, or the device. */
struct sched_domain {
    uint64_t end_ns;     /* key in `ends`: time at which the holder's turn is reconsidered */
    uint64_t crowded_ns; /* time since which a job has waited for the turn */
    uint32_t holder;     /* slot of the job that has the turn, or SCHED_NONE */
    uint32_t ready;      /* root of the ready jobs' queue */
    uint64_t floor;      /* highest rank with which a job has got the turn */
    uint32_t next_dirty; /* next in the list of dirty domains */
    bool dirty;
};

struct sched_lane {
    uint32_t inside; /* job whose ephemeral pages are in use; SCHED_NONE: none */
    uint32_t last;   /* job that had the latest turn */
    uint64_t switches, busy_ns;
};

/* Balances device time among jobs whose lanes run side by side (dispatch/share.h). */
struct sched_share {
    bool on;
    bool keeps_promises; /* a controller enforces latency targets: jobs with a target are exempt */
    struct minheap jobs; /* competing jobs, the least served first */
    uint64_t *keys;      /* keys of the heap by job, at most one per job */
    uint64_t floor;      /* highest value so far of the least service among competing jobs */
    uint64_t least;      /* least service among the jobs that compete now; SCHED_NEVER: none does */
    uint64_t wake_ns;    /* time at which `least` may have changed without an event */
};

/* The kernel policy's memory: one block of its own, and an item for each job. Only the policy
 * writes it. */
struct sched_own {
    void *policy, *jobs;
};

struct sched_state {
    uint64_t now_ns;
    uint64_t arrivals;  /* numbers operations and jobs in order of arrival */
    uint32_t sms;       /* SMs of the device */
    uint32_t share_sms; /* granularity of shares in SMs; not 0 */
    uint64_t slice_ns;  /* time within which the device can preempt a kernel; 0: it cannot */
    const struct policy_config *config; /* with every default filled in */
    struct sched_job *jobs;
    struct sched_op *ops;
    uint32_t jobs_cap, jobs_used, ops_cap, ops_used;
    uint32_t waiting, running;
    uint32_t free_job, free_op;
    struct slotmap map;
    struct lanes *lanes;
    struct sched_lane *lane;      /* by lane, [jobs_cap] */
    struct sched_domain *domains; /* [jobs_cap + 1]: the device, then each lane */
    struct minheap ends;          /* domains by the time at which their turn is reconsidered */
    uint32_t pending, pending_count;
    uint32_t admitted, admitted_count; /* head of the list */
    uint32_t turns;                    /* number of jobs that have a turn */
    uint64_t crowded_ns;               /* latest time at which several jobs had a turn */
    uint32_t active;                   /* number of jobs with an operation on the device */
    uint64_t mixed_ns;      /* latest time at which several jobs had an operation on the device */
    uint32_t unknown_count; /* number of admitted jobs of unknown needs */
    uint32_t grower;        /* job that waits for memory beyond what it holds */
    bool exclusive;
    uint64_t lease_ns; /* from the configuration */
    struct sched_share share;
    bool idles;        /* the device is idle although an operation waits */
    uint64_t idled_ns; /* recent idle time of that kind (dispatch/pause.h) */
    /* Jobs that have an operation to run: by rank or by class, as the kernel policy requires. The
     * other structure is empty. */
    struct ranked ranked;
    struct classes classes;
    struct sched_own own;
    struct service *services; /* latency measurements of jobs with a target, in no order */
    uint32_t services_cap, services_used, free_service;
};

static inline uint32_t state_list(uint32_t iteration, enum sched_list kind) {
    return (iteration & 1) * SCHED_KINDS + kind;
}

static inline bool state_may_run(const struct sched_job *j) {
    return j->turn && !j->revoked && j->running < j->cap;
}

/* No operation of it is on the device or waits to go there. */
static inline bool state_is_idle(const struct sched_job *j) {
    return !j->running && !j->waiting;
}

/* The job's oldest operation of this kind that may run now, or SCHED_NONE. */
static inline uint32_t state_runnable(const struct sched_state *st, uint32_t job,
                                      enum sched_list kind) {
    const struct sched_job *j = &st->jobs[job];
    return state_may_run(j) ? j->head[state_list(j->iteration, kind)] : SCHED_NONE;
}

/* The job's oldest operation of any kind that may run now, or SCHED_NONE. */
static inline uint32_t state_oldest(const struct sched_state *st, uint32_t job) {
    const struct sched_job *j = &st->jobs[job];
    if (!state_may_run(j)) return SCHED_NONE;
    const uint32_t *heads = &j->head[state_list(j->iteration, SCHED_MEMORY)];
    uint32_t a = heads[SCHED_MEMORY], b = heads[SCHED_KERNEL];
    if (a == SCHED_NONE || b == SCHED_NONE) return a == SCHED_NONE ? b : a;
    return st->ops[a].arrival < st->ops[b].arrival ? a : b;
}

static inline bool state_kernel(const struct sched_op *o) {
    return o->kernel.class != SCHED_CLASS_COPY;
}

/* The job's oldest kernel on the device, which the device executes now; NULL: it has none. */
static inline const struct sched_op *state_device_kernel(const struct sched_state *st,
                                                         uint32_t job) {
    uint32_t op = st->jobs[job].head[SCHED_RUNNING];
    while (op != SCHED_NONE && !state_kernel(&st->ops[op]))
        op = st->ops[op].next;
    return op == SCHED_NONE ? NULL : &st->ops[op];
}

/* Expected device time of the operation alone; 0 for a memory operation. An unknown kernel is
 * expected to take as long as the job's mean operation. */
static inline uint64_t state_expected_ns(const struct sched_state *st, const struct sched_op *o) {
    if (!state_kernel(o)) return 0;
    return o->kernel.mean_ns ? o->kernel.mean_ns : st->jobs[o->job].op_ns;
}

/* Requests of this job precede those of all best-effort jobs (Orion, section 5.1.1: client_hp). */
static inline bool state_high(const struct sched_job *j) {
    return j->spec.priority > 0;
}

static inline enum class state_class(const struct sched_job *j) {
    return j->admitted && !j->left && state_high(j) ? CLASS_HIGH : CLASS_BEST;
}

/* Latency of a request of the job alone: given, measured, or a lower bound. The bound is the sum of
 * its kernels' times, by their profiles or as measured. */
static inline uint64_t state_request_ns(const struct sched_job *j) {
    if (j->spec.request_ns) return j->spec.request_ns;
    if (j->alone_request_ns) return j->alone_request_ns;
    return j->request_kernels_ns > j->iteration_ns ? j->request_kernels_ns : j->iteration_ns;
}

/* A moving mean, in which a new value weighs one eighth. */
static inline uint64_t state_mean(uint64_t mean, uint64_t value) {
    return mean ? mean - mean / 8 + value / 8 : value;
}

/* Operations wait that could run if the job had the turn. */
static inline bool state_wants(const struct sched_job *j) {
    return j->head[state_list(j->iteration, SCHED_MEMORY)] != SCHED_NONE ||
           j->head[state_list(j->iteration, SCHED_KERNEL)] != SCHED_NONE;
}

static inline struct sched_domain *state_domain(const struct sched_state *st, uint32_t lane) {
    return &st->domains[st->exclusive || lane == SCHED_NO_LANE ? 0 : lane + 1];
}

#endif
