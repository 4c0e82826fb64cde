/* SPDX-License-Identifier: Apache-2.0
 *
 * The lanes of the device by number: the chunks of each lane that has a client.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_RESIDENCY_LANE_TABLE_H
#define DAEMON_WORKER_RESIDENCY_LANE_TABLE_H

#include <stdint.h>

#include "daemon/device/device.h"

struct memory_lane;

struct lane {
    struct memory_lane *chunks; /* NULL: no client is in it */
    uint32_t clients;
    uint32_t last; /* the job that got the latest turn */
};

struct lane_table {
    struct lane *items; /* by number */
    uint32_t count;
};

void lane_table_finish(struct lane_table *lanes); /* called when no lane has a client */

/* Gives the lane chunks. 0 or -ENOMEM. */
int lane_table_open(struct lane_table *lanes, uint32_t lane, const struct dev_ops *ops,
                    struct dev *dev);
void lane_table_enter(struct lane_table *lanes, uint32_t lane);
void lane_table_leave(struct lane_table *lanes,
                      uint32_t lane); /* the chunks are freed with the last client */

/* Bytes of the lane's chunks now, and bytes cleared in them since it was opened. */
uint64_t lane_table_bytes(const struct lane_table *lanes, uint32_t lane);
uint64_t lane_table_cleared(const struct lane_table *lanes, uint32_t lane);

#endif
