/* SPDX-License-Identifier: Apache-2.0
 *
 * Derives the structure of each job's iterations from a recording of a scheduler's events
 * (daemon/sched/record/notation.h): the operations, their durations alone, and the host's time
 * between them. An iteration's shape is its number of operations, which of them are copies, and the
 * multiprocessors of each. Shapes distinguish what a job does repeatedly from what it does once.
 *
 * Jobs influence the length of the recording and every number in it: stored data is bounded, and
 * what does not fit is dropped and counted. Owner: the caller. Threads: one.
 */
#ifndef DAEMON_CTL_RECORD_KERNEL_TRACE_H
#define DAEMON_CTL_RECORD_KERNEL_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define KERNEL_TRACE_MOST_NS 3600000000000ull /* upper bound of any reported time: an hour */
#define KERNEL_TRACE_MOST_SMS 65536u /* upper bound of a device's SMs; more are not reported */
#define KERNEL_TRACE_OPS 20000u      /* operations of an iteration */
#define KERNEL_TRACE_SHAPES 8u       /* shapes of a job's iterations */
#define KERNEL_TRACE_OPEN 4u         /* iterations of a job in progress */
#define KERNEL_TRACE_JOBS 1000u      /* jobs: the limit of a workload of kernels */
#define KERNEL_TRACE_IN_FLIGHT 512u  /* operations of a job that are offered and not complete */

/* Sums over the iterations of a shape, for the same operation in each. */
struct kernel_trace_op {
    bool copy;
    char class; /* c, m or u; as in the latest iteration */
    uint32_t sms, compute_milli, memory_milli;
    uint64_t profile_ns; /* duration alone from the worker's profile; 0: unknown */
    /* Launches: all, those that had the device to themselves (`alone`), and those that came after
     * the end of all earlier operations (`idle`). */
    uint32_t count, alone, idle;
    double took_ns,
        alone_ns; /* sums over all launches; over those that had the device to themselves */
    double behind_ns, behind_squares; /* time since the previous launch: sum over all launches, and
                                         sum of squares over `idle` */
    double after_ns, after_squares; /* time since the end of all earlier operations: sum, and sum of
                                       squares, over `idle` */
    double behind_idle_ns;          /* time since the previous launch, summed over `idle` */
};

struct kernel_trace_shape {
    struct kernel_trace_op *ops;
    uint32_t count, iterations;
    uint64_t print;
    double wall_ns; /* time from boundary to boundary, summed over the iterations */
    double tail_ns; /* part of wall_ns after the end of the last operation */
};

struct kernel_trace_job {
    uint32_t id;
    struct kernel_trace_shape shapes[KERNEL_TRACE_SHAPES];
    uint32_t shapes_count;
    uint32_t boundaries, iterations, dropped; /* dropped: too long, or of a shape too many */
    uint64_t admitted_ns, first_ns, ended_ns,
        left_ns; /* first_ns, ended_ns: its first operation, its last */
    uint64_t first_boundary_ns, last_boundary_ns;
    uint32_t before; /* operations before the first boundary */
    /* End of the last operation of the iteration after the last boundary, if that has the usual
     * length; 0: it was incomplete. */
    uint64_t last_iteration_ns;
    double think_ns,
        think_squares; /* from an iteration's end to the first operation of the next one */
    uint32_t thinks;
    double busy_ns,
        wall_ns; /* device time and elapsed time of operations that had the device to themselves */
    struct kernel_trace_open *open;
};

struct kernel_trace {
    struct kernel_trace_job *jobs;
    uint32_t count, cap;
    uint64_t now_ns;
    uint32_t sms; /* SMs of the device; 0: not recorded */
    uint64_t lines_bad, jobs_dropped;
};

void kernel_trace_init(struct kernel_trace *t);
void kernel_trace_finish(struct kernel_trace *t);

/* Reads a recording, which may be truncated. Returns 0 or -ENOMEM. */
int kernel_trace_read(struct kernel_trace *t, FILE *events);

/* Returns NULL if nothing of the job was seen. */
const struct kernel_trace_job *kernel_trace_find(const struct kernel_trace *t, uint64_t id);
/* Returns the most frequent shape of its iterations; NULL: no complete one was seen. */
const struct kernel_trace_shape *kernel_trace_usual(const struct kernel_trace_job *j);

/* Converts a sum or mean of arbitrary numbers into a bounded integer. */
uint64_t kernel_trace_whole_ns(double ns);
/* Duration of the operation alone: measured, else from the worker's profile, else beside others. */
uint64_t kernel_trace_alone_ns(const struct kernel_trace_op *op);
/* Returns whether the client waits for all earlier operations before this one. Sets *host_ns to its
 * time after that, or after the previous launch. */
bool kernel_trace_waits(const struct kernel_trace_op *op, uint64_t *host_ns);
/* Thousandths of the device that the job's operations use alone; 1000 if unknown. */
uint32_t kernel_trace_use_milli(const struct kernel_trace_job *j);

#endif
