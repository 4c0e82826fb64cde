/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a client enter or leave a lane, or close the gaps that it has in one. Its pages in use then
 * map the lane's first chunks. Their bytes are lost, so this happens only at a boundary, after
 * survivors were kept (spilled bytes stay spilled).
 *
 * Owner, thread, errors, and what may be in flight: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_JOIN_H
#define DAEMON_WORKER_MEMORY_MEMORY_JOIN_H

#include <stdbool.h>
#include <stdint.h>

struct memory;
struct memory_lane;

/* Makes the client's ephemeral pages come from this lane (NULL: from none; the same: without gaps).
 * It works in parts of at most `most` granules, until memory_joined or memory_packed is true: pages
 * are unmapped, the lane gets the chunks, the pages are mapped. Between two parts the client must
 * not run. After a failure it is in the old or the new lane, and pages that could not be mapped are
 * unmapped. */
int memory_join(struct memory *m, struct memory_lane *lane, uint32_t most);
bool memory_joined(const struct memory *m, const struct memory_lane *lane);
bool memory_packed(const struct memory *m);

#endif
