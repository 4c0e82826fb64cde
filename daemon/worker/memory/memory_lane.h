/* SPDX-License-Identifier: Apache-2.0
 *
 * A lane: chunks 0..n that every client of the lane sees, each at addresses of its own ephemeral
 * window, in the order in which its pages came into use. So handing the lane from one client to the
 * next maps nothing and moves nothing. Chunks of a lane are made when first used; how many there
 * may be is the scheduler's affair (daemon/sched/lanes/lane.h), which the caller asks first. What
 * outlives an iteration leaves the lane for private chunks (memory_keep).
 *
 * Owner, thread, errors, and what may be in flight: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_LANE_H
#define DAEMON_WORKER_MEMORY_MEMORY_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"

struct holding;
struct memory;
struct memory_lane; /* the chunks of one lane */

int memory_lane_create(struct memory_lane **out, const struct dev_ops *ops, struct dev *dev);
void memory_lane_destroy(struct memory_lane *lane); /* no member left; accepts NULL */
/* Chunks beyond `bytes` go back to the device, so many at most. No member has pages on any of them,
 * or -EBUSY. */
int memory_lane_shrink(struct memory_lane *lane, uint64_t bytes, uint32_t most);
uint64_t memory_lane_bytes(const struct memory_lane *lane); /* backed by chunks now */

bool memory_in_lane(const struct memory *m);
/* So many chunks at most for so many bytes more of this client, before it asks for them: there were
 * memory_part, 0 when all are there. */
int memory_lane_ahead(struct memory *m, uint64_t bytes, uint32_t most);

/* Survivors: how many bytes of private chunks memory_keep would need for this range (pages of the
 * lane that it touches), and: copies these pages, the first `most` of them, spilled or not, to
 * private chunks at the same addresses. -EBUSY while swapped out. */
uint64_t memory_keep_need(const struct memory *m, uint64_t addr, uint64_t bytes);
int memory_keep(struct memory *m, uint64_t addr, uint64_t bytes, uint32_t most,
                uint64_t *copied_bytes);

/* For memory*.c. Slots that the holding has from now on; ERR_NO_MEMORY without a lane. */
int memory_lane_take(struct memory *m, uint32_t count, struct holding *h);
void memory_lane_give(struct memory *m, struct holding *h);
/* Its slots from `at` on are shown by these pages, which show nothing. */
int memory_lane_show(struct memory *m, struct holding *h, uint32_t at, uint32_t first,
                     uint32_t count);
/* So many chunks in all, of which at most so many are made now and added to `made`. On failure
 * there are none that nobody's slots are in. */
int memory_lane_reach(struct memory_lane *lane, uint32_t count, uint32_t most, uint32_t *made);
/* Pages of the ephemeral half come into use; the client leaves its lane. */
int memory_lane_back(struct memory *m, uint32_t first, uint32_t count);
void memory_lane_leave(struct memory *m);
/* The client can have so many slots from now on. 0 or -ENOMEM. */
int memory_lane_room(struct memory *m, uint32_t room);

#endif
