/* SPDX-License-Identifier: Apache-2.0
 *
 * What had begun on the device when a worker ended may be half done. It is done again where that
 * gives what doing it once would have given: nobody reads what may have been written by then.
 */
#ifndef DAEMON_WORKER_REPLAY_REDO_H
#define DAEMON_WORKER_REPLAY_REDO_H

#include "daemon/worker/client.h"

/* Those that had begun, in the order of the log, one after the other: whether this one may be done
 * again, beside all that were asked for before. Not: `why` (>= 256 bytes), maybe empty. */
bool redo_may(struct client *c, const struct wire_record *rec, char *why, size_t why_bytes);

#endif
