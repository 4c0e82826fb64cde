/* SPDX-License-Identifier: Apache-2.0
 *
 * Between launches and the table of kernels: which entry a launch is of, and what its end says.
 */
#ifndef DAEMON_WORKER_PROFILE_PROFILING_H
#define DAEMON_WORKER_PROFILE_PROFILING_H

#include "daemon/worker/client.h"

struct func;

int profiling_create(struct worker *w);
void profiling_destroy(struct worker *w);

/* Which kernel the launch is of, held until profiling_drop; NULL: one without a profile. */
struct kernel *profiling_launch(struct client *c, struct func *f, const struct dev_launch *launch);
/* What the scheduler is told of the operation. */
const struct sched_kernel *profiling_sched(const struct op *op);
/* What is on the device changes now. */
static inline void profiling_mixed(struct worker *w) {
    if (w->active_clients > 1) w->mixed_ns = w->now_ns;
}
/* A launch ended on the device. */
void profiling_ended(struct worker *w, struct op *op);
/* The operation is about to be freed. */
void profiling_drop(struct worker *w, struct op *op);
/* The function is. */
void profiling_drop_func(struct worker *w, struct func *f);

#endif
