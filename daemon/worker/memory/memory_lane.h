/* SPDX-License-Identifier: Apache-2.0
 *
 * A lane: chunks 0..n that every client of the lane maps, each at addresses of its own ephemeral
 * window, in the order in which its pages came into use. So passing the lane from one client to the
 * next maps nothing and moves nothing. Chunks of a lane are created at their first use. The
 * scheduler limits their number (daemon/sched/lanes/lane.h), and the caller asks it first. Data
 * that outlives an iteration moves to private chunks (memory_keep).
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
/* called when no member is left; accepts NULL */
void memory_lane_destroy(struct memory_lane *lane);
/* Frees at most `most` chunks beyond `bytes`. -EBUSY when a member has pages on one of them. */
int memory_lane_shrink(struct memory_lane *lane, uint64_t bytes, uint32_t most);
uint64_t memory_lane_bytes(const struct memory_lane *lane); /* bytes of its chunks now */

bool memory_in_lane(const struct memory *m);
/* Creates at most `most` chunks for `bytes` more of this client, before it requests them.
 * memory_part is their number, 0 when all exist. */
int memory_lane_ahead(struct memory *m, uint64_t bytes, uint32_t most);

/* Survivors. memory_keep_need: bytes of private chunks that memory_keep would need for the pages of
 * the lane that this range touches. memory_keep: copies the first `most` of these pages, spilled or
 * not, to private chunks at the same addresses. -EBUSY while swapped out. */
uint64_t memory_keep_need(const struct memory *m, uint64_t addr, uint64_t bytes);
int memory_keep(struct memory *m, uint64_t addr, uint64_t bytes, uint32_t most,
                uint64_t *copied_bytes);

/* For memory*.c. Gives the holding slots, or takes them back; ERR_NO_MEMORY without a lane. */
int memory_lane_take(struct memory *m, uint32_t count, struct holding *h);
void memory_lane_give(struct memory *m, struct holding *h);
/* Maps these unused pages to the holding's slots from `at` on. */
int memory_lane_show(struct memory *m, struct holding *h, uint32_t at, uint32_t first,
                     uint32_t count);
/* Extends the lane to `count` chunks, of which at most `most` are created now and added to `made`.
 * On failure no chunk stays that has no slot. */
int memory_lane_reach(struct memory_lane *lane, uint32_t count, uint32_t most, uint32_t *made);
/* Takes pages of the ephemeral half into use; the client leaves its lane. */
int memory_lane_back(struct memory *m, uint32_t first, uint32_t count);
void memory_lane_leave(struct memory *m);
/* Makes the client's table hold this many slots. 0 or -ENOMEM. */
int memory_lane_room(struct memory *m, uint32_t room);

#endif
