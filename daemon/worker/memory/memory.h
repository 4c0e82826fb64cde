/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's device memory, as chunks of the device. Persistent memory is chunks of its own.
 * Ephemeral memory is chunks of its lane: the lane has chunks 0..n, every client of the lane sees
 * the same ones, each at addresses of its own ephemeral window (the second half of its alloc
 * window), in the order in which its pages came into use. So handing the lane from one client to
 * the next maps nothing and moves nothing. Chunks of a lane are made when first used; how many
 * there may be is the scheduler's affair (daemon/sched/lanes/lane.h), which the caller asks first.
 *
 * Owner: the worker. Thread: its own. Errors: 0, ERR_NO_MEMORY or -errno, with nothing changed
 * unless said otherwise.
 *
 * A chunk of a lane remembers whose bytes are in it, and shows them to nobody else: a client whose
 * owner is another sees zeros (memory_enter). Chunks are zero when they are made.
 *
 * The caller makes sure that no operation of the client is in flight where
 * a call unmaps, copies or moves; mapping alone is always allowed.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_H
#define DAEMON_WORKER_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"

struct memory;      /* of one client */
struct memory_lane; /* the chunks of one lane */

int memory_lane_create(struct memory_lane **out, const struct dev_ops *ops, struct dev *dev);
void memory_lane_destroy(struct memory_lane *lane); /* no member left; accepts NULL */
/* Chunks beyond `bytes` go back to the device. No member has pages on them, or -EBUSY. */
int memory_lane_shrink(struct memory_lane *lane, uint64_t bytes);
uint64_t memory_lane_bytes(const struct memory_lane *lane);   /* backed by chunks now */
uint64_t memory_lane_cleared(const struct memory_lane *lane); /* so far */

/* `granule`: info.granularity_bytes. The client begins without a lane. -EINVAL when a half of the
 * alloc window is no whole number of granules. */
int memory_create(struct memory **out, const struct dev_ops *ops, struct dev *dev,
                  struct dev_space *space, const struct dev_windows *windows, uint64_t granule);
void memory_destroy(struct memory *m); /* unmaps all, before space_destroy; accepts NULL */

/* From now on its ephemeral pages come from this lane (NULL: from none). Its pages that are in use
 * are mapped anew, onto its first chunks; what was in them is lost: at a boundary only, survivors
 * kept before (what is spilled stays so). Joining the same lane closes the gaps that keep it from
 * shrinking. */
int memory_join(struct memory *m, struct memory_lane *lane);

/* Whole granules, all in one half. -EEXIST when any is backed, -ENOENT on unback when any is not.
 * Backing ephemeral pages without a lane: ERR_NO_MEMORY. Ephemeral memory shows what the lane's
 * latest user left, if that was one of the same owner. */
int memory_back(struct memory *m, uint64_t addr, uint64_t bytes);
int memory_unback(struct memory *m, uint64_t addr, uint64_t bytes);

/* Whose bytes the client writes: any number, but not UINT64_MAX; 0, as it begins: somebody's who
 * does not mind. Before it joins a lane. */
void memory_set_owner(struct memory *m, uint64_t owner);
/* The client has its lane's turn, until another one enters, and expects to use so many bytes of it.
 * While it is `unclear` it must not run: memory_clear goes on, by at most so many chunks. */
void memory_enter(struct memory *m, uint64_t bytes);
int memory_clear(struct memory *m, uint32_t most);
bool memory_unclear(const struct memory *m);
uint64_t memory_cleared(const struct memory *m); /* bytes, so far, for this client */

/* Private chunks (persistent window, and kept pages; also while they are swapped out), pages of the
 * lane in use (also while they are spilled); bytes. */
uint64_t memory_persistent(const struct memory *m);
uint64_t memory_ephemeral(const struct memory *m);

/* Survivors: how many bytes of private chunks memory_keep would need for this range (pages of the
 * lane that it touches), and: copies these pages, spilled or not, to private chunks at the same
 * addresses. -EBUSY while swapped out. */
uint64_t memory_keep_need(const struct memory *m, uint64_t addr, uint64_t bytes);
int memory_keep(struct memory *m, uint64_t addr, uint64_t bytes, uint64_t *copied_bytes);

/* The lease: all pages of the lane in use go elsewhere with what is in them (to private chunks, or
 * to host memory), and come back to the lane before the client runs again. They keep their places
 * in the lane. After a failed restore the spilled bytes are still there: try again. */
int memory_spill(struct memory *m, bool to_host, uint64_t *moved_bytes);
int memory_restore(struct memory *m, uint64_t *moved_bytes);
bool memory_spilled(const struct memory *m);

/* All private chunks, those that hold spilled pages as well, go to host memory; persistent memory
 * comes back at the same addresses. What is backed meanwhile takes no chunk until then. Module
 * memory stays. */
int memory_swap_out(struct memory *m, uint64_t *moved_bytes);
int memory_swap_in(struct memory *m, uint64_t *moved_bytes);
bool memory_swapped(const struct memory *m);

/* Recounts everything: NULL, or which invariant does not hold. */
const char *memory_check(const struct memory *m);

#endif
