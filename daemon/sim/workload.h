/* SPDX-License-Identifier: Apache-2.0
 *
 * Workload files: a device and the jobs that come to it (docs/workload.md). A workload and its
 * strings belong to one arena. Hostile input: any bytes are taken, every fault is listed with its
 * line, sizes are bounded by the limits below.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_SIM_WORKLOAD_H
#define DAEMON_SIM_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/arena.h"
#include "common/buf.h"

#define WORKLOAD_MAX_FILE_BYTES (256u << 20)
#define WORKLOAD_MAX_LINE_BYTES 4096u
#define WORKLOAD_MAX_JOBS 1000000u
#define WORKLOAD_MAX_NAME_BYTES 63u
#define WORKLOAD_MAX_BYTES (1ull << 44)                   /* of any size: 16 TiB */
#define WORKLOAD_MAX_TIME_NS (1000ull * 3600000000000ull) /* of any time: 1000 h */
#define WORKLOAD_MAX_TOTAL_NS (1ull << 60) /* all jobs one after the other: 36 years */
#define WORKLOAD_MAX_ERRORS 100u           /* listed; the others are counted */

/* What the scheduler is told about how long a job takes. */
enum workload_hint { WORKLOAD_HINT_DURATION, WORKLOAD_HINT_ITERATIONS, WORKLOAD_HINT_NONE };

struct workload_job {
    const char *name;
    uint64_t arrival_ns;
    uint64_t persistent_bytes, ephemeral_bytes;
    uint64_t iteration_ns; /* alone on the device */
    uint64_t think_ns;     /* between an iteration's end and the next one's submission */
    uint64_t admit_timeout_ns;
    uint32_t iterations, weight, group;
    int32_t priority;
    uint32_t demand_milli; /* part of the device that an iteration can use alone, in thousandths */
    uint32_t jitter_milli; /* iterations vary by so much up or down */
    uint32_t hint;         /* enum workload_hint */
    bool think_random;     /* exponential, with think_ns as its mean */
    bool unknown;          /* P and E are told to the scheduler only once measured */
    bool boundaries;       /* false: the scheduler sees one iteration without an end */
};

struct workload {
    struct arena *arena;
    struct workload_job *jobs; /* in order of arrival; equal ones as in the file */
    uint32_t count;
    uint64_t memory_bytes;
    uint64_t link_bytes; /* a second, to and from host memory */
};

/* 0; -EINVAL with the faults in `errors`, a line each ("12: iteration: ..."); -ENOMEM. */
int workload_parse(struct workload *out, const char *text, size_t bytes, struct buf *errors);
/* The same of a file, "-" being standard input; -errno with a line in `errors` when it cannot be
 * read. */
int workload_read(struct workload *out, const char *path, struct buf *errors);
void workload_finish(struct workload *w);

/* As a workload file that parses to the same. */
void workload_write(const struct workload *w, FILE *out);

/* Device time of one undisturbed iteration, and of all of them: what the scheduler counts. */
static inline uint64_t workload_busy_ns(const struct workload_job *j, uint64_t duration_ns) {
    return duration_ns / 1000 * j->demand_milli + duration_ns % 1000 * j->demand_milli / 1000;
}

#endif
