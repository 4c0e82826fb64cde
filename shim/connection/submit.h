/* SPDX-License-Identifier: Apache-2.0
 *
 * The producer's side of the submission ring: one ring, one short lock for the process's threads, a
 * sequence number in each stream. A full ring blocks the caller, which is the backpressure.
 */
#ifndef SHIM_CONNECTION_SUBMIT_H
#define SHIM_CONNECTION_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

void submit_init(void);

/* Send head||tail; head begins with a wire_record. The ordered form gives the record the next
 * sequence number of its stream (rec.stream) and returns it. 0 or the sticky error. */
CUresult submit_record(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes);
CUresult submit_ordered(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes,
                        uint64_t *seq);

/* Makes `watcher` see each record that submit_ordered has sent, in the sending thread and with no
 * lock held; NULL: no watcher. */
void submit_watch(void (*watcher)(const struct wire_record *));

/* Begins a launch of at most RING_SLOT_BODY bytes that is written directly into the ring. Returns
 * the slot's memory and the launch's number in its stream; NULL when the ring is full, and nothing
 * was begun. Until submit_end sends the launch or submit_cancel drops it, the caller owns the ring:
 * it only fills the memory. */
void *submit_begin(uint32_t stream, uint64_t *seq);
void submit_end(uint32_t stream, uint64_t seq, uint32_t bytes);
void submit_cancel(void);

/* The form of submit_record for a caller that holds a lock: false when the ring is full. The caller
 * then releases its lock and calls submit_wait with `credit`, which waits until the ring has more
 * room; 0 or the sticky error. */
bool submit_try(void *record, uint32_t bytes, uint64_t *credit);
CUresult submit_wait(uint64_t credit);

/* Sends a graph's launch. Lane i has `records[i]` records, which get the next numbers of its
 * stream; the function sets the first number in `lanes`. The waits follow the lanes; `tail_bytes`:
 * the size of both. */
CUresult submit_graph(struct wire_graph_launch *head, struct wire_graph_lane *lanes,
                      const uint64_t *records, uint32_t tail_bytes);

/* The last sequence number given to a record in a stream. */
uint64_t submit_last(uint32_t stream);

/* True when the stream has completed `seq`. */
bool submit_done(uint32_t stream, uint64_t seq);

/* True if launches, or copies and fills of a program that never launched, were sent since the last
 * submit_idle. submit_idle tells the worker that they are complete and that the program knows; with
 * a full ring it sends nothing. It does not wake the worker, which may sleep when it has no work.
 */
bool submit_launched(void);
void submit_idle(void);

/* Wakes the worker if it sleeps. Call it after a store that the worker must see. */
void submit_ring(void);

#endif
