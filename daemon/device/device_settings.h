/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: each space has a compute capability and limits of its own.
 *
 * A backend without it (dev_ops.settings is NULL) has one capability and its own limits. The worker
 * refuses a job or a module for another capability with -ENOTSUP. A limit that a job sets becomes
 * the one that the device's description has.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_SETTINGS_H
#define DAEMON_DEVICE_DEVICE_SETTINGS_H

#include "daemon/device/device.h"

struct dev_settings_ops {
    /* Sets the compute capability (90 for 9.0) that the space reports, and for which its modules
     * are chosen. Called before its first module. */
    void (*space_capability)(struct dev_space *space, uint32_t capability);
    /* Sets a limit for the space's kernels, by CUDA's number (CUlimit). ERR_NO_MEMORY; -EINVAL: the
     * resource that it bounds is in use. */
    int (*space_limit)(struct dev_space *space, uint32_t limit, uint64_t value);
    /* The most device memory in bytes that this limit takes beyond the present one. */
    uint64_t (*space_limit_bytes)(const struct dev_space *space, uint32_t limit, uint64_t value);
};

#endif
