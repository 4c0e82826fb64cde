/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies and fills as resumable work. They are pitched, and checked row by row against a client's
 * ranges. They are done in slices, so that a large copy neither holds a thread nor outlives its
 * client for long.
 */
#ifndef DAEMON_DEVICE_SOFT_MEMORY_TRANSFER_H
#define DAEMON_DEVICE_SOFT_MEMORY_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/device/soft/launch/ranges.h"

struct transfer {
    bool fill;
    struct dev_copy copy;
    struct dev_memset set;
    uint64_t row, at; /* progress: row of height * depth, byte within the row */
};

/* Bytes that the whole transfer writes. */
uint64_t transfer_bytes(const struct transfer *t);

/* Moves up to about `budget` bytes. Returns 1 when finished, 0 when there is more,
 * ERR_ILLEGAL_ADDRESS with *fault_addr when a row leaves `ranges`. */
int transfer_step(struct transfer *t, const struct ranges *ranges, uint64_t budget,
                  uint64_t *fault_addr);

#endif
