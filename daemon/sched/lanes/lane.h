/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory as persistent regions and GPU lanes (Salus, section 3.3; thesis, section 2.3). Pure
 * bookkeeping over sizes: nothing is mapped here.
 *
 * The safety condition (Salus, section 3.3.2; thesis, equation 2.1) holds after every call:
 *     sum over admitted jobs of P_i  +  sum over lanes of L_j  <=  C,   L_j >= max of E_i in lane j
 * A lane may be larger than its largest member needs until its next boundary, when it shrinks to
 * L_j = max E_i: the automatic defragmentation of section 3.3.1, without moving a byte, since
 * lanes are lists of chunks.
 *
 * Jobs are named by slots that the caller numbers from 0. All sizes are rounded up to whole chunks.
 * Owner: the scheduler. Thread: its caller's. Errors: 0 or -ENOMEM from the two that allocate.
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
/* The blocks of the lanes' memory (core/sched_memory.h). */
bool lanes_memory(struct lanes **l, memory_visit *visit, void *arg);
/* Room for job slots below `jobs`, so that nothing below can fail. */
int lanes_reserve(struct lanes *l, uint32_t jobs);
/* At most so many lanes are open; 0: no bound. Lanes beyond it stay until their jobs leave. */
void lanes_limit(struct lanes *l, uint32_t max_lanes);
/* Admission leaves at least so many bytes free from now on; growing may take them. */
void lanes_set_aside(struct lanes *l, uint64_t bytes);
/* Whose job it is does not matter from now on. Before the first job only. */
void lanes_share(struct lanes *l);

/* FINDLANE and the assignment. The condition is checked with P in every branch (as printed, lines
 * 30-33 never look at P). On WAITS nothing changes but this: with `reorganise`, when closing lanes
 * by moving their jobs into larger ones would let the job in, those lanes become draining
 * (section 3.3.2, third bullet: "reorganize lane assignments to existing jobs to reduce the size of
 * the ephemeral region"); lanes_drain says which jobs to move. The least number of lanes is
 * drained, the smallest first. */
enum lane_how lanes_admit(struct lanes *l, uint32_t job, const struct lane_need *need,
                          bool reorganise, uint32_t *lane);
/* The job is gone; an empty lane with it (lines 7-12). */
void lanes_leave(struct lanes *l, uint32_t job);

/* The job's lane drains and the job has no ephemeral page in use: moves it, true. The last one out
 * closes the lane (LANEMOVED, lines 13-14: look at the pending jobs again). */
bool lanes_drain(struct lanes *l, uint32_t job, uint32_t *to);
/* Nobody waits for memory any more: draining lanes stay open. */
void lanes_keep(struct lanes *l);

/* The job's P and E become these. Growing: false and unchanged unless the condition holds
 * afterwards. Shrinking always succeeds; the lane follows at its next boundary. */
bool lanes_set(struct lanes *l, uint32_t job, uint64_t persistent_bytes, uint64_t ephemeral_bytes);

/* Bytes that lanes_set would have to find free. UINT64_MAX: more than the device has. */
uint64_t lanes_growth(const struct lanes *l, uint32_t job, uint64_t persistent_bytes,
                      uint64_t ephemeral_bytes);

/* The lane has no ephemeral page in use: it shrinks to what its members need. True when it did. */
bool lanes_settle(struct lanes *l, uint32_t lane);

/* The job's persistent chunks are in host memory: P counts nothing, and it asks nothing of its lane
 * (it stays a member of it). Back: false and unchanged unless the condition holds afterwards; its
 * lane grows again when it must. */
void lanes_swap_out(struct lanes *l, uint32_t job);
bool lanes_swap_in(struct lanes *l, uint32_t job);

/* ---- looking -------------------------------------------------------------------------------- */

uint32_t lanes_of(const struct lanes *l, uint32_t job); /* LANE_NONE: not admitted */
uint64_t lanes_size(const struct lanes *l, uint32_t lane);
uint32_t lanes_members(const struct lanes *l, uint32_t lane);
/* Lanes are numbered below this; numbers of closed lanes are used again. */
uint32_t lanes_count(const struct lanes *l);
bool lanes_open(const struct lanes *l, uint32_t lane);
bool lanes_draining(const struct lanes *l, uint32_t lane);
/* It is open, and to this user's jobs. */
bool lanes_admits(const struct lanes *l, uint32_t lane, uint32_t user);
uint64_t lanes_capacity(const struct lanes *l);
uint64_t lanes_used(const struct lanes *l); /* sum P + sum L */
uint64_t lanes_persistent(const struct lanes *l, uint32_t job);
uint64_t lanes_ephemeral(const struct lanes *l, uint32_t job);
uint64_t lanes_round(const struct lanes *l, uint64_t bytes);

#endif
