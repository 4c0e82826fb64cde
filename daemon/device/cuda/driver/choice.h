/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses one of the driver's devices: by its index, or by the beginning of its UUID, as in
 * CUDA_VISIBLE_DEVICES.
 *
 * Owner: none, because nothing is stored. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_DRIVER_CHOICE_H
#define DAEMON_DEVICE_CUDA_DRIVER_CHOICE_H

#include <stdint.h>

#include "daemon/device/cuda/driver/driver.h"

/* `id` NULL: chooses index `number`. Returns 0, or -ENODEV or ERR_* with the reason in `why`, which
 * lists the existing devices. */
int choice_find(const struct driver *d, uint32_t number, const char *id, uint32_t *index, char *why,
                size_t why_bytes);

#endif
