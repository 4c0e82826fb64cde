/* SPDX-License-Identifier: Apache-2.0
 *
 * Which global memory a launch may read and write at most, from its kernel's PTX and what it is
 * launched with: so that one which a device's end cut short can be done again where it reads
 * nothing that it writes. The kernel is gone through once for all threads together, with what each
 * register may hold for any of them; loops are gone round as long as that takes few steps.
 *
 * What may be another thing when a launch is done again (the clock, which of several threads was
 * first) is tracked as taint: where it says which memory is written, the kernel is refused. So is
 * whatever lets blocks, launches or the host see how far the others are, and all that is not
 * understood. Threads: any; the function is read only.
 */
#ifndef DAEMON_DEVICE_TOUCH_TOUCH_H
#define DAEMON_DEVICE_TOUCH_TOUCH_H

#include <stddef.h>

#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/soft/instructions/ptx_ir.h"

/* `see` is told of each range; `launch->func` is not looked at. 0; -ENOTSUP with `why`; -ENOMEM; or
 * what `see` returns, if that is not 0. */
int touch_kernel(const struct ptx_func *kernel, const struct dev_launch *launch,
                 int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                 size_t why_bytes);

#endif
