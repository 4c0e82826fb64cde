/* SPDX-License-Identifier: Apache-2.0
 *
 * A client comes into a lane, leaves one, or closes the gaps that it has in one: its pages that are
 * in use show the lane's first chunks from then on. What was in them is lost: at a boundary only,
 * survivors kept before (what is spilled stays so).
 *
 * Owner, thread, errors, and what may be in flight: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_JOIN_H
#define DAEMON_WORKER_MEMORY_MEMORY_JOIN_H

#include <stdbool.h>
#include <stdint.h>

struct memory;
struct memory_lane;

/* From now on its ephemeral pages come from this lane (NULL: from none; the same: without gaps), in
 * parts of at most so many granules, until it has `joined`, or is `packed`: its pages are hidden,
 * the lane gets the chunks, the pages show them. Between two parts it must not run. After one that
 * fails it is where it was, or in the new lane, and pages that could not be mapped show nothing. */
int memory_join(struct memory *m, struct memory_lane *lane, uint32_t most);
bool memory_joined(const struct memory *m, const struct memory_lane *lane);
bool memory_packed(const struct memory *m);

#endif
