/* SPDX-License-Identifier: Apache-2.0
 *
 * Assigns a job's operations to iterations, and decides when the boundary between two iterations is
 * passed. The worker uses a passage for each client, the simulator one for each job. An iteration
 * begins with a mark, or where daemon/worker/iteration detects one. New operations belong to the
 * next iteration as long as operations of the current one are open.
 *
 * A mark precedes the iteration's first operation, often by microseconds. If the boundary were
 * passed at once, the job would not be ready, and a job of lower rank would get the turn. So the
 * boundary waits for that operation, for at most PASSAGE_MOMENT_NS.
 *
 * Owner: the caller.
 */
#ifndef DAEMON_SCHED_PASSAGE_H
#define DAEMON_SCHED_PASSAGE_H

#include <stdbool.h>
#include <stdint.h>

#define PASSAGE_MOMENT_NS 1000000ull
#define PASSAGE_MEASURED 3u /* number of boundaries after which a job's needs count as measured */

struct passage {
    uint32_t current;  /* iteration that the scheduler lets run */
    uint32_t reading;  /* iteration of the next operation: current or current + 1 */
    uint64_t open[2];  /* operations that have not ended, by the lowest bit of their iteration */
    uint64_t sent;     /* operations sent since `reading` began */
    uint64_t begun_ns; /* time at which `reading` began */
    uint64_t passed;   /* boundaries reported to the scheduler */
};

/* Begins a new iteration with the next operation. Call only when `reading` equals `current`. */
static inline void passage_begin(struct passage *p, uint64_t now_ns) {
    p->reading++;
    p->sent = 0;
    p->begun_ns = now_ns;
}

/* Counts a new operation and returns its iteration. */
static inline uint32_t passage_send(struct passage *p) {
    p->open[p->reading & 1]++;
    p->sent++;
    return p->reading;
}

/* The current iteration has no open operation, and the next one has begun. */
static inline bool passage_over(const struct passage *p) {
    return p->reading != p->current && !p->open[p->current & 1];
}

/* Counts the end of an operation. Returns true when the current iteration ended with it. */
static inline bool passage_end(struct passage *p, uint32_t iteration) {
    return --p->open[iteration & 1] == 0 && iteration == p->current && passage_over(p);
}

/* The current iteration is over, but the boundary still waits for the job's next operation. */
static inline bool passage_waits(const struct passage *p, uint64_t now_ns) {
    return passage_over(p) && !p->sent && now_ns - p->begun_ns < PASSAGE_MOMENT_NS;
}

/* Passes the boundary; the caller sends SCHED_BOUNDARY. When this returns true, the job's needs
 * count as measured from now on, and the caller sends SCHED_MEASURED first if they were unknown. */
static inline bool passage_pass(struct passage *p) {
    p->current++;
    return ++p->passed == PASSAGE_MEASURED;
}

#endif
