/* SPDX-License-Identifier: Apache-2.0
 *
 * The page on which the worker shows its lanes. The worker may write at any time, or die while it
 * writes: a reader tries a number of times and then gives up. Owner: the broker.
 */
#ifndef DAEMON_BROKER_WORKER_BOARD_H
#define DAEMON_BROKER_WORKER_BOARD_H

#include <stdbool.h>

#include "proto/wire/wire.h"

/* Maps a sealed memfd read-only. Returns NULL with -errno in *err. Does not keep `fd`. */
const struct wire_board *board_open(int fd, int *err);
void board_close(const struct wire_board *b); /* accepts NULL */

/* Makes a consistent copy: lane_count is at most WIRE_LANES, and texts are terminated. Returns
 * false when there is no board or no consistent copy could be made. */
bool board_read(const struct wire_board *b, struct wire_board *out);

#endif
