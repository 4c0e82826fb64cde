/* SPDX-License-Identifier: Apache-2.0
 *
 * Which iteration each of a job's operations belongs to, and when the boundary between two of them
 * is passed. The scheduler's callers go by it: the worker for each client, the simulator for each
 * job. An iteration begins with a mark, or where one was found (daemon/worker/iteration). Its
 * operations are the next iteration's as long as operations of the current one are open.
 *
 * A mark comes before the iteration's first operation, often by microseconds. If the boundary were
 * passed at once, the job would not be ready, and the turn would go to one that ranks behind it. So
 * the boundary waits for that operation, but no longer than a moment.
 *
 * Owner: the caller.
 */
#ifndef DAEMON_SCHED_PASSAGE_H
#define DAEMON_SCHED_PASSAGE_H

#include <stdbool.h>
#include <stdint.h>

#define PASSAGE_MOMENT_NS 1000000ull
#define PASSAGE_MEASURED 3u /* boundaries after which the needs of a job are known */

struct passage {
    uint32_t current;  /* the iteration that the scheduler lets run */
    uint32_t reading;  /* that of the next operation: current, or the one after it */
    uint64_t open[2];  /* operations that have not ended, by the lowest bit of their iteration */
    uint64_t sent;     /* operations since `reading` began */
    uint64_t begun_ns; /* when that was */
    uint64_t passed;   /* boundaries that the scheduler was told of */
};

/* The next operation begins an iteration. Only where none has begun that is not current yet. */
static inline void passage_begin(struct passage *p, uint64_t now_ns) {
    p->reading++;
    p->sent = 0;
    p->begun_ns = now_ns;
}

/* An operation is sent: the iteration that it belongs to. */
static inline uint32_t passage_send(struct passage *p) {
    p->open[p->reading & 1]++;
    p->sent++;
    return p->reading;
}

/* Nothing of the current iteration is left, and the next one has begun. */
static inline bool passage_over(const struct passage *p) {
    return p->reading != p->current && !p->open[p->current & 1];
}

/* An operation of this iteration has ended. True: the current iteration is over by that. */
static inline bool passage_end(struct passage *p, uint32_t iteration) {
    return --p->open[iteration & 1] == 0 && iteration == p->current && passage_over(p);
}

/* The current iteration is over, but its job is still given time to send the next operation. */
static inline bool passage_waits(const struct passage *p, uint64_t now_ns) {
    return passage_over(p) && !p->sent && now_ns - p->begun_ns < PASSAGE_MOMENT_NS;
}

/* The boundary is passed: the caller says SCHED_BOUNDARY. True: from now on the job's needs count
 * as known, and the caller says SCHED_MEASURED before that, if they were not. */
static inline bool passage_pass(struct passage *p) {
    p->current++;
    return ++p->passed == PASSAGE_MEASURED;
}

#endif
