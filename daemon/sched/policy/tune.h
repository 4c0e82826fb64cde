/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for SM_THRESHOLD (Orion, section 5.1.1): "monitoring the throughput of the
 * high-priority job and adjusting the SM_THRESHOLD with binary search, using the maximum number of
 * SMs needed by any kernel of the best-effort job as the max value and zero as the min value". A
 * value is kept when the high-priority job's iterations, over a window of them, take no longer than
 * allowed. The paper knows the largest kernel beforehand; here everything is let through for some
 * iterations, or a stream would stop at its first larger kernel and show no other. Pure numbers;
 * the caller says which iterations count.
 */
#ifndef DAEMON_SCHED_POLICY_TUNE_H
#define DAEMON_SCHED_POLICY_TUNE_H

#include <stdbool.h>
#include <stdint.h>

#define TUNE_WINDOW 8u /* iterations at a value before it is judged */
#define TUNE_LET 10u   /* iterations for which all is let through when a larger kernel came */

struct tune {
    uint32_t low, high; /* kept: every value up to low; not kept: every one from high */
    uint32_t value;     /* being tried, or found; 0 before the first iteration */
    uint32_t most;      /* SMs that a best-effort kernel needed */
    uint32_t let;       /* iterations for which all was let through */
    uint32_t count;
    uint64_t sum_ns;
};

/* A best-effort kernel needs so many SMs: the range grows. */
void tune_saw(struct tune *t, uint32_t sms);
/* An iteration of the high-priority job took `ns`, and takes `alone_ns` alone, of which
 * `allowed_milli` thousandths are allowed. */
void tune_iteration(struct tune *t, uint64_t ns, uint64_t alone_ns, uint32_t allowed_milli);

#endif
