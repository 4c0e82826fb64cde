/* SPDX-License-Identifier: Apache-2.0
 *
 * In-order streams of operations: the device's operations with these names.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_QUEUE_H
#define DAEMON_DEVICE_SOFT_DEV_QUEUE_H

#include <stdint.h>

#include "daemon/device/device.h"

/* Largest copy that costs less than waking a thread: 22 us for 256 KiB, a piece of staging. */
#define QUEUE_INLINE_BYTES (256u << 10)

int queue_create(struct dev_space *space, int priority, struct dev_queue **out);
void queue_destroy(struct dev_queue *queue);
void queue_level(struct dev_queue *queue, uint32_t level);
int queue_launch(struct dev_queue *queue, const struct dev_launch *launch, struct dev_op *op);
int queue_copy(struct dev_queue *queue, const struct dev_copy *copy, struct dev_op *op);
void queue_share(struct dev_queue *queue, uint32_t sms);
void queue_still(struct dev_queue *queue, bool still);
int queue_memset(struct dev_queue *queue, const struct dev_memset *set, struct dev_op *op);
int queue_spend(struct dev_queue *queue, uint32_t sms, uint64_t ns, struct dev_op *op);
void queue_cancel_space(struct dev_space *space);

#endif
