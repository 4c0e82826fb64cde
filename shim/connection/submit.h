/* SPDX-License-Identifier: Apache-2.0
 *
 * The producer's side of the submission ring: one ring, one short lock among the process's threads,
 * sequence numbers a stream. A full ring holds the caller up: that is the backpressure.
 */
#ifndef SHIM_CONNECTION_SUBMIT_H
#define SHIM_CONNECTION_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

void submit_init(void);

/* Sends head||tail; head begins with a wire_record. The ordered form gives the record the next
 * sequence number of its stream (rec.stream) and says which. 0 or the sticky error. */
CUresult submit_record(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes);
CUresult submit_ordered(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes,
                        uint64_t *seq);

/* From now on `watcher` is shown each record of a stream that submit_ordered has sent, in its
 * thread and with no lock held; NULL: nobody is. */
void submit_watch(void (*watcher)(const struct wire_record *));

/* A launch of at most RING_SLOT_BODY bytes, written where it is sent from: room for it, and the
 * number that it gets in its stream; NULL when the ring is full, and nothing was begun. Until
 * submit_end sends it, or submit_cancel does not, the ring is the caller's alone: he fills the room
 * and does nothing else. */
void *submit_begin(uint32_t stream, uint64_t *seq);
void submit_end(uint32_t stream, uint64_t seq, uint32_t bytes);
void submit_cancel(void);

/* submit_record for whoever holds a lock: false when the ring is full.
 * Then, with no lock held, submit_wait waits until it is emptier than at `credit`. */
bool submit_try(void *record, uint32_t bytes, uint64_t *credit);
CUresult submit_wait(uint64_t credit);

/* A graph's launch: `records[i]` of the graph are its lane's, and get the next numbers of that
 * lane's stream, the first of which is filled in. The waits stand behind the lanes; `tail_bytes`:
 * of both. */
CUresult submit_graph(struct wire_graph_launch *head, struct wire_graph_lane *lanes,
                      const uint64_t *records, uint32_t tail_bytes);

/* The last sequence number that was given out in a stream. */
uint64_t submit_last(uint32_t stream);

/* True when the stream has completed `seq`. */
bool submit_done(uint32_t stream, uint64_t seq);

/* True if launches, or copies of a program that never launched, were sent since the last
 * submit_idle, which tells the worker that they are complete and the program knows. It does not
 * wake the worker: with nothing to do, it may sleep. */
bool submit_launched(void);
void submit_idle(void);

/* Wakes the worker if it sleeps; after a store that it must see. */
void submit_ring(void);

#endif
