/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the device's memory that outlived an earlier worker, for they have a descriptor each
 * that the broker holds (broker_link_keep).
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

/* What the list names (a memfd of wire_kept), which is closed; none where it is 0 or not to be
 * understood. */
void kept_read(struct kept *k, int list_fd);
/* With the descriptors. */
void kept_finish(struct kept *k);

#endif
