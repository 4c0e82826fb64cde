/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU of the broker: all that it has alone. Its worker, with the channel to it, the device that
 * it opened and the board that it shows; the jobs on it and their address windows; its policy, and
 * what was told to the worker and is not answered; what is known of kernels on devices of its kind.
 * Who starts and ends its worker is life/supervise.h, one for each; what GPUs share is in gpus.h.
 *
 * Owner: struct gpus. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_GPU_GPU_H
#define DAEMON_BROKER_GPU_GPU_H

#include "daemon/broker/gpu/changes.h"
#include "daemon/broker/jobs/attachments.h"
#include "daemon/broker/store/kernel_link.h"

struct gpu {
    uint32_t number;      /* from 0, as people name it */
    struct config config; /* the broker's, with what [gpu N] says over it */
    struct worker worker;
    struct attachments attachments;
    struct changes changes;
    struct kernel_link kernels;
};

void gpu_init(struct gpu *g, uint32_t number, const struct config *config,
              struct kernel_stores *stores);

/* The broker's configuration has changed: policies are told to the worker where they are others. */
void gpu_configure(struct gpu *g, const struct config *config);

/* The worker opened its device: from here on the GPU has this one. */
void gpu_opened(struct gpu *g, const struct wire_device *device);

/* How many jobs people see on it. */
unsigned gpu_jobs(const struct gpu *g);

#endif
