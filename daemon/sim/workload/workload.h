/* SPDX-License-Identifier: Apache-2.0
 *
 * A workload: a device and the jobs that arrive. All jobs have the same grain: an iteration is one
 * operation, or a sequence of kernels. A workload and its strings belong to one arena; the limits
 * below bound the sizes.
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
#define WORKLOAD_MAX_BYTES (1ull << 44)                   /* limit of any size: 16 TiB */
#define WORKLOAD_MAX_TIME_NS (1000ull * 3600000000000ull) /* limit of any time: 1000 h */
#define WORKLOAD_MAX_TOTAL_NS (1ull << 60)      /* limit of all jobs one after another: 36 years */
#define WORKLOAD_MAX_ERRORS 100u                /* listed errors; the others are counted */
#define WORKLOAD_MAX_KERNEL_JOBS 1000u          /* jobs with kernels */
#define WORKLOAD_MAX_SEQUENCES 1000u            /* sequences of kernels, and of gaps */
#define WORKLOAD_MAX_KERNEL_NS 3600000000000ull /* limit of one kernel: 1 h */
#define WORKLOAD_MAX_SMS 65536u
#define WORKLOAD_DEFAULT_SMS 80u /* SMs of a V100, the Orion paper's device */
#define WORKLOAD_MAX_KERNEL_SMS 100000000u

/* The duration hint for the scheduler. */
enum workload_hint { WORKLOAD_HINT_DURATION, WORKLOAD_HINT_ITERATIONS, WORKLOAD_HINT_NONE };

/* When a job's iterations begin. */
enum workload_arrivals {
    WORKLOAD_CLOSED,  /* when the previous one has ended */
    WORKLOAD_FIXED,   /* one every every_ns, even if the previous one has not ended */
    WORKLOAD_POISSON, /* at random times, with every_ns as the mean gap */
    WORKLOAD_GAPS,    /* by a trace of gaps, cyclically */
    WORKLOAD_SHUFFLED /* by random gaps of the trace */
};

#define WORKLOAD_BY_CLASS UINT32_MAX /* a utilisation that the file omits */

struct workload_kernel {
    uint64_t duration_ns; /* alone on the device */
    uint32_t sms;         /* SMs that its blocks fill; may exceed the device's */
    /* SMs with which it is as fast as with all that its blocks fill; 0: it needs all. */
    uint32_t full;
    uint32_t class; /* enum sched_class */
    /* Relative to the device's peaks, alone; or WORKLOAD_BY_CLASS. */
    uint32_t compute_milli, memory_milli;
    bool copy;                   /* a memory operation: no SM, and none of the above */
    uint32_t use_milli;          /* use of a sliced device, alone */
    bool waits;                  /* launched after all earlier operations have ended */
    uint64_t host_ns;            /* client's work before it, in addition to launch_ns */
    struct sched_kernel profile; /* profile for the scheduler */
    struct sched_kernel fit;     /* profile with the fewest SMs (right_milli) */
};

/* The kernels of an iteration, in launch order. */
struct workload_sequence {
    const char *name;
    uint32_t first, count; /* in workload.kernels */
    uint32_t line;
    uint64_t total_ns; /* total of the kernels, one after another */
    uint64_t host_ns;  /* client's work between the kernels */
    uint64_t tail_ns;  /* part of host_ns after the last kernel, before the iteration ends */
    uint64_t busy_ns;  /* as the scheduler counts it */
};

/* A trace of gaps between arrivals. */
struct workload_gaps {
    const char *name;
    uint32_t first, count; /* in workload.gap_ns */
    uint32_t line;
};

struct workload_job {
    const char *name;
    uint64_t arrival_ns;
    uint64_t persistent_bytes, ephemeral_bytes;
    uint64_t iteration_ns; /* alone on the device */
    uint64_t think_ns;     /* from an iteration's end to the next one's submission */
    /* Additional such time in which the host computes: the job has iterations, not requests. */
    uint64_t host_ns;
    uint64_t admit_timeout_ns;
    uint32_t iterations, weight, group, user;
    int32_t priority;
    /* Fraction of the device that an iteration can use alone, in thousandths. */
    uint32_t demand_milli;
    uint32_t jitter_milli; /* random deviation of iterations, up or down */
    uint32_t hint;         /* enum workload_hint */
    bool think_random;     /* exponential, with think_ns as its mean */
    bool unknown;          /* the scheduler learns P and E only once they are measured */
    bool boundaries;       /* false: the scheduler sees one iteration without an end */

    /* With kernels: name and index of the sequence. */
    const char *kernels;
    uint32_t sequence;
    uint32_t arrivals;     /* enum workload_arrivals */
    const char *gaps_name; /* for GAPS and SHUFFLED */
    uint32_t gaps;
    uint64_t every_ns;  /* for FIXED and POISSON */
    uint64_t launch_ns; /* host time from one launch to the next */
    uint64_t start_ns;  /* from admission to the first iteration */
    uint64_t finish_ns; /* from the last iteration to the job's end */
    /* Latency of an iteration alone, given to the scheduler; 0: the scheduler learns it. */
    uint64_t request_ns;
    uint64_t slo_ns; /* latency target; 0: none */
    uint32_t slo_of; /* enum sched_slo_of */
    /* Sequence of the iterations that begin within the burst; NULL: there is no burst. */
    const char *burst;
    uint32_t burst_sequence;
    uint64_t burst_from_ns, burst_until_ns;
    uint32_t line;   /* in the file; 0: none */
    uint32_t number; /* index among the jobs in order of arrival; selects its random numbers */
};

struct workload {
    struct arena *arena;
    struct workload_job *jobs; /* in order of arrival; equal ones in the order of the file */
    uint32_t count;
    uint64_t memory_bytes;
    uint64_t link_bytes;  /* bytes per second to and from host memory */
    bool share_users;     /* a lane may have jobs of different users */
    uint64_t dispatch_ns; /* delay from the scheduler's RUN until the device can begin */
    /* Time within which kernels give way to a higher level; 0: they do so at waves. */
    uint64_t slice_ns;
    bool subgrids; /* kernels are launched wave by wave, and can pause in between */
    /* best-effort kernels get the fewest SMs with which they lose at most this much. */
    uint32_t right_milli;
    uint64_t until_ns;       /* the run stops here; 0: when all jobs have left */
    uint32_t sms, share_sms; /* share_sms: granularity in which SMs are shared */
    uint64_t wait_ns;        /* sliced: wait of an operation that begins beside others */
    bool sliced; /* kernels run in equal slices of time, whatever their blocks and units */
    uint32_t slots_milli, left_milli; /* contention when several run; 0: the grain's default */
    struct workload_kernel *kernels;  /* kernels of all sequences; NULL: the grain is iterations */
    struct workload_sequence *sequences;
    uint64_t *gap_ns; /* gaps of all traces */
    struct workload_gaps *gaps;
    uint32_t kernels_count, sequences_count, gap_count, gaps_count;
};

/* Computes the kernels' profiles for the scheduler and the sums of sequences; called after these
 * are filled in. */
void workload_profile(struct workload *w);

void workload_finish(struct workload *w);

/* Tests whether its iterations are requests, which arrive independently or after think time. For
 * such a job the latency of requests counts, not when the job ends. */
static inline bool workload_serves(const struct workload_job *j) {
    return j->think_ns > 0 || j->arrivals != WORKLOAD_CLOSED;
}

/* Device time of an undisturbed iteration of that length, as the scheduler counts it. */
static inline uint64_t workload_busy_ns(const struct workload_job *j, uint64_t duration_ns) {
    return duration_ns / 1000 * j->demand_milli + duration_ns % 1000 * j->demand_milli / 1000;
}

/* Device time of a kernel: its time alone, scaled by the SMs that it fills or by its use of a
 * sliced device. */
static inline uint64_t workload_kernel_busy_ns(const struct workload *w,
                                               const struct workload_kernel *k) {
    if (w->sliced)
        return k->duration_ns / 1000 * k->use_milli + k->duration_ns % 1000 * k->use_milli / 1000;
    if (k->copy || k->sms >= w->sms) return k->duration_ns;
    return k->duration_ns / w->sms * k->sms + k->duration_ns % w->sms * k->sms / w->sms;
}

/* SMs given to a best-effort kernel: the fewest with which it takes at most right_milli longer, if
 * that is less than its blocks fill (LithOS, section 4: "right-sizing"). */
static inline uint32_t workload_fit_sms(const struct workload *w, const struct workload_kernel *k) {
    uint32_t most = k->sms < w->sms ? k->sms : w->sms;
    if (!w->right_milli || !k->full || k->full >= most) return k->sms;
    uint32_t least = 1000 + w->right_milli;
    return (uint32_t)(((uint64_t)k->full * 1000 + least - 1) / least);
}

/* Tests whether the workload's grain is the kernel. */
static inline bool workload_of_kernels(const struct workload *w) {
    return w->count && w->jobs[0].kernels;
}

#endif
