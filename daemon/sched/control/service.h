/* SPDX-License-Identifier: Apache-2.0
 *
 * Measurements of a job with a latency target (an SLO): the latencies of its latest requests, and
 * how often the target was missed. A request is an iteration: from the arrival of its first
 * operation (or from the previous boundary, if that came later) to the end of its last operation.
 * Pure.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SCHED_CONTROL_SERVICE_H
#define DAEMON_SCHED_CONTROL_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#define SERVICE_WINDOW \
    128u /* number of latencies stored: one of them is above the 99th percentile */
#define SERVICE_NONE UINT32_MAX

struct service {
    uint32_t job; /* slot; SERVICE_NONE: the entry is free */
    uint32_t next_free;
    uint32_t count, at; /* latencies in the window, index of the next one */
    uint32_t fresh;     /* requests of this period; may exceed the window */
    uint64_t latency_ns[SERVICE_WINDOW];
    uint64_t measured_ns; /* in the latest period that had a request; 0: none yet */
    uint64_t periods;     /* periods with a request */
    uint64_t violations;  /* periods with a request in which the target was missed */
    uint64_t stuck;       /* violations in which other jobs had nothing more to give up */
    bool is_stuck;        /* the latest period with a request counted in `stuck` */
};

/* Initialises the measurements, which are empty. */
void service_begin(struct service *v, uint32_t job);
/* Records the latency of a request. */
void service_served(struct service *v, uint64_t latency_ns);
/* Number of requests that make a quantile meaningful; 1 for the mean. `percent` as in
 * service_measure. */
uint32_t service_enough(uint32_t percent);
/* Returns the mean (percent 0) or a quantile (nearest rank) of the period's requests, with earlier
 * ones if they are too few; 0: there were none. */
uint64_t service_measure(const struct service *v, uint32_t percent);
/* Records the result of a period that is over. */
void service_measured(struct service *v, uint64_t measured_ns, bool violated, bool stuck);

#endif
