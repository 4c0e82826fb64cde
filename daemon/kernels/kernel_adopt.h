/* SPDX-License-Identifier: Apache-2.0
 *
 * Reuses the profiles of one device on another: the limiting resource and the number of SMs carry
 * over, durations do not. Pure.
 */
#ifndef DAEMON_KERNELS_KERNEL_ADOPT_H
#define DAEMON_KERNELS_KERNEL_ADOPT_H

#include "daemon/kernels/kernel_set.h"

/* Replaces the profiles and hints of the set by hints without durations and without a device.
 * Returns 0, -ENOSPC if there would be more than KERNEL_SET_HINTS_MAX, or -ENOMEM. On failure the
 * set is unchanged. */
int kernel_adopt(struct kernel_set *s);

#endif
