/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for SM_THRESHOLD (Orion, section 5.1.1): "monitoring the throughput of the
 * high-priority job and adjusting the SM_THRESHOLD with binary search, using the maximum number of
 * SMs needed by any kernel of the best-effort job as the max value and zero as the min value". A
 * value is accepted when the high-priority job's iterations, over a window, take no longer than
 * allowed. The paper knows the largest kernel beforehand. Here all kernels are admitted for some
 * iterations first; otherwise a stream would stop at its first larger kernel and never show
 * another. Pure numbers; the caller decides which iterations count.
 */
#ifndef DAEMON_SCHED_POLICY_TUNE_H
#define DAEMON_SCHED_POLICY_TUNE_H

#include <stdbool.h>
#include <stdint.h>

#define TUNE_WINDOW 8u /* iterations at a value before it is judged */
#define TUNE_LET                                                                    \
    10u /* iterations in which all kernels are admitted after a larger one appeared \
         */

struct tune {
    uint32_t low, high; /* values up to low were accepted, values from high on rejected */
    uint32_t value; /* value being tried, or found; 0 at first; UINT32_MAX while all are admitted */
    uint32_t most;  /* largest number of SMs that a best-effort kernel needed */
    uint32_t let;   /* iterations so far in which all kernels were admitted */
    uint32_t count;
    uint64_t sum_ns;
};

/* Records that a best-effort kernel needs this many SMs; a new maximum enlarges the range. */
void tune_saw(struct tune *t, uint32_t sms);
/* Records that an iteration of the high-priority job took `ns`. Allowed are `allowed_milli`
 * thousandths of `alone_ns`, its time alone. */
void tune_iteration(struct tune *t, uint64_t ns, uint64_t alone_ns, uint32_t allowed_milli);

#endif
