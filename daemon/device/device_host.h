/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: it accesses files and registered memory of programs through the
 * pages themselves.
 *
 * A backend without it (dev_ops.host is NULL) sees its clients' windows alone. The worker refuses
 * the file behind registered memory with -ENOTSUP: such memory has no device pointer, and copies
 * treat it as pageable. Registered memory that no other process maps needs no file.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_HOST_H
#define DAEMON_DEVICE_DEVICE_HOST_H

#include "daemon/device/device.h"

struct dev_host_ops {
    /* Replaces whole pages of the host window by those of `fd` from `offset` on. `fd` is a memfd
     * that cannot shrink. Operations of the space may be using the pages, and see the old or the
     * new ones. 0; -errno: the pages are unchanged. */
    int (*host_map)(struct dev_space *space, uint64_t addr, uint64_t bytes, int fd,
                    uint64_t offset);
    /* host_add lets operations of the space access memory that the caller has mapped outside the
     * windows, at its own address, until host_remove. Operations in flight then continue as they
     * began. 0 or -errno. */
    int (*host_add)(struct dev_space *space, uint64_t addr, uint64_t bytes);
    int (*host_remove)(struct dev_space *space, uint64_t addr, uint64_t bytes);
};

#endif
