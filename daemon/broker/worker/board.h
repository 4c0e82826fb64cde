/* SPDX-License-Identifier: Apache-2.0
 *
 * The page on which the worker shows its lanes. The worker may write at any time, or die while it
 * does: a reader tries a few times and then does without. Owner: the broker.
 */
#ifndef DAEMON_BROKER_WORKER_BOARD_H
#define DAEMON_BROKER_WORKER_BOARD_H

#include <stdbool.h>

#include "proto/wire/wire.h"

/* Maps a sealed memfd read-only; NULL with -errno in *err. Keeps nothing of `fd`. */
const struct wire_board *board_open(int fd, int *err);
void board_close(const struct wire_board *b); /* accepts NULL */

/* A consistent copy: lane_count is at most WIRE_LANES, texts end. False when there is no board or
 * it could not be read in one piece. */
bool board_read(const struct wire_board *b, struct wire_board *out);

#endif
