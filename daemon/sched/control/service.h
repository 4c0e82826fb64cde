/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a job that has a promise about its latency, an SLO: how long its latest requests
 * took, and how often what they came to was not what was promised. A request is an iteration, from
 * its first operation's arrival (or from the boundary before it, if that came later) to the end of
 * its last one. Pure.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SCHED_CONTROL_SERVICE_H
#define DAEMON_SCHED_CONTROL_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#define SERVICE_WINDOW 128u /* requests that are remembered: one is above the 99th percentile */
#define SERVICE_NONE UINT32_MAX

struct service {
    uint32_t job; /* slot; SERVICE_NONE: the entry is free */
    uint32_t next_free;
    uint32_t count, at; /* requests in the window, where the next one goes */
    uint32_t fresh;     /* that came in this period; may be more than the window holds */
    uint64_t latency_ns[SERVICE_WINDOW];
    uint64_t measured_ns; /* of the latest period that had a request; 0: none yet */
    uint64_t periods;     /* that had one */
    uint64_t violations;  /* of these, in which more was measured than promised */
    uint64_t stuck;       /* of these, in which nothing was left to be taken from others */
    bool is_stuck;        /* the latest was one */
};

/* Nothing is known of it yet. */
void service_begin(struct service *v, uint32_t job);
/* A request took so long. */
void service_served(struct service *v, uint64_t latency_ns);
/* How many requests it takes until a quantile of them says something; of a mean, 1. `percent` as in
 * service_measure. */
uint32_t service_enough(uint32_t percent);
/* The mean (percent 0) or a quantile (nearest rank) of the period's requests, and of earlier ones
 * where they are too few for it; 0: there were none. */
uint64_t service_measure(const struct service *v, uint32_t percent);
/* A period is over: keeps what was measured in it. */
void service_measured(struct service *v, uint64_t measured_ns, bool violated, bool stuck);

#endif
