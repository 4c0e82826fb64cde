/* SPDX-License-Identifier: Apache-2.0
 *
 * Assigns a job's operations to iterations, and decides when the boundary between two iterations is
 * passed. The worker uses a gate for each client, the simulator one for each job. An iteration
 * begins with a mark, or where daemon/worker/iteration detects one. New operations belong to the
 * next iteration as long as operations of the current one are open.
 *
 * A mark precedes the iteration's first operation, often by microseconds. If the boundary were
 * passed at once, the job would not be ready, and a job of lower rank would get the turn. So the
 * boundary waits for that operation, for at most ITERATION_GATE_MOMENT_NS.
 *
 * Owner: the caller.
 */
#ifndef DAEMON_SCHED_ITERATION_GATE_H
#define DAEMON_SCHED_ITERATION_GATE_H

#include <stdbool.h>
#include <stdint.h>

#define ITERATION_GATE_MOMENT_NS 1000000ull
#define ITERATION_GATE_MEASURED \
    3u /* number of boundaries after which a job's needs count as measured */

struct iteration_gate {
    uint32_t current;  /* iteration that the scheduler lets run */
    uint32_t reading;  /* iteration of the next operation: current or current + 1 */
    uint64_t open[2];  /* operations that have not ended, by the lowest bit of their iteration */
    uint64_t sent;     /* operations sent since `reading` began */
    uint64_t begun_ns; /* time at which `reading` began */
    uint64_t passed;   /* boundaries reported to the scheduler */
};

/* Begins a new iteration with the next operation. Call only when `reading` equals `current`. */
static inline void iteration_gate_begin(struct iteration_gate *p, uint64_t now_ns) {
    p->reading++;
    p->sent = 0;
    p->begun_ns = now_ns;
}

/* Counts a new operation and returns its iteration. */
static inline uint32_t iteration_gate_send(struct iteration_gate *p) {
    p->open[p->reading & 1]++;
    p->sent++;
    return p->reading;
}

/* The current iteration has no open operation, and the next one has begun. */
static inline bool iteration_gate_over(const struct iteration_gate *p) {
    return p->reading != p->current && !p->open[p->current & 1];
}

/* Counts the end of an operation. Returns true when the current iteration ended with it. */
static inline bool iteration_gate_end(struct iteration_gate *p, uint32_t iteration) {
    return --p->open[iteration & 1] == 0 && iteration == p->current && iteration_gate_over(p);
}

/* The current iteration is over, but the boundary still waits for the job's next operation. */
static inline bool iteration_gate_waits(const struct iteration_gate *p, uint64_t now_ns) {
    return iteration_gate_over(p) && !p->sent && now_ns - p->begun_ns < ITERATION_GATE_MOMENT_NS;
}

/* Passes the boundary; the caller sends SCHED_BOUNDARY. When this returns true, the job's needs
 * count as measured from now on, and the caller sends SCHED_MEASURED first if they were unknown. */
static inline bool iteration_gate_pass(struct iteration_gate *p) {
    p->current++;
    return ++p->passed == ITERATION_GATE_MEASURED;
}

#endif
