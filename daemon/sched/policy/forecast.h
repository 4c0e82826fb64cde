/* SPDX-License-Identifier: Apache-2.0
 *
 * By how much a best-effort kernel will delay a high-priority request, reckoned from what both need
 * over the kernels that are still to come. Three assumptions:
 *
 *   sequence  the kernels of a request are nearly those of the one before, and another request may
 *             follow at once
 *   slots     a kernel that begins while a best-effort wave holds SMs that it needs, waits for the
 *             end of that wave: with the device's priorities for no more than a wave. What a kernel
 *             of the request leaves free the best-effort one has until its next wave ends
 *   units     two kernels that use a unit (arithmetic, memory bandwidth) share it max-min, and
 *             something of it is lost to contention
 *
 * How much of a unit is lost, and which slots there are, is contention.h's. Pure. Owner: the
 * policy.
 */
#ifndef DAEMON_SCHED_POLICY_FORECAST_H
#define DAEMON_SCHED_POLICY_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/policy/forecast_use.h"
#include "daemon/sched/sched.h"
#include "daemon/sched/visit.h"

#define FORECAST_STEPS 8192u /* of a request that are remembered */

/* A job's requests; zeroed, nothing is known. */
struct forecast {
    struct forecast_use *steps; /* the latest request's kernels; [cap] */
    uint32_t cap, count;        /* count: of a whole request; 0: none is known */
    uint32_t began, ended;      /* kernels of the current one */
    uint64_t since_ns;          /* when the device came to the kernel that it is at */
};

/* Its block (visit.h), which is the caller's to free. */
bool forecast_memory(struct forecast *f, memory_visit *visit, void *arg);
/* A kernel of the request was sent to the device; one is complete; the request is. */
void forecast_began(struct forecast *f, uint64_t now_ns, struct forecast_use use);
void forecast_ended(struct forecast *f, uint64_t now_ns);
void forecast_over(struct forecast *f);

/* More kernels of the request are to come. */
static inline bool forecast_more(const struct forecast *f) {
    return f->ended < f->count;
}

/* The slots that are left beside the request's kernel and `heads`, those that run; below 0: too
 * many are taken, or the request is not known. */
int32_t forecast_free(const struct forecast *f, const struct forecast_use *heads);
/* `one` has slots of its own there. */
static inline bool forecast_room(const struct forecast *f, const struct forecast_use *one,
                                 const struct forecast_use *heads) {
    return (int32_t)one->slots <= forecast_free(f, heads);
}
/* The delay, ns, when `one` begins now beside `heads`; at most `lookahead` kernels are looked at.
 */
uint64_t forecast_delay(const struct forecast *f, uint64_t now_ns, const struct forecast_use *one,
                        const struct forecast_use *heads, uint32_t lookahead);
/* The same of a kernel that has `left` to do when a request begins, or goes on after a pause. */
uint64_t forecast_delay_of_next(const struct forecast *f, const struct forecast_use *left,
                                const struct forecast_use *heads, uint32_t lookahead);

#endif
