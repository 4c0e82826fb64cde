/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the device's memory that outlived an earlier worker, because the broker holds a
 * descriptor of each (broker_link_keep).
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_LINK_KEPT_H
#define DAEMON_WORKER_LINK_KEPT_H

#include <stdint.h>

#include "daemon/device/device.h"

struct kept {
    struct dev_kept *parts;
    uint32_t count;
};

/* Reads the parts that the list names (a memfd of wire_kept) and closes the list. None where
 * list_fd is 0 or the list is malformed. */
void kept_read(struct kept *k, int list_fd);
/* Closes the descriptors too. */
void kept_finish(struct kept *k);

#endif
