/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that belongs to one GPU: its worker, with the channel, the opened device and the
 * board; the jobs on it and their address windows; its policy, and changes that the worker has not
 * answered; the kernel profiles for its kind of device. life/supervise.h starts and ends the
 * worker, one for each GPU; gpus.h has what GPUs share.
 *
 * Owner: struct gpus. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_GPU_GPU_H
#define DAEMON_BROKER_GPU_GPU_H

#include "daemon/broker/gpu/changes.h"
#include "daemon/broker/jobs/attachments.h"
#include "daemon/broker/store/kernel_link.h"

struct gpu {
    uint32_t number;      /* number from 0, as users name the GPU */
    struct config config; /* the broker's, overridden by [gpu N] */
    struct worker worker;
    struct attachments attachments;
    struct changes changes;
    struct kernel_link kernels;
};

void gpu_init(struct gpu *g, uint32_t number, const struct config *config,
              struct kernel_stores *stores);

/* Applies a changed configuration; changed policies are sent to the worker. */
void gpu_configure(struct gpu *g, const struct config *config);

/* The worker has opened this device, which is the GPU's from now on. Unblocks all slots of address
 * windows. */
void gpu_opened(struct gpu *g, const struct wire_device *device);

/* Number of jobs on it that have accepted their windows and whose clients exist. */
unsigned gpu_jobs(const struct gpu *g);

#endif
