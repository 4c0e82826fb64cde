/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs in two classes (Orion, section 5.1.1), high-priority and best-effort: of each class a ring
 * of those that have an operation to run, served in turn; what each has on the device; and who is
 * high-priority. Jobs are slots of the scheduler. Owner: the state, which only the scheduler's core
 * writes; policies read.
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
    uint64_t turn; /* while it is there: rises along the ring, from who is served next */
    uint32_t prev, next;
    uint32_t at; /* in `high`, when it is there */
    bool in;
    uint8_t class; /* enum class */
};

struct classes {
    struct class_slot *slots;      /* by job */
    uint32_t cap;                  /* jobs there is room for */
    uint64_t turns;                /* given out so far */
    uint32_t first[CLASS_COUNT];   /* who is served next; CLASSES_NONE: nobody wants */
    uint32_t running[CLASS_COUNT]; /* operations on the device */
    uint32_t kernels;              /* best-effort kernels on the device */
    uint64_t outstanding_ns;       /* and the time that they were taken to need */
    uint64_t sms;                  /* and what their blocks fill, together */
    uint32_t *high;                /* the high-priority jobs, in no order, [cap] */
    uint32_t high_count;
    uint64_t
        request_ns; /* shortest request alone of these; 0: one is not known, or there is none */
};

/* Room for jobs in slots below `jobs`: 0 or -ENOMEM. */
int classes_reserve(struct classes *c, uint32_t jobs);
void classes_finish(struct classes *c);
/* The blocks (visit.h). */
bool classes_memory(struct classes *c, memory_visit *visit, void *arg);

/* All jobs are best-effort, none wants, nothing is on the device. */
void classes_clear(struct classes *c);
/* The job, which has nothing counted on the device, is of this class from now on. */
void classes_set(struct classes *c, uint32_t job, enum class class);
/* The job has an operation to run, or none any more; it comes as the last to be served. */
void classes_wants(struct classes *c, uint32_t job, bool wants);
/* An operation of it was sent: another one is served next. */
void classes_served(struct classes *c, uint32_t job);
/* One operation more of the job on the device, or with `change` -1 one less: a kernel of so many
 * SMs or none, and the time that it was taken to need. */
void classes_count(struct classes *c, uint32_t job, bool kernel, uint32_t sms, uint64_t expected_ns,
                   int change);

static inline enum class classes_of(const struct classes *c, uint32_t job) {
    return c->slots[job].class;
}

/* It is in its class's ring. */
static inline bool classes_has(const struct classes *c, uint32_t job) {
    return c->slots[job].in;
}

/* Of jobs in a ring the smaller one is served first. */
static inline uint64_t classes_turn(const struct classes *c, uint32_t job) {
    return c->slots[job].turn;
}

/* Who of the ring is served after `job`. */
static inline uint32_t classes_next(const struct classes *c, uint32_t job) {
    return c->slots[job].next;
}

#endif
