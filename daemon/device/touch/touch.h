/* SPDX-License-Identifier: Apache-2.0
 *
 * The global memory that a launch may read and write at most, from its kernel's PTX and the
 * launch's arguments. A launch that the device's end interrupted can be repeated where it reads
 * nothing that it writes. The kernel is interpreted once for all threads together, with the values
 * that each register may hold in any of them. Loops are followed as long as that takes few steps.
 *
 * Values that may differ when a launch is repeated (the clock, which of several threads was first)
 * are tracked as taint. A kernel is refused where taint decides which memory is written. It is also
 * refused where blocks, launches or the host can observe each other's progress, and for anything
 * that is not understood. Threads: any; the function is read only.
 */
#ifndef DAEMON_DEVICE_TOUCH_TOUCH_H
#define DAEMON_DEVICE_TOUCH_TOUCH_H

#include <stddef.h>

#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/soft/instructions/ptx_ir.h"

/* Calls `see` for each range; `launch->func` is not used. 0; -ENOTSUP with `why`; -ENOMEM; or a
 * non-zero result of `see`. */
int touch_kernel(const struct ptx_func *kernel, const struct dev_launch *launch,
                 int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                 size_t why_bytes);

#endif
