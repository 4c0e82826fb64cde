/* SPDX-License-Identifier: Apache-2.0
 *
 * A workload: a device and the jobs that come to it. All jobs are of one grain: an iteration is one
 * operation, or a sequence of kernels. A workload and its strings belong to one arena; sizes are
 * bounded by the limits below.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_SIM_WORKLOAD_WORKLOAD_H
#define DAEMON_SIM_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "daemon/sched/sched.h"

#define WORKLOAD_MAX_FILE_BYTES (256u << 20)
#define WORKLOAD_MAX_LINE_BYTES 4096u
#define WORKLOAD_MAX_JOBS 1000000u
#define WORKLOAD_MAX_NAME_BYTES 63u
#define WORKLOAD_MAX_BYTES (1ull << 44)                   /* of any size: 16 TiB */
#define WORKLOAD_MAX_TIME_NS (1000ull * 3600000000000ull) /* of any time: 1000 h */
#define WORKLOAD_MAX_TOTAL_NS (1ull << 60)      /* all jobs one after the other: 36 years */
#define WORKLOAD_MAX_ERRORS 100u                /* listed; the others are counted */
#define WORKLOAD_MAX_KERNEL_JOBS 1000u          /* of jobs with kernels */
#define WORKLOAD_MAX_SEQUENCES 1000u            /* of kernels, and of gaps */
#define WORKLOAD_MAX_KERNEL_NS 3600000000000ull /* of one kernel: 1 h */
#define WORKLOAD_MAX_SMS 65536u
#define WORKLOAD_DEFAULT_SMS 80u /* of a V100, the Orion paper's device */
#define WORKLOAD_MAX_KERNEL_SMS 100000000u

/* What the scheduler is told about how long a job takes. */
enum workload_hint { WORKLOAD_HINT_DURATION, WORKLOAD_HINT_ITERATIONS, WORKLOAD_HINT_NONE };

/* When a job's iterations begin. */
enum workload_arrivals {
    WORKLOAD_CLOSED,  /* the next one when the one before has ended */
    WORKLOAD_FIXED,   /* one every every_ns, whether the one before has ended or not */
    WORKLOAD_POISSON, /* the same at random, with every_ns as the mean */
    WORKLOAD_GAPS,    /* by a trace of gaps, cyclically */
    WORKLOAD_SHUFFLED /* by gaps of the trace drawn at random */
};

#define WORKLOAD_BY_CLASS UINT32_MAX /* a utilisation that the file leaves out */

struct workload_kernel {
    uint64_t duration_ns; /* alone on the device */
    uint32_t sms;         /* that its blocks fill, may exceed the device's */
    uint32_t full;  /* SMs on which it is as fast as on all that its blocks fill; 0: on no fewer */
    uint32_t class; /* enum sched_class */
    uint32_t compute_milli, memory_milli; /* of the device's peaks, alone; or by class */
    bool copy;                            /* a memory operation: no SM, none of the above */
    uint32_t use_milli;                   /* of a device that is shared in slices, alone */
    bool waits;                           /* launched once all before it has ended */
    uint64_t host_ns;                     /* what its client does in between; beside launch_ns */
    struct sched_kernel profile;          /* what the scheduler is told */
    struct sched_kernel fit;              /* of one that is given the fewest SMs (right_milli) */
};

/* The kernels of an iteration, in launch order. */
struct workload_sequence {
    const char *name;
    uint32_t first, count; /* of workload.kernels */
    uint32_t line;
    uint64_t total_ns; /* one after the other */
    uint64_t host_ns;  /* of the client, between them */
    uint64_t tail_ns;  /* of that, behind the last, before the iteration is over */
    uint64_t busy_ns;  /* as the scheduler counts it */
};

/* A trace of inter-arrival times. */
struct workload_gaps {
    const char *name;
    uint32_t first, count; /* of workload.gap_ns */
    uint32_t line;
};

struct workload_job {
    const char *name;
    uint64_t arrival_ns;
    uint64_t persistent_bytes, ephemeral_bytes;
    uint64_t iteration_ns; /* alone on the device */
    uint64_t think_ns;     /* between an iteration's end and the next one's submission */
    uint64_t host_ns;      /* more of that, which its own host computes: iterations, not requests */
    uint64_t admit_timeout_ns;
    uint32_t iterations, weight, group, user;
    int32_t priority;
    uint32_t demand_milli; /* part of the device that an iteration can use alone, in thousandths */
    uint32_t jitter_milli; /* iterations vary by so much up or down */
    uint32_t hint;         /* enum workload_hint */
    bool think_random;     /* exponential, with think_ns as its mean */
    bool unknown;          /* P and E are told to the scheduler only once measured */
    bool boundaries;       /* false: the scheduler sees one iteration without an end */

    /* With kernels: the name of the sequence, and where it is. */
    const char *kernels;
    uint32_t sequence;
    uint32_t arrivals;     /* enum workload_arrivals */
    const char *gaps_name; /* GAPS, SHUFFLED */
    uint32_t gaps;
    uint64_t every_ns;   /* FIXED, POISSON */
    uint64_t launch_ns;  /* host time from one launch to the next */
    uint64_t start_ns;   /* from admission to the first iteration */
    uint64_t finish_ns;  /* from the last one to the job's end */
    uint64_t request_ns; /* latency of an iteration alone, as the scheduler is told; 0: it learns */
    uint64_t slo_ns;     /* its promise; 0: none */
    uint32_t slo_of;     /* enum sched_slo_of */
    /* Iterations that begin within the burst launch this sequence instead; NULL: there is none. */
    const char *burst;
    uint32_t burst_sequence;
    uint64_t burst_from_ns, burst_until_ns;
    uint32_t line;   /* of the file; 0: none */
    uint32_t number; /* among the jobs, in order of arrival: names its random numbers */
};

struct workload {
    struct arena *arena;
    struct workload_job *jobs; /* in order of arrival; equal ones as in the file */
    uint32_t count;
    uint64_t memory_bytes;
    uint64_t link_bytes;     /* a second, to and from host memory */
    bool share_users;        /* lanes take jobs of different users */
    uint64_t dispatch_ns;    /* from the scheduler's RUN until the device can begin with it */
    uint64_t slice_ns;       /* within which kernels give way to a higher level; 0: in waves */
    bool subgrids;           /* kernels are launched wave by wave, and can stand still in between */
    uint32_t right_milli;    /* best-effort kernels get the fewest SMs at which they lose so much */
    uint64_t until_ns;       /* the run stops here; 0: when all jobs have left */
    uint32_t sms, share_sms; /* share_sms: steps in which they are shared out */
    uint64_t wait_ns;        /* sliced: what begins beside others waits so long */
    bool sliced; /* kernels run in equal slices of time, whatever their blocks and units */
    uint32_t slots_milli, left_milli; /* what work side by side finds; 0: as usual for the grain */
    struct workload_kernel *kernels;  /* of all sequences; NULL: iterations are the grain */
    struct workload_sequence *sequences;
    uint64_t *gap_ns; /* of all traces */
    struct workload_gaps *gaps;
    uint32_t kernels_count, sequences_count, gap_count, gaps_count;
};

/* What the scheduler is told of kernels, and the sums of sequences: after whoever fills them. */
void workload_profile(struct workload *w);

void workload_finish(struct workload *w);

/* Whether its iterations are requests, which come by themselves or after a time to think: what
 * counts of such a job is their latency, not when it ends. */
static inline bool workload_serves(const struct workload_job *j) {
    return j->think_ns > 0 || j->arrivals != WORKLOAD_CLOSED;
}

/* Device time of one undisturbed iteration of that length: what the scheduler counts. */
static inline uint64_t workload_busy_ns(const struct workload_job *j, uint64_t duration_ns) {
    return duration_ns / 1000 * j->demand_milli + duration_ns % 1000 * j->demand_milli / 1000;
}

/* Device time of a kernel: its time alone, of the SMs that it fills, or of what it uses. */
static inline uint64_t workload_kernel_busy_ns(const struct workload *w,
                                               const struct workload_kernel *k) {
    if (w->sliced)
        return k->duration_ns / 1000 * k->use_milli + k->duration_ns % 1000 * k->use_milli / 1000;
    if (k->copy || k->sms >= w->sms) return k->duration_ns;
    return k->duration_ns / w->sms * k->sms + k->duration_ns % w->sms * k->sms / w->sms;
}

/* What a best-effort kernel is given: the fewest SMs on which it takes no more than right_milli
 * longer, where these are fewer than its blocks fill (LithOS, section 4: "right-sizing"). */
static inline uint32_t workload_fit_sms(const struct workload *w, const struct workload_kernel *k) {
    uint32_t most = k->sms < w->sms ? k->sms : w->sms;
    if (!w->right_milli || !k->full || k->full >= most) return k->sms;
    uint32_t least = 1000 + w->right_milli;
    return (uint32_t)(((uint64_t)k->full * 1000 + least - 1) / least);
}

/* Whether the workload's grain is the kernel. */
static inline bool workload_of_kernels(const struct workload *w) {
    return w->count && w->jobs[0].kernels;
}

#endif
