/* SPDX-License-Identifier: Apache-2.0
 *
 * What profiles of one device say for another: what a kernel is bound by and how many SMs it needs,
 * never how long it takes. Pure.
 */
#ifndef DAEMON_KERNELS_KERNEL_ADOPT_H
#define DAEMON_KERNELS_KERNEL_ADOPT_H

#include "daemon/kernels/kernel_set.h"

/* Makes hints, without durations and of no device, of all that the set has: 0; -ENOSPC where they
 * are more than KERNEL_SET_HINTS_MAX, -ENOMEM; then the set is as it was. */
int kernel_adopt(struct kernel_set *s);

#endif
