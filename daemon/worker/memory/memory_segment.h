/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client holds of segments (segment.h), by numbers that it chooses, and the pages of its
 * persistent window that show them. What it holds counts as persistent memory, shown or not, once
 * for each number. Pages of its own that it shares become a segment without a number, which it
 * holds as long as they are backed.
 *
 * A segment of the lane is slots there, for the ephemeral window and this client alone, and counts
 * as ephemeral. A page that is kept has a copy, and shows the segment no longer.
 *
 * Owner, thread, errors, and what may be in flight: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_SEGMENT_H
#define DAEMON_WORKER_MEMORY_MEMORY_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

struct list;
struct memory;
struct segment;

/* New, of whole granules, zero-filled; or one that there is. It is there when it was fetched.
 * -EEXIST: the number is in use; -EBUSY: it is swapped out. */
int memory_segment_make(struct memory *m, uint32_t id, uint64_t bytes, uint32_t uid);
int memory_segment_open(struct memory *m, uint32_t id, struct segment *s);
/* So many granules at most of one that was made or opened come to the device, until it is `whole`;
 * of who is swapped out they come with the rest. On failure it is closed, or fetched again. */
int memory_segment_fetch(struct memory *m, uint32_t id, uint32_t most);
bool memory_segment_whole(const struct memory *m, uint32_t id);
/* New, of the lane: shows what the lane's latest user left, as memory_back. ERR_NO_MEMORY: without
 * a lane; -EEXIST. */
int memory_segment_make_lane(struct memory *m, uint32_t id, uint64_t bytes);
/* -ENOENT; -EBUSY while pages show it. */
int memory_segment_close(struct memory *m, uint32_t id);

/* Its bytes from `from` on appear at `addr`: whole granules of the persistent window, or of the
 * ephemeral one if it is the lane's, none of them in use, else -EEXIST. memory_unback takes them
 * away. -EINVAL when it is shorter, or in the other window; -ENOENT; -EBUSY: it is not whole. */
int memory_segment_show(struct memory *m, uint32_t id, uint64_t from, uint64_t addr,
                        uint64_t bytes);

/* segment_drop_ahead: of all that it holds, before memory_destroy and when no page is left; of one,
 * which is closed next, and not found any more. How many granules there were. */
uint32_t memory_segments_drop_ahead(struct memory *m, uint32_t most);
uint32_t memory_segment_drop_ahead(struct memory *m, uint32_t id, uint32_t most);

/* The segment with this number; NULL: none, or the lane's. */
struct segment *memory_segment_find(const struct memory *m, uint32_t id);
/* The one that these pages of its own are from now on: whole granules, with chunks of their own or
 * shared as a whole before, else -EINVAL. -EBUSY while swapped out. */
int memory_segment_share(struct memory *m, uint64_t addr, uint64_t bytes, uint32_t uid,
                         struct segment **out);

uint64_t memory_held(const struct memory *m); /* bytes that it holds by a number */

/* For memory.c. The client holds no segment any more; or none of its lane, which it leaves, where
 * it has no page. */
void memory_segment_drop_all(struct memory *m);
void memory_segment_leave_lane(struct memory *m);

#endif
