/* SPDX-License-Identifier: Apache-2.0
 *
 * Between launches and the table of kernels: which entry a launch is of, and what its end says.
 */
#ifndef DAEMON_WORKER_KERNEL_LAUNCH_PROFILE_H
#define DAEMON_WORKER_KERNEL_LAUNCH_PROFILE_H

#include <stdbool.h>

#include "daemon/worker/kernel/kernels.h"
#include "daemon/worker/stream/op.h"

struct func;

/* Whose launches they are. Owner: the client. */
struct profiling {
    struct kernels *kernels;
    const struct dev_info *info; /* of the device */
    uint32_t uid;
    uint32_t created; /* entries of the table, for this client */
    bool null;        /* they are not computed, and teach nothing: they have entries of their own */
};

/* The table for a device. `seed`: a secret. 0 or -ENOMEM. */
int launch_profile_create(struct kernels **out, const struct dev_info *info, uint64_t seed);

/* The function is launched so from now on; its limits allow it. */
void launch_profile_shape(struct profiling *p, struct func *f, const struct wire_launch *l);
/* The launch is of this kernel, held until launch_profile_drop; NULL: one without a profile. */
static inline void launch_profile_launch(struct kernels *k, struct op *op, struct kernel *kernel) {
    op->launch.kernel = kernel;
    if (kernel) kernels_hold(k, kernel);
}
/* A kernel for which there is no room in the table: as large as any, and of unknown class. */
extern const struct sched_kernel profiling_unknown, profiling_copy;
/* What the scheduler is told of the operation. */
static inline const struct sched_kernel *launch_profile_sched(const struct op *op) {
    if (op->kind != WIRE_LAUNCH) return &profiling_copy;
    return op->launch.kernel ? &op->launch.kernel->sched : &profiling_unknown;
}
/* Whether the device should be asked when this launch begins and ends, where that costs something:
 * of a kernel's first ones, and of some later. */
bool launch_profile_asks(const struct op *op);
/* A launch ended on the device, where several clients were until `mixed_ns`. `coarse`: its times
 * are rough unless they were asked for. */
void launch_profile_ended(struct kernels *k, struct op *op, uint64_t mixed_ns, bool coarse);
/* The operation is about to be freed. */
static inline void launch_profile_drop(struct kernels *k, struct op *op) {
    if (op->kind != WIRE_LAUNCH) return;
    kernels_drop(k, op->launch.kernel);
    op->launch.kernel = NULL;
}

#endif
