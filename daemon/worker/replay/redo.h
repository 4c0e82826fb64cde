/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that had begun on the device when a worker ended may be half done. They are repeated
 * where the result is the same as of one execution: no operation reads what may have been written
 * by then.
 */
#ifndef DAEMON_WORKER_REPLAY_REDO_H
#define DAEMON_WORKER_REPLAY_REDO_H

#include "daemon/worker/client.h"

/* Decides whether this operation that had begun may be repeated, in addition to all those asked
 * about before. Called in the order of the log. False: `why` (>= 256 bytes), which may be empty. */
bool redo_may(struct client *c, const struct wire_record *rec, char *why, size_t why_bytes);

#endif
