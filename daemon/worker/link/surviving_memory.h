/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the device's memory that outlived an earlier worker, because the broker holds a
 * descriptor of each (broker_link_keep).
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_LINK_SURVIVING_MEMORY_H
#define DAEMON_WORKER_LINK_SURVIVING_MEMORY_H

#include <stdint.h>

#include "daemon/device/device.h"

struct surviving_memory {
    struct dev_kept *parts;
    uint32_t count;
};

/* Reads the parts that the list names (a memfd of wire_kept) and closes the list. None where
 * list_fd is 0 or the list is malformed. */
void surviving_memory_read(struct surviving_memory *k, int list_fd);
/* Closes the descriptors too. */
void surviving_memory_finish(struct surviving_memory *k);

#endif
