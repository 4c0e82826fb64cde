/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's segments (segment.h), by numbers that it chooses, and the pages of its persistent
 * window that map them. Held segments count as persistent memory, mapped or not, once for each
 * number. A client that shares its own pages turns them into a segment without a number, which it
 * holds as long as they are backed.
 *
 * A segment of the lane consists of slots there, for the ephemeral window and this client alone,
 * and counts as ephemeral. A page of it that is kept gets a copy, and leaves the segment.
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

/* make: a new segment, zero-filled; -EINVAL: `bytes` is no whole number of granules, or too large.
 * open: an existing one; -EBUSY: the client is swapped out. Its memory is present after
 * memory_segment_fetch. -EEXIST: the number is in use. */
int memory_segment_make(struct memory *m, uint32_t id, uint64_t bytes, uint32_t uid);
int memory_segment_open(struct memory *m, uint32_t id, struct segment *s);
/* Moves at most `most` granules of a segment that was made or opened to the device, until
 * memory_segment_whole is true. For a client that is swapped out they come with its other memory.
 * After a failure the caller closes the segment, or fetches again. */
int memory_segment_fetch(struct memory *m, uint32_t id, uint32_t most);
bool memory_segment_whole(const struct memory *m, uint32_t id);
/* Makes a segment of the lane. As with memory_back, it has the bytes of the lane's latest user.
 * ERR_NO_MEMORY: without a lane; -EEXIST. */
int memory_segment_make_lane(struct memory *m, uint32_t id, uint64_t bytes);
/* -ENOENT; -EBUSY while pages map it. */
int memory_segment_close(struct memory *m, uint32_t id);

/* Maps the segment's bytes from `from` on at `addr`: unused whole granules of the persistent
 * window, or of the ephemeral one for a segment of the lane, else -EEXIST. memory_unback unmaps
 * them. -EINVAL: the segment is shorter, or `addr` lies in the other window; -ENOENT; -EBUSY: the
 * segment is not whole. */
int memory_segment_show(struct memory *m, uint32_t id, uint64_t from, uint64_t addr,
                        uint64_t bytes);

/* Apply segment_drop_ahead: to all its segments, before memory_destroy and when no page is left; or
 * to one that will be closed next, and is no longer found. Return the number of granules. */
uint32_t memory_segments_drop_ahead(struct memory *m, uint32_t most);
uint32_t memory_segment_drop_ahead(struct memory *m, uint32_t id, uint32_t most);

/* The segment with this number; NULL: none, or a segment of the lane. */
struct segment *memory_segment_find(const struct memory *m, uint32_t id);
/* Turns pages of the client into a segment: whole granules, all private, else -EINVAL; or returns
 * the segment that exactly these pages became before. -EBUSY while swapped out. */
int memory_segment_share(struct memory *m, uint64_t addr, uint64_t bytes, uint32_t uid,
                         struct segment **out);

uint64_t memory_held(const struct memory *m); /* bytes of the segments held by number */

/* For memory.c. Drops all segments; or those of the lane, in which the client has no page and which
 * it leaves. */
void memory_segment_drop_all(struct memory *m);
void memory_segment_leave_lane(struct memory *m);

#endif
