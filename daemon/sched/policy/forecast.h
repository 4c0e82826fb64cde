/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicts by how much a best-effort kernel delays a high-priority request, from the resources of
 * both over the request's remaining kernels. Three assumptions:
 *
 *   sequence  the kernels of a request are nearly those of the previous one, and another request
 *             may follow at once
 *   slots     a kernel that begins while a best-effort wave holds SMs that it needs waits for the
 *             end of that wave: with stream priorities for one wave at most. Slots that the
 *             request's kernel leaves free belong to the best-effort kernel until its next wave
 *             ends
 *   units     two kernels that use a unit (arithmetic, memory bandwidth) share it max-min, and a
 *             part of it is lost to contention
 *
 * contention.h defines the loss and the slots. Pure. Owner: the policy.
 */
#ifndef DAEMON_SCHED_POLICY_FORECAST_H
#define DAEMON_SCHED_POLICY_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/policy/forecast_use.h"
#include "daemon/sched/sched.h"
#include "daemon/sched/visit.h"

#define FORECAST_STEPS 8192u /* largest number of recorded kernels of a request */

/* The kernel sequence of a job's requests. Zeroed: nothing is known. */
struct forecast {
    struct forecast_use *steps; /* kernels of the latest request; [cap] */
    uint32_t cap, count;        /* count: kernels of a complete request; 0: none is known */
    uint32_t began, ended;      /* kernels of the current request: sent, completed */
    uint64_t since_ns;          /* time at which the device began its current kernel */
};

/* Visits the block of the sequence (visit.h), which the caller frees. */
bool forecast_memory(struct forecast *f, memory_visit *visit, void *arg);
/* A kernel of the request was sent to the device; a kernel completed; the request completed. */
void forecast_began(struct forecast *f, uint64_t now_ns, struct forecast_use use);
void forecast_ended(struct forecast *f, uint64_t now_ns);
void forecast_over(struct forecast *f);

/* The request has more kernels to come. */
static inline bool forecast_more(const struct forecast *f) {
    return f->ended < f->count;
}

/* Slots left beside the request's current kernel and `heads`, the running best-effort kernels.
 * Below 0: too many are taken, or the request is unknown. */
int32_t forecast_free(const struct forecast *f, const struct forecast_use *heads);
/* The slots left are enough for `one`. */
static inline bool forecast_room(const struct forecast *f, const struct forecast_use *one,
                                 const struct forecast_use *heads) {
    return (int32_t)one->slots <= forecast_free(f, heads);
}
/* Predicted delay in ns if `one` begins now beside `heads`, over at most `lookahead` kernels of the
 * request. */
uint64_t forecast_delay(const struct forecast *f, uint64_t now_ns, const struct forecast_use *one,
                        const struct forecast_use *heads, uint32_t lookahead);
/* The same for a kernel with the remaining work `left` when a request begins, or resumes after a
 * pause. */
uint64_t forecast_delay_of_next(const struct forecast *f, const struct forecast_use *left,
                                const struct forecast_use *heads, uint32_t lookahead);

#endif
