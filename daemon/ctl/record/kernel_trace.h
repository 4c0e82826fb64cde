/* SPDX-License-Identifier: Apache-2.0
 *
 * From a recording of a scheduler's events (daemon/sched/record/notation.h) to what each job's
 * iterations are made of: which operations, how long each takes alone, what its client does in
 * between. What a job does often is told apart from what it does once by its shape: how many
 * operations, which of them copies, and how many multiprocessors each needs.
 *
 * Jobs have a say in the length of what is read, and in every number: what is kept is bounded, what
 * does not fit is left out and counted. Owner: the caller. Threads: one.
 */
#ifndef DAEMON_CTL_RECORD_KERNEL_TRACE_H
#define DAEMON_CTL_RECORD_KERNEL_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define KERNEL_TRACE_MOST_NS 3600000000000ull /* of any time that is told: an hour */
#define KERNEL_TRACE_MOST_SMS 65536u          /* of a device; more are not told */
#define KERNEL_TRACE_OPS 20000u               /* of an iteration */
#define KERNEL_TRACE_SHAPES 8u                /* of the iterations of a job */
#define KERNEL_TRACE_OPEN 4u                  /* iterations of a job that are not complete */
#define KERNEL_TRACE_JOBS 1000u               /* a workload of kernels has no more */
#define KERNEL_TRACE_IN_FLIGHT 512u /* operations of a job that are offered and not complete */

/* Sums over the iterations of a shape, of the same operation in each. */
struct kernel_trace_op {
    bool copy;
    char class; /* c, m or u; as it was last */
    uint32_t sms, compute_milli, memory_milli;
    uint64_t profile_ns; /* alone, as the worker had learnt; 0: not known */
    uint32_t count, alone, idle;
    double took_ns,
        alone_ns; /* all; of those beside which nobody else had anything on the device */
    double behind_ns, behind_squares; /* launch behind the launch before; sum, and of squares */
    double after_ns, after_squares;   /* behind the end of all before, where that had come */
    double behind_idle_ns;            /* the first of these two, where the second is known */
};

struct kernel_trace_shape {
    struct kernel_trace_op *ops;
    uint32_t count, iterations;
    uint64_t print;
    double wall_ns; /* from boundary to boundary */
    double tail_ns; /* of that, behind the last operation's end */
};

struct kernel_trace_job {
    uint32_t id;
    struct kernel_trace_shape shapes[KERNEL_TRACE_SHAPES];
    uint32_t shapes_count;
    uint32_t boundaries, iterations, dropped; /* dropped: of a shape too many, or too long */
    uint64_t admitted_ns, first_ns, ended_ns, left_ns; /* of its operations: the first, the last */
    uint64_t first_boundary_ns, last_boundary_ns;
    uint32_t before; /* operations before the first boundary */
    /* The end of the last operation of the iteration behind the last boundary, which is as long as
     * the usual one; 0: it was not complete. */
    uint64_t last_iteration_ns;
    double think_ns, think_squares; /* from an iteration's end to the next one's first operation */
    uint32_t thinks;
    double busy_ns, wall_ns; /* device time, and time, of operations beside which nobody was */
    struct kernel_trace_open *open;
};

struct kernel_trace {
    struct kernel_trace_job *jobs;
    uint32_t count, cap;
    uint64_t now_ns;
    uint32_t sms; /* of the device; 0: not told */
    uint64_t lines_bad, jobs_dropped;
};

void kernel_trace_init(struct kernel_trace *t);
void kernel_trace_finish(struct kernel_trace *t);

/* A recording to its end, which may be missing. 0 or -ENOMEM. */
int kernel_trace_read(struct kernel_trace *t, FILE *events);

/* NULL: nothing of it was seen. */
const struct kernel_trace_job *kernel_trace_find(const struct kernel_trace *t, uint64_t id);
/* What most of its iterations look like; NULL: no whole one was seen. */
const struct kernel_trace_shape *kernel_trace_usual(const struct kernel_trace_job *j);

/* Sums and means are of numbers that may be anything: within bounds. */
uint64_t kernel_trace_whole_ns(double ns);
/* How long the operation takes alone: measured, else as the worker had learnt, else beside others.
 */
uint64_t kernel_trace_alone_ns(const struct kernel_trace_op *op);
/* Whether its client waits for all before it, and what it does after that, or after the launch
 * before. */
bool kernel_trace_waits(const struct kernel_trace_op *op, uint64_t *host_ns);
/* Thousandths of the device that its operations use alone; 1000 where that is not known. */
uint32_t kernel_trace_use_milli(const struct kernel_trace_job *j);

#endif
