/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss of the driver's context: noticing it, or causing it when a kernel exceeds its time;
 * finding the kernels that may have caused it; and ending all operations.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_LOSS_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_LOSS_H

#include "daemon/device/cuda/queue/queue_state.h"

/* Asks the driver whether the context lives, and ends the context if a kernel exceeds its time. */
void cuda_loss_ask(struct queues *qs);
/* Completes every operation after the context is lost: suspects with its error, if all of them are
 * one job's, and the rest with ERR_DEVICE_LOST. */
void cuda_loss_bury(struct queues *qs);

#endif
