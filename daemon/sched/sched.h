/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler as a pure step function: no clock, no threads, no device, no system call. Time
 * arrives with the events; the answer is a list of actions that the caller must carry out in order.
 * The worker, the unit tests and the simulator run this same object code.
 *
 * An operation is offered (SUBMITTED) once it is eligible: it heads its stream and everything it
 * depends on is complete or dispatched before it on the same stream. The policy decides when it
 * runs.
 *
 * Simultaneous events are taken in the order of the array; the caller sorts: DONE first, then LEFT,
 * JOINED, SUBMITTED, so that a freed place is seen before anybody asks for it.
 */
#ifndef DAEMON_SCHED_SCHED_H
#define DAEMON_SCHED_SCHED_H

#include <stdint.h>

struct sched;

enum sched_event_kind {
    SCHED_JOINED,    /* job: new; weight */
    SCHED_LEFT,      /* job: gone; its waiting operations are forgotten, running ones still end */
    SCHED_SUBMITTED, /* job, op: eligible; counted = 1 when it occupies the device */
    SCHED_DONE,      /* job, op: complete, however it ended; busy_ns; counted as submitted */
};

struct sched_event {
    enum sched_event_kind kind;
    uint32_t job;
    uint64_t op; /* the caller's name for it; returned by SCHED_RUN */
    uint64_t busy_ns;
    uint32_t weight;
    int counted;
};

enum sched_action_kind {
    SCHED_RUN, /* hand `op` of `job` to the device now */
};

struct sched_action {
    enum sched_action_kind kind;
    uint32_t job;
    uint64_t op;
};

struct sched_actions {
    struct sched_action *items; /* owned by the scheduler, valid until the next step */
    uint32_t count;
};

struct sched_config {
    const char *policy;    /* "fifo" */
    uint32_t inflight_cap; /* K: kernels and copies of one job on the device; 0: 16 */
};

/* NULL and -EINVAL when there is no such policy. */
int sched_create(struct sched **out, const struct sched_config *config);
void sched_destroy(struct sched *s);

/* 0, or -ENOMEM with the state unchanged. Events that name unknown jobs are a caller's bug:
 * -EINVAL. */
int sched_step(struct sched *s, uint64_t now_ns, const struct sched_event *events, uint32_t count,
               struct sched_actions *out);

#endif
