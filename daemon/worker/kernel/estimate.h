/* SPDX-License-Identifier: Apache-2.0
 *
 * Estimates of the SMs and the time that a launch needs, from its shape and the kernel's registers
 * and shared memory alone. Pure.
 */
#ifndef DAEMON_WORKER_KERNEL_ESTIMATE_H
#define DAEMON_WORKER_KERNEL_ESTIMATE_H

#include <stdint.h>

#include "daemon/device/device.h"

struct func;

/* "sm_needed = ceil(num_blocks / blocks_per_sm)" (Orion, section 5.2), which may exceed the
 * device's number of SMs. 0: not one of the kernel's blocks fits an SM. */
uint32_t estimate_sms(const struct dev_info *info, const struct func *f,
                      const struct dev_launch *l);

/* The launch's time alone on the device, where no measurement exists: a plausible time, the same in
 * every run, and no more than that. The blocks run in waves. A wave takes longer with more threads
 * on each multiprocessor, and an empty kernel's launch is the minimum. */
uint64_t estimate_ns(const struct dev_info *info, const struct func *f, const struct dev_launch *l);

#endif
