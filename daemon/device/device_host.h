/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: sees files and registered memory of programs, by the pages
 * themselves.
 *
 * A backend without it (dev_ops.host is NULL) sees its clients' windows alone. The worker refuses
 * the file behind registered memory with -ENOTSUP: such memory has no device pointer, and copies
 * treat it as pageable. Registered memory that no other process maps needs no file.
 *
 * Threads and errors: as device.h says.
 */
#ifndef DAEMON_DEVICE_DEVICE_HOST_H
#define DAEMON_DEVICE_DEVICE_HOST_H

#include "daemon/device/device.h"

struct dev_host_ops {
    /* Whole pages of the host window show `fd` from `offset` on from now on, instead of what they
     * showed. `fd` is a memfd that cannot shrink. Operations of the space may be using the pages,
     * and see the one or the other. 0; -errno: they show what they did. */
    int (*host_map)(struct dev_space *space, uint64_t addr, uint64_t bytes, int fd,
                    uint64_t offset);
    /* Operations of the space may touch memory that the caller has mapped outside the windows, at
     * its own address, until host_remove; those in flight then go on as they began. 0 or -errno. */
    int (*host_add)(struct dev_space *space, uint64_t addr, uint64_t bytes);
    int (*host_remove)(struct dev_space *space, uint64_t addr, uint64_t bytes);
};

#endif
