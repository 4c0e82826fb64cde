/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs in two classes (Orion, section 5.1.1), high-priority and best-effort. For each class: a ring
 * of the jobs that have an operation to run, served in turn, and the operations on the device. Also
 * the list of high-priority jobs. Jobs are slots of the scheduler. Owner: the state, which only the
 * scheduler's core writes; policies read.
 */
#ifndef DAEMON_SCHED_QUEUE_CLASSES_H
#define DAEMON_SCHED_QUEUE_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/visit.h"

#define CLASSES_NONE UINT32_MAX

enum class { CLASS_BEST, CLASS_HIGH, CLASS_COUNT };

/* A job's place in its class's ring. */
struct class_slot {
    uint64_t turn; /* ascending along the ring, from the job that is served next */
    uint32_t prev, next;
    uint32_t at; /* index in `high`, if the job is high-priority */
    bool in;
    uint8_t class; /* enum class */
};

struct classes {
    struct class_slot *slots;      /* by job */
    uint32_t cap;                  /* number of slots allocated */
    uint64_t turns;                /* number of turns given out so far */
    uint32_t first[CLASS_COUNT];   /* job that is served next; CLASSES_NONE: no job has work */
    uint32_t running[CLASS_COUNT]; /* operations on the device */
    uint32_t kernels;              /* best-effort kernels on the device */
    uint64_t outstanding_ns; /* expected device time of the best-effort kernels on the device */
    uint64_t sms;            /* SMs that the blocks of these kernels fill together */
    uint32_t *high;          /* the high-priority jobs, in no order, [cap] */
    uint32_t high_count;
    uint64_t request_ns; /* shortest latency alone of the high-priority jobs; 0: none or unknown */
};

/* Allocates slots for jobs below `jobs`. Returns 0 or -ENOMEM. */
int classes_reserve(struct classes *c, uint32_t jobs);
void classes_finish(struct classes *c);
/* Visits the blocks (visit.h). */
bool classes_memory(struct classes *c, memory_visit *visit, void *arg);

/* Makes all jobs best-effort, without work and with nothing on the device. */
void classes_clear(struct classes *c);
/* Sets the class of a job, none of whose operations is counted on the device. */
void classes_set(struct classes *c, uint32_t job, enum class class);
/* Puts the job at the end of its ring when it has an operation to run, or takes it out. */
void classes_wants(struct classes *c, uint32_t job, bool wants);
/* Moves the job to the end of its ring after an operation of it was sent. */
void classes_served(struct classes *c, uint32_t job);
/* Counts one more operation of the job on the device, or with `change` -1 one fewer. `sms` and
 * `expected_ns`: SMs and device time that a kernel is expected to use. */
void classes_count(struct classes *c, uint32_t job, bool kernel, uint32_t sms, uint64_t expected_ns,
                   int change);

static inline enum class classes_of(const struct classes *c, uint32_t job) {
    return c->slots[job].class;
}

/* The job is in its class's ring. */
static inline bool classes_has(const struct classes *c, uint32_t job) {
    return c->slots[job].in;
}

/* The job's position in its ring: the smallest is served first. */
static inline uint64_t classes_turn(const struct classes *c, uint32_t job) {
    return c->slots[job].turn;
}

/* The job that is served after `job`. */
static inline uint32_t classes_next(const struct classes *c, uint32_t job) {
    return c->slots[job].next;
}

#endif
