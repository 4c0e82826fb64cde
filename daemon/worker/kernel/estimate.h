/* SPDX-License-Identifier: Apache-2.0
 *
 * What a launch takes of a device, from its shape and the kernel's registers alone. Pure.
 */
#ifndef DAEMON_WORKER_KERNEL_ESTIMATE_H
#define DAEMON_WORKER_KERNEL_ESTIMATE_H

#include <stdint.h>

#include "daemon/device/device.h"

struct func;

/* "sm_needed = ceil(num_blocks / blocks_per_sm)" (Orion, section 5.2), be there so many or not; 0:
 * none of its blocks fits one. */
uint32_t estimate_sms(const struct dev_info *info, const struct func *f,
                      const struct dev_launch *l);

/* How long it takes alone, where nobody knows better: a plausible time, the same in every run, and
 * no more than that. Its blocks run in waves; a wave takes longer the more threads it has on each
 * multiprocessor, and never less than what a launch of an empty kernel does. */
uint64_t estimate_ns(const struct dev_info *info, const struct func *f, const struct dev_launch *l);

#endif
