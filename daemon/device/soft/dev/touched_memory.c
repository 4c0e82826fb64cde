/* SPDX-License-Identifier: Apache-2.0
 *
 * Analyses a launch from the function's parsed PTX.
 */
#include "daemon/device/soft/dev/touched_memory.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/device/device_recovery.h"
#include "daemon/device/soft/dev/module.h"
#include "daemon/device/soft/module/code_kernel_info.h"
#include "daemon/device/touch/touch.h"

int touched_memory_find(const struct dev_launch *launch, const void *image, size_t bytes,
                        int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                        size_t why_bytes) {
    struct code_kernel_info k;
    (void)image, (void)bytes;
    if (!launch->func->kernel) {
        snprintf(why, why_bytes, "the module has no PTX");
        return -ENOTSUP;
    }
    code_kernel_info(launch->func->kernel, &k);
    return touch_kernel(k.func, launch, see, arg, why, why_bytes);
}
