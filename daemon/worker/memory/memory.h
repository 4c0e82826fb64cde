/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's device memory, as chunks of the device. Persistent memory has chunks of its own.
 * Ephemeral memory is the chunks of its lane (memory_lane.h), mapped at addresses of the client's
 * own ephemeral window, the second half of its alloc window.
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

struct memory; /* memory of one client */

/* `granule`: info.granularity_bytes. The client begins without a lane. -EINVAL when half of the
 * alloc window is not a whole number of granules. */
int memory_create(struct memory **out, const struct dev_ops *ops, struct dev *dev,
                  struct dev_space *space, const struct dev_windows *windows, uint64_t granule);
void memory_destroy(struct memory *m); /* unmaps all, before space_destroy; accepts NULL */
/* Unmaps all in parts, so that destroy has little to do. Call memory_end once; then only
 * memory_drop and memory_destroy may follow. memory_drop unmaps and frees at most `most` granules;
 * if it returns fewer, none is left. */
void memory_end(struct memory *m);
uint32_t memory_drop(struct memory *m, uint32_t most);

/* Long work is done in parts, here and in the other memory_*.h: the calls take the largest number
 * of granules. memory_part returns how many the latest call moved, made, mapped or freed. */
#define MEMORY_ALL UINT32_MAX /* all at once */
uint32_t memory_part(const struct memory *m);

/* Whole granules, all in one half. With recovery state (memory_recovery.h), all of it is done or
 * nothing, whenever the process ends. -EEXIST when any is in use; -ENOENT on unback when any is
 * not. Backing ephemeral pages without a lane: ERR_NO_MEMORY. New ephemeral memory has the bytes
 * that the lane's latest user left, if that had the same owner. */
int memory_back(struct memory *m, uint64_t addr, uint64_t bytes);
int memory_unback(struct memory *m, uint64_t addr, uint64_t bytes);

/* Bytes of this range that are in use; 0 where memory_back would not take it. */
uint64_t memory_in_use(const struct memory *m, uint64_t addr, uint64_t bytes);

/* Persistent bytes: private chunks (persistent window and kept pages, also while swapped out) and
 * held segments (memory_segment.h). Ephemeral bytes: those used of its lane by pages or segments,
 * also while spilled. */
uint64_t memory_persistent(const struct memory *m);
uint64_t memory_ephemeral(const struct memory *m);

/* Bytes of each window that memory_back gave and memory_unback did not take back, without segments.
 * A page of the ephemeral window counts there even if it is kept. */
uint64_t memory_backed_p(const struct memory *m);
uint64_t memory_backed_e(const struct memory *m);

#endif
