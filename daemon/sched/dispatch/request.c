/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures how long a job's requests take when it has the device to itself. "A request refers to a
 * single batch of inference requests; for training jobs, to a single training iteration" (Orion,
 * section 5.2). A request counts as alone if two jobs never had operations on the device at once
 * during it, and its job never waited for a turn.
 */
#include "daemon/sched/dispatch/request.h"

bool request_end(struct sched_state *st, struct sched_job *j) {
    bool alone = j->requested && st->mixed_ns < j->request_at_ns && j->turn &&
                 j->turn_ns <= j->request_at_ns;
    bool served = j->requested && j->done_ns > j->request_at_ns;
    if (served) {
        j->request_ns = j->done_ns - j->request_at_ns;
        j->gap_ns = j->request_at_ns - j->request_done_ns;
        j->request_done_ns = j->done_ns;
        if (alone) j->alone_request_ns = state_mean(j->alone_request_ns, j->request_ns);
    }
    j->request_kernels_ns = j->kernels_ns;
    j->kernels_ns = 0;
    /* Operations that arrived ahead of the boundary belong to the request that begins here. */
    j->requested = j->waiting > 0;
    j->request_at_ns = st->now_ns;
    return served;
}
