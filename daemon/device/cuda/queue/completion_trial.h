/* SPDX-License-Identifier: Apache-2.0
 *
 * Words or events, by what they take on this GPU with this driver: at start, before there are jobs.
 *
 * Owner: nobody, nothing is kept. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_COMPLETION_TRIAL_H
#define DAEMON_DEVICE_CUDA_QUEUE_COMPLETION_TRIAL_H

#include "daemon/device/cuda/queue/cuda_completion.h"

/* Decides c->way where it is to be chosen, within some 10 ms, and 200 where
 * nothing comes back. 0 or an error: the context is lost.
 */
int completion_trial(struct completions *c);

#endif
