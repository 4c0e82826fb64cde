/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's device memory, as chunks of the device. Persistent memory is chunks of its own.
 * Ephemeral memory is chunks of its lane (memory_lane.h), which it shows at addresses of its own
 * ephemeral window, the second half of its alloc window.
 *
 * Owner: the worker. Thread: its own. Errors: 0, ERR_NO_MEMORY or -errno, with nothing changed
 * unless said otherwise.
 *
 * The caller makes sure that no operation of the client is in flight where a call unmaps, copies or
 * moves; mapping alone is always allowed.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_H
#define DAEMON_WORKER_MEMORY_MEMORY_H

#include <stdint.h>

#include "daemon/device/device.h"

struct memory; /* of one client */

/* `granule`: info.granularity_bytes. The client begins without a lane. -EINVAL when a half of the
 * alloc window is no whole number of granules. */
int memory_create(struct memory **out, const struct dev_ops *ops, struct dev *dev,
                  struct dev_space *space, const struct dev_windows *windows, uint64_t granule);
void memory_destroy(struct memory *m); /* unmaps all, before space_destroy; accepts NULL */
/* The same in parts, behind which destroy has little to do: `end` once, nothing but `drop` and
 * destroy behind it. So many granules at most are unmapped and given back; fewer were left when
 * fewer are returned. */
void memory_end(struct memory *m);
uint32_t memory_drop(struct memory *m, uint32_t most);

/* What takes long is done in parts, by calls that say how many granules they may be about at most,
 * here and in the other memory_*.h. How many the latest of them was about: moved, made, mapped or
 * given back. */
#define MEMORY_ALL UINT32_MAX /* at once */
uint32_t memory_part(const struct memory *m);

/* Whole granules, all in one half; with an estate (memory_estate.h) all of it is done or nothing,
 * whenever the process ends. -EEXIST when any is in use, -ENOENT on unback when any is not.
 * Backing ephemeral pages without a lane: ERR_NO_MEMORY. Ephemeral memory shows what the lane's
 * latest user left, if that was one of the same owner. */
int memory_back(struct memory *m, uint64_t addr, uint64_t bytes);
int memory_unback(struct memory *m, uint64_t addr, uint64_t bytes);

/* How much of this range is in use; 0 where memory_back would not take it. */
uint64_t memory_in_use(const struct memory *m, uint64_t addr, uint64_t bytes);

/* Private chunks (persistent window, and kept pages; also while they are swapped out) and what it
 * holds of segments (memory_segment.h); what it uses of its lane, by pages or segments (also while
 * that is spilled); bytes. */
uint64_t memory_persistent(const struct memory *m);
uint64_t memory_ephemeral(const struct memory *m);

/* What memory_back gave each window and memory_unback did not take back: without segments. A page
 * of the ephemeral window counts there when it is kept, too. */
uint64_t memory_backed_p(const struct memory *m);
uint64_t memory_backed_e(const struct memory *m);

#endif
