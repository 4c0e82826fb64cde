/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the driver's devices is meant: by its index, or by how its UUID begins, as
 * CUDA_VISIBLE_DEVICES has it.
 *
 * Owner: nobody, nothing is kept. Threads: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_DRIVER_CHOICE_H
#define DAEMON_DEVICE_CUDA_DRIVER_CHOICE_H

#include <stdint.h>

#include "daemon/device/cuda/driver/driver.h"

/* `id`: NULL: the one with index `number`. 0, or -ENODEV or ERR_* with the reason in `why`, which
 * names the devices that there are. */
int choice_find(const struct driver *d, uint32_t number, const char *id, uint32_t *index, char *why,
                size_t why_bytes);

#endif
