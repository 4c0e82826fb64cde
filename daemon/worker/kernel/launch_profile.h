/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects launches with the table of kernels: finds a launch's entry, and records its end there.
 */
#ifndef DAEMON_WORKER_KERNEL_LAUNCH_PROFILE_H
#define DAEMON_WORKER_KERNEL_LAUNCH_PROFILE_H

#include <stdbool.h>

#include "daemon/worker/kernel/kernels.h"
#include "daemon/worker/stream/op.h"

struct func;

/* The client whose launches are profiled. Owner: the client. */
struct profiling {
    struct kernels *kernels;
    const struct dev_info *info; /* the device's */
    uint32_t uid;
    uint32_t created; /* table entries created for this client */
    bool null; /* launches compute nothing and teach nothing: they have entries of their own */
};

/* Creates the table for a device. `seed`: a secret. Returns 0 or -ENOMEM. */
int launch_profile_create(struct kernels **out, const struct dev_info *info, uint64_t seed);

/* Sets the shape in which the function is launched from now on; its limits allow that shape. */
void launch_profile_shape(struct profiling *p, struct func *f, const struct wire_launch *l);
/* Sets the launch's kernel, held until launch_profile_drop; NULL: a kernel without a profile. */
static inline void launch_profile_launch(struct kernels *k, struct op *op, struct kernel *kernel) {
    op->launch.kernel = kernel;
    if (kernel) kernels_hold(k, kernel);
}
/* Profiles for a kernel that did not fit into the table (the largest size, unknown class), and for
 * copies. */
extern const struct sched_kernel launch_profile_unknown, launch_profile_copy;
/* The operation's profile for the scheduler. */
static inline const struct sched_kernel *launch_profile_sched(const struct op *op) {
    if (op->kind != WIRE_LAUNCH) return &launch_profile_copy;
    return op->launch.kernel ? &op->launch.kernel->sched : &launch_profile_unknown;
}
/* True when this launch should be timed although timing costs something: a kernel's first launches,
 * and some later ones. */
bool launch_profile_asks(const struct op *op);
/* Records a launch that ended on the device. `mixed_ns`: the latest time at which several clients
 * had work there. `coarse`: its times are rough unless they were requested. */
void launch_profile_ended(struct kernels *k, struct op *op, uint64_t mixed_ns, bool coarse);
/* The operation is about to be freed: drops its kernel. */
static inline void launch_profile_drop(struct kernels *k, struct op *op) {
    if (op->kind != WIRE_LAUNCH) return;
    kernels_drop(k, op->launch.kernel);
    op->launch.kernel = NULL;
}

#endif
