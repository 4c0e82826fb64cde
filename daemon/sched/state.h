/* SPDX-License-Identifier: Apache-2.0
 *
 * What the scheduler knows: jobs, their waiting operations in order of arrival, and who has the
 * turn. Jobs and operations live in arrays and are named by slot, so that growing moves them
 * without trouble. Policies read this; only the scheduler's own files write it.
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

/* 1: every step ends with sched_check and aborts when it fails. Costs O(state) a step. */
#ifndef SCHED_CHECK
#ifdef __SANITIZE_ADDRESS__
#define SCHED_CHECK 1
#else
#define SCHED_CHECK 0
#endif
#endif

#define SCHED_NONE UINT32_MAX
#define SCHED_NEVER UINT64_MAX

/* A job's waiting operations: memory operations and kernels, of its current iteration and of the
 * next. Iterations alternate between the two halves of the lists, so that nothing moves when one
 * begins. One more list has what is on the device, in the order in which it was sent there. */
enum sched_list { SCHED_MEMORY, SCHED_KERNEL, SCHED_KINDS };
#define SCHED_RUNNING (2 * SCHED_KINDS)
#define SCHED_LISTS (SCHED_RUNNING + 1)

struct sched_op { /* a cache line */
    uint64_t name, arrival;
    struct sched_kernel kernel;
    uint64_t expected_ns; /* running: what it was taken to need of the device when it was sent */
    uint32_t job;         /* slot; SCHED_NONE while the entry is free */
    uint32_t prev, next;
    uint32_t list; /* below SCHED_LISTS */
};

_Static_assert(sizeof(struct sched_op) == 64, "every operation touches one line");

/* A job's place in a queue (job_heap.h). */
struct order_node {
    uint64_t rank, arrival;
    int32_t priority;
    uint32_t child, next, prev; /* prev: left sibling, or the parent of a leftmost child */
    bool in;
};

struct sched_job { /* what every operation touches comes first */
    uint32_t id;
    uint32_t running, waiting; /* operations */
    uint32_t cap;              /* K: none is sent to the device while so many run */
    uint32_t head[SCHED_LISTS], tail[SCHED_LISTS];
    uint32_t iteration; /* the one whose operations may run */
    uint32_t lane;      /* SCHED_NO_LANE until admitted */
    bool used, left;
    bool admitted, refused;
    bool turn;    /* its operations may run */
    bool revoked; /* has the turn but starts nothing: it ends when nothing of it runs */
    bool spilled, swapped;
    bool wanted;    /* swapped: it has something to do, though no operation waits */
    bool requested; /* an operation of the current iteration came: request_at_ns is its time */
    uint8_t level;  /* of the device's priorities */
    bool still;     /* its kernels on the device stand still */

    uint64_t number;                     /* the lane policy's own */
    uint64_t busy_ns, iteration_busy_ns; /* device time: in all, of the current iteration */
    uint64_t request_at_ns, done_ns; /* first operation of the iteration came; latest one ended */
    uint64_t kernels_ns;             /* expected time of its kernels in the current iteration */
    uint64_t op_ns;                  /* mean device time of an operation */
    struct sched_spec spec;

    struct order_node node; /* in its domain's queue when ready, in the pending one when waiting */
    uint64_t joined_ns, admitted_ns, turn_ns, deadline_ns;
    uint64_t began_ns;                 /* since when something of it is on the device */
    uint64_t burst_ns, burst_from_ns;  /* mean device time between pauses; busy_ns at the latest */
    uint32_t missed;                   /* pauses in a row that were waited for in vain */
    uint32_t unawaited;                /* and those since that were not waited for */
    uint64_t held_ns;                  /* since when it has its memory */
    uint64_t lane_bytes;               /* ephemeral memory in use when its latest operation ended */
    uint64_t iterations, iteration_ns; /* complete; mean device time of one */
    uint64_t lap_ns;                   /* mean time from turn to the end of the iteration's work */
    uint64_t alone_ns, alone_busy_ns;  /* laps with the device to itself, and device time in them */
    uint64_t alone_host_ns;            /* before these, until an operation came */
    uint64_t boundary_ns;              /* when the latest lap ended; 0: none did */
    uint64_t request_done_ns;          /* when the latest complete request was */
    uint64_t request_ns, gap_ns;       /* how long it took; from the end of the one before it */
    uint64_t request_kernels_ns;       /* kernels_ns of it */
    uint64_t alone_request_ns; /* mean latency of requests that had the device to themselves */
    uint64_t begun;            /* its place among all that were ever admitted */
    uint64_t measure_ns;       /* unknown: when it is taken as it is */
    uint64_t wait_tried;       /* releases when it waited in vain for memory beyond what it holds */
    struct sched_need ask;     /* what the grower asks for */
    uint32_t leader;           /* parts.h: the first job of its user */
    uint64_t user_bytes;       /* of a leader: what its user's admitted jobs hold */
    uint64_t swap_tried;       /* releases when others were swapped out for it in vain */
    uint32_t overtaken;        /* times a later job was admitted before it */
    uint32_t admitted_prev, admitted_next; /* among the admitted */
    uint32_t service; /* what is known of its promise; SCHED_NONE: it has none */
    uint32_t sms;     /* that it may use; 0: all */
    double part;      /* of all, that it is to have; 0: all */
    double owed;      /* of that, SMs times ns, where shares go by steps, when one was chosen: */
    uint64_t chosen_ns;
    uint64_t pause_ns;   /* after each iteration */
    uint64_t restart_ns; /* after the next one, besides */
    uint64_t paced_ns;   /* it is not ready before; 0: it does not stand still */
    enum sched_why why;  /* why it waits for admission */
    uint32_t next_free;
};

/* Where one turn is given out at a time: a lane, or the device. */
struct sched_domain {
    uint64_t end_ns;     /* in `ends`: the holder's turn is looked at then */
    uint64_t crowded_ns; /* since when a job waits for the turn */
    uint32_t holder;     /* SCHED_NONE */
    uint32_t ready;      /* root of the ready jobs' queue */
    uint64_t floor;      /* rank of the latest job that got the turn, at that time */
    uint32_t next_dirty; /* in the list of those to look at */
    bool dirty;
};

struct sched_lane {
    uint32_t inside; /* whose ephemeral pages are in use; SCHED_NONE */
    uint32_t last;   /* who had the latest turn */
    uint64_t switches, busy_ns;
};

/* Device time among jobs whose lanes run side by side (dispatch/share.h). */
struct sched_share {
    bool on;
    bool keeps_promises; /* a controller does: jobs with a promise are exempt */
    struct minheap jobs; /* that compete, the least served first */
    uint64_t *keys;      /* by job in `jobs`: no more than its number */
    uint64_t floor;      /* the least service of those that competed so far */
    uint64_t least;      /* and of those that compete now; SCHED_NEVER: none does */
    uint64_t wake_ns;    /* when that may have changed although nothing happened */
};

/* The kernel policy's memory, which it alone writes: its own, and an item for each job. */
struct sched_own {
    void *policy, *jobs;
};

struct sched_state {
    uint64_t now_ns;
    uint64_t arrivals;                  /* numbers operations and jobs in order of arrival */
    uint32_t sms;                       /* of the device */
    uint32_t share_sms;                 /* steps in which they are shared out; not 0 */
    uint64_t slice_ns;                  /* of its kernels, which can stand still then; 0 */
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
    struct minheap ends; /* domains whose turn is looked at at a time, the earliest first */
    uint32_t pending, pending_count;
    uint32_t admitted, admitted_count; /* the list's first */
    uint32_t turns;                    /* how many jobs have one */
    uint64_t crowded_ns;               /* until when there were several */
    uint32_t active;                   /* how many jobs have something on the device */
    uint64_t mixed_ns;                 /* until when there were several of these */
    uint32_t unknown_count;            /* admitted jobs of unknown needs */
    uint32_t grower;                   /* the job that waits for memory beyond what it holds */
    bool exclusive;
    uint64_t lease_ns; /* of the configuration */
    struct sched_share share;
    bool idles;        /* the device has nothing to do, and an operation waits */
    uint64_t idled_ns; /* for how long it did lately (dispatch/pause.h) */
    /* Jobs that have an operation to run, in one of two ways, as the kernel policy has them: by
     * rank, or by class. The other one is empty. */
    struct ranked ranked;
    struct classes classes;
    struct sched_own own;
    struct service *services; /* of jobs with a promise, in no order */
    uint32_t services_cap, services_used, free_service;
};

static inline uint32_t state_list(uint32_t iteration, enum sched_list kind) {
    return (iteration & 1) * SCHED_KINDS + kind;
}

static inline bool state_may_run(const struct sched_job *j) {
    return j->turn && !j->revoked && j->running < j->cap;
}

/* Nothing of it is on the device or waits to go there. */
static inline bool state_is_idle(const struct sched_job *j) {
    return !j->running && !j->waiting;
}

/* The oldest operation of the kind that may run now, or SCHED_NONE. */
static inline uint32_t state_runnable(const struct sched_state *st, uint32_t job,
                                      enum sched_list kind) {
    const struct sched_job *j = &st->jobs[job];
    return state_may_run(j) ? j->head[state_list(j->iteration, kind)] : SCHED_NONE;
}

/* The oldest of any kind. */
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

/* The kernel that the device is at for a job: its oldest there; NULL when it has none. */
static inline const struct sched_op *state_device_kernel(const struct sched_state *st,
                                                         uint32_t job) {
    uint32_t op = st->jobs[job].head[SCHED_RUNNING];
    while (op != SCHED_NONE && !state_kernel(&st->ops[op]))
        op = st->ops[op].next;
    return op == SCHED_NONE ? NULL : &st->ops[op];
}

/* What the operation is taken to need of the device alone; 0: a memory operation. A kernel of which
 * nothing is known is taken for one like its job's others. */
static inline uint64_t state_expected_ns(const struct sched_state *st, const struct sched_op *o) {
    if (!state_kernel(o)) return 0;
    return o->kernel.mean_ns ? o->kernel.mean_ns : st->jobs[o->job].op_ns;
}

/* Its requests go before everybody else's (Orion, section 5.1.1: client_hp). */
static inline bool state_high(const struct sched_job *j) {
    return j->spec.priority > 0;
}

static inline enum class state_class(const struct sched_job *j) {
    return j->admitted && !j->left && state_high(j) ? CLASS_HIGH : CLASS_BEST;
}

/* Latency of a request of the job alone: given, seen, or at least what its kernels take one after
 * the other, by their profiles or as measured. */
static inline uint64_t state_request_ns(const struct sched_job *j) {
    if (j->spec.request_ns) return j->spec.request_ns;
    if (j->alone_request_ns) return j->alone_request_ns;
    return j->request_kernels_ns > j->iteration_ns ? j->request_kernels_ns : j->iteration_ns;
}

/* A mean that follows: an eighth of the new. */
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
