/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses words or events by measuring both on this GPU with this driver, at start, before there
 * are jobs.
 *
 * Owner: none, because nothing is stored. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_COMPLETION_TRIAL_H
#define DAEMON_DEVICE_CUDA_QUEUE_COMPLETION_TRIAL_H

#include "daemon/device/cuda/queue/cuda_completion.h"

/* Decides c->way where it is to be chosen, within some 10 ms, or 200 ms if nothing completes. 0 or
 * an error: the context is lost. */
int completion_trial(struct completions *c);

#endif
