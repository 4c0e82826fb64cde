/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory as persistent regions and GPU lanes (Salus, section 3.3; thesis, section 2.3). This
 * module only does arithmetic over sizes and maps nothing.
 *
 * The safety condition (Salus, section 3.3.2; thesis, equation 2.1) holds after every call:
 *     sum over admitted jobs of P_i  +  sum over lanes of L_j  <=  C,   L_j >= max of E_i in lane j
 * A lane may be larger than its largest member needs until its next boundary, when it shrinks to
 * L_j = max E_i. That is the automatic defragmentation of section 3.3.1. It moves no byte, because
 * lanes are lists of chunks.
 *
 * Jobs are referred to by slots that the caller numbers from 0. All sizes are rounded up to whole
 * chunks. Owner: the scheduler. Thread: its caller's. Errors: 0 or -ENOMEM from the two functions
 * that allocate.
 */
#ifndef DAEMON_SCHED_LANES_LANE_H
#define DAEMON_SCHED_LANES_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/lanes/lane_need.h"
#include "daemon/sched/visit.h"

struct lanes;

int lanes_create(struct lanes **out, uint64_t capacity_bytes, uint64_t chunk_bytes);
void lanes_destroy(struct lanes *l); /* accepts NULL */
/* Visits the blocks of the lanes' memory (core/sched_memory.h). */
bool lanes_memory(struct lanes **l, memory_visit *visit, void *arg);
/* Allocates slots for jobs below `jobs`, so that no function below can fail. */
int lanes_reserve(struct lanes *l, uint32_t jobs);
/* Limits the number of open lanes; 0: no limit. Lanes beyond it stay until their jobs leave. */
void lanes_limit(struct lanes *l, uint32_t max_lanes);
/* Admission leaves at least this many bytes free from now on; growing may use them. */
void lanes_set_aside(struct lanes *l, uint64_t bytes);
/* Lets jobs of different users share lanes from now on. Call before the first job is admitted. */
void lanes_share(struct lanes *l);

/* FINDLANE and the assignment. The condition is checked with P in every branch (as printed, lines
 * 30-33 never look at P). On WAITS nothing changes, except with `reorganise`: if moving the jobs of
 * some lanes into larger ones would let the job in, these lanes start draining (section 3.3.2,
 * third bullet: "reorganize lane assignments to existing jobs to reduce the size of the ephemeral
 * region"). lanes_drain then tells which jobs to move. As few lanes as possible drain, the smallest
 * first. */
enum lane_how lanes_admit(struct lanes *l, uint32_t job, const struct lane_need *need,
                          bool reorganise, uint32_t *lane);
/* Removes the job, and its lane if that is empty now (lines 7-12). */
void lanes_leave(struct lanes *l, uint32_t job);

/* Moves a job of a draining lane and returns true. The job has no ephemeral page in use. The last
 * job to move closes the lane (LANEMOVED, lines 13-14: examine the pending jobs again). */
bool lanes_drain(struct lanes *l, uint32_t job, uint32_t *to);
/* No job waits for memory any more: draining lanes stay open. */
void lanes_keep(struct lanes *l);

/* Sets the job's P and E. When they grow, returns false and changes nothing unless the condition
 * holds afterwards. Shrinking always succeeds; the lane shrinks at its next boundary. */
bool lanes_set(struct lanes *l, uint32_t job, uint64_t persistent_bytes, uint64_t ephemeral_bytes);

/* Bytes that must be free for lanes_set to succeed. UINT64_MAX: more than the device has. */
uint64_t lanes_growth(const struct lanes *l, uint32_t job, uint64_t persistent_bytes,
                      uint64_t ephemeral_bytes);

/* Shrinks a lane without ephemeral pages in use to its members' needs. Returns true when it shrank.
 */
bool lanes_settle(struct lanes *l, uint32_t lane);

/* Swapping out: the job's P no longer counts, and it needs nothing of its lane, although it remains
 * a member. Swapping in returns false and changes nothing unless the condition holds afterwards;
 * the lane grows again if necessary. */
void lanes_swap_out(struct lanes *l, uint32_t job);
bool lanes_swap_in(struct lanes *l, uint32_t job);

/* ---- queries -------------------------------------------------------------------------------- */

uint32_t lanes_of(const struct lanes *l, uint32_t job); /* LANE_NONE: not admitted */
uint64_t lanes_size(const struct lanes *l, uint32_t lane);
uint32_t lanes_members(const struct lanes *l, uint32_t lane);
/* All lane numbers are below this; numbers of closed lanes are reused. */
uint32_t lanes_count(const struct lanes *l);
bool lanes_open(const struct lanes *l, uint32_t lane);
bool lanes_draining(const struct lanes *l, uint32_t lane);
/* The lane is open, to this user's jobs. */
bool lanes_admits(const struct lanes *l, uint32_t lane, uint32_t user);
uint64_t lanes_capacity(const struct lanes *l);
uint64_t lanes_used(const struct lanes *l); /* sum P + sum L */
uint64_t lanes_persistent(const struct lanes *l, uint32_t job);
uint64_t lanes_ephemeral(const struct lanes *l, uint32_t job);
uint64_t lanes_round(const struct lanes *l, uint64_t bytes);

#endif
