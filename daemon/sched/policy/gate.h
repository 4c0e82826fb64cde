/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel policies with two classes of jobs have in common (Orion, section 5.1.1):
 * operations of high-priority jobs go at once; memory operations of best-effort jobs too, since
 * they use no SM (5.1.3); a best-effort kernel goes when the policy lets it pass, clients being
 * served round robin. What is offered heads its stream, so that nothing overtakes in a stream.
 *
 * The gate counts what is on the device for the policy to decide by. Owner: the policy's `self`,
 * of which it is the first member.
 */
#ifndef DAEMON_SCHED_POLICY_GATE_H
#define DAEMON_SCHED_POLICY_GATE_H

#include "daemon/sched/policy/policy.h"

enum gate_class { GATE_BEST, GATE_HIGH, GATE_CLASSES };

/* A job's place in the ring of those of its class that have an operation to run. */
struct gate_slot {
    uint32_t prev, next;
    uint32_t at; /* in `high`, when it is there */
    bool in;
    uint8_t class; /* enum gate_class, as it is counted */
};

struct gate {
    struct gate_slot *slots; /* by job */
    uint32_t cap;
    uint32_t turn[GATE_CLASSES];    /* who is served next; SCHED_NONE: nobody wants */
    uint32_t running[GATE_CLASSES]; /* operations on the device */
    uint32_t kernels;               /* best-effort kernels on the device */
    uint64_t outstanding_ns;        /* and their expected time, by their expected_ns */
    uint32_t *high;                 /* the high-priority jobs, [cap] */
    uint32_t high_count;
    uint64_t request_ns; /* shortest request alone of these; 0: one is not known */
};

/* Whether the waiting kernel `op` of a best-effort job may go now. */
typedef bool gate_pass(const void *self, const struct sched_state *st, uint32_t op);

int gate_init(void *self, const struct sched_state *st);
void gate_fini(void *self);
int gate_reserve(void *self, uint32_t jobs);
bool gate_memory(void *self, memory_visit *visit, void *arg);
/* Hooks of struct policy. */
void gate_moved(void *self, const struct sched_state *st, uint32_t op);
void gate_started(void *self, const struct sched_state *st, uint32_t op);
void gate_ended(void *self, const struct sched_state *st, uint32_t op);
void gate_turned(void *self, const struct sched_state *st, uint32_t job);
void gate_iterated(void *self, const struct sched_state *st, uint32_t job);
uint32_t gate_pick(const void *self, const struct sched_state *st, gate_pass *pass);
const char *gate_check(const void *self, const struct sched_state *st);

/* What a policy whose `self` begins with a gate has no more to say about. */
#define GATE_HOOKS                                                                              \
    .init = gate_init, .fini = gate_fini, .reserve = gate_reserve, .memory = gate_memory,       \
    .dequeue = gate_moved, .started = gate_started, .ended = gate_ended, .turned = gate_turned, \
    .check = gate_check

/* The kernel that the device is at for a job: its oldest there; NULL when it has none. */
const struct sched_kernel *gate_kernel(const struct sched_state *st, uint32_t job);

#endif
